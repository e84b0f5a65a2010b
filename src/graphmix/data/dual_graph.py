"""Links become nodes: the dual graph, in which classifying links is classifying nodes (Taskar et al., 2004).

Two links are joined when they share a user. Their number grows with the sum of squared degrees, so nothing here
writes them out unless asked. With B the incidence `[users, links]` and Q the links of each unordered pair of
different users `[pairs, links]`, both of 0 and 1,

    A + I = BᵀB - QᵀQ.

BᵀB counts the users two links share. That is 2 for links between the same two users, whichever way they point, and
for a link and itself; taking off 1 for each pair leaves 1. A link from a user to itself has one end: it is one entry
in B and none in Q, and BᵀB is right for it as it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data.checks import check_edges
from graphmix.data.graph import Graph
from graphmix.errors import DataError
from graphmix.sparse import Chain, SparseMatrix

# As an edge list, this many pairs take a third of a gigabyte, and several times that while they are found.
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

    A node's features are the two ends of its link, one column per user, row-normalised: 1/2 at each end, 1 at the
    only end of a self-loop. They do not tell one end from the other.

    Args:
        links: `[2, links]` of user numbers; repeats, links back and self-loops are links of their own.
        num_users: how many users there are, with links or without.
        y: `[links]` of class numbers, -1 for unknown: a signed link's class is 0 or 1, not its sign.
        num_classes: as for `Graph.build`.
        name: what to call the graph.
        class_names: `[classes]`.

    Raises:
        DataError: something in the input is wrong; the message names it.

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
                f"no link of {name} is {called!r}; write class {label} for those that are (-1 means unknown)"
            )
    return bare.with_structure(SharedEnds(torch.from_numpy(ends)))


@dataclass(frozen=True, eq=False)
class SharedEnds:
    """The structure of a dual graph: two nodes are joined when their links share an end.

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
        """None: two links share a user or do not."""
        return None

    @cached_property
    def num_edges(self) -> int:
        """How many pairs of links share a user: each node's degree, summed and halved."""
        return int(self._degrees.sum() - self._degrees.size) // 2

    @cached_property
    def num_propagated(self) -> int:
        """An entry per end of a link and one more where it has two, in each of the two factors."""
        users, pairs = self._incidence
        return 2 * int(users.nnz + pairs.nnz)

    @cached_property
    def propagation(self) -> Chain | None:
        """D^-1/2 (BᵀB - QᵀQ) D^-1/2 as [Bᵀ, -Qᵀ] times [B, Q], both scaled."""
        if self.num_edges == 0:
            return None
        users, pairs = self._incidence
        scale = sp.diags_array(self._degrees.astype(np.float64) ** -0.5)
        left = scale @ sp.hstack([users.T, -pairs.T])
        right = sp.vstack([users, pairs]) @ scale
        return Chain((SparseMatrix.from_scipy(left), SparseMatrix.from_scipy(right))).to(self.ends.device)

    @cached_property
    def edge_index(self) -> Tensor:
        """Every pair of links that share a user, listed on first use: int64 `[2, 2 * edges]`.

        Raises:
            DataError: there are more than `MOST_LISTED`.
        """
        if self.num_edges > MOST_LISTED:
            raise DataError(
                f"{self.num_edges:,} pairs of links share a user, more than the {MOST_LISTED:,} that are listed; "
                "use a gcn, which needs no list"
            )
        users, _ = self._incidence
        shared = sp.csr_array(users.T @ users)
        shared.sort_indices()
        row, col = np.repeat(np.arange(shared.shape[0]), np.diff(shared.indptr)), shared.indices.astype(np.int64)
        return torch.from_numpy(np.stack([row, col])[:, row != col]).to(self.ends.device)

    def to(self, device: torch.device | str) -> "SharedEnds":
        """Move to a device."""
        return SharedEnds(self.ends.to(device))

    def permuted(self, order: Tensor) -> "SharedEnds":
        """Put the links into another order."""
        return SharedEnds(self.ends[:, order])

    @cached_property
    def _incidence(self) -> tuple[sp.csr_array, sp.csr_array]:
        """B and Q, without rows of users who have no link."""
        ends = np.sort(self.ends.cpu().numpy(), axis=0)
        place = np.arange(ends.shape[1])
        two = ends[0] != ends[1]
        users = _membership(np.concatenate([ends[0], ends[1, two]]), np.concatenate([place, place[two]]), place.size)
        pairs = _membership(ends[0, two] * (ends.max() + 1) + ends[1, two], place[two], place.size)
        return users, pairs

    @cached_property
    def _degrees(self) -> NDArray[np.int64]:
        """Row sums of A + I: int64 `[links]`."""
        users, pairs = self._incidence
        degrees: NDArray[np.int64] = users.T @ users.sum(axis=1) - pairs.T @ pairs.sum(axis=1)
        return degrees


def _membership(group: NDArray[np.int64], place: NDArray[np.int64], links: int) -> sp.csr_array:
    """Say which links belong to each group: 0/1 `[groups, links]`, a row per group that has any."""
    held, row = np.unique(group, return_inverse=True)
    return sp.csr_array((np.ones(place.size, dtype=np.int64), (row, place)), shape=(held.size, links))
