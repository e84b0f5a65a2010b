"""Which nodes of a graph are joined: the interface of all forms of edges, and the usual form, a list."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data.checks import check_edges, check_weights, undirected, weigh
from graphmix.sparse import Chain, SparseMatrix

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class EdgeCounts:
    """The edges between some nodes, counted by the classes of the nodes.

    Attributes:
        edges: number of edges.
        same: number of edges that join two nodes of one class.
        ends: int64 `[classes]`, number of ends in each class; sums to twice `edges`.
    """

    edges: int
    same: int
    ends: Ints


class Structure(Protocol):
    """The edges of a `Graph`, listed or not. Numpy arrays are on the host, whatever the device."""

    @property
    def edge_index(self) -> Tensor:
        """Both directions of every edge: int64 `[2, 2 * edges]`, sorted, no self-loops, no repeats."""

    @property
    def weights(self) -> Tensor | None:
        """Weight of each direction of an edge: float32 `[2 * edges]`; None if they have none: all count as 1."""

    @property
    def num_edges(self) -> int:
        """Number of undirected edges, counted without listing them."""

    @property
    def num_propagated(self) -> int:
        """Number of entries that a product with `propagation` reads."""

    @property
    def propagation(self) -> SparseMatrix | Chain | None:
        """D^-1/2 (A + I) D^-1/2 `[nodes, nodes]`; None without edges, where it is the identity."""

    @property
    def neighbour_mean(self) -> SparseMatrix | Chain | None:
        """D^-1 A `[nodes, nodes]`, with rows of 0 for nodes without neighbours; None without edges."""

    @property
    def normalised_adjacency(self) -> SparseMatrix | Chain | None:
        """D^-1/2 A D^-1/2 `[nodes, nodes]`, with rows of 0 for nodes without neighbours; None without edges."""

    @property
    def degrees(self) -> Ints:
        """Number of neighbours of each node: int64 `[nodes]`."""

    @property
    def strengths(self) -> Floats:
        """Sum of the weights of each node's edges: float64 `[nodes]`; the degrees if all weights are 1."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The stored tensors; equal for equal structures."""

    def edges_between(self, nodes: Mask, labels: Ints, num_classes: int) -> EdgeCounts:
        """Count the edges between the given nodes, bool `[nodes]`, by their `labels`, int64 `[nodes]`, known there."""

    def with_neighbours(self, nodes: Mask) -> Mask:
        """Return the given nodes, bool `[nodes]`, and their neighbours."""

    def neighbours_of(self, node: int) -> Ints:
        """Return the neighbours of one node in increasing order: int64 `[neighbours]`."""

    def count_components(self) -> int:
        """Count the connected components; a node without neighbours is one."""

    def to(self, device: torch.device | str) -> "Structure":
        """Move to a device."""

    def permuted(self, order: Tensor) -> "Structure":
        """Relabel the nodes: node `order[i]`, int64 `[nodes]`, becomes node i."""

    def packed(self) -> dict[str, Tensor]:
        """Return tensors by name, for a file."""

    @classmethod
    def from_packed(cls, packed: Mapping[str, Tensor], num_nodes: int) -> Self:
        """Read back what `packed` returned, among other tensors or not.

        Raises:
            KeyError: a tensor is missing.
            DataError: a tensor is invalid.
        """


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges in a list.

    Attributes:
        edge_index: int64 `[2, 2 * edges]`: both directions of every edge, sorted, no self-loops, no repeats.
        num_nodes: number of nodes.
        weights: float32 `[2 * edges]`, above 0, equal for both directions of an edge; None: all count as 1.
    """

    edge_index: Tensor
    num_nodes: int
    weights: Tensor | None = None

    @classmethod
    def none(cls, num_nodes: int, device: torch.device) -> "Edges":
        """No edges at all."""
        return cls(torch.empty(2, 0, dtype=torch.int64, device=device), num_nodes)

    @classmethod
    def build(cls, edges: object, num_nodes: int, weights: object = None) -> Self:
        """Validate and clean edges `[2, entries]` and their weights `[entries]`, as `Graph.build` describes.

        Raises:
            DataError: an edge or a weight is invalid.
        """
        pairs = check_edges(edges, num_nodes)
        if weights is None:
            return cls(undirected(pairs, num_nodes), num_nodes)
        index, weighed = weigh(pairs, check_weights(weights, pairs.shape[1]), num_nodes)
        return cls(index, num_nodes, weighed)

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return self.edge_index.shape[1] // 2

    @property
    def num_propagated(self) -> int:
        """Both directions of every edge, and a self-loop for every node."""
        return self.edge_index.shape[1] + self.num_nodes

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The list, and the weights if there are any."""
        return (self.edge_index,) if self.weights is None else (self.edge_index, self.weights)

    @cached_property
    def propagation(self) -> SparseMatrix | None:
        """D^-1/2 (A + I) D^-1/2, written out; a self-loop has weight 1."""
        if self.num_edges == 0:
            return None
        row, col = self.edge_index.cpu().numpy()
        weights = np.ones(len(row)) if self.weights is None else self.weights.double().cpu().numpy()
        own = np.arange(self.num_nodes)
        row, col, weights = np.append(row, own), np.append(col, own), np.append(weights, np.ones(self.num_nodes))
        # Float64 until the end: the roots of large degrees would be rounded twice in float32.
        scale = np.bincount(row, weights, minlength=self.num_nodes) ** -0.5
        entries = scale[row] * scale[col] * weights
        matrix = sp.csr_array((entries, (row, col)), shape=(self.num_nodes, self.num_nodes))
        return SparseMatrix.from_scipy(matrix).to(self.edge_index.device)

    @cached_property
    def neighbour_mean(self) -> SparseMatrix | None:
        """D^-1 A, written out: the mean of a node's neighbours, by the weights of its edges."""
        return self._scaled(lambda row, col: self.strengths[row])

    @cached_property
    def normalised_adjacency(self) -> SparseMatrix | None:
        """D^-1/2 A D^-1/2, written out."""
        return self._scaled(lambda row, col: np.sqrt(self.strengths[row] * self.strengths[col]))

    def _scaled(self, divisor: Callable[[Ints, Ints], Floats]) -> SparseMatrix | None:
        """A with each entry divided by the divisor of its row and column; None without edges."""
        if self.num_edges == 0:
            return None
        row, col = self.edge_index.cpu().numpy()
        weights = np.ones(len(row)) if self.weights is None else self.weights.double().cpu().numpy()
        matrix = sp.csr_array((weights / divisor(row, col), (row, col)), shape=(self.num_nodes, self.num_nodes))
        return SparseMatrix.from_scipy(matrix).to(self.edge_index.device)

    @property
    def degrees(self) -> Ints:
        """Number of neighbours of each node: int64 `[nodes]`."""
        return np.bincount(self.edge_index[0].cpu().numpy(), minlength=self.num_nodes)

    @property
    def strengths(self) -> Floats:
        """Sum of the weights of each node's edges: float64 `[nodes]`."""
        if self.weights is None:
            return self.degrees.astype(np.float64)
        weights = self.weights.double().cpu().numpy()
        # Cast: without any edge bincount returns integers.
        return np.bincount(self.edge_index[0].cpu().numpy(), weights, minlength=self.num_nodes).astype(np.float64)

    def edges_between(self, nodes: Mask, labels: Ints, num_classes: int) -> EdgeCounts:
        """Count the edges between the given nodes by their labels."""
        row, col = self.edge_index.cpu().numpy()
        between = nodes[row] & nodes[col]
        row, col = labels[row[between]], labels[col[between]]
        # Both directions of an edge are listed, so each of its ends is in a row once.
        return EdgeCounts(len(row) // 2, int((row == col).sum()) // 2, np.bincount(row, minlength=num_classes))

    def with_neighbours(self, nodes: Mask) -> Mask:
        """Return the given nodes and their neighbours."""
        row, col = self.edge_index.cpu().numpy()
        reached = nodes.copy()
        reached[col[nodes[row]]] = True
        return reached

    def neighbours_of(self, node: int) -> Ints:
        """Return the neighbours of one node in increasing order."""
        row, col = self.edge_index.cpu().numpy()
        # The list is sorted by row.
        start, end = np.searchsorted(row, [node, node + 1])
        neighbours: Ints = col[start:end]
        return neighbours

    def count_components(self) -> int:
        """Count the connected components; a node without neighbours is one."""
        return count_components(self.edge_index.cpu().numpy(), self.num_nodes)

    def to(self, device: torch.device | str) -> "Edges":
        """Move to a device."""
        weights = None if self.weights is None else self.weights.to(device)
        return Edges(self.edge_index.to(device), self.num_nodes, weights)

    def permuted(self, order: Tensor) -> "Edges":
        """Relabel the nodes and sort the edges again."""
        inverse = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        pairs = inverse[self.edge_index].cpu().numpy()
        if self.weights is None:
            return Edges(undirected(pairs, self.num_nodes).to(order.device), self.num_nodes)
        moved, weights = weigh(pairs, self.weights.double().cpu().numpy(), self.num_nodes)
        return Edges(moved.to(order.device), self.num_nodes, weights.to(order.device))

    def packed(self) -> dict[str, Tensor]:
        """Return one direction of every edge as `edges`, and its weights, if any, as `weights`."""
        forward = self.edge_index[0] < self.edge_index[1]
        packed = {"edges": self.edge_index[:, forward]}
        return packed if self.weights is None else packed | {"weights": self.weights[forward]}

    @classmethod
    def from_packed(cls, packed: Mapping[str, Tensor], num_nodes: int) -> Self:
        """Read back what `packed` returned, and validate it."""
        return cls.build(packed["edges"], num_nodes, packed.get("weights"))


def count_components(pairs: Ints, nodes: int) -> int:
    """Count the connected components of a graph with edges `[2, entries]`, in either direction or both."""
    # csgraph takes a while to import, and nothing else needs it.
    from scipy.sparse.csgraph import connected_components

    joins = sp.coo_array((np.ones(pairs.shape[1], dtype=np.int8), tuple(pairs)), shape=(nodes, nodes))
    return int(connected_components(joins, directed=False, return_labels=False))
