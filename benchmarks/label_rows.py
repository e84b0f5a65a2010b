"""Accuracy with very few labels from the files in results/: for label_page.py and label_picture.py."""

from collections.abc import Iterable
from dataclasses import dataclass

from graphmix.data import DATASETS
from graphmix.data.split_names import per_class_of, share_of
from graphmix.experiments.cells import Asked, Cell, plan
from graphmix.experiments.spec import load_spec
from graphmix.results.record import CellResult, Record
from results_page import read_records

SHARES, CLASSES = "label-rates", "few-labels"
# What each part of the page shows, by its name here.
PANELS = {
    "share": "a share of the labels",
    "validated": "500 validation nodes",
    "blind": "no validation nodes",
}
# Quoted, not run.
RIVAL = "GraFN"


@dataclass(frozen=True)
class Point:
    """A method on a dataset with so many labels.

    Attributes:
        row: the method.
        dataset: its title.
        panel: a key of `PANELS`.
        labels: how many labels there are in all.
        amount: the same as the split has it: a share, or a number for each class.
        result: the cell of the record.
    """

    row: str
    dataset: str
    panel: str
    labels: int
    amount: str
    result: CellResult

    @property
    def mean(self) -> float | None:
        """The mean test accuracy in percent, quoted if it is not ours; None if it was not run."""
        if self.result.status == "quoted":
            return self.result.paper.mean
        score = self.result.score("test_accuracy")
        return None if score is None else score.mean


def read_points() -> list[Point]:
    """Every method with every number of labels, from the committed records."""
    return points(read_records(SHARES, CLASSES))


def points(records: Iterable[Record]) -> list[Point]:
    """The points of records, in the order of their specs."""
    found = []
    for record in records:
        held = {cell.place: cell for cell in record.cells}
        cells = plan(load_spec(record.name), Asked())
        columns = {cell.column: cell for cell in cells if cell.method is not None}
        found += [_point(cell, columns[cell.column], held[cell.row, cell.column, cell.reading]) for cell in cells]
    return found


def _point(cell: Cell, drawn: Cell, result: CellResult) -> Point:
    info, share = DATASETS[drawn.dataset], share_of(drawn.split)
    if share:
        amount = f"{drawn.split.removesuffix('-percent')} %"
        return Point(cell.row, info.title, "share", int(info.nodes * share), amount, result)
    each, val = per_class_of(drawn.split)
    return Point(cell.row, info.title, "validated" if val else "blind", each * info.classes, f"{each} a class", result)


def in_panel(found: Iterable[Point], dataset: str, panel: str) -> list[Point]:
    """The points of a part of the page, of one dataset."""
    return [point for point in found if (point.dataset, point.panel) == (dataset, panel)]


def beaten(found: Iterable[Point]) -> dict[str, tuple[int, int]]:
    """In how many places each method is above the quoted rival, and in how many both have a number."""
    found = list(found)
    theirs = {(point.dataset, point.labels): point.mean for point in found if point.row == RIVAL}
    counts: dict[str, tuple[int, int]] = {}
    for point in found:
        if point.panel == "share" and point.row != RIVAL and point.mean is not None:
            above, both = counts.get(point.row, (0, 0))
            counts[point.row] = (above + (point.mean > theirs[point.dataset, point.labels]), both + 1)
    return counts
