"""The random words of `streams` on CUDA: the same bits, from one kernel instead of two dozen."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import flat_grid

_BLOCK = 256


def draw_words(keys: Tensor, draw: int, epoch: int | Tensor, count: int) -> Tensor:
    """Draw words of 64 random bits: int64 `[trials, count]` from keys int64 `[trials]`.

    The epoch may be a tensor on the device: a captured graph then draws new numbers every time it is replayed.
    """
    when = epoch if isinstance(epoch, Tensor) else torch.full((1,), epoch, device=keys.device)
    out = torch.empty(keys.shape[0], count, device=keys.device, dtype=torch.int64)
    if out.numel():
        per_trial, programs = flat_grid(keys.shape[0], count, _BLOCK)
        with torch.cuda.device_of(keys):
            _words_kernel[(programs,)](keys, out, when, draw, count, per_trial, BLOCK=_BLOCK, num_warps=4)
    return out


def draw_keep(keys: Tensor, draw: int, epoch: int | Tensor, count: int, digits: list[bool]) -> Tensor:
    """Draw words whose bits are 1 with the probability that has these binary digits: int64 `[trials, count]`."""
    when = epoch if isinstance(epoch, Tensor) else torch.full((1,), epoch, device=keys.device)
    out = torch.empty(keys.shape[0], count, device=keys.device, dtype=torch.int64)
    if out.numel():
        per_trial, programs = flat_grid(keys.shape[0], count, _BLOCK)
        # Bit d is the digit number d after the point.
        packed = sum(1 << place for place, digit in enumerate(digits) if digit)
        with torch.cuda.device_of(keys):
            _keep_kernel[(programs,)](
                keys, out, when, draw, count, per_trial, packed, len(digits), BLOCK=_BLOCK, num_warps=4
            )
    return out


def copy_keys(keys: Tensor, first: int, last: int) -> Tensor:
    """Derive the keys of copies first … last - 1 of each stream: int64 `[trials * copies]` from int64 `[trials]`."""
    copies = last - first
    out = torch.empty(keys.shape[0] * copies, device=keys.device, dtype=torch.int64)
    if out.numel():
        with torch.cuda.device_of(keys):
            _keys_kernel[(triton.cdiv(out.numel(), _BLOCK),)](
                keys, out, first, copies, out.numel(), BLOCK=_BLOCK, num_warps=4
            )
    return out


@triton.jit
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB
    return z ^ (z >> 31)


# These numbers differ between calls: if Triton specialised on their values, it would compile a kernel for each.
@triton.jit(do_not_specialize=["draw", "count", "per_trial"])
def _words_kernel(keys, out, epoch, draw, count, per_trial, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial = (tl.program_id(0) // per_trial).to(tl.int64)
    # 64 bits: one trial may draw 2^31 words and more.
    position = (tl.program_id(0) % per_trial).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    place = _mix(draw.to(tl.uint64) + (tl.load(epoch).to(tl.uint64) << 16))
    state = tl.load(keys + trial).to(tl.uint64) + place
    word = _mix(state + (position + 1).to(tl.uint64) * 0x9E3779B97F4A7C15)
    tl.store(out + trial * count + position, word.to(tl.int64), mask=position < count)


@triton.jit(do_not_specialize=["draw", "count", "per_trial", "digits", "length"])
def _keep_kernel(keys, out, epoch, draw, count, per_trial, digits, length, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial = (tl.program_id(0) // per_trial).to(tl.int64)
    position = (tl.program_id(0) % per_trial).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    place = _mix(draw.to(tl.uint64) + (tl.load(epoch).to(tl.uint64) << 16))
    state = tl.load(keys + trial).to(tl.uint64) + place
    number = (position * length + length).to(tl.uint64)
    word = _mix(state + number * 0x9E3779B97F4A7C15)
    # Horner's rule, as in `Noise.keep`.
    for step in range(1, length):
        fresh = _mix(state + (number - step) * 0x9E3779B97F4A7C15)
        digit = (digits >> (length - 1 - step)) & 1
        word = tl.where(digit == 1, word | fresh, word & fresh)
    tl.store(out + trial * count + position, word.to(tl.int64), mask=position < count)


@triton.jit(do_not_specialize=["first", "copies", "count"])
def _keys_kernel(keys, out, first, copies, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = position < count
    key = tl.load(keys + position // copies, mask=inside, other=0).to(tl.uint64)
    number = (first + 1 + position % copies).to(tl.uint64)
    tl.store(out + position, _mix(key + number * 0x94D049BB133111EB).to(tl.int64), mask=inside)
