"""A sparse matrix in CSR form, with what products over the trial axis need kept beside it; and a product of some."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.errors import ConfigError


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A constant sparse matrix shared by all trials.

    Attributes:
        crow: int32 `[rows + 1]`, where each row starts in `col`.
        col: int32 `[nonzeros]`, sorted within a row, no repeats.
        values: float32 `[nonzeros]`.
        shape: (rows, columns).
    """

    crow: Tensor
    col: Tensor
    values: Tensor
    shape: tuple[int, int]
    _tilings: dict[tuple[int, int], "Tiling"] = field(default_factory=dict, init=False, repr=False)
    _largest: dict[int, "Tiling"] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_scipy(cls, matrix: sp.spmatrix | sp.sparray) -> "SparseMatrix":
        """Convert any scipy sparse matrix; explicit zeros go, repeated entries are summed."""
        csr = sp.csr_array(matrix, dtype=np.float32, copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        return cls(
            torch.from_numpy(csr.indptr.astype(np.int32)),
            torch.from_numpy(csr.indices.astype(np.int32)),
            torch.from_numpy(csr.data),
            (csr.shape[0], csr.shape[1]),
        )

    def to_scipy(self) -> sp.csr_array:
        """Convert back, on the host."""
        parts = (self.values.cpu().numpy(), self.col.cpu().numpy(), self.crow.cpu().numpy())
        return sp.csr_array(parts, shape=self.shape)

    def to(self, device: torch.device | str) -> "SparseMatrix":
        """Move to a device."""
        if self.values.device == torch.device(device):
            return self
        return SparseMatrix(self.crow.to(device), self.col.to(device), self.values.to(device), self.shape)

    def to_dense(self) -> Tensor:
        """Write out every entry: float32 `[rows, columns]`. For small matrices and tests."""
        return torch.from_numpy(self.to_scipy().toarray()).to(self.values.device)

    @property
    def nonzeros(self) -> int:
        """How many entries are stored."""
        return self.values.numel()

    @cached_property
    def origin(self) -> Tensor:
        """For each non-zero of the transpose, its position in this matrix: int32 `[nonzeros]`."""
        positions = sp.csr_array(
            (np.arange(1, self.nonzeros + 1), self.col.cpu().numpy(), self.crow.cpu().numpy()),
            shape=self.shape,
        )
        return torch.from_numpy((positions.T.tocsr().data - 1).astype(np.int32)).to(self.values.device)

    @cached_property
    def transposed(self) -> "SparseMatrix":
        """The transpose, computed once."""
        flipped = sp.csr_array(self.to_scipy().T)
        return SparseMatrix.from_scipy(flipped).to(self.values.device)

    def tiled(self, trials: int, copies: int = 1) -> "Tiling":
        """Repeat the matrix along a block diagonal, `copies` times for each trial.

        The result is `[trials * copies * rows, trials * columns]`: a trial's copies stand below one another. The first
        trials of a larger tiling are a smaller one: only the largest takes memory, others are views of it.
        """
        # Threads share this: each step below leaves the dict fit for the others, and at worst one works in vain.
        tiling = self._tilings.get((trials, copies))
        if tiling is None:
            blocks = trials * copies
            largest = self._largest.get(copies)
            if largest is None or largest.crow.numel() <= blocks * self.shape[0]:
                tiling = self._largest[copies] = self._tile(trials, copies)
                # Views of the one before would keep it in memory.
                self._tilings.clear()
            else:
                end = blocks * self.nonzeros
                tiling = Tiling(largest.crow[: blocks * self.shape[0] + 1], largest.col[:end], largest.values[:end])
            self._tilings[trials, copies] = tiling
        return tiling

    def _tile(self, trials: int, copies: int) -> "Tiling":
        blocks = trials * copies
        if blocks * max(self.nonzeros, self.shape[1]) >= 2**31:
            raise ConfigError(f"{blocks} copies of {self.nonzeros:,} non-zeros are too many at once; lower --chunk")
        block = torch.arange(blocks, device=self.col.device, dtype=torch.int32)[:, None]
        end = torch.full((1,), blocks * self.nonzeros, device=self.col.device, dtype=torch.int32)
        return Tiling(
            torch.cat([(block * self.nonzeros + self.crow[:-1]).flatten(), end]),
            (block // copies * self.shape[1] + self.col).flatten(),
            self.values.repeat(blocks),
        )


class Tiling(NamedTuple):
    """A matrix repeated along a block diagonal, in CSR form."""

    crow: Tensor
    col: Tensor
    values: Tensor


@dataclass(frozen=True, eq=False)
class Chain:
    """A product of sparse matrices that is never written out, for when the factors are far smaller than it.

    Attributes:
        factors: each `[rows, columns]`, as many columns as the next has rows.
    """

    factors: tuple[SparseMatrix, ...]

    def __post_init__(self) -> None:
        for first, second in pairwise(self.factors):
            if first.shape[1] != second.shape[0]:
                raise ConfigError(f"matrices {list(first.shape)} and {list(second.shape)} cannot be multiplied")

    @property
    def shape(self) -> tuple[int, int]:
        """Of the product: (rows, columns)."""
        return self.factors[0].shape[0], self.factors[-1].shape[1]

    @cached_property
    def transposed(self) -> "Chain":
        """The transpose, of the factors' own, computed once."""
        return Chain(tuple(factor.transposed for factor in reversed(self.factors)))

    def to(self, device: torch.device | str) -> "Chain":
        """Move to a device."""
        return Chain(tuple(factor.to(device) for factor in self.factors))

    def to_dense(self) -> Tensor:
        """Write out every entry: float32 `[rows, columns]`. For small matrices and tests."""
        first, *rest = (factor.to_scipy() for factor in self.factors)
        for factor in rest:
            first = first @ factor
        return torch.from_numpy(first.toarray()).to(self.factors[0].values.device)
