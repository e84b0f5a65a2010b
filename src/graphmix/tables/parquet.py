"""Parquet, with its many types brought down to four: text, numbers, and lists of either."""

from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.tables.checked_text import LARGEST_ROW
from graphmix.tables.delimited import check_names
from graphmix.tables.table import Table, one_line

SECONDS_A_DAY = 86_400
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read_parquet(path: Path) -> Table:
    """Read a Parquet file.

    Categories become their values, truth values the words `true` and `false`, times a number of days (since 1970, or
    midnight), decimals floating-point numbers. Other types are ignored and noted.

    Raises:
        DataError: it is no such file, or has no rows or a cell that is too large.
    """
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, Any] = {}
    ignored: dict[str, str] = {}
    try:
        with parquet.ParquetFile(path) as file:
            _check_sizes(file.metadata, path)
            schema = file.schema_arrow
            check_names([name.strip() for name in schema.names], path)
            rows = file.metadata.num_rows
            for field in schema:
                if not _is_usable(field.type):
                    ignored[field.name.strip()] = f"its type is {field.type}"
                    continue
                # "a.b" would also be read as column a's member b.
                read = file.read(columns=[field.name])
                columns[field.name.strip()] = _checked(_simplified(read.column(field.name)), rows, field.name, path)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PermissionError | DataError):
            raise
        raise DataError(f"{path} is not a Parquet file that can be read: {one_line(error)}") from error
    if not rows:
        raise DataError(f"{path} has columns but no rows")
    return Table(path, columns, rows, ignored)


def _checked(column: Any, rows: int, name: str, path: Path) -> Any:
    """Refuse text that only calls itself so, and columns shorter than the file says it is."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: column {name!r} holds text that is not UTF-8, or is damaged") from error
    if len(column) != rows:
        raise DataError(f"{path}: column {name!r} is damaged: it has {len(column):,} of {rows:,} rows")
    return column


def _check_sizes(metadata: Any, path: Path) -> None:
    """Refuse cells of gigabytes before they are read."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            if column.total_uncompressed_size > LARGEST_ROW * max(group.num_rows, 1):
                size = f"{LARGEST_ROW // 2**20} MiB"
                raise DataError(f"{path}: column {column.path_in_schema!r} has cells larger than {size}; shorten them")


def _is_usable(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_usable(kind.value_type)
    if _is_list(kind):
        inner = kind.value_type
        return _is_number(inner) or _is_text(inner)
    return (
        _is_text(kind) or _is_number(kind) or types.is_boolean(kind) or types.is_temporal(kind) or types.is_null(kind)
    )


def _simplified(column: Any) -> Any:
    """Bring a column `[rows]` down to strings, numbers, or lists of either."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _simplified(column.cast(kind.value_type))
    if _is_list(kind):
        # Two forms alone: 64-bit offsets for the large.
        inner = pa.large_string() if _is_text(kind.value_type) else pa.float64()
        return column.cast(pa.large_list(inner), safe=False)
    if types.is_boolean(kind) or types.is_null(kind) or _is_text(kind):
        return column.cast(pa.large_string())
    if types.is_temporal(kind):
        return pc.divide(column.cast(_number_form(kind)).cast(pa.float64()), float(_per_day(kind)))
    return column if types.is_integer(kind) else column.cast(pa.float64(), safe=False)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _number_form(kind: Any) -> Any:
    import pyarrow as pa

    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _per_day(kind: Any) -> int:
    from pyarrow import types

    if types.is_date32(kind):
        return 1
    return SECONDS_A_DAY * (_UNITS["ms"] if types.is_date64(kind) else _UNITS[kind.unit])
