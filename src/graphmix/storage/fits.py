"""A fit as tensors with names, as run folders hold it; and back."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphmix.errors import RunError
from graphmix.results.describe import read_shares
from graphmix.storage.files import read_tensors, tensors_under
from graphmix.training.config import Config
from graphmix.training.history import History
from graphmix.training.loop import Fit

# What a fit has of each trial at its best epoch; `[trials]`, and `[trials, classes]` for the last.
SCORES = ("best_epoch", "val_score", "val_accuracy", "test_accuracy", "test_f1")
BEST = "best."


def curves_of(fit: Fit) -> dict[str, Tensor]:
    """What a fit has of every epoch, and of every test node, by name."""
    return {"confusion": fit.confusion, "reliability": fit.reliability} | vars(fit.history)


def part_tensors(part: Fit) -> dict[str, Tensor]:
    """All of a batch of trials, by name."""
    return {
        "trials": torch.tensor(part.trials),
        "seconds": torch.tensor(part.seconds, dtype=torch.float64),
        **{name: getattr(part, name) for name in SCORES},
        **{f"curves.{name}": curve for name, curve in curves_of(part).items()},
        **{f"weights.{name}": weight for name, weight in part.weights.items()},
    }


def read_part(path: Path, config: Config) -> Fit:
    """Read back the file of a batch of trials.

    Raises:
        RunError: it is damaged.
    """
    try:
        held = read_tensors(path)
        scores = {name: held[name] for name in SCORES}
        trials, seconds = held["trials"].tolist(), held["seconds"].item()
        weights, curves = tensors_under("weights.", held), tensors_under("curves.", held)
        return build_fit(config, trials, weights, scores, curves, seconds)
    except (KeyError, TypeError, RunError) as error:
        raise RunError(f"{path} is damaged ({error}); delete it, and its trials are trained again") from error


def build_fit(
    config: Config,
    trials: Iterable[int],
    weights: dict[str, Tensor],
    scores: dict[str, Tensor],
    curves: dict[str, Tensor],
    seconds: float,
) -> Fit:
    """Put a fit together from its tensors by name; a KeyError names one that is missing."""
    return Fit(
        config=config,
        trials=tuple(trials),
        weights=weights,
        best_epoch=scores["best_epoch"],
        val_score=scores["val_score"],
        val_accuracy=scores["val_accuracy"],
        test_accuracy=scores["test_accuracy"],
        test_f1=scores["test_f1"],
        confusion=curves["confusion"],
        reliability=curves["reliability"],
        history=History(**{field.name: curves[field.name] for field in fields(History)}),
        seconds=seconds,
    )


def rounded_scores(results: Mapping[str, Any]) -> dict[str, Tensor]:
    """The scores of a run that was written before they were stored as tensors: percentages of four digits."""
    shares = {name: read_shares(results[name]) for name in SCORES if name != "best_epoch"}
    return {"best_epoch": torch.tensor(results["best_epoch"])} | shares
