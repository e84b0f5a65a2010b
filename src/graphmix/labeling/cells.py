"""Cells: the columns of the table as text, as it has them; which names a node best; and a search in all of them."""

from typing import Any

import numpy as np

from graphmix.tables.cells import is_text, to_bools
from graphmix.tables.table import Table

MOST_COLUMNS = 60
_LONGEST = 2000
_LONGEST_TITLE = 80
# A column names nodes if this share of its filled cells differ from each other.
_DIFFERENT = 0.5


class Cells:
    """Text of the rows of a table; empty if there is no table.

    Attributes:
        title: the column that names nodes for people; None if there is none.
    """

    def __init__(self, table: Table | None, rows: list[int], roles: set[str | None]) -> None:
        self._table, self._rows = table, rows
        self._names = [] if table is None else [name for name in table.columns if name not in roles]
        self._nodes = np.argsort(np.array(rows, dtype=np.int64)) if rows else np.zeros(0, dtype=np.int64)
        self.title = next(filter(self._names_nodes, self._names), None)

    def of(self, node: int) -> tuple[list[list[str]], int]:
        """Return name and text of the columns of a node, and how many more columns there are."""
        shown = self._names[:MOST_COLUMNS]
        return [[name, self._text(name, node, _LONGEST)] for name in shown], len(self._names) - len(shown)

    def title_of(self, node: int) -> str:
        """Return what people call a node; empty if the table does not say."""
        return "" if self.title is None else self._text(self.title, node, _LONGEST_TITLE)

    def find(self, text: str) -> list[int]:
        """Return the nodes one of whose cells contains a text, in any case, in the order of the table."""
        import pyarrow.compute as pc

        found = np.zeros(0 if self._table is None else self._table.rows, dtype=np.bool_)
        for name in self._names:
            column = self._column(name)
            if is_text(column):
                found |= to_bools(pc.match_substring(column, text, ignore_case=True))
        return [int(self._nodes[row]) for row in np.flatnonzero(found)]

    def _names_nodes(self, name: str) -> bool:
        import pyarrow.compute as pc

        column = self._column(name)
        if not is_text(column) or len(column) == column.null_count:
            return False
        letters = pc.sum(pc.fill_null(pc.match_substring_regex(column, r"\pL{2}"), False)).as_py() or 0
        filled = len(column) - column.null_count
        return bool(2 * letters > filled and pc.count_distinct(column).as_py() > _DIFFERENT * filled)

    def _column(self, name: str) -> Any:
        assert self._table is not None  # it has columns
        return self._table.columns[name]

    def _text(self, name: str, node: int, longest: int) -> str:
        value = self._column(name)[self._rows[node]].as_py()
        text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return text if len(text) <= longest else text[: longest - 1] + "…"
