"""The surroundings of a node: the part of a graph that a prediction depends on, and copies of it with changes.

A network of L layers reads the nodes up to L hops away, and the degrees of these. The nodes up to L + 1 hops away, with
the edges between them, have both. Many copies of that part, each with another change, are one graph whose parts are not
joined, so one pass over it predicts them all.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.neighbour_means import adjacency
from graphmix.data import Graph
from graphmix.data.checks import UNKNOWN
from graphmix.data.dual_graph import SharedEnds
from graphmix.data.structure import Edges, Structure
from graphmix.sparse import SparseMatrix

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The nodes around one node.

    Attributes:
        graph: the whole graph.
        nodes: int64 `[n]`, their numbers in the whole graph, the nearest first; the first is the node itself.
        hops: int64 `[n]`, how far away each is.
        whole: whether every node within the reach is there.
    """

    graph: Graph
    nodes: Ints
    hops: Ints
    whole: bool

    @classmethod
    def of(cls, graph: Graph, node: int, reach: int | None, most: int) -> "Surroundings":
        """Gather the nodes up to `reach` + 1 hops away, or all nodes; at most `most`, the nearest ones."""
        reached = np.zeros(graph.num_nodes, dtype=np.bool_)
        reached[node] = True
        rings, whole = [np.array([node])], True
        while reach is None or len(rings) <= reach + 1:
            # What was reached before the last ring has no other neighbours.
            further = _neighbours(graph, rings[-1]) & ~reached
            ring = np.flatnonzero(further)
            room = most - int(reached.sum())
            whole &= len(ring) <= room
            if not len(ring) or not room:
                break
            rings.append(ring[:room])
            reached[rings[-1]] = True
        if reach is None and whole:
            rings.append(np.flatnonzero(~reached))
        hops = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
        return cls(graph, np.concatenate(rings).astype(np.int64), hops, whole)

    def __len__(self) -> int:
        return len(self.nodes)

    def places(self, nodes: Ints) -> Ints:
        """Return the places of nodes, int64 `[picks]`, given by their numbers in the whole graph; -1 if not there."""
        order = np.argsort(self.nodes)
        found = order[np.searchsorted(self.nodes, nodes, sorter=order).clip(max=len(order) - 1)]
        return np.where(self.nodes[found] == nodes, found, -1)

    @cached_property
    def x(self) -> sp.csr_array | NDArray[np.float32]:
        """The features: float32 `[n, features]`."""
        x = self.graph.x
        return x[torch.from_numpy(self.nodes)].numpy() if isinstance(x, Tensor) else x.to_scipy()[self.nodes]

    @property
    def others(self) -> int:
        """How many nodes stand behind all copies for the rest of the graph: two that are joined, if there is a rest.

        A network takes a graph without any edge for the null graph, which a lonely node in a graph is not.
        """
        return 2 if 0 < len(self) < self.graph.num_nodes and self.graph.num_edges > 0 else 0

    def copies(self, gone: Mask, x: sp.csr_array | NDArray[np.float32]) -> Graph:
        """Return one graph of several copies, one after the other, and `others` behind them.

        Args:
            gone: bool `[copies, n]`, the nodes that lose all their edges.
            x: `[copies * n, features]`, the features of all copies.
        """
        own = self.graph.structure
        structure = self._joined_links(gone, own) if isinstance(own, SharedEnds) else self._joined_edges(gone)
        rest = np.zeros((self.others, x.shape[1]), dtype=np.float32)
        if isinstance(x, np.ndarray):
            features: SparseMatrix | Tensor = torch.from_numpy(np.concatenate([x, rest]))
        else:
            features = SparseMatrix.from_scipy(sp.vstack([x, sp.csr_array(rest)], format="csr"))
        y = self.graph.y[torch.from_numpy(self.nodes)].repeat(len(gone))
        y = torch.cat([y, y.new_full((self.others,), UNKNOWN)])
        return replace(self.graph, x=features, structure=structure, y=y)

    @cached_property
    def edges(self) -> sp.coo_array:
        """The edges between the nodes, both directions, with their weights: `[n, n]`."""
        between = self.graph.derived(adjacency)[self.nodes][:, self.nodes]
        between.sort_indices()
        return between.tocoo()

    def _joined_edges(self, gone: Mask) -> Structure:
        edges = self.edges
        copy, entry = np.nonzero(~(gone[:, edges.row] | gone[:, edges.col]))
        pairs = np.stack([edges.row, edges.col]).astype(np.int64)[:, entry] + copy * len(self)
        weights = None
        if self.graph.edge_weights is not None:
            weights = torch.from_numpy(edges.data[entry].astype(np.float32))
        if self.others:
            pairs = np.concatenate([pairs, gone.size + np.array([[0, 1], [1, 0]])], axis=1)
            weights = None if weights is None else torch.cat([weights, torch.ones(2)])
        return Edges(torch.from_numpy(pairs), gone.size + self.others, weights)

    def _joined_links(self, gone: Mask, structure: SharedEnds) -> Structure:
        ends = np.unique(structure.ends.numpy()[:, self.nodes], return_inverse=True)[1].reshape(2, -1)
        users = int(ends.max()) + 1
        joined = ends[:, None] + np.arange(len(gone))[:, None] * users
        # A user of its own for every link that is gone.
        joined[:, gone] = len(gone) * users + np.arange(int(gone.sum()))
        rest = np.full((2, self.others), int(joined.max()) + 1)
        return SharedEnds(torch.from_numpy(np.concatenate([joined.reshape(2, -1), rest], axis=1)))


def _neighbours(graph: Graph, nodes: Ints) -> Mask:
    """Return the neighbours of nodes, bool `[nodes]`."""
    reached = np.zeros(graph.num_nodes, dtype=np.bool_)
    if graph.num_edges == 0:
        return reached
    if isinstance(graph.structure, Edges):
        reached[graph.derived(adjacency)[nodes].indices] = True
        return reached
    reached[nodes] = True
    return graph.structure.with_neighbours(reached)
