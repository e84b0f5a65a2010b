"""Hyperparameter selection as the paper did it: a grid over α and γ, chosen by validation accuracy alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

from graphmix.experiments.cells import Cell


def grid_cells(cell: Cell, grid: Mapping[str, Sequence[float]]) -> list[Cell]:
    """The cell at every point of the grid, with its own seeds; only scores are measured there."""
    plain = replace(cell, measures=())
    return [plain.with_settings(alpha=alpha, gamma=gamma) for alpha, gamma in product(grid["alphas"], grid["gammas"])]


def choose(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The point with the best mean validation score over its trials, the first of equals; the test plays no part.

    The score is what epochs are chosen by: accuracy, or macro F1 among links.

    Args:
        points: as `summary` gives.
    """
    best = max(points, key=lambda point: point["val_score_mean"])
    return {"alpha": best["alpha"], "gamma": best["gamma"]}


def fresh(cell: Cell, chosen: Mapping[str, float]) -> Cell:
    """The cell at the chosen point, with seeds and, where splits are drawn, splits that the search has not seen."""
    unseen = replace(cell, first_split=cell.first_split + cell.splits)
    return unseen.with_settings(**chosen, seed=cell.config.seed + cell.config.trials)


def summary(point: Cell, run: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a point of the grid: where it is and its validation scores."""
    config = point.config
    score = round(fmean(run["val_score"]), 4)
    kept = {name: run[name] for name in ("val_accuracy_mean", "val_accuracy_std", "val_accuracy")}
    return {"alpha": config.alpha, "gamma": config.gamma, "trials": config.trials, "val_score_mean": score, **kept}
