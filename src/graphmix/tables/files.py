"""A table of the user's, by what its name ends in."""

from pathlib import Path

from graphmix.errors import DataError
from graphmix.tables.checked_text import UTF8
from graphmix.tables.delimited import SEPARATORS, read_delimited
from graphmix.tables.parquet import read_parquet
from graphmix.tables.table import Table

_PARQUET = (".parquet", ".pq")


def read_table(path: Path | str, encoding: str = UTF8) -> Table:
    """Read a CSV, TSV or Parquet file; CSV and TSV may be gzipped.

    Args:
        path: its name ends in .csv, .tsv, .tab or .txt, any of these with .gz, or .parquet.
        encoding: of a text file: any of Python's, say `latin-1`.

    Raises:
        DataError: the file cannot be read or is no such table; the message names it, and the line where it can.
    """
    path = Path(path)
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name the table in it")
        if not path.exists():
            raise DataError(f"there is no file {path}")
        if ending in _PARQUET and plain == path:
            return read_parquet(path)
        if ending in SEPARATORS:
            return read_delimited(path, ending, encoding)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    raise DataError(f"{path}: a table's name must end in .csv, .tsv, .txt, one of these with .gz, or .parquet")
