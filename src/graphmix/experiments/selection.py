"""Hyperparameter selection as the paper did it: a grid over α and γ, chosen by validation accuracy alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from graphmix.experiments.cells import Cell


def grid_cells(cell: Cell, grid: Mapping[str, Sequence[float]]) -> list[Cell]:
    """The cell at every point of the grid, with its own seeds; only scores are measured there."""
    plain = replace(cell, measures=())
    return [plain.with_settings(alpha=alpha, gamma=gamma) for alpha, gamma in product(grid["alphas"], grid["gammas"])]


def choose(points: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The point with the best mean validation accuracy over its trials, the first of equals; the test plays no part.

    Args:
        points: as `summary` gives.
    """
    best = max(points, key=lambda point: point["val_accuracy_mean"])
    return {"alpha": best["alpha"], "gamma": best["gamma"]}


def fresh(cell: Cell, chosen: Mapping[str, float]) -> Cell:
    """The cell at the chosen point, with seeds that the search has not seen."""
    return cell.with_settings(**chosen, seed=cell.config.seed + cell.config.trials)


def summary(point: Cell, run: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a point of the grid: where it is and its validation accuracies."""
    config = point.config
    kept = {name: run[name] for name in ("val_accuracy_mean", "val_accuracy_std", "val_accuracy")}
    return {"alpha": config.alpha, "gamma": config.gamma, "trials": config.trials, **kept}
