"""Versions of the numbers in stored records: docs/design/0013-verdicts-and-cells.md."""

from collections.abc import Iterable

# Raise an entry when a change to the code makes its numbers different, and run
# `python tests/experiments/computed.py --write`. Moving files, renaming things or changing a message raises nothing.
# tests/experiments/test_computed.py fails where the numbers changed and the entry did not.
COMPUTED = {
    "data": 1,  # datasets as they are loaded, splits
    "training": 1,  # trained weights and all that is measured of every run: scores, curves, confusion, calibration
    "graphsgan": 1,  # what GraphSGAN adds to that: its embedding of the graph, and its game
    "baselines": 1,  # label propagation, DeepWalk and the classics
    "measures": 1,  # soft-rank, t-SNE
    "bound": 1,  # the theorem's terms
}


def versions_of(parts: Iterable[str]) -> dict[str, int]:
    """Return the versions of these entries, in the order of `COMPUTED`."""
    wanted = set(parts)
    return {name: version for name, version in COMPUTED.items() if name in wanted}


def text_of(versions: dict[str, int]) -> str:
    """Return versions as a record shows them.

    Example:
        >>> text_of({"data": 1, "training": 2})
        'data 1, training 2'
    """
    return ", ".join(f"{name} {version}" for name, version in versions.items())
