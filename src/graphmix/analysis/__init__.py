"""Properties of trained networks: hidden states, details for pictures, the theorem's terms."""

from graphmix.analysis.details import details
from graphmix.analysis.hidden import embedding, hidden_states, soft_rank

__all__ = ["details", "embedding", "hidden_states", "soft_rank"]
