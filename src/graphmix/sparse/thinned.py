"""A propagation matrix with some edges left out, other ones in every trial, and normalised again."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.sparse.ops import dropout_matmul, matmul
from graphmix.streams import Keep


@dataclass(frozen=True, eq=False)
class Thinned:
    """D^-1/2 (M ∘ A + I) D^-1/2 of each trial, never written out; D has the row sums of M ∘ A + I.

    Attributes:
        adjacency: A `[nodes, nodes]`, without self-loops.
        keep: M, one bit per non-zero of A and trial; its scale is 1.
        scale: D^-1/2 `[trials, nodes, 1]`.
    """

    adjacency: SparseMatrix
    keep: Keep
    scale: Tensor

    @classmethod
    def of(cls, adjacency: SparseMatrix, keep: Keep) -> "Thinned":
        """Normalise what is kept of the edges."""
        plain = replace(keep, scale=1.0)
        ones = torch.ones(keep.words.shape[0], adjacency.shape[1], 1, device=keep.words.device)
        return cls(adjacency, plain, (dropout_matmul(adjacency, plain, ones) + 1).rsqrt())

    def times(self, dense: Tensor) -> Tensor:
        """Multiply with each trial's operand `[trials, nodes, width]`."""
        scaled = self.scale * dense
        return self.scale * (dropout_matmul(self.adjacency, self.keep, scaled) + scaled)


def propagate(matrix: SparseMatrix | Chain | Thinned, dense: Tensor) -> Tensor:
    """Multiply one matrix, or each trial's own thinned one, with each trial's operand `[trials, nodes, width]`."""
    return matrix.times(dense) if isinstance(matrix, Thinned) else matmul(matrix, dense)
