"""Columns of dates and times as features: the day as a scaled number, and the parts that repeat on a circle."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.cells import is_list
from graphmix.tables.dates import CLOCK, FORMS, ISO, Dates, as_dates
from graphmix.tables.kinds import DATE, MEAN_USED, Encoded
from graphmix.tables.numeric import NUMERIC, counted_as_missing
from graphmix.tables.scaling import are_marked, scale, scaled
from graphmix.tables.simplified import SECONDS_A_DAY
from graphmix.tables.stored import boolean, distinct, real, text
from graphmix.tables.table import Table, quoted
from graphmix.text import counted

MONTH, WEEKDAY, HOUR = "month", "weekday", "hour"
# How many there are of each part before it repeats.
ROUNDS = {MONTH: 12, WEEKDAY: 7, HOUR: 24}
# 1 January 1970 was a Thursday, and weeks begin on Monday.
_FIRST_WEEKDAY = 3
# Days beyond these, millions of years away, have no calendar.
_FARTHEST = 1e9


@dataclass(frozen=True)
class Date:
    """A column of dates or times.

    Attributes:
        name: the column.
        form: how its dates are written, one of `FORMS`.
        mean: the mean of the days since 1970 that it was fitted to.
        std: their standard deviation; 0 if they are all the same.
        has_missing: whether enough cells were missing; a feature then marks missing cells.
        parts: those of `ROUNDS` that differed; each gives two features, its sine and its cosine.
    """

    kind: ClassVar[str] = DATE
    name: str
    form: str
    mean: float
    std: float
    has_missing: bool
    parts: tuple[str, ...]

    @classmethod
    def check(cls, table: Table, name: str) -> str:
        """Check that nearly all cells are dates; return what is doubtful about how they are read."""
        if is_list(table.column(name)):
            raise DataError(f"{table.name}: column {quoted(name)} holds lists, so it cannot be of kind {DATE}")
        found = as_dates(table, name)
        if not are_dates(found) and found.filled:
            row = int(found.wrong[0])
            raise DataError(f"{table.locate(row, name)} is not a date; choose another kind for the column")
        return found.doubt

    @classmethod
    def fit(cls, table: Table, name: str) -> "Date":
        """Learn the form, the mean, the standard deviation, and which parts differ."""
        found = as_dates(table, name)
        there = found.days[~np.isnan(found.days)]
        mean, std = scale(there[:, None])
        differing = [part for part, values in _parts(there).items() if len(values) and np.ptp(values) > 0]
        parts = tuple(part for part in differing if found.form != CLOCK or part == HOUR)
        has_missing = are_marked(table.rows - len(there), table.rows)
        return cls(name, found.form or ISO, float(mean[0]), float(std[0]), has_missing, parts)

    @property
    def described(self) -> str:
        """How its cells are read, for people."""
        return "time" if self.form == CLOCK else "date"

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        missing = [f"{self.name} is missing"] * self.has_missing
        waves = [f"{self.name}: {wave} of {part}" for part in self.parts for wave in ("sine", "cosine")]
        return [self.name, *missing, *waves]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, features]`; a missing cell gives the mean, which is 0, and no parts."""
        if is_list(table.column(self.name)):
            raise DataError(f"{table.name}: column {quoted(self.name)} holds lists, but held dates in training")
        found = as_dates(table, self.name, self.form)
        if found.filled and len(found.wrong) == found.filled:
            raise DataError(f"{table.locate(int(found.wrong[0]), self.name)} is not a date like {self.form}")
        blocks = [scaled(found.days[:, None], np.array([self.mean]), np.array([self.std]))]
        lost = np.isnan(found.days)
        if self.has_missing:
            blocks.append(lost[:, None].astype(np.float32))
        values = _parts(np.where(lost, 0, found.days))
        for part in self.parts:
            angle = 2 * np.pi * values[part] / ROUNDS[part]
            waves = np.stack([np.sin(angle), np.cos(angle)], axis=1)
            blocks.append(np.where(lost[:, None], 0, waves).astype(np.float32))
        return Encoded(np.hstack(blocks), self._notes(table, found))

    def _notes(self, table: Table, found: Dates) -> list[str]:
        notes = []
        if len(found.wrong):
            notes.append(counted_as_missing(table, self.name, found.wrong, f"not a date like {self.form}"))
        empty = table.rows - found.filled
        if empty:
            notes.append(f"column {quoted(self.name)}: {counted(empty, 'cell is', 'cells are')} missing{MEAN_USED}")
        return notes

    @classmethod
    def from_json(cls, value: Any) -> "Date":
        """Read the stored fields; raises DataError if they are damaged."""
        std, form, parts = real(value, "std"), text(value, "form"), distinct(value, "parts", len(ROUNDS))
        if std < 0 or form not in FORMS or not set(parts) <= set(ROUNDS):
            raise DataError("std, form or parts are invalid")
        return cls(text(value, "name"), form, real(value, "mean"), std, boolean(value, "has_missing"), parts)


def are_dates(found: Dates) -> bool:
    """Whether nearly all filled cells of a column are dates."""
    return found.filled > 0 and len(found.wrong) <= (1 - NUMERIC) * found.filled


def _parts(days: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return month and weekday, counted from 0, and the hour with its fraction, of days `[rows]`."""
    seconds = np.rint(np.clip(days, -_FARTHEST, _FARTHEST) * SECONDS_A_DAY).astype(np.int64)
    whole = seconds // SECONDS_A_DAY
    months = whole.astype("M8[D]").astype("M8[M]").astype(np.int64) % ROUNDS[MONTH]
    weekdays = (whole + _FIRST_WEEKDAY) % ROUNDS[WEEKDAY]
    hours = (seconds % SECONDS_A_DAY) / (SECONDS_A_DAY / ROUNDS[HOUR])
    return {MONTH: months.astype(float), WEEKDAY: weekdays.astype(float), HOUR: hours}
