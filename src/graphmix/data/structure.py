"""How the nodes of a graph hang together: what every form of it can do, and the usual one, a list of edges."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.data.checks import undirected
from graphmix.sparse import Chain, SparseMatrix


class Structure(Protocol):
    """What a `Graph` asks of its edges, listed or not."""

    @property
    def edge_index(self) -> Tensor:
        """Both directions of every edge: int64 `[2, 2 * edges]`, sorted, no self-loops, no repeats."""

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
    """

    edge_index: Tensor
    num_nodes: int

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
        """The list."""
        return (self.edge_index,)

    @cached_property
    def propagation(self) -> SparseMatrix | None:
        """D^-1/2 (A + I) D^-1/2, written out."""
        if self.num_edges == 0:
            return None
        row, col = self.edge_index.cpu().numpy()
        own = np.arange(self.num_nodes)
        row, col = np.concatenate([row, own]), np.concatenate([col, own])
        # Float64 until the end: hubs have degrees whose roots float32 would round twice.
        scale = np.bincount(row, minlength=self.num_nodes).astype(np.float64) ** -0.5
        matrix = sp.csr_array((scale[row] * scale[col], (row, col)), shape=(self.num_nodes, self.num_nodes))
        return SparseMatrix.from_scipy(matrix).to(self.edge_index.device)

    def to(self, device: torch.device | str) -> "Edges":
        """Move to a device."""
        return Edges(self.edge_index.to(device), self.num_nodes)

    def permuted(self, order: Tensor) -> "Edges":
        """Relabel the nodes and sort the edges anew."""
        inverse = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=order.device))
        moved = undirected(inverse[self.edge_index].cpu().numpy(), self.num_nodes)
        return Edges(moved.to(order.device), self.num_nodes)
