"""How the nodes of a graph hang together: what every form of it can do, and the usual one, a list of edges."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.data.checks import undirected, weigh
from graphmix.sparse import Chain, SparseMatrix


class Structure(Protocol):
    """What a `Graph` asks of its edges, listed or not."""

    @property
    def edge_index(self) -> Tensor:
        """Both directions of every edge: int64 `[2, 2 * edges]`, sorted, no self-loops, no repeats."""

    @property
    def weights(self) -> Tensor | None:
        """What each direction of an edge weighs: float32 `[2 * edges]`; None where all weigh 1."""

    @property
    def num_edges(self) -> int:
        """How many undirected edges there are, counted without listing them."""

    @property
    def num_propagated(self) -> int:
        """How many entries a product with `propagation` walks."""

    @property
    def propagation(self) -> SparseMatrix | Chain | None:
        """D^-1/2 (A + I) D^-1/2 `[nodes, nodes]`; None without edges, where it is the identity."""

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What is stored: equal for equal structures."""

    def to(self, device: torch.device | str) -> "Structure":
        """Move to a device."""

    def permuted(self, order: Tensor) -> "Structure":
        """Relabel the nodes: node `order[i]`, int64 `[nodes]`, becomes node i."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges in a list.

    Attributes:
        edge_index: int64 `[2, 2 * edges]`: both directions of every edge, sorted, no self-loops, no repeats.
        num_nodes: how many nodes they are among.
        weights: float32 `[2 * edges]`, above 0 and equal for both directions of an edge; None where all weigh 1.
    """

    edge_index: Tensor
    num_nodes: int
    weights: Tensor | None = None

    @classmethod
    def none(cls, num_nodes: int, device: torch.device) -> "Edges":
        """No edges at all."""
        return cls(torch.empty(2, 0, dtype=torch.int64, device=device), num_nodes)

    @property
    def num_edges(self) -> int:
        """How many undirected edges there are."""
        return self.edge_index.shape[1] // 2

    @property
    def num_propagated(self) -> int:
        """Both directions of every edge, and a self-loop for every node."""
        return self.edge_index.shape[1] + self.num_nodes

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The list, and the weights where there are some."""
        return (self.edge_index,) if self.weights is None else (self.edge_index, self.weights)

    @cached_property
    def propagation(self) -> SparseMatrix | None:
        """D^-1/2 (A + I) D^-1/2, written out; a self-loop weighs 1."""
        if self.num_edges == 0:
            return None
        row, col = self.edge_index.cpu().numpy()
        weights = np.ones(len(row)) if self.weights is None else self.weights.double().cpu().numpy()
        own = np.arange(self.num_nodes)
        row, col, weights = np.append(row, own), np.append(col, own), np.append(weights, np.ones(self.num_nodes))
        # Float64 until the end: hubs have degrees whose roots float32 would round twice.
        scale = np.bincount(row, weights, minlength=self.num_nodes) ** -0.5
        entries = scale[row] * scale[col] * weights
        matrix = sp.csr_array((entries, (row, col)), shape=(self.num_nodes, self.num_nodes))
        return SparseMatrix.from_scipy(matrix).to(self.edge_index.device)

    def to(self, device: torch.device | str) -> "Edges":
        """Move to a device."""
        weights = None if self.weights is None else self.weights.to(device)
        return Edges(self.edge_index.to(device), self.num_nodes, weights)

    def permuted(self, order: Tensor) -> "Edges":
        """Relabel the nodes and sort the edges anew."""
        inverse = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        pairs = inverse[self.edge_index].cpu().numpy()
        if self.weights is None:
            return Edges(undirected(pairs, self.num_nodes).to(order.device), self.num_nodes)
        moved, weights = weigh(pairs, self.weights.double().cpu().numpy(), self.num_nodes)
        return Edges(moved.to(order.device), self.num_nodes, weights.to(order.device))
