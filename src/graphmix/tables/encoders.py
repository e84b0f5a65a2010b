"""From columns to features: fitted to one table, applied to others, stored as plain JSON data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.kinds import CATEGORY, DATE, NUMBER, Column, Encoded, column_class
from graphmix.tables.moments import Date
from graphmix.tables.numeric import Number
from graphmix.tables.spilling import new_floats
from graphmix.tables.stored import member, text
from graphmix.tables.table import Table, quoted, shortened

VERSION = 2
# The kinds whose columns together have length about 1, by version. Version 1 knew no dates, and only plain numbers.
_SHARING = {1: (NUMBER,), VERSION: (NUMBER, DATE, CATEGORY)}
# These stand first, in this order.
_FIRST = (NUMBER, DATE)


@dataclass(frozen=True)
class Encoders:
    """What was learned from every column that becomes features.

    Attributes:
        columns: numbers first, then dates, then the others in the table's order.
        version: that of the graphmix that learned it, which tells how the columns are put together.
    """

    columns: tuple[Column, ...]
    version: int = VERSION

    @classmethod
    def fit(cls, table: Table, kinds: Mapping[str, str]) -> "Encoders":
        """Learn from a table's columns.

        Args:
            table: the table.
            kinds: a kind for each column, as `used_kinds` returns them.

        Raises:
            DataError: a column cannot be of its kind.
        """
        order = sorted(kinds, key=lambda name: _rank(kinds[name]))
        return cls(tuple(column_class(kinds[name]).fit(table, name) for name in order))

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def width(self) -> int:
        """The number of features; 0 if no word of any column occurs in two rows."""
        return sum(len(column.feature_names) for column in self.columns)

    def encode(self, table: Table) -> Encoded:
        """Turn a table into features; see `encode_each` and `join`."""
        parts = self.encode_each(table)
        return Encoded(
            self.join([part.x for part in parts], table.rows), [note for part in parts for note in part.notes]
        )

    def encode_each(self, table: Table) -> list[Encoded]:
        """Turn every column of a table into features.

        Raises:
            DataError: a column is missing, or is no longer of its kind.
        """
        for column in self.columns:
            if not table.has(column.name):
                raise DataError(
                    f"{table.name} has no column {quoted(column.name)}, which the model was trained with; it has "
                    f"{table.names()}"
                )
        return [column.encode(table) for column in self.columns]

    def join(self, parts: list[Any], rows: int) -> sp.csr_array:
        """Put the features of all columns side by side: a sparse array of finite numbers `[rows, features]`.

        All numbers, dates and categories together have length about 1, and so has each embedding; keywords and text sum
        to 1. A category of its own length would count as much as all numbers together.
        """
        scaled = [_divided(part, length) for part, length in zip(parts, self._lengths(), strict=True)]
        numeric = sum(column.kind in _FIRST for column in self.columns)
        blocks = [sp.csr_array(part) for part in scaled[numeric:]]
        if numeric:
            blocks.insert(0, sp.csr_array(np.hstack(scaled[:numeric])))
        if not blocks:
            return sp.csr_array((rows, 0), dtype=np.float32)
        return sp.csr_array(sp.hstack(blocks, format="csr", dtype=np.float32))

    def join_dense(self, parts: list[Any], rows: int) -> NDArray[np.float32]:
        """Return `join` of the parts as float32 `[rows, features]`; it takes less memory than to go by a sparse array.

        The parts are taken out of the list one by one, so that they need not be in memory when all are joined.
        """
        x = new_floats((rows, self.width))
        first = 0
        for place, length in enumerate(self._lengths()):
            part, parts[place] = _divided(parts[place], length), None
            last = first + part.shape[1]
            # A sparse array has no negative zeros.
            x[:, first:last] = part.toarray() if sp.issparse(part) else part + np.float32(0)
            first = last
        return x

    def _lengths(self) -> list[np.float32 | None]:
        """What the features of each column are divided by; None for those that stay."""
        sharing = [column.kind in _SHARING[self.version] for column in self.columns]
        # Sine and cosine of a part of a date together have length 1.
        lengths = [1 + len(column.parts) if isinstance(column, Date) else 1 for column in self.columns]
        length = np.float32(np.sqrt(max(np.dot(sharing, lengths), 1)))
        return [length if shares else None for shares in sharing]

    def to_json(self) -> dict[str, Any]:
        """Return plain data, for a JSON file."""
        return {"version": self.version, "columns": [{"kind": each.kind, **_fields(each)} for each in self.columns]}

    @classmethod
    def from_json(cls, value: Any) -> "Encoders":
        """Read what `to_json` returned.

        Raises:
            DataError: it is damaged, or of another version.
        """
        version = member(value, "version")
        if type(version) is not int or version not in _SHARING:
            raise DataError(
                f"the feature encoders have version {shortened(version)}, but this graphmix reads version {VERSION}"
            )
        stored = member(value, "columns")
        if not isinstance(stored, list):
            raise DataError("the feature encoders are damaged: columns is not a list")
        columns = tuple(_column(each, place) for place, each in enumerate(stored, start=1))
        ranks = [_rank(column.kind) for column in columns]
        if len({column.name for column in columns}) < len(columns) or ranks != sorted(ranks):
            raise DataError("the feature encoders are damaged: a column is repeated or in the wrong place")
        return cls(columns, version)


def read_as(column: Column) -> str:
    """Say for people how a column's cells are read: `number, as a logarithm`."""
    return column.described if isinstance(column, Number | Date) else column.kind


def _divided(part: Any, length: np.float32 | None) -> Any:
    return part if length is None else part / length


def _rank(kind: str) -> int:
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _fields(column: Column) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(column).items()}


def _column(stored: Any, place: int) -> Column:
    try:
        return column_class(text(stored, "kind")).from_json(stored)
    except DataError as error:
        raise DataError(f"the feature encoders are damaged: column {place}: {error}") from error
