"""A sparse matrix in CSR form, with what products over the trial axis need, and products of several matrices."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.errors import ConfigError, DataError
from graphmix.streams import WORD_BITS

# Positions are int32. Kernels read a row in steps of up to 64 and count past its end, so the last 64 are left free.
MOST_NONZEROS = 2**31 - 64


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
    _captured: list["Tiling"] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_size(self.shape, self.values.numel())

    @classmethod
    def from_scipy(cls, matrix: sp.spmatrix | sp.sparray) -> "SparseMatrix":
        """Convert any scipy sparse matrix: drop explicit zeros, sum repeated entries.

        Raises:
            DataError: it has more rows, columns or non-zeros than `MOST_NONZEROS`.
        """
        csr = sp.csr_array(matrix, dtype=np.float32, copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        # Checked before the conversion to int32, which would wrap without an error.
        check_size((csr.shape[0], csr.shape[1]), csr.nnz)
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

    @cached_property
    def written_out(self) -> Tensor:
        """Every entry, computed once and kept: float32 `[rows, columns]`. Only where there is memory for it."""
        return self.to_dense()

    @property
    def nonzeros(self) -> int:
        """How many entries are stored."""
        return self.values.numel()

    @cached_property
    def arrays(self) -> tuple[Any, Any, Any]:
        """`crow`, `col` and `values` as numpy arrays that share their memory; on the CPU only."""
        return self.crow.numpy(), self.col.numpy(), self.values.numpy()

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

        The result is `[trials * copies * rows, trials * columns]`, a trial's copies one below the other. A smaller
        tiling is the beginning of a larger one: only the largest takes memory, the others are views of it.

        Raises:
            ConfigError: the repeated matrix has more entries than `MOST_NONZEROS`.
        """
        # Threads share the dict: each step below leaves it valid, and at worst a tiling is computed twice.
        tiling = self._tilings.get((trials, copies))
        if tiling is None:
            blocks = trials * copies
            largest = self._largest.get(copies)
            if largest is None or largest.crow.numel() <= blocks * self.shape[0]:
                if largest is not None and largest.crow.is_cuda:
                    # A CUDA graph that was captured with it reads the same memory at every replay.
                    self._captured.append(largest)
                tiling = self._largest[copies] = self._tile(trials, copies)
                # Views of the previous largest tiling would keep it in memory.
                self._tilings.clear()
            else:
                end = blocks * self.nonzeros
                tiling = Tiling(largest.crow[: blocks * self.shape[0] + 1], largest.col[:end], largest.values[:end])
            self._tilings[trials, copies] = tiling
        return tiling

    def _tile(self, trials: int, copies: int) -> "Tiling":
        blocks = trials * copies
        # Dropout draws whole words for every copy, so there are a few more bits than non-zeros.
        padded = -(-self.nonzeros // WORD_BITS) * WORD_BITS
        if blocks * max(padded, self.shape[1]) > MOST_NONZEROS:
            raise ConfigError(
                f"{blocks} copies of a matrix with {self.nonzeros:,} non-zeros exceed {MOST_NONZEROS:,}; train fewer "
                "trials at once (`chunk`)"
            )
        block = torch.arange(blocks, device=self.col.device, dtype=torch.int32)[:, None]
        end = torch.full((1,), blocks * self.nonzeros, device=self.col.device, dtype=torch.int32)
        return Tiling(
            torch.cat([(block * self.nonzeros + self.crow[:-1]).flatten(), end]),
            (block // copies * self.shape[1] + self.col).flatten(),
            self.values.repeat(blocks),
        )


def check_size(shape: tuple[int, int], nonzeros: int) -> None:
    """Raise DataError unless int32 positions can address a matrix of this shape with this many non-zeros."""
    for count, what in ((nonzeros, "non-zeros"), (shape[0], "rows"), (shape[1], "columns")):
        if count > MOST_NONZEROS:
            raise DataError(f"a sparse matrix has {count:,} {what}; at most {MOST_NONZEROS:,} are supported")


class Tiling(NamedTuple):
    """A matrix repeated along a block diagonal, in CSR form."""

    crow: Tensor
    col: Tensor
    values: Tensor


@dataclass(frozen=True, eq=False)
class Chain:
    """A product of sparse matrices that is never written out, for factors that are far smaller than their product.

    Attributes:
        factors: each `[rows, columns]`, with as many columns as the next has rows.
    """

    factors: tuple[SparseMatrix, ...]

    def __post_init__(self) -> None:
        for first, second in pairwise(self.factors):
            if first.shape[1] != second.shape[0]:
                raise ConfigError(f"matrices {list(first.shape)} and {list(second.shape)} cannot be multiplied")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the product: (rows, columns)."""
        return self.factors[0].shape[0], self.factors[-1].shape[1]

    @cached_property
    def transposed(self) -> "Chain":
        """The transpose, from the factors' transposes, computed once."""
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
