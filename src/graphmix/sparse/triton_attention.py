"""The contract of `attention` on CUDA: three fused kernels, a program per row and a few (block, head) pairs.

The forward pass keeps two numbers per node and head, the largest score and the sum of the exponentials; the backward
pass computes the weights again from them. One backward kernel walks the rows and computes the targets' gradients. The
other walks the rows of the transpose and computes the sources' and values' gradients; it reads each edge's dropout bit
at the edge's place in the matrix. Each sum is computed by one program, in an order that does not depend on what else is
in the batch.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import check_grid
from graphmix.sparse.matrix import SparseMatrix

_LANES = 64  # values that one program sums: the width of a head, for as many pairs as fit
_ENTRIES = 256  # values that one program holds, non-zeros by lanes: with more, fewer programs get registers


class Attend(torch.autograd.Function):
    """`attend` for one matrix; sources and targets `[blocks, nodes, heads]`, values `[blocks, nodes, heads, width]`."""

    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        values: Tensor,
        matrix: SparseMatrix,
        slope: float,
        words: Tensor | None,
        scale: float,
    ) -> Tensor:
        """Return the average of every node's neighbours: `[blocks, nodes, heads, width]`."""
        source, target, values = source.contiguous(), target.contiguous(), values.contiguous()
        out, largest, total = torch.empty_like(values), torch.empty_like(source), torch.empty_like(source)
        ctx.matrix, ctx.slope, ctx.scale = matrix, slope, scale
        ctx.save_for_backward(source, target, values, words, out, largest, total)
        given = (source, target, values, out, largest, total)
        _launch(_forward_kernel, matrix, words, given, (slope, scale))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of source, target and values."""
        source, target, values, words, out, largest, total = ctx.saved_tensors
        matrix, factors = ctx.matrix, (ctx.slope, ctx.scale)
        to_source, to_target, to_values = torch.empty_like(source), torch.empty_like(target), torch.empty_like(values)
        shared = torch.empty_like(target)
        given = (source, target, values, grad.contiguous(), largest, total, shared)
        _launch(_row_kernel, matrix, words, (*given, out, to_target), factors)
        _launch(_column_kernel, matrix.transposed, words, (*given, matrix.origin, to_source, to_values), factors)
        return to_source, to_target, to_values, None, None, None, None


def _launch(
    kernel: Any, matrix: SparseMatrix, words: Tensor | None, tensors: tuple[Tensor, ...], factors: tuple[float, float]
) -> None:
    """Start one program per row and group of pairs; the third tensor has the shape `[blocks, nodes, heads, width]`."""
    blocks, nodes, heads, width = tensors[2].shape
    if tensors[2].numel() == 0:
        return
    lanes = triton.next_power_of_2(width)
    together = max(1, _LANES // lanes)
    per_row = max(1, matrix.nonzeros // nodes)
    grid = (nodes, triton.cdiv(blocks * heads, together))
    check_grid(*grid)
    with torch.cuda.device_of(tensors[2]):
        kernel[grid](
            matrix.crow,
            matrix.col,
            words if words is not None else matrix.col,
            *tensors,
            nodes,
            blocks * heads,
            words.stride(0) if words is not None else 0,
            *factors,
            heads=heads,
            width=width,
            MASKED=words is not None,
            NONZEROS=max(1, min(triton.next_power_of_2(per_row), _ENTRIES // lanes)),
            WIDTH=lanes,
            TOGETHER=together,
            num_warps=min(max(1, lanes // 128), 8),
        )


@triton.jit
def _place(nodes, pairs, heads: tl.constexpr, WIDTH: tl.constexpr, TOGETHER: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    # The place of this program's lanes: block, head, the position of (block, node 0, head) and of (block, own node,
    # head) in [blocks, nodes, heads], column, and whether the pair exists.
    lane = tl.arange(0, TOGETHER * WIDTH)
    pair = tl.program_id(1) * TOGETHER + lane // WIDTH
    block = (pair // heads).to(tl.int64)
    head = pair % heads
    base = block * nodes * heads + head
    return block, head, base, base + tl.program_id(0) * heads, lane % WIDTH, pair < pairs


@triton.jit
def _survives(words, edge, head, here, heads: tl.constexpr):  # type: ignore[no-untyped-def]
    # `words` points to the first word of each lane's block.
    bit = edge[:, None] * heads + head[None, :]
    word = tl.load(words[None, :] + (bit >> 6), mask=here, other=0)
    return here & (((word >> (bit & 63)) & 1) == 1)


@triton.jit
def _sum_lanes(values, WIDTH: tl.constexpr, TOGETHER: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    # Every lane gets the sum over its pair's lanes.
    summed = tl.sum(tl.reshape(values, [TOGETHER, WIDTH]), axis=1)
    return tl.reshape(tl.broadcast_to(summed[:, None], [TOGETHER, WIDTH]), [TOGETHER * WIDTH])


# The number of pairs changes from epoch to epoch: specialising on its value would compile kernels again.
@triton.jit(do_not_specialize=["pairs"])
def _forward_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    words,
    source,
    target,
    values,
    out,
    largest,
    total,
    nodes,
    pairs,
    words_stride,
    slope,
    scale,
    heads: tl.constexpr,
    width: tl.constexpr,
    MASKED: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    TOGETHER: tl.constexpr,  # noqa: N803
):
    block, head, base, own, column, real = _place(nodes, pairs, heads, WIDTH, TOGETHER)
    inside = real & (column < width)
    score_own = tl.load(target + own, mask=real, other=0.0)
    highest = tl.full([TOGETHER * WIDTH], float("-inf"), dtype=tl.float32)
    divisor = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    gathered = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    source += base
    values += base * width + column
    words += block * words_stride
    end = tl.load(crow + tl.program_id(0) + 1)
    for first in range(tl.load(crow + tl.program_id(0)), end, NONZEROS):
        entry = first + tl.arange(0, NONZEROS)
        live = entry < end
        there = tl.load(col + entry, mask=live, other=0).to(tl.int64) * heads
        here = live[:, None] & real[None, :]
        score = score_own[None, :] + tl.load(source[None, :] + there[:, None], mask=here, other=0.0)
        score = tl.where(live[:, None], tl.where(score > 0, score, score * slope), float("-inf"))
        # Rescale the sums so far to the new maximum.
        higher = tl.maximum(highest, tl.max(score, axis=0))
        lower = tl.exp(highest - higher)
        weight = tl.exp(score - higher[None, :])
        kept = live[:, None] & inside[None, :]
        if MASKED:
            kept = _survives(words, entry, head, kept, heads)
        found = tl.load(values[None, :] + (there * width)[:, None], mask=kept, other=0.0)
        divisor = divisor * lower + tl.sum(weight, axis=0)
        gathered = gathered * lower + tl.sum(weight * found, axis=0)
        highest = higher
    tl.store(out + own * width + column, gathered * scale / divisor, mask=inside)
    tl.store(largest + own, highest, mask=real & (column == 0))
    tl.store(total + own, divisor, mask=real & (column == 0))


@triton.jit(do_not_specialize=["pairs"])
def _row_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    words,
    source,
    target,
    values,
    grad,
    largest,
    total,
    shared,
    out,
    to_target,
    nodes,
    pairs,
    words_stride,
    slope,
    scale,
    heads: tl.constexpr,
    width: tl.constexpr,
    MASKED: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    TOGETHER: tl.constexpr,  # noqa: N803
):
    block, head, base, own, column, real = _place(nodes, pairs, heads, WIDTH, TOGETHER)
    inside = real & (column < width)
    score_own = tl.load(target + own, mask=real, other=0.0)
    highest = tl.load(largest + own, mask=real, other=0.0)
    divisor = tl.load(total + own, mask=real, other=1.0)
    slopes = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    gathered = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    source += base
    values += base * width + column
    words += block * words_stride
    end = tl.load(crow + tl.program_id(0) + 1)
    for first in range(tl.load(crow + tl.program_id(0)), end, NONZEROS):
        entry = first + tl.arange(0, NONZEROS)
        live = entry < end
        there = tl.load(col + entry, mask=live, other=0).to(tl.int64) * heads
        here = live[:, None] & real[None, :]
        score = score_own[None, :] + tl.load(source[None, :] + there[:, None], mask=here, other=0.0)
        weight = tl.exp(tl.where(score > 0, score, score * slope) - highest[None, :]) / divisor[None, :]
        slanted = tl.where(here, tl.where(score > 0, weight, weight * slope), 0.0)
        kept = live[:, None] & inside[None, :]
        if MASKED:
            kept = _survives(words, entry, head, kept, heads)
        found = tl.load(values[None, :] + (there * width)[:, None], mask=kept, other=0.0)
        slopes += tl.sum(slanted, axis=0)
        gathered += tl.sum(slanted * found, axis=0)
    own_grad = tl.load(grad + own * width + column, mask=inside, other=0.0)
    own_out = tl.load(out + own * width + column, mask=inside, other=0.0)
    product = _sum_lanes(own_grad * own_out, WIDTH, TOGETHER)
    result = _sum_lanes(own_grad * gathered, WIDTH, TOGETHER) * scale - product * slopes
    tl.store(shared + own, product, mask=real & (column == 0))
    tl.store(to_target + own, result, mask=real & (column == 0))


@triton.jit(do_not_specialize=["pairs"])
def _column_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    words,
    source,
    target,
    values,
    grad,
    largest,
    total,
    shared,
    origin,
    to_source,
    to_values,
    nodes,
    pairs,
    words_stride,
    slope,
    scale,
    heads: tl.constexpr,
    width: tl.constexpr,
    MASKED: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    TOGETHER: tl.constexpr,  # noqa: N803
):
    block, head, base, own, column, real = _place(nodes, pairs, heads, WIDTH, TOGETHER)
    inside = real & (column < width)
    score_own = tl.load(source + own, mask=real, other=0.0)
    by_shared = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    gathered = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    gathered_slanted = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    target += base
    largest += base
    total += base
    shared += base
    grad += base * width + column
    words += block * words_stride
    end = tl.load(crow + tl.program_id(0) + 1)
    for first in range(tl.load(crow + tl.program_id(0)), end, NONZEROS):
        entry = first + tl.arange(0, NONZEROS)
        live = entry < end
        there = tl.load(col + entry, mask=live, other=0).to(tl.int64) * heads
        here = live[:, None] & real[None, :]
        score = score_own[None, :] + tl.load(target[None, :] + there[:, None], mask=here, other=0.0)
        highest = tl.load(largest[None, :] + there[:, None], mask=here, other=0.0)
        weight = tl.exp(tl.where(score > 0, score, score * slope) - highest)
        weight = tl.where(here, weight / tl.load(total[None, :] + there[:, None], mask=here, other=1.0), 0.0)
        slanted = tl.where(score > 0, weight, weight * slope)
        kept = live[:, None] & inside[None, :]
        if MASKED:
            edge = tl.load(origin + entry, mask=live, other=0)
            kept = _survives(words, edge, head, kept, heads)
        found = tl.load(grad[None, :] + (there * width)[:, None], mask=kept, other=0.0)
        by_shared += tl.sum(slanted * tl.load(shared[None, :] + there[:, None], mask=here, other=0.0), axis=0)
        gathered += tl.sum(weight * found, axis=0)
        gathered_slanted += tl.sum(slanted * found, axis=0)
    own_values = tl.load(values + own * width + column, mask=inside, other=0.0)
    result = _sum_lanes(own_values * gathered_slanted, WIDTH, TOGETHER) * scale - by_shared
    tl.store(to_values + own * width + column, gathered * scale, mask=inside)
    tl.store(to_source + own, result, mask=real & (column == 0))
