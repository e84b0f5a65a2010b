"""A table from a file or from memory."""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.files import require_plain
from graphmix.limits import Limits
from graphmix.tables.delimited import read_delimited
from graphmix.tables.formats import PARQUET, other_ending, refuse_other_format
from graphmix.tables.layout import SEPARATORS
from graphmix.tables.memory import read_memory, to_arrow
from graphmix.tables.parquet import read_parquet
from graphmix.tables.reading import USUAL, Reading
from graphmix.tables.sizes import check_table_size, check_text_size
from graphmix.tables.table import Table

# A path, a TableFile, a pyarrow Table or a pandas DataFrame.
TableSource = Path | str | Any


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table, and how large the table may be; a path alone has the usual limits."""

    path: Path
    limit: Limits

    def __fspath__(self) -> str:
        return str(self.path)


def limited(source: TableSource, limit: Limits) -> TableSource:
    """Return a source with these limits, if it is a file."""
    return TableFile(Path(source), limit) if is_path(source) else source


def read_table(source: TableSource, name: str = "table", reading: Reading = USUAL) -> Table:
    """Read a CSV, TSV or Parquet file, a pyarrow Table or a pandas DataFrame.

    Args:
        source: a table in memory, or a path that ends in .csv, .tsv, .tab, .txt, one of these with .gz, or .parquet.
        name: what messages call a table in memory; a file is called by its name.
        reading: its encoding, whether it has a header, and columns to leave alone.

    Raises:
        DataError: the table cannot be read; the message names the file, and the line where possible.
    """
    if not is_path(source):
        _require_header(name, reading)
        return read_memory(source, name, reading.ignore)
    path, limit = Path(source), source.limit if isinstance(source, TableFile) else Limits()
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = plain.suffix.lower()
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder; name the table in it")
        require_plain(path)
        if not path.exists():
            raise DataError(f"there is no file {path}")
        if ending not in (*PARQUET, *SEPARATORS) or (ending in PARQUET and plain != path):
            raise DataError(other_ending(path, ending))
        refuse_other_format(path, ending, is_gzipped=plain != path)
        if ending in PARQUET:
            _require_header(str(path), reading)
            return _checked(read_parquet(path, limit, reading.ignore, reading.tell), limit)
        check_text_size(path, limit)
        return _checked(read_delimited(path, ending, reading, limit.cell), limit)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def _require_header(table: str, reading: Reading) -> None:
    if not reading.has_header:
        raise DataError(f"{table} names its columns itself; `no_header` is only for text files")


def _checked(table: Table, limit: Limits) -> Table:
    check_table_size(table, limit)
    return table


def is_path(source: TableSource) -> bool:
    """Whether a table is in a file rather than in memory."""
    return isinstance(source, str | os.PathLike)


def checksum(source: TableSource) -> str:
    """Return the SHA-256 of a file's bytes; for a table in memory, of its Arrow IPC stream.

    Raises:
        OSError: the file cannot be read.
        DataError: the source is neither a path nor a table.
    """
    if is_path(source):
        with Path(source).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    import pyarrow as pa

    digest = hashlib.sha256()
    # Without metadata and in one piece: equal tables have equal checksums, whoever made them.
    table = to_arrow(source, "table").replace_schema_metadata(None).combine_chunks()
    with pa.ipc.new_stream(pa.PythonFile(_Hashing(digest), "w"), table.schema) as writer:
        writer.write_table(table)
    return digest.hexdigest()


class _Hashing:
    """A file, as far as pyarrow needs one, that hashes what is written to it."""

    closed = False

    def __init__(self, digest: "hashlib._Hash") -> None:
        self._digest = digest

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is open."""
