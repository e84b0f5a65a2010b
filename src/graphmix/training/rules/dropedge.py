"""DropEdge (Rong et al., 2020): every step trains on a graph with other edges left out.

    Â = D^-1/2 (M ∘ A + I) D^-1/2, D the row sums of M ∘ A + I,

where M keeps each entry of A by itself with the same probability. All layers of a step have the same Â; predictions are
made on the whole graph.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.method import cross_entropy
from graphmix.models import Backbone
from graphmix.models.backbone import GraphLike
from graphmix.sparse import SparseMatrix, Thinned
from graphmix.streams import Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.rules.rule import Rule
from graphmix.training.task import Task


@dataclass(frozen=True)
class ThinGraph:
    """What a network that reads nothing else sees of a graph without some of its edges."""

    propagation: Thinned


class DropEdge(Rule):
    """The loss on labels, on a graph with some edges left out."""

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        if not model.reads_hops:
            raise ConfigError(f"dropedge needs the `backbone` gcn, whose layers read only Â, not {config.backbone}")
        super().__init__(model, task, config, streams)
        self._adjacency = task.graph.derived(adjacency)

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """ℓ(G(X_l), Y_l) on the thinned graph: `[trials]`."""
        task, rate = self.task, self.config.edge_dropout
        graph: GraphLike = task.graph
        if rate > 0 and task.graph.num_edges > 0:
            keep = self.streams.at(Purpose.EDGE_DROPOUT, epoch).keep(self._adjacency.nonzeros, rate)
            graph = cast(GraphLike, ThinGraph(Thinned.of(self._adjacency, keep)))
        logits = self.model(task.x, graph, self.streams.at(Purpose.GNN_DROPOUT, epoch))
        return cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight)


def adjacency(graph: Graph) -> SparseMatrix:
    """A, with the weights of the edges and without self-loops: `[nodes, nodes]`."""
    row, col = graph.edge_index.cpu().numpy()
    weights = np.ones(len(row)) if graph.edge_weights is None else graph.edge_weights.cpu().numpy()
    matrix = sp.csr_array((weights, (row, col)), shape=(graph.num_nodes, graph.num_nodes))
    return SparseMatrix.from_scipy(matrix).to(graph.edge_index.device)
