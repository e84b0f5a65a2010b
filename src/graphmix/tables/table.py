"""Table: the columns of one file, and where in the file a row stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from graphmix.errors import DataError

Value = TypeVar("Value")

# How many of a list's members a message names.
NAMED = 5


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, as they stand there.

    Attributes:
        path: the file.
        columns: pyarrow's arrays `[rows]` by name, in the file's order. Those of a CSV file are all strings; those of
            a Parquet file are strings, numbers, or lists of either.
        rows: how many there are.
        ignored: columns whose type cannot be used, and why.
        has_lines: whether row r stands on line r + 2, below the header.
        decimal: what stands before a fraction: a comma in many of the CSV files that are split by semicolons.
    """

    path: Path
    columns: Mapping[str, Any]
    rows: int
    ignored: Mapping[str, str] = field(default_factory=dict)
    has_lines: bool = False
    decimal: str = "."
    _parsed: dict[Any, Any] = field(default_factory=dict, init=False)

    def where(self, row: int) -> str:
        """Say where a row stands: `papers.csv line 14`, or `papers.csv row 13` where lines and rows differ."""
        return f"{self.path.name} line {row + 2}" if self.has_lines else f"{self.path.name} row {row + 1}"

    def column(self, name: str) -> Any:
        """Return a column `[rows]`.

        Raises:
            DataError: there is none of this name, or its type cannot be used.
        """
        if name in self.ignored:
            raise DataError(f"{self.path.name}: column {name!r} cannot be used: {self.ignored[name]}")
        if name not in self.columns:
            raise DataError(f"{self.path.name} has no column {name!r}; it has {self.names()}")
        return self.columns[name]

    def parsed(self, name: str, parse: "Callable[[Table, str], Value]") -> Value:
        """What a function makes of a column: computed once, kept with the table."""
        if (name, parse) not in self._parsed:
            self._parsed[name, parse] = parse(self, name)
        made: Value = self._parsed[name, parse]
        return made

    def names(self) -> str:
        """List the columns, for a message."""
        return some_of([repr(name) for name in self.columns])


def some_of(items: list[str], most: int = 20) -> str:
    """List things in a sentence: all of them, or the first and how many more there are."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Say how many of a thing there are: `1 row`, `2,500 rows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(cell: object) -> str:
    """Quote a cell in a message, whatever its length."""
    text = str(cell)
    return repr(text if len(text) <= 40 else text[:39] + "…")


def one_line(error: Exception) -> str:
    """What another library says of a file, as part of a sentence."""
    return " ".join(str(error).split())
