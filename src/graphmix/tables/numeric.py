"""Columns of numbers, and of lists of numbers, as features: scaled to mean 0 and standard deviation 1."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.cells import Lists, first_other_than_list, is_list, number_lists
from graphmix.tables.kinds import EMBEDDING, MEAN_USED, NUMBER, Encoded
from graphmix.tables.notation import NOTATIONS, PLAIN, WORDS, named_units
from graphmix.tables.numbers import LARGEST, Numbers, as_numbers
from graphmix.tables.scaling import are_marked, bent, bent_unit, scale, scaled
from graphmix.tables.stored import boolean, distinct, numbers, real, text
from graphmix.tables.table import Table, quoted
from graphmix.text import counted

# At least this share of a number column's cells must be numbers; the other cells count as missing.
NUMERIC = 0.95
# Many more than there are currencies.
_MOST_UNITS = 10_000


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    Attributes:
        name: the column.
        mean: the mean of the numbers it was fitted to.
        std: their standard deviation; 0 if they are all the same, and then every cell gives 0.
        has_missing: whether enough cells were missing; a second feature then marks missing cells.
        notation: how its numbers are written, one of `NOTATIONS`.
        log_unit: above 0, the unit of a signed logarithm that is taken before scaling; see `bent_unit`.
        units: the units of its cells, "" for none; empty if its notation has none.
    """

    kind: ClassVar[str] = NUMBER
    name: str
    mean: float
    std: float
    has_missing: bool
    # Encoders of older versions lack these.
    notation: str = PLAIN
    log_unit: float = 0.0
    units: tuple[str, ...] = ()

    @classmethod
    def check(cls, table: Table, name: str) -> str:
        """Check that nearly all cells are numbers; return a note on those that are not."""
        if is_list(table.column(name)):
            raise DataError(f"{table.name}: column {quoted(name)} holds lists, so it cannot be of kind {NUMBER}")
        found = as_numbers(table, name)
        if len(found.wrong) and not are_numbers(found):
            row = int(found.wrong[0])
            raise DataError(f"{table.locate(row, name)} is not a number; choose another kind for the column")
        return found.doubt

    @classmethod
    def fit(cls, table: Table, name: str) -> "Number":
        """Learn the notation, whether the numbers are skewed, the mean and the standard deviation."""
        found = as_numbers(table, name)
        there = found.values[~np.isnan(found.values)]
        unit = bent_unit(there)
        mean, std = scale(bent(there, unit)[:, None])
        has_missing = are_marked(table.rows - len(there), table.rows)
        return cls(name, float(mean[0]), float(std[0]), has_missing, found.notation, unit, found.units)

    @property
    def described(self) -> str:
        """How its cells are read, for people."""
        if self.notation in WORDS:
            return f"number ({self.notation} as 1 and 0)"
        return "number, as a logarithm" if self.log_unit else "number"

    @property
    def _cell(self) -> str:
        """What a cell is, for messages: `a number`, `yes or no`."""
        return " or ".join(WORDS[self.notation]) if self.notation in WORDS else "a number"

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [self.name, f"{self.name} is missing"] if self.has_missing else [self.name]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, 1 or 2]`; a missing cell gives the mean, which is 0."""
        if is_list(table.column(self.name)):
            raise DataError(f"{table.name}: column {quoted(self.name)} holds lists, but held numbers in training")
        found = as_numbers(table, self.name, self.notation)
        if found.filled and len(found.wrong) == found.filled:
            raise DataError(f"{table.locate(int(found.wrong[0]), self.name)} is not {self._cell}")
        values = bent(found.values, self.log_unit)[:, None]
        x = scaled(values, np.array([self.mean]), np.array([self.std]))
        if self.has_missing:
            x = np.hstack([x, np.isnan(found.values)[:, None].astype(np.float32)])
        return Encoded(x, self._notes(table, found))

    def _notes(self, table: Table, found: Numbers) -> list[str]:
        notes = []
        for rows, why in ((found.wrong, f"not {self._cell}"), (found.huge, f"beyond {LARGEST:g}")):
            if len(rows):
                notes.append(counted_as_missing(table, self.name, rows, why))
        empty = table.rows - found.filled
        if empty:
            notes.append(f"column {quoted(self.name)}: {counted(empty, 'cell is', 'cells are')} missing{MEAN_USED}")
        units = found.units or ("",)
        if self.units and found.filled and not set(units) <= set(self.units):
            differ = f"its units are {named_units(units)}, and in training they were {named_units(self.units)}"
            notes.append(f"column {quoted(self.name)}: {differ}; its numbers are used as they are")
        return notes

    @classmethod
    def from_json(cls, value: Any) -> "Number":
        """Read the stored fields; raises DataError if they are damaged."""
        std = real(value, "std")
        if std < 0:
            raise DataError("std is negative")
        notation = text(value, "notation") if "notation" in value else PLAIN
        unit = real(value, "log_unit") if "log_unit" in value else 0.0
        if notation not in NOTATIONS or not 0 <= unit <= LARGEST:
            raise DataError("notation or log_unit is invalid")
        units = distinct(value, "units", _MOST_UNITS) if "units" in value else ()
        has_missing = boolean(value, "has_missing")
        return cls(text(value, "name"), real(value, "mean"), std, has_missing, notation, unit, units)


@dataclass(frozen=True)
class Embedding:
    """A column of lists of numbers, all of the same length; each place in the list is scaled by itself.

    Attributes:
        name: the column.
        mean: `[dimensions]`.
        std: `[dimensions]`, 0 where all numbers are the same.
    """

    kind: ClassVar[str] = EMBEDDING
    name: str
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def check(cls, table: Table, name: str) -> str:
        """Check that the cells are lists of numbers of the same length."""
        lists = number_lists(table, name)
        if lists is None or not lists.filled.any():
            cell = table.locate(first_other_than_list(table, name), name)
            raise DataError(f"{cell} is not a list of numbers like [0.1, 0.2]; choose another kind for the column")
        lengths = np.bincount(lists.rows, minlength=table.rows)[lists.filled]
        if lengths.min() != lengths.max():
            raise DataError(f"column {quoted(name)} cannot be of kind {EMBEDDING}: {differing_lengths(table, lists)}")
        return ""

    @classmethod
    def fit(cls, table: Table, name: str) -> "Embedding":
        """Learn the mean and the standard deviation of every place in the lists."""
        mean, std = scale(_matrix(table, name, None))
        return cls(name, tuple(mean.tolist()), tuple(std.tolist()))

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [f"{self.name}[{place}]" for place in range(len(self.mean))]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, dimensions]`, rows of length about 1; a missing list gives the mean, which is 0."""
        values = _matrix(table, self.name, len(self.mean))
        notes = []
        lost = np.isnan(values)
        if lost.any():
            rows = int(lost.any(axis=1).sum())
            notes.append(f"column {quoted(self.name)}: {counted(rows, 'row')} with missing numbers{MEAN_USED}")
        x = scaled(values, np.array(self.mean), np.array(self.std))
        return Encoded(x / np.float32(np.sqrt(max(len(self.mean), 1))), notes)

    @classmethod
    def from_json(cls, value: Any) -> "Embedding":
        """Read the stored fields; raises DataError if they are damaged."""
        mean, std = numbers(value, "mean"), numbers(value, "std")
        if len(mean) != len(std) or min(std, default=0) < 0:
            raise DataError("mean and std do not match")
        return cls(text(value, "name"), mean, std)


def are_numbers(found: Numbers) -> bool:
    """Whether nearly all filled cells of a column are numbers."""
    return found.filled > 0 and len(found.wrong) <= (1 - NUMERIC) * found.filled


def differing_lengths(table: Table, lists: Lists) -> str:
    """Say that the lists of a column differ in length, and where."""
    lengths = np.bincount(lists.rows, minlength=table.rows)
    filled = np.flatnonzero(lists.filled)
    usual = lengths[filled[0]]
    odd = filled[lengths[filled] != usual][0]
    return f"its lists differ in length: the first has {usual}, {table.where(int(odd))} has {lengths[odd]}"


def counted_as_missing(table: Table, name: str, rows: NDArray[np.int64], why: str) -> str:
    """Say how many cells of a column are not used and why, and name the first."""
    first = table.quote(int(rows[0]), name)
    return f"column {quoted(name)}: {counted(len(rows), 'cell')} counted as missing: {why} (first {first})"


def _matrix(table: Table, name: str, dimensions: int | None) -> NDArray[np.float64]:
    """Read lists of one length as `[rows, dimensions]`; NaN where a list or number is missing or beyond `LARGEST`."""
    lists = number_lists(table, name)
    if lists is None:
        raise DataError(f"{table.name}: column {quoted(name)} must hold lists of numbers like [0.1, 0.2]")
    lengths = np.bincount(lists.rows, minlength=table.rows)
    if dimensions is None:
        dimensions = int(lengths.max(initial=0))
    odd = np.flatnonzero(lists.filled & (lengths != dimensions))
    if len(odd):
        row = int(odd[0])
        raise DataError(
            f"{table.where(row)}: the list in column {quoted(name)} has {counted(int(lengths[row]), 'number')}, not "
            f"{dimensions} as the others"
        )
    if not dimensions:
        raise DataError(f"{table.name}: the lists in column {quoted(name)} are empty; leave it out with `ignore`")
    values = np.full((table.rows, dimensions), np.nan)
    values[lists.filled] = np.asarray(lists.items.to_numpy(zero_copy_only=False)).reshape(-1, dimensions)
    values[np.abs(values) > LARGEST] = np.nan
    return values
