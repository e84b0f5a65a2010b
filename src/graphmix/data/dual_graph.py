"""The dual graph: its nodes are links, so that classifying links is classifying nodes (Taskar et al., 2004).

Two links are joined if they share a user. The number of such pairs grows with the sum of squared degrees, so they are
only listed on request. With B the incidence `[users, links]` and Q the links of each unordered pair of different users
`[pairs, links]`, both of 0 and 1,

    A + I = BᵀB - QᵀQ.

BᵀB counts the users that two links share. It counts 2 for links between the same two users, in either direction, and
for a link and itself; subtracting 1 for each pair leaves 1. A link from a user to itself has one end: it is one entry
in B and none in Q, and BᵀB is already 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.data.checks import check_edges
from graphmix.data.graph import Graph
from graphmix.data.structure import EdgeCounts, Floats, Ints, Mask, count_components
from graphmix.errors import DataError
from graphmix.sparse import Chain, SparseMatrix

# A list of this many pairs takes a third of a gigabyte, and several times that while it is made.
MOST_LISTED = 10_000_000


def dual(
    links: object,
    num_users: int,
    y: object,
    num_classes: int | None = None,
    name: str = "dual",
    class_names: Sequence[str] | None = None,
) -> Graph:
    """Make the graph whose nodes are links.

    The features of a node are the two ends of its link, one column per user, row-normalised: 1/2 at each end, or 1 at
    the only end of a self-loop. They do not distinguish the two ends.

    Args:
        links: `[2, links]` of user numbers; repeated links, links back and self-loops each count as a link.
        num_users: number of users, with links or without.
        y: `[links]` of class numbers, -1 for unknown; the class of a signed link is 0 or 1, not its sign.
        num_classes: as for `Graph.build`.
        name: what to call the graph.
        class_names: `[classes]`.

    Raises:
        DataError: the input is invalid; the message says where.

    Example:
        >>> dual(links=[[0, 1, 3], [1, 2, 0]], num_users=4, y=[0, 1, 1])
        Graph('dual': 3 nodes, 2 edges, 4 features, 2 classes)
    """
    ends = check_edges(links, num_users)
    place = np.tile(np.arange(ends.shape[1]), 2)
    x = sp.csr_array((np.ones(place.size), (place, ends.ravel())), shape=(ends.shape[1], num_users))
    bare = Graph.build(x, [[], []], y, num_classes, name, class_names)
    for label, called in enumerate(bare.class_names or ()):
        if not (bare.y == label).any():
            raise DataError(
                f"no link of {name} has the class {called!r}; write {label} for links of this class (-1 means unknown)"
            )
    return bare.with_structure(SharedEnds(torch.from_numpy(ends)))


@dataclass(frozen=True, eq=False)
class SharedEnds:
    """The structure of a dual graph: two nodes are joined if their links share an end.

    Attributes:
        ends: int64 `[2, links]`.
    """

    ends: Tensor

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The links."""
        return (self.ends,)

    @property
    def weights(self) -> Tensor | None:
        """None: all weights are 1."""
        return None

    @cached_property
    def num_edges(self) -> int:
        """Number of pairs of links that share a user: half the sum of the degrees."""
        return int(self.degrees.sum()) // 2

    @cached_property
    def num_propagated(self) -> int:
        """In each of the two factors, an entry per end of a link and one more if it has two."""
        users, pairs = self._incidence
        return 2 * int(users.nnz + pairs.nnz)

    @cached_property
    def propagation(self) -> Chain | None:
        """D^-1/2 (BᵀB - QᵀQ) D^-1/2 as [Bᵀ, -Qᵀ] times [B, Q], both scaled."""
        if self.num_edges == 0:
            return None
        users, pairs = self._incidence
        scale = sp.diags_array((self.degrees + 1).astype(np.float64) ** -0.5)
        left = scale @ sp.hstack([users.T, -pairs.T])
        right = sp.vstack([users, pairs]) @ scale
        return Chain((SparseMatrix.from_scipy(left), SparseMatrix.from_scipy(right))).to(self.ends.device)

    @cached_property
    def neighbour_mean(self) -> Chain | None:
        """D^-1 (BᵀB - QᵀQ - I) as [Bᵀ, -Qᵀ, -I] times [B, Q, I], the first scaled."""
        return self._adjacency(1 / np.maximum(self.degrees, 1), np.ones(len(self.degrees)))

    @cached_property
    def normalised_adjacency(self) -> Chain | None:
        """D^-1/2 (BᵀB - QᵀQ - I) D^-1/2 as [Bᵀ, -Qᵀ, -I] times [B, Q, I], both scaled."""
        scale = np.maximum(self.degrees, 1) ** -0.5
        return self._adjacency(scale, scale)

    def _adjacency(self, rows: Floats, columns: Floats) -> Chain | None:
        """BᵀB - QᵀQ - I, with its rows and columns scaled; None without edges."""
        if self.num_edges == 0:
            return None
        users, pairs = self._incidence
        own = sp.eye_array(users.shape[1])
        # A link without neighbours has an end that no other link has: BᵀB, QᵀQ and I leave 0 of it.
        left = sp.diags_array(rows) @ sp.hstack([users.T, -pairs.T, -own])
        right = sp.vstack([users, pairs, own]) @ sp.diags_array(columns)
        return Chain((SparseMatrix.from_scipy(left), SparseMatrix.from_scipy(right))).to(self.ends.device)

    @cached_property
    def edge_index(self) -> Tensor:
        """Every pair of links that share a user, listed on first use: int64 `[2, 2 * edges]`.

        Raises:
            DataError: there are more pairs than `MOST_LISTED`.
        """
        if self.num_edges > MOST_LISTED:
            raise DataError(
                f"{self.num_edges:,} pairs of links share a user, and at most {MOST_LISTED:,} can be listed; use "
                "a gcn, gcn2, chebyshev, gpr, sage or grand, which need no list"
            )
        users, _ = self._incidence
        shared = sp.csr_array(users.T @ users)
        shared.sort_indices()
        row, col = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr)), shared.indices.astype(np.int64)
        return torch.from_numpy(np.stack([row, col])[:, row != col]).to(self.ends.device)

    @cached_property
    def degrees(self) -> Ints:
        """Number of neighbours of each link: the row sums of BᵀB - QᵀQ, less 1."""
        users, pairs = self._incidence
        degrees: Ints = users.T @ users.sum(axis=1) - pairs.T @ pairs.sum(axis=1) - 1
        return degrees

    @property
    def strengths(self) -> Floats:
        """The degrees: all weights are 1."""
        return self.degrees.astype(np.float64)

    def edges_between(self, nodes: Mask, labels: Ints, num_classes: int) -> EdgeCounts:
        """Count the edges between the given nodes by their labels: those of BᵀB, less those that QᵀQ counts again."""
        place = np.flatnonzero(nodes)
        ones = np.ones(place.size, dtype=np.int64)
        class_of = sp.csr_array((ones, (np.arange(place.size), labels[place])), shape=(place.size, num_classes))
        edges, same, ends = 0, 0, np.zeros(num_classes, dtype=np.int64)
        for sign, incidence in zip((1, -1), self._incidence, strict=True):
            # Links with a user (or pair) in common are all joined to one another.
            by_class = sp.csr_array(incidence[:, place] @ class_of)
            size = by_class.sum(axis=1)
            edges += sign * int((size * (size - 1) // 2).sum())
            same += sign * int((by_class.data * (by_class.data - 1) // 2).sum())
            ends += sign * (by_class.T @ (size - 1))
        return EdgeCounts(edges, same, ends)

    def with_neighbours(self, nodes: Mask) -> Mask:
        """Return the given links and all that share a user with them."""
        ends = self.ends.cpu().numpy()
        users = np.zeros(ends.max() + 1, dtype=np.bool_)
        users[ends[:, nodes]] = True
        reached: Mask = users[ends].any(axis=0)
        return reached

    def neighbours_of(self, node: int) -> Ints:
        """Return the links that share a user with one link, in increasing order."""
        ends = self.ends.cpu().numpy()
        sharing: Ints = np.flatnonzero(np.isin(ends, ends[:, node]).any(axis=0))
        others: Ints = sharing[sharing != node]
        return others

    def count_components(self) -> int:
        """Count the connected components: as many as the links form among the users."""
        users = np.unique(self.ends.cpu().numpy(), return_inverse=True)[1].reshape(2, -1)
        return count_components(users, int(users.max()) + 1)

    def to(self, device: torch.device | str) -> "SharedEnds":
        """Move to a device."""
        return SharedEnds(self.ends.to(device))

    def permuted(self, order: Tensor) -> "SharedEnds":
        """Put the links into another order."""
        return SharedEnds(self.ends[:, order])

    def packed(self) -> dict[str, Tensor]:
        """Return the links as `ends`."""
        return {"ends": self.ends}

    @classmethod
    def from_packed(cls, packed: Mapping[str, Tensor], num_nodes: int) -> Self:
        """Read back what `packed` returned, and validate it; the number of users is not stored with it."""
        ends = packed["ends"]
        if ends.shape != (2, num_nodes) or ends.dtype != torch.int64 or int(ends.min()) < 0:
            raise DataError(f"the ends of {num_nodes} links must be user numbers [2, {num_nodes}] from 0 up")
        return cls(ends)

    @cached_property
    def _incidence(self) -> tuple[sp.csr_array, sp.csr_array]:
        """B and Q, without the rows of users that have no link."""
        ends = np.sort(self.ends.cpu().numpy(), axis=0)
        place = np.arange(ends.shape[1])
        two = ends[0] != ends[1]
        users = _membership(np.concatenate([ends[0], ends[1, two]]), np.concatenate([place, place[two]]), place.size)
        pairs = _membership(ends[0, two] * (ends.max() + 1) + ends[1, two], place[two], place.size)
        return users, pairs


def _membership(group: Ints, place: Ints, links: int) -> sp.csr_array:
    """Return which links belong to each group: 0/1 `[groups, links]`, a row per group with at least one link."""
    held, row = np.unique(group, return_inverse=True)
    return sp.csr_array((np.ones(place.size, dtype=np.int64), (row, place)), shape=(held.size, links))
