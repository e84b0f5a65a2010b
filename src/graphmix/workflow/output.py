"""Tables that are written for people: CSV, TSV, Parquet, pandas or pyarrow."""

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from graphmix.errors import ConfigError, RunError
from graphmix.files import write_whole

ENDINGS = (".csv", ".tsv", ".parquet")
# What a spreadsheet takes as the beginning of a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
# Numbers, and a sign alone, are not formulas.
_HARMLESS = re.compile(r"[+-]|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class OutputTable:
    """A table of results.

    Attributes:
        columns: a list `[rows]` for each heading.
    """

    columns: dict[str, list[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def to_arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`."""
        import pyarrow as pa

        # A column without a single value has no type of its own.
        arrays = {
            name: pa.array(values, None if any(value is not None for value in values) else pa.string())
            for name, values in self.columns.items()
        }
        return pa.table(arrays)

    def to_pandas(self) -> Any:
        """Return the table as a `pandas.DataFrame`; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def write(self, path: Path | str) -> None:
        """Write the table as CSV, TSV or Parquet, by the ending of the file's name; a file of that name is replaced.

        In CSV and TSV, text that a spreadsheet would run as a formula gets an apostrophe before it.

        Raises:
            ConfigError: the ending is none of these.
            RunError: the file cannot be written.
        """
        path = Path(path)
        check_ending(path)
        try:
            write_whole(path, self._content(path.suffix.lower()))
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror or error}") from error

    def _content(self, ending: str) -> bytes:
        if ending != ".parquet":
            return _delimited(self.columns, "\t" if ending == ".tsv" else ",")
        import pyarrow.parquet as pq

        sink = io.BytesIO()
        pq.write_table(self.to_arrow(), sink)
        return sink.getvalue()


def check_ending(path: Path) -> None:
    """Raise ConfigError unless the ending of a file's name is that of a table."""
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{path}: choose a name that ends in {', '.join(ENDINGS)}")


def check_place(path: Path, folder: Path | None = None, *, may_exist: bool = False) -> None:
    """Raise an error if a table cannot be written, before anything slow begins.

    Args:
        path: the file to write later.
        folder: a folder that will exist by then, if it does not yet.
        may_exist: whether a file that is there may be replaced.

    Raises:
        ConfigError: the ending is invalid, the file's folder is missing, or the file exists.
    """
    check_ending(path)
    made_later = folder is not None and path.parent.resolve() == folder.resolve()
    if not made_later and not path.parent.is_dir():
        raise ConfigError(f"{path}: the folder {path.parent} does not exist; make it, or choose another file")
    if path.exists() and not may_exist:
        raise ConfigError(f"{path} exists already; choose another file for the `predictions`")


def escape(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    Example:
        >>> escape("=1+1"), escape("-3.5"), escape("plain")
        ("'=1+1", '-3.5', 'plain')
    """
    return f"'{text}" if _FORMULA.match(text) and not _HARMLESS.fullmatch(text) else text


def _delimited(columns: dict[str, list[Any]], separator: str) -> bytes:
    rows: list[str] = []
    # The writer only quotes the line ends it writes itself, so it must write both \r and \n.
    writer = csv.writer(SimpleNamespace(write=rows.append), delimiter=separator, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(values) for values in columns.values()), strict=True))
    return "".join(f"{row.removesuffix(writer.dialect.lineterminator)}\n" for row in rows).encode("utf-8", "replace")


def _cells(values: list[Any]) -> list[Any]:
    if values and isinstance(values[0], bool):
        return ["true" if value else "false" for value in values]
    return [escape(value) if isinstance(value, str) else value for value in values]
