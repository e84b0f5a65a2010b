"""Graph neural networks with a trial axis, each a fully-connected net on the null graph."""

from graphmix.models.backbone import Backbone, GraphLike
from graphmix.models.gcn import GCN

BACKBONES: dict[str, type[Backbone]] = {"gcn": GCN}

__all__ = ["BACKBONES", "GCN", "Backbone", "GraphLike"]
