"""The names of splits, and the seeds they are drawn from. Needs no torch; `splits` draws them."""

import re

from graphmix.errors import DataError

Sizes = tuple[int, int, int]

PUBLIC = "public"
RANDOM = "random"
BALANCED = "balanced"
BENCHMARK = "benchmark"
DRAWN = (RANDOM, BALANCED, BENCHMARK)
PER_CLASS = re.compile(r"([1-9][0-9]{0,8})-per-class")
PERCENT = re.compile(r"((?:0|[1-9][0-9]?)(?:\.[0-9]{1,4})?)-percent")
DRAWN_NAMES = ", ".join([*DRAWN, "K-per-class (such as 5-per-class)", "R-percent (such as 0.5-percent)"])
# The memory that each node of a split takes: three masks, and in training lists of nodes with labels and weights.
NODE_BYTES = 3 + 20
# Different splits of a run, as in the paper.
SPLITS = 10


def check_split_name(name: str) -> None:
    """Raise a DataError unless a split has this name; the message lists the names."""
    drawn = name in DRAWN or PER_CLASS.fullmatch(name) or share_of(name) > 0
    if name != PUBLIC and not drawn:
        raise DataError(f"`split` must be one of {PUBLIC}, {DRAWN_NAMES}, not {name!r}")


def share_of(name: str) -> float:
    """The share of the labeled nodes that a split named R-percent trains on; 0 for others."""
    found = PERCENT.fullmatch(name)
    return float(found[1]) / 100 if found else 0.0


def split_seeds(trials: int, splits: int | None = None, first: int = 0) -> list[int]:
    """Return the seed of each trial's split; trials take the different splits in turn.

    Args:
        trials: number of trials.
        splits: number of different splits; default: 10, as in the paper, or one per trial if there are fewer trials.
        first: seed of the first split; the next splits have the next seeds.

    Raises:
        DataError: there are no splits to take.
    """
    different = min(trials, SPLITS) if splits is None else splits
    if different < 1:
        raise DataError(f"`splits` must be at least 1, not {different}")
    return [first + trial % different for trial in range(trials)]
