"""The gradient of a weight that multiplies many rows, on CUDA.

It is a sum over all rows of a trial. cuBLAS lets one block of threads sum them; these kernels share the rows out in
parts, and add the parts in order, so that a trial's result does not depend on the other trials.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import check_grid

PART = 512  # rows that a program sums
_TILE = 64
_BLOCK = 256


def weight_gradient(values: Tensor, grad: Tensor) -> Tensor:
    """Sum the outer products of rows of values `[trials, rows, columns]` and of a gradient `[trials, rows, width]`.

    Returns:
        `[trials, columns, width]`.
    """
    values, grad = values.contiguous(), grad.contiguous()
    (trials, rows, columns), width = values.shape, grad.shape[2]
    parts = max(1, triton.cdiv(rows, PART))
    partial = torch.empty(trials, parts, columns, width, device=grad.device)
    high, wide = (min(_TILE, max(16, triton.next_power_of_2(size))) for size in (columns, width))
    tiles = triton.cdiv(width, wide)
    grid = (trials, parts, triton.cdiv(columns, high) * tiles)
    check_grid(*grid)
    with torch.cuda.device_of(grad):
        _outer_kernel[grid](
            values,
            grad,
            partial,
            rows,
            columns,
            width,
            tiles,
            PART=PART,
            ROWS=32,
            COLUMNS=high,
            WIDTH=wide,
            num_warps=max(1, high * wide // 512),
        )
        if parts == 1:
            return partial[:, 0]
        out = torch.empty(trials, columns, width, device=grad.device)
        entries = columns * width
        _add_kernel[(triton.cdiv(entries, _BLOCK), trials)](partial, out, parts, entries, BLOCK=_BLOCK, num_warps=4)
    return out


@triton.jit(do_not_specialize=["rows"])
def _outer_kernel(  # type: ignore[no-untyped-def]
    values,
    grad,
    out,
    rows,
    columns,
    width,
    tiles,
    PART: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
    COLUMNS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
):
    trial = tl.program_id(0).to(tl.int64)
    column = tl.program_id(2) // tiles * COLUMNS + tl.arange(0, COLUMNS)
    lane = tl.program_id(2) % tiles * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros([COLUMNS, WIDTH], dtype=tl.float32)
    start = tl.program_id(1) * PART
    end = tl.minimum(start + PART, rows)
    for first in range(start, end, ROWS):
        row = first + tl.arange(0, ROWS)
        live = row < end
        place = trial * rows + row
        left = tl.load(
            values + place[None, :] * columns + column[:, None],
            mask=live[None, :] & (column < columns)[:, None],
            other=0.0,
        )
        right = tl.load(
            grad + place[:, None] * width + lane[None, :], mask=live[:, None] & (lane < width)[None, :], other=0.0
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    goal = ((trial * tl.num_programs(1) + tl.program_id(1)) * columns + column[:, None]) * width + lane[None, :]
    tl.store(out + goal, total, mask=(column < columns)[:, None] & (lane < width)[None, :])


@triton.jit(do_not_specialize=["parts"])
def _add_kernel(partial, out, parts, entries, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial = tl.program_id(1).to(tl.int64)
    entry = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    here = entry < entries
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for part in range(parts):
        total += tl.load(partial + (trial * parts + part) * entries + entry, mask=here, other=0.0)
    tl.store(out + trial * entries + entry, total, mask=here)
