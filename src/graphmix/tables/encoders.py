"""From columns to features: fitted to one table, applied to others, stored as plain JSON data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphmix.errors import DataError
from graphmix.tables.kinds import NUMBER, Column, Encoded, column_class
from graphmix.tables.stored import member, text
from graphmix.tables.table import Table, quoted, shortened

VERSION = 1


@dataclass(frozen=True)
class Encoders:
    """What was learned from every column that becomes features.

    Attributes:
        columns: numbers first, then the others in the table's order.
    """

    columns: tuple[Column, ...]

    @classmethod
    def fit(cls, table: Table, kinds: Mapping[str, str]) -> "Encoders":
        """Learn from a table's columns.

        Args:
            table: the table.
            kinds: a kind for each column, as `choose_kinds` returns them.

        Raises:
            DataError: a column cannot be of its kind.
        """
        order = sorted(kinds, key=lambda name: kinds[name] != NUMBER)
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
        """Turn a table into features, a sparse array of finite numbers.

        All number columns together have length about 1, and so has each embedding; a category is a 1; keywords and text
        sum to 1.

        Raises:
            DataError: a column is missing, or is no longer of its kind.
        """
        for column in self.columns:
            if not table.has(column.name):
                raise DataError(
                    f"{table.name} has no column {quoted(column.name)}, which the model was trained with; it has "
                    f"{table.names()}"
                )
        parts = [column.encode(table) for column in self.columns]
        notes = [note for part in parts for note in part.notes]
        return Encoded(self._joined([part.x for part in parts], table.rows), notes)

    def _joined(self, parts: list[Any], rows: int) -> sp.csr_array:
        """Put the columns' features side by side; the numbers are scaled to length about 1 together."""
        numeric = sum(column.kind == NUMBER for column in self.columns)
        blocks = [sp.csr_array(part) for part in parts[numeric:]]
        if numeric:
            blocks.insert(0, sp.csr_array(np.hstack(parts[:numeric]) / np.float32(np.sqrt(numeric))))
        if not blocks:
            return sp.csr_array((rows, 0), dtype=np.float32)
        return sp.csr_array(sp.hstack(blocks, format="csr", dtype=np.float32))

    def to_json(self) -> dict[str, Any]:
        """Return plain data, for a JSON file."""
        return {"version": VERSION, "columns": [{"kind": each.kind, **_fields(each)} for each in self.columns]}

    @classmethod
    def from_json(cls, value: Any) -> "Encoders":
        """Read what `to_json` returned.

        Raises:
            DataError: it is damaged, or of another version.
        """
        version = member(value, "version")
        if version != VERSION:
            raise DataError(
                f"the feature encoders have version {shortened(version)}, but this graphmix reads version {VERSION}"
            )
        stored = member(value, "columns")
        if not isinstance(stored, list):
            raise DataError("the feature encoders are damaged: columns is not a list")
        columns = tuple(_column(each, place) for place, each in enumerate(stored, start=1))
        kinds = [column.kind == NUMBER for column in columns]
        if len({column.name for column in columns}) < len(columns) or kinds != sorted(kinds, reverse=True):
            raise DataError("the feature encoders are damaged: a column is repeated or in the wrong place")
        return cls(columns)


def _fields(column: Column) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(column).items()}


def _column(stored: Any, place: int) -> Column:
    try:
        return column_class(text(stored, "kind")).from_json(stored)
    except DataError as error:
        raise DataError(f"the feature encoders are damaged: column {place}: {error}") from error
