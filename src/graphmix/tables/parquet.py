"""Parquet files."""

from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.tables.checked_text import LARGEST_ROW
from graphmix.tables.simplified import simplified_columns
from graphmix.tables.table import Table, one_line


def read_parquet(path: Path) -> Table:
    """Read a Parquet file; columns of unusual types are ignored, see `simplified_columns`.

    Raises:
        DataError: it is not a Parquet file, has no rows, or has a cell that is too large.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            _check_sizes(file.metadata, path)
            schema, rows = file.schema_arrow, file.metadata.num_rows

            def read(place: int) -> Any:
                name = schema.names[place]
                # `read` also returns column a's field b for the name "a.b".
                return file.read(columns=[name]).column(name)

            columns, ignored, exact = simplified_columns(schema, rows, read, str(path))
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PermissionError | DataError):
            raise
        raise DataError(f"{path} is not a Parquet file that can be read: {one_line(error)}") from error
    if not rows:
        raise DataError(f"{path} has columns but no rows")
    return Table(path.name, columns, rows, ignored, exact=exact)


def _check_sizes(metadata: Any, path: Path) -> None:
    """Refuse cells of gigabytes before they are read."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            if column.total_uncompressed_size > LARGEST_ROW * max(group.num_rows, 1):
                size = f"{LARGEST_ROW // 2**20} MiB"
                raise DataError(f"{path}: column {column.path_in_schema!r} has cells larger than {size}; shorten them")
