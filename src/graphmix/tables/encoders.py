"""Columns into features: learned from one table, applied to others, and kept as plain data in between."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphmix.errors import DataError
from graphmix.tables.kinds import NUMBER
from graphmix.tables.numeric import Embedding, Number
from graphmix.tables.stored import member, text
from graphmix.tables.table import Table, shortened
from graphmix.tables.words import Category, Text, Tokens

VERSION = 1
Column = Number | Embedding | Category | Tokens | Text
_COLUMNS: dict[str, type[Column]] = {column.kind: column for column in (Number, Category, Text, Embedding, Tokens)}


@dataclass(frozen=True)
class Encoded:
    """A table as features.

    Attributes:
        x: float32 `[rows, features]`, finite; a row's numbers together have length about 1, as has each embedding; a
            category is a 1; keywords and text sum to 1.
        notes: what was missing, new or odd, in sentences.
        unseen: by column, how many categories or words were none of those kept in training: new ones and rare ones.
    """

    x: sp.csr_array
    notes: tuple[str, ...]
    unseen: Mapping[str, int]


@dataclass(frozen=True)
class Encoders:
    """What was learned of every column that is a feature; `fit` makes one.

    Attributes:
        columns: numbers first, then the others in the file's order.
    """

    columns: tuple[Column, ...]

    @classmethod
    def fit(cls, table: Table, kinds: Mapping[str, str]) -> "Encoders":
        """Learn from a table's columns, each of a kind that `choose_kinds` found.

        Raises:
            DataError: a column is not of its kind.
        """
        order = sorted(kinds, key=lambda name: kinds[name] != NUMBER)
        return cls(tuple(_COLUMNS[kinds[name]].fit(table, name) for name in order))

    @property
    def feature_names(self) -> list[str]:
        """One name per feature."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def width(self) -> int:
        """How many features there are; none, if no column holds a word twice."""
        return sum(len(column.feature_names) for column in self.columns)

    def encode(self, table: Table) -> Encoded:
        """Turn a table into features.

        Raises:
            DataError: a column is missing, or holds something else than it did in training.
        """
        for column in self.columns:
            if column.name not in table.columns and column.name not in table.ignored:
                raise DataError(
                    f"{table.name} has no column {column.name!r}, which the model was trained with; it has "
                    f"{table.names()}"
                )
        parts: list[Any] = []
        notes: list[str] = []
        unseen: dict[str, int] = {}
        for column in self.columns:
            part, said, new = column.encode(table)
            parts.append(part)
            notes.extend(said)
            if new:
                unseen[column.name] = new
        return Encoded(self._joined(parts, table.rows), tuple(notes), unseen)

    def _joined(self, parts: list[Any], rows: int) -> sp.csr_array:
        """Put the columns' features side by side; those that are numbers share one length."""
        numeric = sum(column.kind == NUMBER for column in self.columns)
        blocks = [sp.csr_array(part) for part in parts[numeric:]]
        if numeric:
            blocks.insert(0, sp.csr_array(np.hstack(parts[:numeric]) / np.float32(np.sqrt(numeric))))
        if not blocks:
            return sp.csr_array((rows, 0), dtype=np.float32)
        return sp.csr_array(sp.hstack(blocks, format="csr", dtype=np.float32))

    def to_json(self) -> dict[str, Any]:
        """Return plain data, for a JSON file."""
        return {"version": VERSION, "columns": [{"kind": each.kind, **each.to_json()} for each in self.columns]}

    @classmethod
    def from_json(cls, value: Any) -> "Encoders":
        """Read back what `to_json` returned.

        Raises:
            DataError: it is damaged, or from a later version.
        """
        version = member(value, "version")
        if version != VERSION:
            raise DataError(f"these feature encoders are of version {shortened(version)}; this one reads {VERSION}")
        stored = member(value, "columns")
        if not isinstance(stored, list):
            raise DataError("the feature encoders are damaged: columns is not a list")
        columns = tuple(_column(each, place) for place, each in enumerate(stored, start=1))
        kinds = [column.kind == NUMBER for column in columns]
        if len({column.name for column in columns}) < len(columns) or kinds != sorted(kinds, reverse=True):
            raise DataError("the feature encoders are damaged: a column comes twice or in the wrong place")
        return cls(columns)


def _column(stored: Any, place: int) -> Column:
    try:
        kind = text(stored, "kind")
        if kind not in _COLUMNS:
            raise DataError(f"there is no kind {shortened(kind)}")
        return _COLUMNS[kind].from_json(stored)
    except DataError as error:
        raise DataError(f"the feature encoders are damaged: column {place}: {error}") from error
