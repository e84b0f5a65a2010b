"""Table: the columns of one file or one table in memory, and how messages name its rows."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from graphmix.errors import DataError
from graphmix.tables.headers import looks_like_cell
from graphmix.text import clipped

Value = TypeVar("Value")

# How many items of a long list a message names.
NAMED = 5
_LONGEST_NAME = 80
_SEPARATORS = re.compile(r"[,;|\s]")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns as they were read: nothing is parsed yet.

    Attributes:
        name: how messages call it: a file's name, or `nodes` or `edges` for a table in memory.
        columns: pyarrow arrays `[rows]` by name, in the table's order. Columns of a CSV file are strings; other tables
            have strings, numbers, and lists of either.
        rows: the number of rows.
        ignored: columns of a type that cannot be used, each with the reason.
        in_memory: whether it was a table in memory rather than a file.
        count_lines: counts the lines of a text file, without empty lines at the end; None for other tables, or where
            the file can no longer be read.
        has_header: whether the first line of a text file names the columns.
        lacks_names: whether it is a text file without a header, whose columns are numbered.
        lines_above: how many lines of a text file are above its first row: its header, and comments.
        decimal: the decimal mark: a comma in many CSV files that are separated by semicolons.
        exact: columns of other types than those above, such as decimals, dates and float32, as they were read; for ids.
    """

    name: str
    columns: Mapping[str, Any]
    rows: int
    ignored: Mapping[str, str] = field(default_factory=dict)
    in_memory: bool = False
    count_lines: Callable[[], int | None] = lambda: None
    has_header: bool = False
    lacks_names: bool = False
    lines_above: int = 1
    decimal: str = "."
    exact: Mapping[str, Any] = field(default_factory=dict)
    _parsed: dict[Any, Any] = field(default_factory=dict, init=False)

    def where(self, row: int) -> str:
        """Name a row, counted from 0: `papers.csv line 14`, `papers.csv row 13`, or `row 13 of nodes`.

        The line is named only if every row is on one line of its own, with no empty lines between.
        """
        if self.in_memory:
            return f"row {row + 1} of {self.name}"
        return (
            f"{self.name} line {row + self.lines_above + 1}"
            if self._has_one_line_per_row()
            else f"{self.name} row {row + 1}"
        )

    def quote(self, row: int, name: str) -> str:
        """Quote a cell and say where it is: `'n.d.', papers.csv line 14`."""
        return f"{shortened(self.column(name)[row])}, {self.where(row)}"

    def locate(self, row: int, name: str) -> str:
        """Begin a sentence about a cell: `papers.csv line 14: 'n.d.' in column 'year'`."""
        return f"{self.where(row)}: {shortened(self.column(name)[row])} in column {quoted(name)}"

    def column(self, name: str) -> Any:
        """Return a column `[rows]`.

        Raises:
            DataError: there is no such column, or its type cannot be used.
        """
        if name in self.ignored:
            raise DataError(
                f"{self.name}: column {quoted(name)} cannot be used: {self.ignored[name]}; store it as text"
            )
        if name not in self.columns:
            raise DataError(f"{self.name} has no column {quoted(name)}; it has {self.names()}{self.hint()}")
        return self.columns[name]

    def has(self, name: str) -> bool:
        """Whether there is such a column, usable or not."""
        return name in self.columns or name in self.ignored

    def parsed(self, name: str, parse: "Callable[[Table, str], Value]") -> Value:
        """Return `parse(table, name)`, computed once and kept with the table."""
        if (name, parse) not in self._parsed:
            self._parsed[name, parse] = parse(self, name)
        made: Value = self._parsed[name, parse]
        return made

    def remember(self, name: str, parse: "Callable[[Table, str], Value]", made: Value) -> None:
        """Keep what `parse(table, name)` would return."""
        self._parsed[name, parse] = made

    def names(self) -> str:
        """List the columns, for a message."""
        return some_of([quoted(name) for name in self.columns])

    def hint(self) -> str:
        """Say why a text file may lack a column: it has no header, or other separators than its name says."""
        if not self.has_header:
            return ""
        if len(self.columns) == 1 and _SEPARATORS.search(next(iter(self.columns))):
            return (
                "; if these are several names, end the file's name in .csv for commas, .tsv for tabs, .txt for spaces"
            )
        if any(looks_like_cell(name, self.columns[name]) for name in self.columns):
            return "; if the file has no header, give `no_header`"
        return ""

    def _has_one_line_per_row(self) -> bool:
        # Counted only when a message needs it, and then once.
        if self.count_lines not in self._parsed:
            self._parsed[self.count_lines] = self.count_lines()
        return bool(self._parsed[self.count_lines] == self.rows + self.lines_above)


def some_of(items: list[str], most: int = 20) -> str:
    """List items in a sentence: all of them, or the first ones and how many more there are."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")


def shortened(cell: object) -> str:
    """Quote a cell for a message; a long one is cut."""
    text = str(cell)
    return repr(text if len(text) <= 40 else text[:39] + "…")


def quoted(name: str) -> str:
    """Quote the name of a column for a message; a very long one is cut in the middle."""
    return repr(clipped(name, _LONGEST_NAME))


def named_in(parameter: str, value: list[str] | dict[str, str]) -> str:
    """Return a parameter with the one column it is to name, for a message: `` `ignore=['age']` ``."""
    name = next(iter(value))
    # The command line turns it into an option; a name that is long or has a backtick stays out of it.
    return f"`{parameter}`" if len(name) > _LONGEST_NAME or "`" in name else f"`{parameter}={value!r}`"


def no_header(table: Table, names: Sequence[str], row: str) -> str:
    """Return the message for a file whose first line seems to be a row: "a node", "an edge"."""
    cells = " and ".join(map(shortened, names))
    # Tables of nodes and of edges are read by the same names as `no_header` takes.
    which = "nodes" if row == "a node" else "edges"
    remedy = f"add a line with the columns' names, or give `no_header` {which}; if these are the names, change them"
    return f"{table.name} seems to have no header: its first line, with {cells}, looks like {row}; {remedy}"


def has_header(table: Table, names: Sequence[str]) -> str:
    """Return the message for a file that is said to have no header, but whose first row is one."""
    return (
        f"{table.name} has a header: its first line names {' and '.join(map(shortened, names))}; leave out `no_header`"
    )


def one_line(error: Exception) -> str:
    """Return another library's error message without line breaks."""
    return " ".join(str(error).split())
