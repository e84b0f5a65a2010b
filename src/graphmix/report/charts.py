"""The numbers that the page's charts are drawn from, rounded to what can be seen."""

from typing import Any

import numpy as np

from graphmix.data.datasets.catalogue import DATASETS
from graphmix.report.contents import Contents
from graphmix.report.wording import explain
from graphmix.results.details import ROLES, Curves, Details, Embedding, Reliability
from graphmix.results.names import METRICS
from graphmix.results.record import Bound, CellResult, Choice, Record
from graphmix.results.run import RunResult
from graphmix.results.wording import outcome
from graphmix.results.writer import to_json

# A page of 150 cells must still open at once: so many nodes in all its pictures, and no picture poorer than this.
_NODES, _FEWEST_NODES = 60_000, 400
_CURVE_POINTS, _FEWER_CURVE_POINTS, _MANY_CURVES = 120, 60, 60
# Longer lists, one value per trial, are on the page as charts.
_LONGEST_LIST = 12


def chart_data(contents: Contents) -> dict[str, Any]:
    """Everything the page's script draws: experiments, cells, and the names of classes, each list of them once."""
    classes: dict[tuple[str, ...], int] = {}
    room = _Room(contents)
    cells = [
        _cell(number, record, cell, classes, room, of_runs=contents.of_runs)
        for number, record in enumerate(contents.records)
        for cell in record.cells
    ]
    return {
        "records": [_record(record) for record in contents.records],
        "cells": cells,
        "classes": [list(names) for names in classes],
        "settings": [_short(cell.run) for record in contents.records for cell in record.cells if cell.run],
    }


class _Room:
    """How much of each picture a page has room for, by how many there are."""

    def __init__(self, contents: Contents):
        pairs = [(record, cell.details) for record in contents.records for cell in record.cells if cell.details]
        clouds = [record for record, details in pairs if details.embedding]
        whole = sum(_is_about(record, "embedding") for record in clouds)
        rest = max(len(clouds) - whole, 1)
        self._nodes = max(_FEWEST_NODES, (_NODES - 2000 * whole) // rest)
        curves = sum(details.curves is not None for _, details in pairs)
        self.epochs = _CURVE_POINTS if curves <= _MANY_CURVES else _FEWER_CURVE_POINTS

    def nodes(self, record: Record) -> int | None:
        # A figure about embeddings is shown as it is.
        return None if _is_about(record, "embedding") else self._nodes


def _is_about(record: Record, chart: str) -> bool:
    return record.kind == "figure" and chart in record.charts


def _record(record: Record) -> dict[str, Any]:
    return {
        "title": record.title,
        "source": record.source,
        "kind": record.kind,
        "metric": METRICS[record.metric],
        "columns": list(record.columns),
    }


def _cell(
    number: int, record: Record, cell: CellResult, classes: dict[tuple[str, ...], int], room: _Room, *, of_runs: bool
) -> dict[str, Any]:
    drawn: dict[str, Any] = {"record": number, "name": record.label(cell), "column": cell.column}
    drawn |= {"row": cell.row, "reading": record.readings.index(cell.reading) if cell.reading else 0}
    if cell.paper is not None:
        drawn["paper"] = [cell.paper.mean, cell.paper.std]
    if cell.verdict is not None and cell.verdict.difference is not None and cell.status == "done":
        drawn |= {"word": outcome(cell), "difference": cell.verdict.difference, "tip": explain(cell)}
    score = cell.score(record.metric)
    if cell.run is not None and score is not None:
        drawn["scores"] = _rounded(score.values, 2)
        drawn |= {"failed": sorted(cell.run.failed), "std": score.std, "mean": score.mean}
    if cell.details is not None:
        drawn["classes"] = classes.setdefault(_class_names(cell, of_runs=of_runs), len(classes))
        drawn |= _pictures(cell.details, room.nodes(record), room.epochs)
    selection = cell.outcome.selection
    # Only a grid of two axes has a picture.
    if selection is not None and selection.grid and selection.grid[0].settings is None:
        drawn["grid"] = [
            [point.alpha, point.gamma, point.val_accuracy_mean, point.val_accuracy_std, point.trials]
            for point in selection.grid
        ]
        drawn["chosen"], drawn["paperChosen"] = _pair(selection.chosen), _pair(selection.paper_chosen)
    if cell.outcome.bound is not None and cell.outcome.bound.points:
        drawn["bound"] = _bound(cell.outcome.bound)
    return drawn


def _pair(choice: Choice | None) -> list[float] | None:
    return None if choice is None else [choice.alpha, choice.gamma]


def _class_names(cell: CellResult, *, of_runs: bool) -> tuple[str, ...]:
    names = () if cell.details is None else cell.details.classes
    # An experiment's graph is the catalogue's; that of a run folder may only have the same name.
    if cell.run is not None and not of_runs and names == tuple(map(str, range(len(names)))):
        info = DATASETS.get(cell.run.dataset)
        known = info.class_names if info is not None else None
        names = known if known is not None and len(known) == len(names) else names
    # A number alone says little in a legend.
    return tuple(f"class {name}" if name.isdecimal() else name for name in names)


def _pictures(details: Details, nodes: int | None, epochs: int) -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    if details.curves is not None and details.curves.epochs:
        drawn["curves"] = _curves(details.curves, epochs)
    # Without test nodes there is nothing in them.
    if details.confusion is not None and any(map(any, details.confusion)):
        drawn["confusion"] = [list(row) for row in details.confusion]
    if details.reliability is not None and any(details.reliability.count):
        drawn["reliability"] = reliability_bins(details.reliability)
    if details.embedding is not None and details.embedding.x:
        drawn["embedding"] = _cloud(details.embedding, nodes)
    if details.soft_rank and details.classes:
        drawn["softRank"] = _ranks(details.soft_rank)
    return drawn


def reliability_bins(bins: Reliability) -> dict[str, Any]:
    """Bins of the confidence as the page's script takes them."""
    return {
        "count": list(bins.count),
        "confidence": _rounded(bins.confidence, 1),
        "accuracy": _rounded(bins.accuracy, 1),
        "ece": bins.ece,
    }


def _curves(curves: Curves, most: int) -> dict[str, Any]:
    size = len(curves.epochs)
    # The last epoch always stays.
    kept = sorted({round(place) for place in np.linspace(0, size - 1, min(size, most)).tolist()})
    drawn: dict[str, Any] = {"epochs": [curves.epochs[place] for place in kept]}
    for name, curve in curves.quantities.items():
        digits = 1 if name.endswith("accuracy") else 3
        drawn[name] = [
            _rounded([band[place] for place in kept], digits) for band in (curve.mean, curve.low, curve.high)
        ]
    return drawn


def _cloud(embedding: Embedding, most: int | None) -> dict[str, Any]:
    size = len(embedding.x)
    # The nodes were drawn at random, so every n-th of them is a fair picture too.
    kept = range(size) if most is None else range(0, size, -(-size // most))
    x, y = np.array(embedding.x), np.array(embedding.y)
    # t-SNE's axes mean nothing: three digits place a point to within a pixel. One scale for both keeps the shape.
    span = max(np.ptp(x), np.ptp(y)) or 1.0
    x, y = (np.rint(999 * (axis - axis.min()) / span).astype(int) for axis in (x, y))
    return {
        "x": [int(x[place]) for place in kept],
        "y": [int(y[place]) for place in kept],
        "node": [embedding.node[place] for place in kept],
        "label": [embedding.label[place] for place in kept],
        "predicted": [embedding.predicted[place] for place in kept],
        "confidence": [round(embedding.confidence[place]) for place in kept],
        "role": "".join(str(ROLES.index(embedding.role[place])) for place in kept),
        "nodes": embedding.nodes,
    }


def _ranks(soft_rank: tuple[tuple[float | None, ...], ...]) -> list[list[float | None]]:
    # Of each class: mean, 10th and 90th percentile over the trials.
    drawn: list[list[float | None]] = [[], [], []]
    for values in zip(*soft_rank, strict=True):
        known = [value for value in values if value is not None]
        marks = [np.mean(known), *np.percentile(known, [10, 90])] if known else [None] * 3
        for row, mark in zip(drawn, marks, strict=True):
            row.append(None if mark is None else round(float(mark), 3))
    return drawn


def _bound(bound: Bound) -> dict[str, Any]:
    return {
        "threshold": bound.threshold,
        "points": [[p.alpha, p.gamma, p.fcn_loss.mean, p.fcn_loss.std, p.excess] for p in bound.points],
    }


def _short(run: RunResult) -> dict[str, Any]:
    return {
        name: f"[{len(value)} values]" if isinstance(value, list) and len(value) > _LONGEST_LIST else value
        for name, value in to_json(run).items()
        if name != "test_f1"
    }


def _rounded(values: Any, digits: int) -> list[float | None]:
    return [None if value is None else round(value, digits) for value in values]
