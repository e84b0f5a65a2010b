"""Hyperparameter selection: the paper's grid over α and γ, or a search with a budget; a choice by validation alone."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from statistics import fmean
from typing import Any

from graphmix import data
from graphmix.data.split_names import REDRAWN, per_class_of
from graphmix.errors import ConfigError, RunError
from graphmix.experiments.cells import Cell
from graphmix.experiments.rows import Column, Row, Search
from graphmix.experiments.spec import EACH, Spec
from graphmix.results.names import title
from graphmix.results.record import Choice, GridPoint
from graphmix.results.run import RunResult
from graphmix.training import Config
from graphmix.tuning.space import SEARCH_SEEDS


def search_spec(
    dataset: str,
    grid: Mapping[str, tuple[float, ...]],
    *,
    backbone: str = "gcn",
    reading: str = "paper",
    split: str | None = None,
    splits: int | None = None,
    trials: int,
) -> Spec:
    """Return a search for α and γ on any dataset, as a spec of one cell.

    Args:
        dataset: a key of `graphmix.data.DATASETS`, or the path of an .npz file.
        grid: the values of "alphas" and "gammas".
        backbone: the network.
        reading: whose defaults the other hyperparameters take.
        split: a split by name; the dataset's usual one when not given.
        splits: how many different splits the trials take in turn; 10 when not given, or one for each trial if fewer.
        trials: trials at each point, and of the chosen one.

    Raises:
        ConfigError: the backbone or the reading does not exist, or the split has no validation nodes.
    """
    if split is not None and per_class_of(split)[1] == 0:
        raise ConfigError(f"a search needs validation nodes, but the split {split} has none; choose another `split`")
    info = data.DATASETS.get(dataset)
    usual, name = Config.for_dataset(dataset, reading=reading, backbone=backbone), title("graphmix", backbone)
    return Spec(
        name=f"select-{Path(dataset).stem}-{backbone}",
        title=f"α and γ of {name} on {dataset}",
        source="grid search by validation accuracy",
        about="The point with the best mean validation accuracy is trained again with fresh seeds.",
        kind="selection",
        trials=trials,
        splits=splits or (EACH if trials < data.SPLITS else data.SPLITS),
        readings=(reading,),
        metric="test_macro_f1" if usual.select_by == "macro-f1" else "test_accuracy",
        rows=(Row(name=name, settings={"method": "graphmix", "backbone": backbone}),),
        columns=(
            Column(
                name=dataset,
                settings={"dataset": dataset, "split": split or (info.split if info else data.PUBLIC)},
            ),
        ),
        grid=grid,
    )


def points_of(spec: Spec, cell: Cell) -> list[tuple[dict[str, Any], Cell]]:
    """Return what a search of a cell tries: the hyperparameters that a point sets, and its cell without measures."""
    plain = replace(cell, measures=())
    if spec.search is None:
        pairs = product(spec.grid["alphas"], spec.grid["gammas"])
        points = [{"alpha": alpha, "gamma": gamma} for alpha, gamma in pairs]
        return [(settings, plain.with_settings(**settings)) for settings in points]
    trials = min(spec.search.trials, cell.config.trials)
    # Seeds and drawn splits that the final run does not use.
    plain = replace(plain, splits=min(cell.splits, trials), first_split=cell.first_split + cell.splits)
    plain = plain.with_settings(trials=trials, seed=cell.config.seed + SEARCH_SEEDS)
    points = draw_points(spec.search, {name: getattr(cell.config, name) for name in spec.search.values})
    return [(settings, plain.with_settings(**settings)) for settings in points]


def finalists_of(spec: Spec, cell: Cell, grid: Sequence[GridPoint]) -> list[tuple[dict[str, Any], Cell]]:
    """Return the best points of a search, best first, to be tried again: other seeds, and other splits of the labels.

    One set of validation nodes flatters some of many points. Trained on other nodes, and judged by these in turn, a
    point that was only lucky falls back. The public split's test nodes are in none of these splits.
    """
    search = spec.search
    if search is None or search.finalists == 0:
        return []
    best = sorted(grid, key=lambda point: -(point.val_score_mean or 0.0))[: search.finalists]
    trials = search.finalist_trials
    split = REDRAWN if cell.split == data.PUBLIC else cell.split
    drawn = replace(cell, measures=(), split=split, splits=trials, first_split=cell.first_split + 2 * cell.splits)
    drawn = drawn.with_settings(trials=trials, seed=cell.config.seed + 2 * SEARCH_SEEDS)
    return [(point.settings or {}, drawn.with_settings(**(point.settings or {}))) for point in best]


def draw_points(search: Search, start: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the points of a search: the start, then different ones drawn at random; all of them if there are fewer."""
    drawn = random.Random(search.seed)
    inside = all(start[name] in options for name, options in search.values.items())
    size = prod(map(len, search.values.values())) + (not inside)
    points = [dict(start)]
    while len(points) < min(search.points, size):
        # Of this generator only `random` gives the same numbers with every version of Python.
        point = {name: options[int(drawn.random() * len(options))] for name, options in search.values.items()}
        points += [point] if point not in points else []
    return points


def choose(points: Sequence[GridPoint]) -> Choice:
    """Return the point with the best mean validation score, the first of several; test scores are not used.

    The score is what epochs are selected by: accuracy, or macro F1 for links.
    """
    best = max(points, key=lambda point: point.val_score_mean or 0.0)
    return Choice(best.alpha, best.gamma, best.settings)


def fresh(spec: Spec, cell: Cell, chosen: Choice) -> Cell:
    """Return the cell at the chosen point, with seeds and drawn splits that the search did not use."""
    if spec.search is not None:
        return cell.with_settings(**(chosen.settings or {}))
    unseen = replace(cell, first_split=cell.first_split + cell.splits)
    return unseen.with_settings(alpha=chosen.alpha, gamma=chosen.gamma, seed=cell.config.seed + cell.config.trials)


def summary(point: Cell, run: RunResult, settings: dict[str, Any] | None = None) -> GridPoint:
    """Return what a record holds of a point: α, γ, what a search set there, and validation scores."""
    val = run.val_accuracy
    # The score of the loss is exp(-loss), which says little of how many predictions are right.
    held = None if val is None else val.values if point.config.select_by == "loss" else run.val_score
    scores = [score for score in held or () if score is not None]
    if val is None or len(scores) < run.trials:
        raise RunError(f"the run at α = {point.config.alpha:g}, γ = {point.config.gamma:g} has no validation scores")
    return GridPoint(
        alpha=point.config.alpha,
        gamma=point.config.gamma,
        settings=settings,
        trials=point.config.trials,
        val_score_mean=round(fmean(scores), 4),
        val_accuracy_mean=val.mean,
        val_accuracy_std=val.std,
        val_accuracy=val.values,
    )
