"""The networks by name, with what can be known of them without importing torch."""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphmix.models.backbone import Backbone

CUSTOM = "custom"
# The network of the method graphsgan, which no other method trains.
SGAN = "sgan"


@dataclass(frozen=True)
class NetworkInfo:
    """What can be known of a network before its class is imported.

    Attributes:
        title: what the paper calls it, or for a network that it does not have, its authors.
        fcn_title: what to call its FCN, the same network without the edges.
        module: the module that defines its class.
        class_name: its class, a `Backbone`.
        options: the hyperparameters that are fields of the class.
        uses_edge_weights: whether the weights of edges change what it computes.
        takes_sparse_features: whether it computes with sparse features as they are; otherwise they are written out.
        ignores: hyperparameters of networks that change nothing in this one.
        needs_whole: why it cannot be trained on parts of a graph; empty if it can.
    """

    title: str
    fcn_title: str
    module: str
    class_name: str
    options: tuple[str, ...]
    uses_edge_weights: bool = False
    takes_sparse_features: bool = True
    ignores: tuple[str, ...] = ()
    needs_whole: str = ""


_DROPOUT = ("input_dropout", "hidden_dropout")

NETWORKS: dict[str, NetworkInfo] = {
    "gcn": NetworkInfo(
        title="GCN",
        fcn_title="FCN",
        module="graphmix.models.gcn",
        class_name="GCN",
        options=_DROPOUT,
        uses_edge_weights=True,
    ),
    "gat": NetworkInfo(
        title="GAT",
        fcn_title="FCN of GAT",
        module="graphmix.models.gat",
        class_name="GAT",
        options=(*_DROPOUT, "attention_dropout", "heads", "output_heads"),
    ),
    "unet": NetworkInfo(
        title="Graph U-Net",
        fcn_title="FCN of Graph U-Net",
        module="graphmix.models.unet",
        class_name="GraphUNet",
        options=(*_DROPOUT, "pool_ratios"),
        needs_whole="it pools the best nodes of all",
    ),
    "gpr": NetworkInfo(
        title="GPR-GNN",
        fcn_title="FCN of GPR-GNN",
        module="graphmix.models.gpr",
        class_name="GPR",
        options=(*_DROPOUT, "hops", "teleport"),
        uses_edge_weights=True,
    ),
    "sage": NetworkInfo(
        title="GraphSAGE",
        fcn_title="FCN of GraphSAGE",
        module="graphmix.models.sage",
        class_name="SAGE",
        options=_DROPOUT,
        uses_edge_weights=True,
    ),
    "appnp": NetworkInfo(
        title="APPNP",
        fcn_title="FCN of APPNP",
        module="graphmix.models.appnp",
        class_name="APPNP",
        options=(*_DROPOUT, "hops", "teleport", "propagation_dropout"),
        uses_edge_weights=True,
    ),
    "chebyshev": NetworkInfo(
        title="Chebyshev",
        fcn_title="FCN of Chebyshev",
        module="graphmix.models.chebyshev",
        class_name="Chebyshev",
        options=(*_DROPOUT, "order"),
        uses_edge_weights=True,
    ),
    "gcn2": NetworkInfo(
        title="GCNII",
        fcn_title="FCN of GCNII",
        module="graphmix.models.gcn2",
        class_name="GCN2",
        options=(*_DROPOUT, "layers", "teleport", "layer_strength", "layer_decay"),
        uses_edge_weights=True,
    ),
    "gatv2": NetworkInfo(
        title="GATv2",
        fcn_title="FCN of GATv2",
        module="graphmix.models.gatv2",
        class_name="GATv2",
        options=(*_DROPOUT, "attention_dropout", "heads", "output_heads"),
    ),
    "monet": NetworkInfo(
        title="MoNet",
        fcn_title="FCN of MoNet",
        module="graphmix.models.monet",
        class_name="MoNet",
        options=(*_DROPOUT, "kernels", "coordinates"),
        needs_whole="it reads the degrees of all nodes",
    ),
    "disengcn": NetworkInfo(
        title="DisenGCN",
        fcn_title="FCN of DisenGCN",
        module="graphmix.models.disengcn",
        class_name="DisenGCN",
        options=(*_DROPOUT, "channels", "layers", "routing_steps"),
    ),
    "grand": NetworkInfo(
        title="GRAND",
        fcn_title="FCN of GRAND",
        module="graphmix.models.grand",
        class_name="Grand",
        options=(*_DROPOUT, "hops", "node_dropout", "batch_norm", "input_dropout_at", "hop_weights"),
        uses_edge_weights=True,
    ),
    SGAN: NetworkInfo(
        title="GraphSGAN",
        fcn_title="FCN of GraphSGAN",
        module="graphmix.models.sgan",
        class_name="SGAN",
        options=_DROPOUT,
        uses_edge_weights=True,
        ignores=(*_DROPOUT, "bias"),
        needs_whole="it reads an embedding of the whole graph",
    ),
    # A network that the caller gives as an object, with its own dropout.
    CUSTOM: NetworkInfo(
        title="custom model",
        fcn_title="FCN of custom model",
        module="graphmix.models.wrapped",
        class_name="Wrapped",
        options=(),
        takes_sparse_features=False,
        needs_whole="it may normalise edges by the degrees of a part",
    ),
}


def backbone_class(name: str) -> "type[Backbone]":
    """Import the class of a network, a key of `NETWORKS`."""
    info = NETWORKS[name]
    found: type[Backbone] = getattr(importlib.import_module(info.module), info.class_name)
    return found


_UNLISTED = (CUSTOM, SGAN)


class _Classes(Mapping[str, "type[Backbone]"]):
    """The classes of the networks that can be created by name, imported on look-up."""

    def __getitem__(self, name: str) -> "type[Backbone]":
        if name not in set(self):
            raise KeyError(name)
        return backbone_class(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in NETWORKS if name not in _UNLISTED)

    def __len__(self) -> int:
        return len(NETWORKS) - len(_UNLISTED)

    # The default of Mapping would import the class.
    def __contains__(self, name: object) -> bool:
        return name in set(self)


BACKBONES: Mapping[str, "type[Backbone]"] = _Classes()
