"""The contract of `ops` on CUDA. Rows with many non-zeros are shared out among several programs.

The kernel is limited by memory: each non-zero costs a gather of `width` floats from the trial's operand, which the L2
cache holds at the usual sizes. Non-zeros that dropout removed are not gathered. A row of at most `LONGEST` non-zeros is
one segment, a longer one several. A program sums one segment for a few trials. The sums of a long row's segments are
then added in order, so that the result depends neither on timing nor on the other trials.
"""

import weakref
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import check_grid
from graphmix.sparse.matrix import SparseMatrix
from graphmix.sparse.triton_targets import Masks, map_copies

LONGEST = 256
# Values that a program of one warp sums (columns of the operand, for as many trials as fit), and non-zeros that it
# reads at a time. Measured on an H200: with dropout, 64 values are a third faster than 128; without, 128 are faster.
MASKED_TILE = (64, 16)
PLAIN_TILE = (128, 8)


class Segments(NamedTuple):
    """How the rows of a matrix are shared out.

    Attributes:
        start: int32 `[segments]`, the first non-zero of each.
        end: int32 `[segments]`, where it ends.
        slot: int32 `[segments]`, the row it is the whole of; or the number of rows plus the place of its partial sum.
        long: int32 `[long]`, the rows with several segments.
        first: int32 `[long + 1]`, where the partial sums of each begin.
        partials: how many partial sums there are.
    """

    start: Tensor
    end: Tensor
    slot: Tensor
    long: Tensor
    first: Tensor
    partials: int

    @classmethod
    def of(cls, matrix: SparseMatrix) -> "Segments":
        """Share out the rows of a matrix. Segments of long rows come first: they take the longest."""
        crow = matrix.crow.long().cpu()
        length = crow.diff()
        pieces = (-(-length // LONGEST)).clamp_min(1)
        row = torch.arange(len(length)).repeat_interleave(pieces)
        within = torch.arange(len(row)) - (pieces.cumsum(0) - pieces).repeat_interleave(pieces)
        start = crow[:-1][row] + within * LONGEST
        end = torch.minimum(start + LONGEST, crow[1:][row])
        several = pieces[row] > 1
        slot = torch.where(several, len(length) + several.cumsum(0) - 1, row)
        order = (~several).to(torch.uint8).argsort(stable=True)
        long = (pieces > 1).nonzero()[:, 0]
        first = torch.cat([torch.zeros(1, dtype=torch.int64), pieces[long].cumsum(0)])
        parts = (start[order], end[order], slot[order], long, first)
        moved = [each.int().to(matrix.crow.device) for each in parts]
        return cls(moved[0], moved[1], moved[2], moved[3], moved[4], int(several.sum()))


_KNOWN: "weakref.WeakKeyDictionary[SparseMatrix, Segments]" = weakref.WeakKeyDictionary()


def segments_of(matrix: SparseMatrix) -> Segments:
    """Return the segments of a matrix, computed once."""
    found = _KNOWN.get(matrix)
    if found is None:
        found = _KNOWN[matrix] = Segments.of(matrix)
    return found


def dropped_product(matrix: SparseMatrix, dense: Tensor, words: Tensor, scale: float) -> Tensor:
    """Multiply each dropped-out copy of a matrix with its trial's operand, as `product` does.

    Several copies of a trial read the operand together.
    """
    if words.shape[0] > dense.shape[0]:
        together = map_copies(matrix, dense, Masks(words, scale))
        if together is not None:
            return together
    return product(matrix, dense, words, scale)


def product(
    matrix: SparseMatrix,
    dense: Tensor,
    words: Tensor | None = None,
    scale: float = 1.0,
    bits: Tensor | None = None,
) -> Tensor:
    """Multiply a matrix, with dropout if `words` is given, with each trial's operand.

    Args:
        matrix: `[rows, columns]`.
        dense: `[trials, columns, width]`.
        words: int64 `[trials * copies, words]`, one bit per non-zero: kept or dropped.
        scale: factor for kept non-zeros.
        bits: int32 `[nonzeros]`, which bit belongs to each non-zero; default: bits are in the order of the non-zeros.

    Returns:
        `[trials * copies, rows, width]`.
    """
    dense = dense.contiguous()
    trials, columns, width = dense.shape
    blocks = trials if words is None else words.shape[0]
    out = torch.empty(blocks, matrix.shape[0], width, device=dense.device, dtype=dense.dtype)
    if out.numel() == 0:
        return out
    shared = segments_of(matrix)
    partial = torch.empty(blocks, shared.partials, width, device=dense.device) if shared.partials else out
    most, at_once = PLAIN_TILE if words is None else MASKED_TILE
    lanes = min(triton.next_power_of_2(width), most)
    together = most // lanes
    per_row = max(1, matrix.nonzeros // max(1, matrix.shape[0]))
    grid = (len(shared.start), triton.cdiv(blocks, together), triton.cdiv(width, lanes))
    check_grid(*grid)
    with torch.cuda.device_of(dense):
        _segment_kernel[grid](
            shared.start,
            shared.end,
            shared.slot,
            matrix.col,
            matrix.values,
            words if words is not None else matrix.col,
            bits if bits is not None else matrix.col,
            dense,
            out,
            partial,
            matrix.shape[0],
            shared.partials,
            columns,
            width,
            blocks,
            blocks // trials,
            words.stride(0) if words is not None else 0,
            scale,
            MASKED=words is not None,
            MOVED=bits is not None,
            NONZEROS=min(max(triton.next_power_of_2(per_row), 4), at_once),
            WIDTH=lanes,
            TOGETHER=together,
            num_warps=1,
            num_stages=1,
        )
        if shared.partials:
            grid = (len(shared.long), triton.cdiv(blocks, together), grid[2])
            sizes = (matrix.shape[0], shared.partials, width, blocks)
            constants = {"WIDTH": lanes, "TOGETHER": together, "num_warps": 1}
            _join_kernel[grid](shared.long, shared.first, partial, out, *sizes, **constants)
    return out


@triton.jit(do_not_specialize=["blocks"])
def _segment_kernel(  # type: ignore[no-untyped-def]
    starts,
    ends,
    slots,
    col,
    values,
    words,
    bits,
    dense,
    out,
    partial,
    rows,
    partials,
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
    place = tl.arange(0, TOGETHER * WIDTH)
    block = (tl.program_id(1) * TOGETHER + place // WIDTH).to(tl.int64)
    lane = tl.program_id(2) * WIDTH + place % WIDTH
    inside = (lane < width) & (block < blocks)
    operand = dense + (block // copies) * columns * width + lane
    own_words = words + block * words_stride
    end = tl.load(ends + tl.program_id(0))
    total = tl.zeros([TOGETHER * WIDTH], dtype=tl.float32)
    for first in range(tl.load(starts + tl.program_id(0)), end, NONZEROS):
        entry = first + tl.arange(0, NONZEROS)
        live = entry < end
        column = tl.load(col + entry, mask=live, other=0).to(tl.int64)
        value = tl.load(values + entry, mask=live, other=0.0) * scale
        kept = live[:, None] & inside[None, :]
        if MASKED:
            bit = entry
            if MOVED:
                bit = tl.load(bits + entry, mask=live, other=0)
            word = tl.load(own_words[None, :] + (bit >> 6)[:, None], mask=kept, other=0)
            kept = kept & (((word >> (bit & 63)[:, None]) & 1) == 1)
        found = tl.load(operand[None, :] + (column * width)[:, None], mask=kept, other=0.0)
        total += tl.sum(found * value[:, None], axis=0)
    # The same number in every lane, for the comparisons below.
    slot = tl.load(slots + tl.program_id(0) + tl.zeros([TOGETHER * WIDTH], dtype=tl.int32))
    tl.store(out + (block * rows + slot) * width + lane, total, mask=inside & (slot < rows))
    tl.store(partial + (block * partials + slot - rows) * width + lane, total, mask=inside & (slot >= rows))


@triton.jit(do_not_specialize=["blocks"])
def _join_kernel(  # type: ignore[no-untyped-def]
    long,
    first,
    partial,
    out,
    rows,
    partials,
    width,
    blocks,
    WIDTH: tl.constexpr,  # noqa: N803
    TOGETHER: tl.constexpr,  # noqa: N803
):
    block = (tl.program_id(1) * TOGETHER + tl.arange(0, TOGETHER)).to(tl.int64)
    lane = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    inside = (block < blocks)[:, None] & (lane < width)[None, :]
    total = tl.zeros([TOGETHER, WIDTH], dtype=tl.float32)
    for piece in range(tl.load(first + tl.program_id(0)), tl.load(first + tl.program_id(0) + 1)):
        there = (block * partials + piece)[:, None] * width + lane[None, :]
        total += tl.load(partial + there, mask=inside, other=0.0)
    goal = (block * rows + tl.load(long + tl.program_id(0)))[:, None] * width + lane[None, :]
    tl.store(out + goal, total, mask=inside)
