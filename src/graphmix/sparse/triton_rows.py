"""Dropout, picked rows and mixed rows of dense tensors on CUDA, one kernel each.

Torch's own kernels for picking rows start a block of threads per row, which costs more than the rows of a hidden layer.
No sum here has more than two terms, so results do not depend on what else is in the batch.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import flat_grid

_BLOCK = 1024


def dropout(dense: Tensor, words: Tensor, scale: float) -> Tensor:
    """Multiply entries of `[trials, ...]` with `scale` where their bit is 1, else with 0."""
    out = torch.empty(dense.shape, device=dense.device, dtype=dense.dtype)
    if len(dense):
        dense = each_contiguous(dense)
        _launch(_dropout_kernel, (dense, words, out), dense[0].numel(), (dense.stride(0), words.stride(0), scale))
    return out


def pick(dense: Tensor, index: Tensor) -> Tensor:
    """Pick rows of `[trials, nodes, width]` by int64 `[trials, picks]`: `[trials, picks, width]`."""
    dense, index = dense.contiguous(), _unit_stride(index)
    (trials, nodes, width), picks = dense.shape, index.shape[1]
    out = torch.empty(trials, picks, width, device=dense.device, dtype=dense.dtype)
    _launch(_pick_kernel, (dense, index, out), picks * width, (nodes * width, index.stride(0), width))
    return out


def place(grad: Tensor, index: Tensor, nodes: int) -> Tensor:
    """Put rows `[trials, picks, width]` where they were picked, each once, among zeros: `[trials, nodes, width]`."""
    grad, index = grad.contiguous(), _unit_stride(index)
    trials, picks, width = grad.shape
    out = torch.zeros(trials, nodes, width, device=grad.device, dtype=grad.dtype)
    _launch(_place_kernel, (grad, index, out), picks * width, (nodes * width, index.stride(0), width))
    return out


class MixRows(torch.autograd.Function):
    """λ a + (1 - λ) b, where b are the rows of a at a permutation: `[trials, rows, width]`."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, partner: Tensor, lam: Tensor) -> Tensor:
        """Mix the rows; `partner` is int64 `[trials, rows]`, λ `[trials, rows or 1]`."""
        values = each_contiguous(values)
        (trials, rows, width), steps = values.shape, _lam_steps(lam)
        partner, lam = partner.contiguous(), lam.contiguous()
        out = torch.empty(trials, rows, width, device=values.device, dtype=values.dtype)
        inverse = torch.empty_like(partner)
        given = (values, partner, lam, out, inverse)
        _launch(_mix_kernel, given, rows * width, (values.stride(0), rows, width, *steps))
        ctx.save_for_backward(inverse, lam)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """A row's gradient is λ of its own, and 1 - λ of the row that it is the partner of."""
        inverse, lam = ctx.saved_tensors
        grad = grad.contiguous()
        _, rows, width = grad.shape
        out = torch.empty_like(grad)
        _launch(_unmix_kernel, (grad, inverse, lam, out), rows * width, (rows, width, *_lam_steps(lam)))
        return out, None, None


def _lam_steps(lam: Tensor) -> tuple[int, int]:
    """By how much a trial and a row move the place of λ."""
    return lam.shape[1], int(lam.shape[1] > 1)


def each_contiguous(dense: Tensor) -> Tensor:
    """Copy a tensor unless each trial's part is contiguous; what all trials share, expanded, stays as it is."""
    return dense if len(dense) == 0 or dense[0].is_contiguous() else dense.contiguous()


def _unit_stride(index: Tensor) -> Tensor:
    # An index that all trials share is expanded: its first stride is 0, and it stays as it is.
    return index if index.stride(1) == 1 or index.shape[1] == 1 else index.contiguous()


def _launch(kernel: Any, tensors: tuple[Tensor, ...], entries: int, numbers: tuple[float, ...]) -> None:
    """Start programs over `[trials, entries]`."""
    if tensors[0].shape[0] == 0 or entries == 0:
        return
    per_trial, programs = flat_grid(tensors[0].shape[0], entries, _BLOCK)
    with torch.cuda.device_of(tensors[0]):
        kernel[(programs,)](*tensors, entries, per_trial, *numbers, BLOCK=_BLOCK, num_warps=4)


@triton.jit
def _place(entries, per_trial, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    # This program's trial, its entries of the trial, and whether they exist.
    trial = (tl.program_id(0) // per_trial).to(tl.int64)
    entry = (tl.program_id(0) % per_trial).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    return trial, entry, entry < entries


@triton.jit(do_not_specialize=["per_trial", "stride"])
def _dropout_kernel(dense, words, out, entries, per_trial, stride, words_stride, scale, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial, entry, here = _place(entries, per_trial, BLOCK)
    word = tl.load(words + trial * words_stride + (entry >> 6), mask=here, other=0)
    factor = ((word >> (entry & 63)) & 1).to(tl.float32) * scale
    value = tl.load(dense + trial * stride + entry, mask=here, other=0.0)
    tl.store(out + trial * entries + entry, value * factor, mask=here)


@triton.jit(do_not_specialize=["entries", "per_trial", "stride", "index_stride"])
def _pick_kernel(dense, index, out, entries, per_trial, stride, index_stride, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial, entry, here = _place(entries, per_trial, BLOCK)
    row = tl.load(index + trial * index_stride + entry // width, mask=here, other=0).to(tl.int64)
    value = tl.load(dense + trial * stride + row * width + entry % width, mask=here, other=0.0)
    tl.store(out + trial * entries + entry, value, mask=here)


@triton.jit(do_not_specialize=["entries", "per_trial", "stride", "index_stride"])
def _place_kernel(grad, index, out, entries, per_trial, stride, index_stride, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial, entry, here = _place(entries, per_trial, BLOCK)
    row = tl.load(index + trial * index_stride + entry // width, mask=here, other=0)
    value = tl.load(grad + trial * entries + entry, mask=here, other=0.0)
    tl.store(out + trial * stride + row * width + entry % width, value, mask=here)


@triton.jit(do_not_specialize=["entries", "per_trial", "stride", "rows", "lam_step", "lam_per_row"])
def _mix_kernel(  # type: ignore[no-untyped-def]
    values,
    partner,
    lam,
    out,
    inverse,
    entries,
    per_trial,
    stride,
    rows,
    width,
    lam_step,
    lam_per_row,
    BLOCK: tl.constexpr,  # noqa: N803
):
    trial, entry, here = _place(entries, per_trial, BLOCK)
    row, column = entry // width, entry % width
    other = tl.load(partner + trial * rows + row, mask=here, other=0)
    share = tl.load(lam + trial * lam_step + row * lam_per_row, mask=here, other=0.0)
    first = tl.load(values + trial * stride + entry, mask=here, other=0.0)
    second = tl.load(values + trial * stride + other * width + column, mask=here, other=0.0)
    # As torch.lerp: exact at both ends.
    step = first - second
    mixed = tl.where(share < 0.5, second + share * step, first - step * (1.0 - share))
    tl.store(out + trial * entries + entry, mixed, mask=here)
    tl.store(inverse + trial * rows + other, row, mask=here & (column == 0))


@triton.jit(do_not_specialize=["entries", "per_trial", "rows", "lam_step", "lam_per_row"])
def _unmix_kernel(  # type: ignore[no-untyped-def]
    grad,
    inverse,
    lam,
    out,
    entries,
    per_trial,
    rows,
    width,
    lam_step,
    lam_per_row,
    BLOCK: tl.constexpr,  # noqa: N803
):
    trial, entry, here = _place(entries, per_trial, BLOCK)
    row, column = entry // width, entry % width
    other = tl.load(inverse + trial * rows + row, mask=here, other=0)
    share = tl.load(lam + trial * lam_step + row * lam_per_row, mask=here, other=0.0)
    their_share = tl.load(lam + trial * lam_step + other * lam_per_row, mask=here, other=0.0)
    own = tl.load(grad + trial * entries + entry, mask=here, other=0.0)
    theirs = tl.load(grad + trial * entries + other * width + column, mask=here, other=0.0)
    tl.store(out + trial * entries + entry, share * own + (1.0 - their_share) * theirs, mask=here)
