"""The contract of `ops` on CUDA: one kernel, a program per row and a few trials.

The kernel is limited by memory: each non-zero costs a gather of `width` floats from the trial's operand, which the L2
cache holds at the usual sizes. Non-zeros that dropout removed are not gathered. A row's non-zeros are summed in the
same order whatever else is in the batch, so a trial's result does not depend on the other trials.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import check_grid
from graphmix.sparse import triton_segments
from graphmix.sparse.matrix import SparseMatrix

SEGMENTS = True
_LANES = 64  # values that one program sums: columns of the operand, for as many trials as fit


def product(
    matrix: SparseMatrix,
    dense: Tensor,
    words: Tensor | None = None,
    scale: float = 1.0,
    origin: Tensor | None = None,
) -> Tensor:
    """Multiply a matrix, with dropout if `words` is given, with each trial's operand.

    Args:
        matrix: `[rows, columns]`.
        dense: `[trials, columns, width]`.
        words: int64 `[trials * copies, words]`, one bit per non-zero: kept or dropped.
        scale: factor for kept non-zeros.
        origin: int32 `[nonzeros]`, which bit belongs to each non-zero; default: bits are in the order of the non-zeros.

    Returns:
        `[trials * copies, rows, width]`.
    """
    if SEGMENTS:
        return triton_segments.product(matrix, dense, words, scale, origin)
    dense = dense.contiguous()
    trials, _, width = dense.shape
    blocks = trials if words is None else words.shape[0]
    out = torch.empty(blocks, matrix.shape[0], width, device=dense.device, dtype=dense.dtype)
    if out.numel() == 0:
        return out
    lanes = min(triton.next_power_of_2(width), _LANES)
    together = _LANES // lanes
    per_row = max(1, matrix.nonzeros // max(1, matrix.shape[0]))
    grid = (matrix.shape[0], triton.cdiv(blocks, together), triton.cdiv(width, lanes))
    check_grid(*grid)
    with torch.cuda.device_of(dense):
        _product_kernel[grid](
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
            blocks,
            blocks // trials,
            words.stride(0) if words is not None else 0,
            scale,
            MASKED=words is not None,
            MOVED=origin is not None,
            NONZEROS=min(max(triton.next_power_of_2(per_row), 4), 16),
            WIDTH=lanes,
            TOGETHER=together,
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
    blocks,
    copies,
    words_stride,
    scale,
    MASKED: tl.constexpr,  # noqa: N803
    MOVED: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    TOGETHER: tl.constexpr,  # noqa: N803
):
    row = tl.program_id(0)
    place = tl.arange(0, TOGETHER * WIDTH)
    block = (tl.program_id(1) * TOGETHER + place // WIDTH).to(tl.int64)
    lane = tl.program_id(2) * WIDTH + place % WIDTH
    inside = (lane < width) & (block < blocks)
    operand = dense + (block // copies) * columns * width + lane
    start = tl.load(crow + row)
    end = tl.load(crow + row + 1)
    total = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    for first in range(start, end, NONZEROS):
        entry = first + tl.arange(0, NONZEROS)
        live = entry < end
        column = tl.load(col + entry, mask=live, other=0)
        value = tl.load(values + entry, mask=live, other=0.0) * scale
        kept = live[:, None] & inside[None, :]
        if MASKED:
            bit = entry
            if MOVED:
                bit = tl.load(origin + entry, mask=live, other=0)
            word = tl.load(words + block[None, :] * words_stride + (bit >> 6)[:, None], mask=kept, other=0)
            kept = kept & (((word >> (bit & 63)[:, None]) & 1) == 1)
        found = tl.load(operand[None, :] + column.to(tl.int64)[:, None] * width, mask=kept, other=0.0)
        total += tl.sum(found * value[:, None], axis=0)
    tl.store(out + (block * rows + row) * width + lane, total, mask=inside)
