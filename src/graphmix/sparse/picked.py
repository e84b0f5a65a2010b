"""Some rows of a sparse matrix, with the dropout bits that they have in the whole matrix."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from graphmix.sparse import ops
from graphmix.sparse.matrix import SparseMatrix
from graphmix.streams import WORD_BITS, Keep

try:
    from graphmix.sparse import triton_ops
except ImportError:  # Triton ships with CUDA builds of torch only
    triton_ops = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class PickedRows(SparseMatrix):
    """Rows of a larger matrix. A loss that depends on few rows gives the same result with only these.

    Attributes:
        bits: int32 `[nonzeros]`, the position of each non-zero in the whole matrix, and so its dropout bit.
        entries: how many non-zeros the whole matrix has.
    """

    bits: Tensor = None  # type: ignore[assignment] # fields of the base class have defaults, so this needs one
    entries: int = 0

    @classmethod
    def of(cls, whole: SparseMatrix, rows: Tensor) -> "PickedRows":
        """Pick rows, int64 `[picks]`."""
        rows = rows.to(whole.crow.device)
        start = whole.crow[rows].long()
        length = whole.crow[rows + 1] - whole.crow[rows]
        crow = torch.cat([length.new_zeros(1), length.cumsum(0, dtype=torch.int32)])
        within = torch.arange(int(crow[-1]), device=rows.device) - crow[:-1].long().repeat_interleave(length)
        bits = start.repeat_interleave(length) + within
        shape = (len(rows), whole.shape[1])
        return cls(crow, whole.col[bits], whole.values[bits], shape, bits=bits.int(), entries=whole.nonzeros)

    def to(self, device: torch.device | str) -> "PickedRows":
        """Move to a device."""
        if self.values.device == torch.device(device):
            return self
        crow, col, values, bits = (each.to(device) for each in (self.crow, self.col, self.values, self.bits))
        return PickedRows(crow, col, values, self.shape, bits=bits, entries=self.entries)

    @cached_property
    def transposed_bits(self) -> Tensor:
        """For each non-zero of the transpose, its position in the whole matrix: int32 `[nonzeros]`."""
        return self.bits[self.origin.long()]


def picked_dropout_matmul(picked: PickedRows, keep: Keep, dense: Tensor) -> Tensor:
    """Multiply picked rows of each trial's dropped-out matrix with the trial's operand.

    Args:
        picked: `[picks, columns]`.
        keep: one bit per non-zero of the whole matrix, as in `dropout_matmul`.
        dense: `[trials, columns, width]`.

    Returns:
        `[trials * copies, picks, width]`, the same rows of `dropout_matmul` of the whole matrix.
    """
    result: Tensor = _PickedMatMul.apply(dense, picked, keep.words, keep.scale)
    return result


class _PickedMatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, picked: PickedRows, words: Tensor, scale: float) -> Tensor:
        ctx.picked, ctx.scale, ctx.trials = picked, scale, dense.shape[0]
        ctx.save_for_backward(words)
        return _product(picked, dense, words, scale, picked.bits)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (words,) = ctx.saved_tensors
        back = _product(ctx.picked.transposed, grad, words, ctx.scale, ctx.picked.transposed_bits)
        if back.shape[0] == ctx.trials:
            return back, None, None, None
        return back.unflatten(0, (ctx.trials, -1)).sum(dim=1), None, None, None


def _product(matrix: SparseMatrix, dense: Tensor, words: Tensor, scale: float, bits: Tensor) -> Tensor:
    if ops._use_triton(dense):
        return triton_ops.product(matrix, dense, words, scale, bits)
    place = bits.long()
    kept = words.index_select(1, place // WORD_BITS).bitwise_right_shift_(place % WORD_BITS).bitwise_and_(1)
    return ops._bag(matrix, kept * (matrix.values * scale), dense)
