"""Tables in memory: pyarrow tables and pandas DataFrames."""

from typing import Any

from graphmix.errors import DataError
from graphmix.tables.simplified import simplified_columns
from graphmix.tables.table import Table, one_line


def read_memory(source: Any, name: str) -> Table:
    """Read a pyarrow Table or a pandas DataFrame; columns of unusual types are ignored, see `simplified_columns`.

    Raises:
        DataError: it has no rows, a column mixes types, or a name is missing or used twice.
    """
    import pyarrow as pa

    table = to_arrow(source, name)
    try:
        columns, ignored, exact = simplified_columns(table.schema, table.num_rows, table.column, name)
    except pa.ArrowException as error:
        raise DataError(f"{name} cannot be read: {one_line(error)}") from error
    if not table.num_rows:
        raise DataError(f"{name} has no rows")
    return Table(name, columns, table.num_rows, ignored, in_memory=True, exact=exact)


def to_arrow(source: Any, name: str) -> Any:
    """Return a pyarrow Table; a DataFrame's index is left out.

    Raises:
        DataError: it is neither a pyarrow Table nor a pandas DataFrame, or pyarrow cannot convert one of its columns.
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if not _is_dataframe(source):
        raise DataError(f"{name} must be a path, a pyarrow Table or a pandas DataFrame, not {type(source).__name__}")
    try:
        return pa.Table.from_pandas(source, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        # pyarrow names the column in a second argument.
        said = " ".join("; ".join(str(part) for part in error.args).split())
        raise DataError(f"{name} cannot be read: {said}; the cells of a column must have one type") from error


def _is_dataframe(source: Any) -> bool:
    """Whether something is a pandas DataFrame, without importing pandas."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas" for base in type(source).__mro__
    )
