"""The part of a graph that the labeled nodes' logits depend on: two hops of a GCN."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.sparse import PickedRows, SparseMatrix

# Below this share of the features' non-zeros it pays to leave the other rows out.
_WORTHWHILE = 0.75


@dataclass(frozen=True)
class Hop:
    """What a layer that reads nothing else sees of a graph: the product from the nodes before it to those after it."""

    propagation: SparseMatrix


@dataclass(frozen=True, eq=False)
class Reach:
    """What the logits of some nodes depend on.

    Attributes:
        x: the features of all nodes within two hops.
        outer: from these to the nodes within one hop.
        inner: from those to the nodes themselves, in the order in which they were given.
    """

    x: PickedRows | Tensor
    outer: Hop
    inner: Hop

    @classmethod
    def find(cls, graph: Graph, nodes: Tensor, *, dropout: bool) -> "Reach | None":
        """Find what nodes, int64 `[picks]`, depend on; None if that is most of the graph.

        With dropout of dense features there is none either: a dense entry has no position to keep its bit by.
        """
        matrix = graph.propagation
        if not isinstance(matrix, SparseMatrix) or (dropout and isinstance(graph.x, Tensor)):
            return None
        csr = matrix.to_scipy()
        inner, near = _rows(csr, nodes.cpu().numpy())
        outer, far = _rows(csr, near)
        rows, device = torch.from_numpy(far), nodes.device
        x: PickedRows | Tensor
        if isinstance(graph.x, Tensor):
            x, share = graph.x[rows.to(device)], len(far) / graph.num_nodes
        else:
            x = PickedRows.of(graph.x, rows)
            share = x.nonzeros / max(1, graph.x.nonzeros)
        if share > _WORTHWHILE:
            return None
        return cls(x, *(Hop(SparseMatrix.from_scipy(each).to(device)) for each in (outer, inner)))


def _rows(matrix: sp.csr_array, rows: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    """Pick rows, leave out empty columns, and return which columns are left, int64."""
    picked = sp.csr_array(matrix[rows])
    columns, place = np.unique(picked.indices, return_inverse=True)
    parts = (picked.data, place.astype(np.int32), picked.indptr)
    return sp.csr_array(parts, shape=(len(rows), len(columns))), columns.astype(np.int64)
