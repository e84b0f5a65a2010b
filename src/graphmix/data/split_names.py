"""The names of splits, and the seeds they are drawn from. Needs no torch; `splits` draws them."""

import re

from graphmix.errors import DataError

Sizes = tuple[int, int, int]

PUBLIC = "public"
RANDOM = "random"
BALANCED = "balanced"
BENCHMARK = "benchmark"
REDRAWN = "public-redrawn"
DRAWN = (RANDOM, BALANCED, BENCHMARK, REDRAWN)
PER_CLASS = re.compile(r"([1-9][0-9]{0,8})-per-class(?:-(no|[1-9][0-9]{0,8})-validation)?")
PERCENT = re.compile(r"((?:0|[1-9][0-9]?)(?:\.[0-9]{1,4})?)-percent")
_WITH_NUMBERS = (
    "K-per-class (such as 5-per-class)",
    "K-per-class-V-validation (such as 5-per-class-500-validation or 5-per-class-no-validation)",
    "R-percent (such as 0.5-percent)",
)
DRAWN_NAMES = ", ".join([*DRAWN, *_WITH_NUMBERS])
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


def per_class_of(name: str) -> tuple[int, int | None]:
    """The training nodes of each class, and the validation nodes in all, of a split named K-per-class….

    The second number is None if each class has K validation nodes, too; both are 0 and None for other splits.

    Example:
        >>> per_class_of("5-per-class-500-validation"), per_class_of("1-per-class-no-validation")
        ((5, 500), (1, 0))
        >>> per_class_of("5-per-class"), per_class_of("public")
        ((5, None), (0, None))
    """
    found = PER_CLASS.fullmatch(name)
    if found is None:
        return 0, None
    return int(found[1]), None if found[2] is None else int(found[2].replace("no", "0"))


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
