"""Graph neural networks with a trial axis, each a fully-connected net on the null graph."""

from graphmix.models.backbone import Backbone, GraphLike
from graphmix.models.gat import GAT
from graphmix.models.gcn import GCN
from graphmix.models.unet import GraphUNet
from graphmix.models.wrap import Wrapped, wrap

BACKBONES: dict[str, type[Backbone]] = {"gcn": GCN, "gat": GAT, "unet": GraphUNet}

__all__ = ["BACKBONES", "GAT", "GCN", "Backbone", "GraphLike", "GraphUNet", "Wrapped", "wrap"]
