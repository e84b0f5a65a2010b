"""The table of a fit: the model, and what each method reaches alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.table import Table

from graphmix.results.evidence import interval
from graphmix.results.fit import MIXTURE
from graphmix.results.names import candidate_title
from graphmix.results.outcome import judged_label
from graphmix.text import counted

if TYPE_CHECKING:
    from graphmix.results.fit import CandidateResult, FitMetrics

NOISE_MARK = "*"
# The lines between two columns, with their spaces.
_BETWEEN = 3


@dataclass(frozen=True)
class _Column:
    """A column of the table.

    Attributes:
        name: its header.
        cell: the text of a candidate; empty for none.
        order: columns that come later in this order are left out first where a screen is narrow.
    """

    name: str
    cell: Callable[["CandidateResult"], str]
    order: int


def outcome_table(metrics: "FitMetrics", width: int = 80) -> Table:
    """Lay out the model and the candidates, the model first; columns that do not fit into the width are left out."""
    kept = _fitting([(each, [each.cell(one) for one in metrics.candidates]) for each in _columns(metrics)], width)
    marked = f"; {NOISE_MARK} is more than noise" if any(each.certain for each in metrics.candidates) else ""
    table = Table(
        title=f"Percent of {counted(metrics.held, judged_label(metrics))} (95 % interval){marked}", title_justify="left"
    )
    for column, _ in kept:
        table.add_column(column.name, justify="left" if column.order == 0 else "right", no_wrap=True)
    for row in zip(*(cells for _, cells in kept), strict=True):
        table.add_row(*row)
    return table


def _columns(metrics: "FitMetrics") -> list[_Column]:
    """All columns, in the order in which they are shown."""

    def accuracy(one: "CandidateResult") -> str:
        low, high = interval(one.accuracy, metrics.held)
        return f"{one.accuracy:.1f} ({low:.0f} to {high:.0f})"

    return [
        _Column("method", lambda one: candidate_title(one, metrics), 0),
        _Column("share", lambda one: "" if one.share is None else f"{one.share:.0f} %" if one.share else "–", 2),
        _Column("accuracy", accuracy, 1),
        _Column("macro F1", lambda one: _number(one.macro_f1, 1), 5),
        _Column("log loss", lambda one: _number(one.log_loss, 2), 6),
        _Column("model ahead by" if metrics.chosen == MIXTURE else "behind the best", _ahead, 3),
        _Column("epochs", lambda one: "" if one.epochs is None else f"{one.epochs:,}", 7),
        _Column("seconds", lambda one: f"{one.seconds:.1f}", 4),
    ]


def _fitting(columns: Sequence[tuple[_Column, list[str]]], width: int) -> list[tuple[_Column, list[str]]]:
    """Leave out columns without any text, and those that do not fit, the least important first."""
    kept, used = set(), 1
    for column, cells in sorted(columns, key=lambda each: each[0].order):
        wide = max(map(cell_len, (column.name, *cells))) + _BETWEEN
        if any(cells) and (column.order < 2 or used + wide <= width):
            kept.add(column.name)
            used += wide
    return [each for each in columns if each[0].name in kept]


def _ahead(one: "CandidateResult") -> str:
    """How many points the model is ahead, and whether that is more than noise."""
    if one.behind is None:
        return ""
    mean, low, high = one.behind
    # A space where there is no mark, so that the numbers stand below each other.
    mark = NOISE_MARK if one.certain else " "
    return f"{mean:.1f} ({low:.1f} to {high:.1f}){mark}".replace("-", "−")


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
