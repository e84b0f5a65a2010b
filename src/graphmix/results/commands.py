"""The `graphmix train` command that computes a run again."""

import shlex
from collections.abc import Mapping
from typing import Any

from graphmix.training.config import HYPERPARAMETERS, Config
from graphmix.training.methods import METHODS

# Always written: what a run is. Of the other settings, those that differ from what `Config.for_dataset` fills in.
_NAMED = ("method", "trials", "seed", "backbone", "reading")
_PUBLIC = "public"
_BASELINES = tuple(name for name, method in METHODS.items() if method.baseline)


def rerun_command(run: Mapping[str, Any]) -> str | None:
    """Return the command that computes a run again, by its results; None for a custom model, which has no name."""
    return None if run.get("network") is not None else train_command(run)


def train_command(run: Mapping[str, Any]) -> str:
    """Return the command that trains what a run describes.

    Args:
        run: `dataset`, `split`, `split_seeds` and hyperparameters by name, or as many of them as are known.

    Example:
        >>> train_command({"dataset": "cora", "split": "public", "method": "supervised", "trials": 5, "hidden": 32})
        'graphmix train cora --method supervised --trials 5 --hidden 32'
    """
    dataset = str(run.get("dataset"))
    words = ["graphmix", "train", dataset, *_split(run)]
    named = {name: run[name] for name in _NAMED if run.get(name) is not None}
    for name, value in named.items():
        # The first seed is 0 unless told otherwise.
        words += option(name, value) if name != "seed" or value else []
    if named.get("method") not in _BASELINES:
        words += _differences(dataset, run)
    return shlex.join(words)


def option(name: str, value: Any) -> list[str]:
    """Return the words of an option of the command line: `--hidden 32`, `--no-bias`, `--pool-ratios 0.5,0.5`."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]


def _differences(dataset: str, run: Mapping[str, Any]) -> list[str]:
    # A later version may have written a method, a network or a reading that this one does not know.
    named = ("method", "backbone", "reading")
    known = {name: run[name] for name in named if run.get(name) in HYPERPARAMETERS[name].choices}
    usual = Config.for_dataset(dataset, **known)
    words = []
    for name in HYPERPARAMETERS:
        written = None if name in _NAMED or run.get(name) is None else option(name, run[name])
        if written is not None and written != option(name, getattr(usual, name)):
            words += written
    return words


def _split(run: Mapping[str, Any]) -> list[str]:
    # A graph that comes with its own split names the split after itself; it and the public split are the usual ones.
    if run.get("split") in (None, _PUBLIC, run.get("dataset")):
        return []
    words = option("split", run["split"])
    seeds = run.get("split_seeds")
    if isinstance(seeds, list) and seeds and all(isinstance(seed, int) for seed in seeds):
        words += option("splits", len(set(seeds)))
        words += option("split_seed", min(seeds)) if min(seeds) else []
    return words
