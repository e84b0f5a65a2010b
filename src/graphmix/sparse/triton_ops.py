"""The contract of `ops` on CUDA: one kernel, a program per row and trial.

Bound by memory: each non-zero costs a gather of `width` floats from the trial's operand, out of the L2 cache for the
sizes here. Non-zeros that dropout removed are not gathered. A row's non-zeros are summed in the same order whatever
else is in the batch, so a trial's result does not depend on the trials beside it.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.sparse.matrix import SparseMatrix

_MAX_WIDTH = 64  # columns of the operand one program sums; wider operands take several programs


def product(
    matrix: SparseMatrix,
    dense: Tensor,
    words: Tensor | None = None,
    scale: float = 1.0,
    origin: Tensor | None = None,
) -> Tensor:
    """Multiply a matrix, dropped out where `words` is given, with each trial's operand.

    Args:
        matrix: `[rows, columns]`.
        dense: `[trials, columns, width]`.
        words: int64 `[trials, words]`, one bit per non-zero: kept or dropped.
        scale: what kept non-zeros are multiplied by.
        origin: int32 `[nonzeros]`, which bit belongs to each non-zero; their own order where not given.

    Returns:
        `[trials, rows, width]`.
    """
    dense = dense.contiguous()
    trials, _, width = dense.shape
    out = torch.empty(trials, matrix.shape[0], width, device=dense.device, dtype=dense.dtype)
    if out.numel() == 0:
        return out
    block = min(triton.next_power_of_2(width), _MAX_WIDTH)
    per_row = max(1, matrix.nonzeros // max(1, matrix.shape[0]))
    _product_kernel[(matrix.shape[0], trials, triton.cdiv(width, block))](
        matrix.crow,
        matrix.col,
        matrix.values,
        words if words is not None else matrix.col,
        origin if origin is not None else matrix.col,
        dense,
        out,
        matrix.shape[0],
        matrix.shape[1],
        width,
        words.stride(0) if words is not None else 0,
        scale,
        MASKED=words is not None,
        MOVED=origin is not None,
        NONZEROS=min(max(triton.next_power_of_2(per_row), 4), 32),
        WIDTH=block,
        num_warps=1,
    )
    return out


@triton.jit
def _product_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    values,
    words,
    origin,
    dense,
    out,
    rows,
    columns,
    width,
    words_stride,
    scale,
    MASKED: tl.constexpr,  # noqa: N803
    MOVED: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
):
    row = tl.program_id(0)
    trial = tl.program_id(1).to(tl.int64)
    lane = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    inside = lane < width
    start = tl.load(crow + row)
    end = tl.load(crow + row + 1)
    total = tl.zeros([WIDTH], dtype=tl.float32)
    for first in range(start, end, NONZEROS):
        place = first + tl.arange(0, NONZEROS)
        live = place < end
        column = tl.load(col + place, mask=live, other=0)
        value = tl.load(values + place, mask=live, other=0.0)
        if MASKED:
            bit = place
            if MOVED:
                bit = tl.load(origin + place, mask=live, other=0)
            word = tl.load(words + trial * words_stride + (bit >> 6), mask=live, other=0)
            live = live & (((word >> (bit & 63)) & 1) == 1)
            value = tl.where(live, value * scale, 0.0)
        offset = (trial * columns + column)[:, None] * width + lane[None, :]
        operand = tl.load(dense + offset, mask=live[:, None] & inside[None, :], other=0.0)
        total += tl.sum(operand * value[:, None], axis=0)
    tl.store(out + (trial * rows + row) * width + lane, total, mask=inside)
