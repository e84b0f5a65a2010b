"""Parquet files."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.limits import Limits
from graphmix.machine import is_out_of_memory
from graphmix.tables.native import native_file
from graphmix.tables.parquet_sizes import ParquetSizes
from graphmix.tables.simplified import simplified_columns
from graphmix.tables.table import Table, one_line


def read_parquet(path: Path, limit: Limits, ignore: Collection[str] = ()) -> Table:
    """Read a Parquet file; columns of unusual types are left out, see `simplified_columns`.

    Raises:
        DataError: it is not a Parquet file, has no rows, or is larger than a limit.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with native_file(path) as source, parquet.ParquetFile(source) as file:
            sizes = ParquetSizes(path, file.metadata, limit)
            schema, rows = file.schema_arrow, file.metadata.num_rows

            def read(name: str) -> Any:
                sizes.admit(name)
                if not file.closed:
                    # `read` also returns column a's field b for the name "a.b".
                    return file.read(columns=[name]).column(name)
                # An ignored column that turned out to be needed.
                with native_file(path) as source, parquet.ParquetFile(source) as again:
                    return again.read(columns=[name]).column(name)

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
