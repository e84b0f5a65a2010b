"""Random streams, one per trial.

A trial's random numbers are a pure function of its seed, their purpose, the epoch and their position. They do not
depend on the other trials in the batch: trial 7 of 100 draws what trial 7 draws alone. `torch.Generator` cannot do
that, because its numbers depend on the shape of the whole batch. A counter-based hash (SplitMix64, Steele, Lea and
Flood, 2014) can: one vectorised expression gives every trial its own stream, with the same bits on every device.

Example:
    >>> streams = Streams.from_seeds([0, 1, 2])
    >>> both = streams.at(Purpose.COIN, epoch=5).uniform(4)            # [3, 4]
    >>> alone = Streams.from_seeds([2]).at(Purpose.COIN, epoch=5).uniform(4)
    >>> bool((both[2] == alone[0]).all())
    True
"""

import enum
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphmix.native import native

try:
    from graphmix import triton_streams
except ImportError:  # Triton comes with CUDA builds of torch only
    triton_streams = None  # type: ignore[assignment]

WORD_BITS = 64
# A dropout rate is rounded to this many binary digits. The rescaling uses the rounded rate, so there is no bias.
RATE_BITS = 16

# From this many words of a trial on, a compiled loop draws them.
_MANY = 512

_GOLDEN = -7046029254386353131  # 0x9E3779B97F4A7C15 as a signed 64-bit number: 2^64 / golden ratio
_MIX_1 = -4658895280553007687  # 0xBF58476D1CE4E5B9
_MIX_2 = -7723592293110705685  # 0x94D049BB133111EB


class Purpose(enum.IntEnum):
    """What a random number is for. Never renumber: the values decide which numbers a run draws."""

    WEIGHTS = 0
    COIN = 1
    GNN_DROPOUT = 2
    FCN_DROPOUT = 3
    TARGET_DROPOUT = 4
    MIXING_LABELED = 5
    MIXING_UNLABELED = 6
    UNLABELED_SUBSET = 7
    RANDOM_PROPAGATION = 8
    EDGE_DROPOUT = 9
    PERTURBATION = 10
    PERTURBED_DROPOUT = 11
    FAR_NODES = 12
    NEIGHBOURS = 13
    GRAPH_DROPOUT = 14
    DRAWN_LABELS = 15
    SECOND_DROPOUT = 16
    GAME_BATCHES = 17
    GAME_NOISE = 18
    MIXUP_LAYER = 19
    PARTS = 24
    PART_SEEDS = 25


@dataclass(frozen=True)
class Keep:
    """Which entries dropout keeps, one bit per entry.

    Attributes:
        words: int64 `[trials, ceil(entries / 64)]`; bit `i % 64` of word `i // 64` is 1 where entry i is kept.
        scale: factor for kept entries, 1 / P(kept).
    """

    words: Tensor
    scale: float


@dataclass
class Noise:
    """The random numbers of one step, drawn in order: every call gives new ones.

    Attributes:
        keys: int64 `[trials]`, the streams' keys.
        purpose: what the numbers are for.
        epoch: a number, or int64 `[1]` on the keys' device, which is read when the numbers are drawn.
    """

    keys: Tensor
    purpose: Purpose
    epoch: int | Tensor
    _draws: int = 0

    def words(self, count: int) -> Tensor:
        """Draw words of 64 random bits: int64 `[trials, count]`."""
        self._draws += 1
        return _draw_words(self.keys, self._place, self.epoch, count)

    @property
    def _place(self) -> int:
        """The purpose and the number of the last draw, as one number."""
        return _bits_of(self.purpose) + self._draws

    def uniform(self, count: int) -> Tensor:
        """Draw float32 numbers in [0, 1): `[trials, count]`."""
        # 24 bits fill a float32's mantissa. With more, the largest would round up to 1.
        return _shift_right(self.words(count), 40).float() * 2.0**-24

    def bell(self, count: int) -> Tensor:
        """Draw float32 numbers with mean 0 and deviation 1, nearly normal: `[trials, count]`.

        Each is the sum of the four parts of a word, which is exact, so that it does not depend on its place in a batch.
        """
        words, total = self.words(count), None
        for place in range(0, WORD_BITS, 16):
            part = (words >> place) & 0xFFFF
            total = part if total is None else total + part
        assert total is not None
        return (total.float() - 2 * 0xFFFF) / (2**16 * math.sqrt(4 / 12))

    def keep(self, entries: int, rate: float) -> Keep:
        """Draw which of `entries` dropout at `rate` keeps, as packed bits."""
        digits, kept = binary_digits(1.0 - rate)
        count = -(-entries // WORD_BITS)
        if len(digits) == 1:
            return Keep(self.words(count), 1.0 / kept)
        if triton_streams is not None and self.keys.is_cuda:
            self._draws += 1
            return Keep(triton_streams.draw_keep(self.keys, self._place, self.epoch, count, digits), 1.0 / kept)
        # The bits of an entry depend on its position, not on how many entries there are.
        draws = self.words(count * len(digits)).unflatten(1, (count, len(digits))).unbind(2)
        # Horner's rule on the binary expansion of P(kept), 64 entries at a time: from the last digit up, OR with
        # fresh bits where the digit is 1 (p -> (1 + p) / 2), AND where it is 0 (p -> p / 2).
        words = draws[-1]
        for digit, fresh in zip(digits[-2::-1], draws[-2::-1], strict=True):
            words = (words | fresh) if digit else (words & fresh)
        return Keep(words, 1.0 / kept)


@dataclass(frozen=True)
class Streams:
    """The random streams of a batch of trials.

    Attributes:
        keys: int64 `[trials]`, one well-mixed key per seed.
    """

    keys: Tensor

    @classmethod
    def from_seeds(cls, seeds: Sequence[int], device: torch.device | str = "cpu") -> "Streams":
        """Derive one stream from each seed."""
        return cls(_mix(_mix(torch.tensor(list(seeds), dtype=torch.int64) + _GOLDEN)).to(device))

    def at(self, purpose: Purpose, epoch: int | Tensor = 0) -> Noise:
        """Return the noise for one purpose in one epoch."""
        return Noise(self.keys, purpose, epoch)

    def copies(self, first: int, last: int) -> "Streams":
        """Split each trial's stream into copies first … last - 1 (the K target passes), trial by trial."""
        if triton_streams is not None and self.keys.is_cuda:
            return replace(self, keys=triton_streams.copy_keys(self.keys, first, last))
        numbers = torch.arange(first + 1, last + 1, device=self.keys.device)
        return replace(self, keys=_mix(self.keys[:, None] + numbers * _MIX_2).flatten())

    def select(self, trials: Tensor) -> "Streams":
        """Keep only the given trials (int64 indices)."""
        return replace(self, keys=self.keys[trials])

    def coins(self, epochs: int) -> Tensor:
        """Flip Algorithm 1's fair coin for every epoch and trial: bool `[epochs, trials]`, True for heads."""
        return (self.at(Purpose.COIN).words(epochs) < 0).T


def binary_digits(probability: float) -> tuple[list[bool], float]:
    """Round a probability to `RATE_BITS` binary digits; return them without trailing zeros, and the rounded value."""
    numerator = min(max(round(probability * 2**RATE_BITS), 1), 2**RATE_BITS - 1)
    digits = [bool(numerator >> (RATE_BITS - 1 - place) & 1) for place in range(RATE_BITS)]
    while not digits[-1]:
        digits.pop()
    return digits, numerator / 2**RATE_BITS


def _bits_of(purpose: int) -> int:
    # The lowest 48 bits belong to the epoch and the draw, the highest is a sign. There are 3 bits from bit 60 for the
    # first eight purposes, and for all others 10 bits below those.
    return ((purpose & 7) << 60) + ((purpose >> 3) << 50)


def _draw_words(keys: Tensor, draw: int, epoch: int | Tensor, count: int) -> Tensor:
    # SplitMix64 from the state key + place, where place hashes the number of the draw and the epoch. Both are well
    # mixed, so every draw of every trial starts at a random one of 2^64 states, and overlaps are practically
    # impossible.
    if triton_streams is not None and keys.is_cuda:
        return triton_streams.draw_words(keys, draw, epoch, count)
    place = _mix_number(draw + (int(epoch) << 16))
    if count >= _MANY and keys.device.type == "cpu" and (fast := native("graphmix.numba_streams")) is not None:
        drawn: Tensor = fast.draw_words(keys, place, count)
        return drawn
    return _mix((keys + place)[:, None] + _steps(count, keys.device))


@functools.lru_cache(maxsize=64)
def _steps(count: int, device: torch.device) -> Tensor:
    return torch.arange(1, count + 1, device=device) * _GOLDEN


def _shift_right(words: Tensor, bits: int) -> Tensor:
    # torch's >> repeats the sign bit; the hash needs zeros.
    return (words >> bits) & ((1 << (WORD_BITS - bits)) - 1)


def _mix(words: Tensor) -> Tensor:
    words = (words ^ _shift_right(words, 30)) * _MIX_1
    words = (words ^ _shift_right(words, 27)) * _MIX_2
    return words ^ _shift_right(words, 31)


def _mix_number(number: int) -> int:
    # The same hash on the host: a plain number needs no transfer to the device.
    mask = (1 << WORD_BITS) - 1
    number = ((number ^ number >> 30) * _MIX_1) & mask
    number = ((number ^ number >> 27) * _MIX_2) & mask
    number ^= number >> 31
    return number - (1 << WORD_BITS) if number >> (WORD_BITS - 1) else number
