"""Tables that are written for people: CSV, TSV, Parquet, pandas or pyarrow."""

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphmix.distribution import importing
from graphmix.errors import ConfigError
from graphmix.notebook import html_table
from graphmix.storage.files import write_bytes
from graphmix.tables.ids import id_text
from graphmix.text import counted
from graphmix.workflow.formulas import count_formulas, escape

# Rows in a notebook.
_SHOWN = 10
ENDINGS = (".csv", ".tsv", ".parquet")
# Rows that are made into text at a time.
PIECE = 2**16


@dataclass(frozen=True, eq=False)
class OutputTable:
    """A table of results.

    Attributes:
        columns: a list `[rows]` for each heading.
        keys: the headings of the user's ids, which name the rows.
    """

    columns: dict[str, list[Any]]
    keys: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def _repr_html_(self) -> str:
        shown = min(len(self), _SHOWN)
        rows = zip(*(values[:shown] for values in self.columns.values()), strict=True)
        return html_table(f"{len(self):,} rows", list(self.columns), rows, len(self) - shown)

    def to_arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`."""
        import pyarrow as pa

        return pa.table({name: column_array(values) for name, values in self.columns.items()})

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`.

        Raises:
            RunError: pandas is not installed.
        """
        from pyarrow import types

        table = self.to_arrow()
        with importing("a DataFrame", "pandas"):
            frame = table.to_pandas()
        for heading in self.keys:
            if types.is_decimal(table.schema.field(heading).type):
                # pandas has no type for integers beyond 64 bits; it would give decimals for them.
                frame[heading] = np.array(self.columns[heading], dtype=object)
        return frame

    def write(self, path: Path | str, *, escape_formulas: bool = False) -> None:
        """Write the table as CSV, TSV or Parquet, by the ending of the file's name; a file of that name is replaced.

        Args:
            path: the file.
            escape_formulas: whether text that a spreadsheet would run gets an apostrophe before it; in CSV and TSV.

        Raises:
            ConfigError: the ending is not one of these.
            RunError: the file cannot be written.
        """
        path = Path(path)
        check_ending(path)
        write_bytes(path, self.pieces(path, escape_formulas=escape_formulas))

    def content(self, path: Path, *, escape_formulas: bool = False) -> bytes:
        """Return what `write` would write to a file."""
        return b"".join(self.pieces(path, escape_formulas=escape_formulas))

    def pieces(self, path: Path, *, escape_formulas: bool = False) -> Iterator[bytes]:
        """Yield what `write` would write to a file: text a piece of the rows at a time, Parquet at once."""
        if path.suffix.lower() == ".parquet":
            yield self._parquet()
            return
        # A table without rows has a header too.
        for start in range(0, max(1, len(self)), PIECE):
            rows = {name: values[start : start + PIECE] for name, values in self.columns.items()}
            piece = replace(self, columns=rows)
            yield delimited(piece, path, escape_formulas=escape_formulas, header=start == 0)

    def _parquet(self) -> bytes:
        import pyarrow.parquet as pq

        sink = io.BytesIO()
        pq.write_table(self.to_arrow(), sink)
        return sink.getvalue()


def delimited(table: OutputTable, path: Path, *, escape_formulas: bool = False, header: bool = True) -> bytes:
    """Return the rows of a table as CSV, or as TSV if a file's name ends so."""
    shown = escape if escape_formulas else str
    rows: list[str] = []
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    # The writer only quotes the line ends it writes itself, so it must write both \r and \n.
    writer = csv.writer(SimpleNamespace(write=rows.append), delimiter=separator, lineterminator="\r\n")
    if header:
        writer.writerow(map(shown, table.columns))
    cells = (_cells(values, name in table.keys, shown) for name, values in table.columns.items())
    # Not writerows: it would keep every other thread waiting, and with it the line that shows that work goes on.
    for row in zip(*cells, strict=True):
        writer.writerow(row)
    end = writer.dialect.lineterminator
    return "".join(f"{row.removesuffix(end)}\n" for row in rows).encode("utf-8", "replace")


def check_ending(path: Path) -> None:
    """Raise ConfigError unless the ending of a file's name is that of a table."""
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{path}: choose a name that ends in {', '.join(ENDINGS)}")


def formula_notes(path: Path | str, *tables: OutputTable, escape_formulas: bool = False) -> list[str]:
    """Note how many cells of tables a spreadsheet would run, if they are written to text files as they are."""
    if escape_formulas or Path(path).suffix.lower() == ".parquet":
        return []
    return said_of_formulas(sum(count_formulas([list(table.columns), *table.columns.values()]) for table in tables))


def said_of_formulas(cells: int) -> list[str]:
    """Note how many cells a spreadsheet would run, if there are any."""
    if not cells:
        return []
    begin = counted(cells, "cell begins", "cells begin")
    return [f"{begin} like a formula and would run in a spreadsheet; `escape_formulas` puts an apostrophe before them"]


def _cells(values: list[Any], is_key: bool, shown: Callable[[str], str]) -> list[Any]:
    if values and isinstance(values[0], bool):
        return ["true" if value else "false" for value in values]
    if is_key:
        return [shown(id_text(value)) for value in values]
    return [shown(value) if isinstance(value, str) else value for value in values]


def column_array(values: list[Any]) -> Any:
    """Return a column as a pyarrow array, integers of any size as integers or as decimals without a fraction."""
    import pyarrow as pa

    # A column without a single value has no type of its own.
    if all(value is None for value in values):
        return pa.array(values, pa.string())
    try:
        return pa.array(values)
    except OverflowError:
        digits = max(len(str(abs(value))) for value in values)
        if min(values) >= 0 and max(values) < 2**64:
            return pa.array(values, pa.uint64())
        return pa.array(values, pa.decimal128(38) if digits <= 38 else pa.decimal256(76))
