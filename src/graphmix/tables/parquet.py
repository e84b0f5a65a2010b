"""Parquet files."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.limits import Limits
from graphmix.machine import is_out_of_memory
from graphmix.tables.native import native_file
from graphmix.tables.parquet_sizes import ParquetSizes
from graphmix.tables.reading import Tell, nothing
from graphmix.tables.simplified import is_usable, simplified_columns
from graphmix.tables.table import Table, one_line


def read_parquet(path: Path, limit: Limits, ignore: Collection[str] = (), tell: Tell = nothing) -> Table:
    """Read a Parquet file; columns of unusual types are left out, see `simplified_columns`.

    Args:
        path: the file.
        limit: how large it may become.
        ignore: columns that are not read unless somebody asks for them.
        tell: called with how many rows are read.

    Raises:
        DataError: it is not a Parquet file, has no rows, or is larger than a limit.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with native_file(path) as source, parquet.ParquetFile(source) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            wanted = [field.name for field in schema if field.name.strip() not in ignore and is_usable(field.type)]
            sizes = ParquetSizes(path, file.metadata, limit, wanted)
            progress = _Progress(path, len(schema.names), tell)

            def read(name: str) -> Any:
                sizes.admit(name)
                if not file.closed:
                    return _read_column(file, name, progress)
                # An ignored column that turned out to be needed.
                with native_file(path) as source, parquet.ParquetFile(source) as again:
                    return _read_column(again, name, progress)

            columns, ignored, exact = simplified_columns(schema, rows, read, str(path), ignore)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PermissionError | DataError) or is_out_of_memory(error):
            raise
        # Only the first of pyarrow's sentences.
        why = one_line(error).partition(". ")[0].rstrip(".")
        advice = "write it again, or let its name end as its format does, such as .csv"
        raise DataError(f"{path} is not a Parquet file that can be read: {why}; {advice}") from error
    if not rows:
        raise DataError(f"{path} has columns but no rows")
    return Table(path.name, columns, rows, ignored, exact=exact)


class _Progress:
    """Counts what is read of a table, column by column, in rows of all columns."""

    def __init__(self, path: Path, columns: int, tell: Tell) -> None:
        self._what, self._columns, self._tell, self._cells = f"reading {path.name}", max(columns, 1), tell, 0

    def add(self, cells: int) -> None:
        """Count some more cells."""
        self._cells += cells
        self._tell(self._what, self._cells // self._columns)


def _read_column(file: Any, name: str, progress: _Progress) -> Any:
    """Read a column, one group of rows at a time."""
    groups = file.metadata.num_row_groups
    if groups <= 1:
        # `read` also returns column a's field b for the name "a.b".
        column = file.read(columns=[name]).column(name)
        progress.add(len(column))
        return column
    import pyarrow as pa

    chunks = []
    for group in range(groups):
        read = file.read_row_group(group, columns=[name]).column(name)
        chunks += read.chunks
        progress.add(len(read))
    return pa.chunked_array(chunks, read.type)
