"""Tables in memory: pyarrow tables and pandas DataFrames."""

from collections.abc import Collection
from typing import Any

from graphmix.errors import DataError
from graphmix.machine import is_out_of_memory
from graphmix.tables.ids import MOST_DIGITS
from graphmix.tables.simplified import check_names, simplified_columns
from graphmix.tables.table import NAMED, Table, one_line
from graphmix.text import clipped


def read_memory(source: Any, name: str, ignore: Collection[str] = ()) -> Table:
    """Read a pyarrow Table or a pandas DataFrame; columns of unusual types are left out, see `simplified_columns`.

    Raises:
        DataError: it has no rows, or a name is missing or used twice.
    """
    import pyarrow as pa

    table, mixed = _to_arrow(source, name)
    try:
        columns, ignored, exact = simplified_columns(table.schema, table.num_rows, table.column, name, ignore)
    except pa.ArrowException as error:
        if is_out_of_memory(error):
            raise
        raise DataError(f"{name} cannot be read: {one_line(error)}") from error
    rows = len(source)
    if not rows:
        raise DataError(f"{name} has no rows")
    return Table(name, columns, rows, {**ignored, **mixed}, in_memory=True, exact=exact)


def to_arrow(source: Any, name: str) -> Any:
    """Return a pyarrow Table; a DataFrame's index, and columns that mix types, are left out.

    Raises:
        DataError: it is neither a pyarrow Table nor a pandas DataFrame, or a name is missing or used twice.
    """
    return _to_arrow(source, name)[0]


def _to_arrow(source: Any, name: str) -> tuple[Any, dict[str, str]]:
    """Return a pyarrow Table, and the columns that pyarrow cannot convert, each with the reason."""
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source, {}
    if not is_frame(source):
        raise DataError(f"{name} must be a path, a pyarrow Table or a pandas DataFrame, not {type(source).__name__}")
    names = [str(column) for column in source.columns]
    check_names([column.strip() for column in names], name)
    columns: dict[str, Any] = {}
    mixed: dict[str, str] = {}
    for place, column in enumerate(names):
        cells = source.iloc[:, place]
        try:
            converted = _array(cells)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            mixed[column.strip()] = _why_not(cells, error)
            continue
        columns[column] = converted
    return pa.table(columns), mixed


def _array(cells: Any) -> Any:
    """Convert a column of a DataFrame; whole numbers of more than 64 bits become decimals without a fraction."""
    import pyarrow as pa

    try:
        return pa.Array.from_pandas(cells)
    except OverflowError:
        digits = max(len(str(abs(cell))) for cell in cells.dropna())
        if digits > MOST_DIGITS:
            raise
        return pa.array(cells, pa.decimal128(38) if digits <= 38 else pa.decimal256(MOST_DIGITS), from_pandas=True)


def _why_not(cells: Any, error: Exception) -> str:
    """Say why pyarrow cannot convert a column of a DataFrame."""
    kinds = list(dict.fromkeys(type(cell).__name__ for cell in cells.dropna()))
    if cells.dtype == object and len(kinds) > 1:
        return f"its cells have several types ({', '.join(kinds[:NAMED])}); give them one, for example with astype(str)"
    return f"its type is {cells.dtype}, and pyarrow cannot convert it ({clipped(one_line(error), 100)})"


def is_frame(source: Any) -> bool:
    """Whether something is a pandas DataFrame, without importing pandas."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.partition(".")[0] == "pandas" for base in type(source).__mro__
    )
