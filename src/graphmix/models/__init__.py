"""Graph neural networks with a trial axis. On the null graph each of them is a fully-connected net."""

from typing import TYPE_CHECKING

from graphmix.lazy import attach
from graphmix.models.registry import BACKBONES

if TYPE_CHECKING:
    from graphmix.models.backbone import Backbone, GraphLike
    from graphmix.models.gat import GAT
    from graphmix.models.gcn import GCN
    from graphmix.models.gpr import GPR
    from graphmix.models.grand import Grand
    from graphmix.models.sage import SAGE
    from graphmix.models.unet import GraphUNet
    from graphmix.models.wrapped import Wrapped, wrap

__all__ = ["BACKBONES", "GAT", "GCN", "GPR", "SAGE", "Backbone", "Grand", "GraphLike", "GraphUNet", "Wrapped", "wrap"]

__getattr__, __dir__ = attach(
    __name__,
    {
        "graphmix.models.backbone": "Backbone GraphLike",
        "graphmix.models.gat": "GAT",
        "graphmix.models.gcn": "GCN",
        "graphmix.models.gpr": "GPR",
        "graphmix.models.grand": "Grand",
        "graphmix.models.sage": "SAGE",
        "graphmix.models.unet": "GraphUNet",
        "graphmix.models.wrapped": "Wrapped wrap",
    },
)
