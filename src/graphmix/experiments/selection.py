"""Hyperparameter selection as in the paper: a grid over α and γ, and a choice by the validation score alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean

from graphmix import data
from graphmix.data.split_names import per_class_of
from graphmix.errors import ConfigError, RunError
from graphmix.experiments.cells import Cell
from graphmix.experiments.spec import EACH, Column, Row, Spec
from graphmix.results.names import title
from graphmix.results.record import Choice, GridPoint
from graphmix.results.run import RunResult
from graphmix.training import Config


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


def grid_cells(cell: Cell, grid: Mapping[str, Sequence[float]]) -> list[Cell]:
    """Return the cell at each point of the grid; only scores are computed there."""
    plain = replace(cell, measures=())
    return [plain.with_settings(alpha=alpha, gamma=gamma) for alpha, gamma in product(grid["alphas"], grid["gammas"])]


def choose(points: Sequence[GridPoint]) -> Choice:
    """Return the point with the best mean validation score, the first of several; test scores are not used.

    The score is what epochs are selected by: accuracy, or macro F1 for links.
    """
    best = max(points, key=lambda point: point.val_score_mean or 0.0)
    return Choice(best.alpha, best.gamma)


def fresh(cell: Cell, chosen: Choice) -> Cell:
    """Return the cell at the chosen point, with seeds and drawn splits that the search did not use."""
    unseen = replace(cell, first_split=cell.first_split + cell.splits)
    return unseen.with_settings(alpha=chosen.alpha, gamma=chosen.gamma, seed=cell.config.seed + cell.config.trials)


def summary(point: Cell, run: RunResult) -> GridPoint:
    """Return what a record holds of a point of the grid: α, γ and validation scores."""
    val = run.val_accuracy
    scores = [score for score in run.val_score or () if score is not None]
    if val is None or len(scores) < run.trials:
        raise RunError(f"the run at α = {point.config.alpha:g}, γ = {point.config.gamma:g} has no validation scores")
    return GridPoint(
        alpha=point.config.alpha,
        gamma=point.config.gamma,
        trials=point.config.trials,
        val_score_mean=round(fmean(scores), 4),
        val_accuracy_mean=val.mean,
        val_accuracy_std=val.std,
        val_accuracy=val.values,
    )
