"""Graph neural networks with a trial axis. On the null graph each of them is a fully-connected net."""

from typing import TYPE_CHECKING

from graphmix.lazy import attach
from graphmix.models.registry import BACKBONES

if TYPE_CHECKING:
    from graphmix.models.appnp import APPNP
    from graphmix.models.backbone import Backbone, GraphLike
    from graphmix.models.chebyshev import Chebyshev
    from graphmix.models.disengcn import DisenGCN
    from graphmix.models.gat import GAT
    from graphmix.models.gatv2 import GATv2
    from graphmix.models.gcn import GCN
    from graphmix.models.gcn2 import GCN2
    from graphmix.models.gpr import GPR
    from graphmix.models.grand import Grand
    from graphmix.models.monet import MoNet
    from graphmix.models.sage import SAGE
    from graphmix.models.unet import GraphUNet
    from graphmix.models.wrapped import Wrapped, wrap

__all__ = [
    "APPNP",
    "BACKBONES",
    "GAT",
    "GCN",
    "GCN2",
    "GPR",
    "SAGE",
    "Backbone",
    "Chebyshev",
    "DisenGCN",
    "GATv2",
    "Grand",
    "GraphLike",
    "GraphUNet",
    "MoNet",
    "Wrapped",
    "wrap",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "graphmix.models.appnp": "APPNP",
        "graphmix.models.backbone": "Backbone GraphLike",
        "graphmix.models.chebyshev": "Chebyshev",
        "graphmix.models.disengcn": "DisenGCN",
        "graphmix.models.gat": "GAT",
        "graphmix.models.gatv2": "GATv2",
        "graphmix.models.gcn": "GCN",
        "graphmix.models.gcn2": "GCN2",
        "graphmix.models.gpr": "GPR",
        "graphmix.models.grand": "Grand",
        "graphmix.models.monet": "MoNet",
        "graphmix.models.sage": "SAGE",
        "graphmix.models.unet": "GraphUNet",
        "graphmix.models.wrapped": "Wrapped wrap",
    },
)
