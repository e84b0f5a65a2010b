"""Which nodes a node reads, for networks that weigh edges one by one."""

import numpy as np
import scipy.sparse as sp

from graphmix.models.backbone import GraphLike
from graphmix.sparse import Neighbours, SparseMatrix


def neighbours_and_self(graph: GraphLike) -> Neighbours:
    """A + I: a node's neighbours and the node itself."""
    return _neighbours(graph, own=True)


def neighbours_alone(graph: GraphLike) -> Neighbours:
    """A: a node's neighbours without the node itself; a row may be empty."""
    return _neighbours(graph, own=False)


def _neighbours(graph: GraphLike, *, own: bool) -> Neighbours:
    row, col = graph.edge_index.cpu().numpy()
    assert graph.propagation is not None, "only the null graph has no propagation matrix"
    nodes = graph.propagation.shape[0]
    selves = np.arange(nodes if own else 0)
    row, col = np.concatenate([row, selves]), np.concatenate([col, selves])
    matrix = SparseMatrix.from_scipy(sp.csr_array((np.ones(len(row)), (row, col)), shape=(nodes, nodes)))
    return Neighbours(matrix.to(graph.edge_index.device))
