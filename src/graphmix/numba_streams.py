"""The random words of `streams` on the CPU in one loop, compiled by numba on first use: the same bits."""

import numpy as np
import torch
from torch import Tensor

from graphmix.native import Kernel

_GOLDEN, _MIX_1, _MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def draw_words(keys: Tensor, place: int, count: int) -> Tensor:
    """Draw words of 64 random bits, SplitMix64 from the states key + place: int64 `[trials, count]`."""
    out = torch.empty(keys.shape[0], count, dtype=torch.int64)
    states = keys.contiguous().numpy().view(np.uint64) + np.uint64(place % 2**64)
    _kernel(states, out.numpy().view(np.uint64))
    return out


def _fill(states, out):  # type: ignore[no-untyped-def]
    for trial in range(out.shape[0]):
        for position in range(out.shape[1]):
            word = states[trial] + np.uint64(position + 1) * _GOLDEN
            word = (word ^ (word >> _SHIFTS[0])) * _MIX_1
            word = (word ^ (word >> _SHIFTS[1])) * _MIX_2
            out[trial, position] = word ^ (word >> _SHIFTS[2])


_kernel = Kernel(_fill)
