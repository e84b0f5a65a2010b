"""The parts of a spec: columns, rows and a search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmix.results.record import Quoted

Settings = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: usually a dataset, with its settings, and the readings it is computed by, if not those of the spec."""

    name: str
    settings: Settings
    paper_chosen: Settings | None = None
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row: a method, its settings, and the paper's numbers by column.

    Attributes:
        name: what the paper calls it.
        settings: its settings in every column.
        on: further settings by column.
        paper: the paper's numbers by column.
        quoted: whether the paper quotes its numbers from elsewhere; it is run only if its settings name a method.
        readings: the readings it is computed by, if not those of the spec.
    """

    name: str
    settings: Settings = field(default_factory=dict)
    on: Mapping[str, Settings] = field(default_factory=dict)
    paper: Mapping[str, Quoted] = field(default_factory=dict)
    quoted: bool = False
    readings: tuple[str, ...] = ()

    @property
    def runs(self) -> bool:
        """Whether it is run, not only quoted."""
        return not self.quoted or bool(self.settings)


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search with a budget, over points drawn at random; the settings of the cell are the first point.

    Attributes:
        values: the values to try, by hyperparameter.
        points: how many points are tried, at most.
        trials: how many trials each has, at most those of the cell.
        seed: determines which points are drawn. With more points the first ones stay the same.
        finalists: how many of the best points are tried again, to choose among them; 0 chooses among all.
        finalist_trials: how many trials each of these has, with other splits of the same labels.
    """

    values: Mapping[str, tuple[Any, ...]]
    points: int
    trials: int
    seed: int = 0
    finalists: int = 0
    finalist_trials: int = 0
