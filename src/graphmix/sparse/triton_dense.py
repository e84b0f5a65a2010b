"""Products of rows with their trial's weight on CUDA, and the gradient of the weight.

cuBLAS chooses a kernel by the number of trials, and kernels differ in how they round. These add in the same order
whatever else is in the batch. The gradient of a weight is a sum over all rows of a trial, which cuBLAS gives to one
block of threads. Here rows are shared out in parts, and the parts are added in order.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import MOST_Y_OR_Z, check_grid
from graphmix.sparse.triton_rows import each_contiguous

_PART = 512  # rows that a program sums for a gradient; more if CUDA cannot start so many programs
_ROWS = 64  # rows that a program multiplies
_INNER = 32
_TILE = 64
_BLOCK = 256


def multiply(values: Tensor, weight: Tensor) -> Tensor:
    """Multiply `[trials, rows, columns]` with `[trials, columns, width]`; values may be one tensor, expanded."""
    values = each_contiguous(values)
    (trials, rows, columns), width = values.shape, weight.shape[2]
    out = torch.empty(trials, rows, width, device=values.device)
    if out.numel() == 0:
        return out
    wide = _tile(width)
    grid = (triton.cdiv(rows, _ROWS), trials, triton.cdiv(width, wide))
    check_grid(*grid)
    with torch.cuda.device_of(values):
        _multiply_kernel[grid](
            values,
            weight,
            out,
            rows,
            columns,
            width,
            values.stride(0),
            *weight.stride(),
            ROWS=_ROWS,
            INNER=min(_INNER, _tile(columns)),
            WIDTH=wide,
            num_warps=4,
        )
    return out


def _tile(size: int) -> int:
    """The size of a tile; a tensor core multiplies at least 16."""
    power: int = triton.next_power_of_2(size)
    return min(_TILE, max(16, power))


def weight_gradient(values: Tensor, grad: Tensor) -> Tensor:
    """Sum the outer products of rows of values `[trials, rows, columns]` and of a gradient `[trials, rows, width]`.

    Returns:
        `[trials, columns, width]`.
    """
    values, grad = each_contiguous(values), grad.contiguous()
    (trials, rows, columns), width = values.shape, grad.shape[2]
    part = _PART
    while triton.cdiv(rows, part) > MOST_Y_OR_Z:
        part *= 2
    parts = max(1, triton.cdiv(rows, part))
    partial = torch.empty(trials, parts, columns, width, device=grad.device)
    high, wide = _tile(columns), _tile(width)
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
            values.stride(0),
            tiles,
            PART=part,
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


@triton.jit(do_not_specialize=["rows", "trial_step"])
def _multiply_kernel(  # type: ignore[no-untyped-def]
    values,
    weight,
    out,
    rows,
    columns,
    width,
    values_step,
    trial_step,
    column_step,
    lane_step,
    ROWS: tl.constexpr,  # noqa: N803
    INNER: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
):
    trial = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    values += trial * values_step
    real, inside = (row < rows)[:, None], (lane < width)[None, :]
    weight += trial * trial_step
    total = tl.zeros([ROWS, WIDTH], dtype=tl.float32)
    for first in range(0, columns, INNER):
        column = first + tl.arange(0, INNER)
        known = column < columns
        place = row.to(tl.int64)[:, None] * columns + column[None, :]
        left = tl.load(values + place, mask=real & known[None, :], other=0.0)
        there = column[:, None] * column_step + lane[None, :] * lane_step
        right = tl.load(weight + there, mask=known[:, None] & inside, other=0.0)
        total = tl.dot(left, right, total, input_precision="tf32x3")
    tl.store(out + (trial * rows + row)[:, None] * width + lane[None, :], total, mask=real & inside)


@triton.jit(do_not_specialize=["rows"])
def _outer_kernel(  # type: ignore[no-untyped-def]
    values,
    grad,
    out,
    rows,
    columns,
    width,
    values_step,
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
        left = tl.load(
            values + trial * values_step + row.to(tl.int64)[None, :] * columns + column[:, None],
            mask=live[None, :] & (column < columns)[:, None],
            other=0.0,
        )
        right = tl.load(
            grad + (trial * rows + row)[:, None] * width + lane[None, :],
            mask=live[:, None] & (lane < width)[None, :],
            other=0.0,
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
