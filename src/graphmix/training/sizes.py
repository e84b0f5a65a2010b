"""The sizes of what a step trains on: a whole graph, or with mini-batches a part of it."""

from dataclasses import dataclass

from graphmix.data import Graph
from graphmix.sparse import SparseMatrix
from graphmix.training.config import Config
from graphmix.training.parts import HOPS

_PASSES = 3
_FEWEST = 10


@dataclass(frozen=True)
class Sizes:
    """The sizes of a graph, or the largest that its parts can have.

    Attributes:
        num_nodes: number of nodes.
        num_features: number of features of a node.
        num_classes: number of classes.
        num_edges: number of undirected edges.
        num_propagated: number of entries that a product with the propagation matrix reads.
        stored: how many entries of sparse features are stored, of parts on average; None if they are dense.
    """

    num_nodes: int
    num_features: int
    num_classes: int
    num_edges: int
    num_propagated: int
    stored: int | None

    @classmethod
    def of(cls, graph: Graph, config: Config) -> "Sizes":
        """Return the sizes of what a step trains on."""
        stored = graph.x.nonzeros if isinstance(graph.x, SparseMatrix) else None
        whole = cls(
            graph.num_nodes, graph.num_features, graph.num_classes, graph.num_edges, graph.num_propagated, stored
        )
        return whole if config.batch_nodes == 0 else whole._part(config.batch_nodes, config.batch_fanout)

    def _part(self, seeds: int, fanout: int) -> "Sizes":
        readers = seeds * sum(fanout**hop for hop in range(HOPS))
        nodes = min(self.num_nodes, seeds + fanout * readers)
        entries = min(2 * self.num_edges, fanout * readers)
        stored = None if self.stored is None else -(-self.stored * nodes // self.num_nodes)
        return Sizes(nodes, self.num_features, self.num_classes, -(-entries // 2), entries + nodes, stored)


def epochs_between_evaluations(graph: Graph, config: Config) -> int:
    """Return after how many epochs to evaluate: the config's number, or for 0 one that follows from the sizes.

    A step goes through a part about three times, forwards and backwards and for targets; an evaluation goes through the
    whole graph once. But there are at least ten evaluations, so that there is a choice.
    """
    if config.batch_nodes == 0:
        return 1
    if config.evaluate_every > 0:
        return min(config.evaluate_every, config.epochs)
    ratio = round(graph.num_propagated / (_PASSES * Sizes.of(graph, config).num_propagated))
    return max(1, min(ratio, config.epochs // _FEWEST))
