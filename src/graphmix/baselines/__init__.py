"""Methods without a training loop, measured on the same splits as the networks."""

from graphmix.baselines.deepwalk import deepwalk
from graphmix.baselines.judge import BASELINES, judge
from graphmix.baselines.label_propagation import label_propagation, propagate

__all__ = ["BASELINES", "deepwalk", "judge", "label_propagation", "propagate"]
