"""Columns of numbers and of lists of numbers as features: brought to mean 0 and deviation 1."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.cells import LARGEST, Numbers, as_numbers, is_list, number_lists
from graphmix.tables.kinds import EMBEDDING, NUMBER, taken_as_missing
from graphmix.tables.stored import boolean, numbers, real, text
from graphmix.tables.table import Table, counted, shortened

# Scaled values beyond this are cut: one wild cell must not outweigh everything else.
MOST = 10.0
# Below this share of a column's size a deviation is rounding.
ROUNDING = 1e-12

Encoded = tuple[NDArray[np.float32], list[str], int]


@dataclass(frozen=True)
class Number:
    """A column of numbers.

    Attributes:
        name: the column.
        mean: of the numbers it was fitted to.
        std: their deviation; 0 when they are all the same, and then every cell gives 0.
        has_missing: whether cells were missing, so that a second feature says where.
    """

    kind: ClassVar[str] = NUMBER
    name: str
    mean: float
    std: float
    has_missing: bool

    @classmethod
    def fit(cls, table: Table, name: str) -> "Number":
        """Learn a column's scale."""
        values = as_numbers(table, name).values
        there = values[~np.isnan(values)]
        mean, std = _scale(there[:, None])
        return cls(name, float(mean[0]), float(std[0]), len(there) < len(values))

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [self.name, f"{self.name} is missing"] if self.has_missing else [self.name]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, 1 or 2]` and notes; a missing cell counts as the mean."""
        column = table.column(self.name)
        if is_list(column):
            raise DataError(f"{table.name}: column {self.name!r} holds lists, but held numbers in training")
        found = as_numbers(table, self.name)
        if found.filled and len(found.wrong) == found.filled:
            row = int(found.wrong[0])
            raise DataError(f"{table.where(row)}: {shortened(column[row])} in column {self.name!r} is not a number")
        scaled = _scaled(found.values[:, None], np.array([self.mean]), np.array([self.std]))
        if self.has_missing:
            scaled = np.hstack([scaled, np.isnan(found.values)[:, None].astype(np.float32)])
        return scaled, self._notes(table, found), 0

    def _notes(self, table: Table, found: Numbers) -> list[str]:
        notes = []
        for rows, why in ((found.wrong, "not being numbers"), (found.huge, f"being beyond {LARGEST:g}")):
            if len(rows):
                notes.append(taken_as_missing(table, self.name, rows, why))
        empty = table.rows - found.filled
        if empty:
            notes.append(f"column {self.name!r}: {counted(empty, 'cell is', 'cells are')} missing; the mean is used")
        return notes

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "mean": self.mean, "std": self.std, "has_missing": self.has_missing}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Number":
        """Read plain data back; `DataError` when it is damaged."""
        std = real(value, "std")
        if std < 0:
            raise DataError("std is negative")
        return cls(text(value, "name"), real(value, "mean"), std, boolean(value, "has_missing"))


@dataclass(frozen=True)
class Embedding:
    """A column of lists of numbers, all of one length; each place in the list has its own scale.

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
    def fit(cls, table: Table, name: str) -> "Embedding":
        """Learn the scale of every place in the lists."""
        mean, std = _scale(_square(table, name, None))
        return cls(name, tuple(mean.tolist()), tuple(std.tolist()))

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [f"{self.name}[{place}]" for place in range(len(self.mean))]

    def encode(self, table: Table) -> Encoded:
        """Return float32 `[rows, dimensions]`, of length about 1 each; a missing list counts as the mean."""
        values = _square(table, self.name, len(self.mean))
        notes = []
        lost = np.isnan(values)
        if lost.any():
            rows = int(lost.any(axis=1).sum())
            notes.append(
                f"column {self.name!r}: {counted(rows, 'row')} without numbers in some places; the mean is used"
            )
        scaled = _scaled(values, np.array(self.mean), np.array(self.std))
        return scaled / np.float32(np.sqrt(max(len(self.mean), 1))), notes, 0

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {"name": self.name, "mean": list(self.mean), "std": list(self.std)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Embedding":
        """Read plain data back; `DataError` when it is damaged."""
        mean, std = numbers(value, "mean"), numbers(value, "std")
        if len(mean) != len(std) or min(std, default=0) < 0:
            raise DataError("mean and std do not fit together")
        return cls(text(value, "name"), mean, std)


def _square(table: Table, name: str, dimensions: int | None) -> NDArray[np.float64]:
    """Read lists of one length as `[rows, dimensions]`, NaN where a list or a number is missing or beyond measure."""
    lists = number_lists(table, name)
    if lists is None:
        raise DataError(f"{table.name}: column {name!r} must hold lists of numbers like [0.1, 0.2]")
    lengths = np.bincount(lists.rows, minlength=table.rows)
    if dimensions is None:
        dimensions = int(lengths.max(initial=0))
    odd = np.flatnonzero(lists.filled & (lengths != dimensions))
    if len(odd):
        row = int(odd[0])
        raise DataError(
            f"{table.where(row)}: the list in column {name!r} has {counted(int(lengths[row]), 'number')}, but the "
            f"others have {dimensions}"
        )
    if not dimensions:
        raise DataError(f"{table.name}: the lists in column {name!r} are empty; leave it out (--ignore)")
    values = np.full((table.rows, dimensions), np.nan)
    values[lists.filled] = np.asarray(lists.items.to_numpy(zero_copy_only=False)).reshape(-1, dimensions)
    values[np.abs(values) > LARGEST] = np.nan
    return values


def _scale(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each column of `[rows, columns]`, over what is there."""
    there = ~np.isnan(values)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, values, 0).sum(axis=0) / count
    std = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=0) / count)
    std[std <= ROUNDING * np.abs(mean)] = 0
    return mean, std


def _scaled(values: NDArray[np.float64], mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        scaled = (values - mean) / np.where(std > 0, std, 1)
    scaled[:, std == 0] = 0
    return np.nan_to_num(np.clip(scaled, -MOST, MOST), copy=False, nan=0.0).astype(np.float32)
