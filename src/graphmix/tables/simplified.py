"""Arrow's many types, reduced to four: text, numbers, and lists of either."""

from collections.abc import Callable
from typing import Any

from graphmix.errors import DataError
from graphmix.tables.table import shortened

SECONDS_A_DAY = 86_400
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def simplified_columns(
    schema: Any, rows: int, read: Callable[[int], Any], table: str
) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Read columns of any type.

    Categories become their values; booleans the words `true` and `false`; dates and times a number of days (since 1970,
    or since midnight); decimals floating-point numbers. Columns of other types are not read.

    Args:
        schema: pyarrow's names and types.
        rows: how many rows every column must have.
        read: returns the column at a place in the schema, a pyarrow chunked array.
        table: what messages call the table.

    Returns:
        The columns by name; the columns that cannot be used, each with the reason; and the columns that were converted
        to something less exact, as they were read.

    Raises:
        DataError: a name is missing or used twice, or a column is damaged.
    """
    check_names([name.strip() for name in schema.names], table)
    columns: dict[str, Any] = {}
    ignored: dict[str, str] = {}
    exact: dict[str, Any] = {}
    for place, field in enumerate(schema):
        name = field.name.strip()
        if not _is_usable(field.type):
            ignored[name] = f"its type is {field.type}"
            continue
        column = read(place)
        columns[name] = _checked(_simplified(column), rows, f"{table}: column {field.name!r}")
        if _is_rounded(field.type):
            exact[name] = column
    return columns, ignored, exact


def check_names(names: list[str], table: str) -> None:
    """Check that every column has a name of its own.

    Raises:
        DataError: a name is empty or used twice.
    """
    if "" in names:
        raise DataError(
            f"{table}: column {names.index('') + 1} has no name; name it or remove it (pandas: to_csv(index=False))"
        )
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise DataError(f"{table} has two columns called {shortened(twice)}; rename one of them")


def _checked(column: Any, rows: int, where: str) -> Any:
    """Return a column, or raise DataError if its text is not UTF-8 or rows are missing."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DataError(f"{where} holds text that is not UTF-8, or is damaged") from error
    if len(column) != rows:
        raise DataError(f"{where} is damaged: it has {len(column):,} of {rows:,} rows")
    return column


def _is_usable(kind: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_usable(kind.value_type)
    if _is_list(kind):
        return _is_number(kind.value_type) or _is_text(kind.value_type)
    is_time = types.is_temporal(kind) and not types.is_interval(kind)
    return bool(_is_text(kind) or _is_number(kind) or types.is_boolean(kind) or is_time or types.is_null(kind))


def _is_rounded(kind: Any) -> bool:
    """Whether `_simplified` may lose something of a single value that matters if it is an id."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_rounded(kind.value_type)
    narrow = types.is_floating(kind) and not types.is_float64(kind)
    return bool(narrow or types.is_decimal(kind) or types.is_temporal(kind))


def _simplified(column: Any) -> Any:
    """Convert a column `[rows]` to strings, numbers, or lists of either."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return _simplified(column.cast(kind.value_type))
    if _is_list(kind):
        # Always 64-bit offsets and 64-bit numbers, so that other code meets two list types only.
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
