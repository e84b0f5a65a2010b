"""Arrow's many types, reduced to four: text, numbers, and lists of either."""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any

from graphmix.errors import DataError
from graphmix.machine import is_out_of_memory
from graphmix.tables.table import quoted
from graphmix.text import name_for_screen

SECONDS_A_DAY = 86_400
_LONGEST_TYPE = 80
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class _OnDemand(dict[str, Any]):
    """Columns by name; one whose value is None is read when it is first asked for."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __getitem__(self, name: str) -> Any:
        column = super().__getitem__(name)
        if column is None:
            column = self[name] = self._read(name)
        return column


def simplified_columns(
    schema: Any, rows: int, read: Callable[[str], Any], table: str, ignore: Collection[str] = ()
) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Read columns of any type.

    Categories become their values; booleans the words `true` and `false`; dates and times a number of days (since 1970,
    or since midnight); decimals floating-point numbers. Columns of other types, and those that cannot be converted, are
    left out.

    Args:
        schema: pyarrow's names and types.
        rows: how many rows every column must have.
        read: returns the column of a name, a pyarrow chunked array; may be called later for columns of `ignore`.
        table: what messages call the table.
        ignore: columns that are not read unless somebody asks for them.

    Returns:
        The columns by name; the columns that cannot be used, each with the reason; and the columns that were converted
        to something less exact, as they were read.

    Raises:
        DataError: a name is missing or used twice, or a column is damaged.
    """
    check_names([name.strip() for name in schema.names], table)
    fields = {field.name.strip(): field for field in schema}
    exact: dict[str, Any] = {}

    def convert(name: str) -> Any:
        where = f"{table}: column {quoted(name)}"
        plain, simple = _converted(fields[name], read)
        if len(simple) != rows:
            raise DataError(f"{where} is damaged: it has {len(simple):,} of {rows:,} rows")
        if _is_rounded(plain.type):
            exact[name] = plain
        return simple

    def convert_later(name: str) -> Any:
        try:
            return convert(name)
        except _CannotConvertError as error:
            raise DataError(f"{table}: column {quoted(name)} cannot be used: {error}; store it as text") from error

    columns = _OnDemand(convert_later)
    ignored: dict[str, str] = {}
    for name, field in fields.items():
        if not is_usable(field.type):
            ignored[name] = _type_of(field)
            continue
        try:
            columns[name] = None if name in ignore else convert(name)
        except _CannotConvertError as error:
            ignored[name] = str(error)
    return columns, ignored, exact


def check_names(names: list[str], table: str) -> None:
    """Check that every column has a name of its own.

    Raises:
        DataError: a name is empty or used twice.
    """
    if "" in names:
        raise DataError(unnamed(table, names.index("") + 1))
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise DataError(f"{table} has two columns called {quoted(twice)}; rename one of them")


def unnamed(table: object, place: int) -> str:
    """Return the message for a column without a name, counted from 1."""
    return f"{table}: column {place} has no name; name it or remove it (pandas: to_csv(index=False))"


class _CannotConvertError(DataError):
    """A column whose cells cannot be text, numbers or lists of them; the message says why."""


def _converted(field: Any, read: Callable[[str], Any]) -> tuple[Any, Any]:
    """Read a column: its values in their own type, and as text, numbers or lists of either."""
    import pyarrow as pa

    cannot = f"{_type_of(field)}, which cannot be converted"
    try:
        column = read(field.name)
    except pa.ArrowNotImplementedError as error:
        raise _CannotConvertError(cannot) from error
    try:
        plain = _decoded(column)
        simple = _simplified(plain)
    except pa.ArrowException as error:
        if is_out_of_memory(error):
            raise
        raise _CannotConvertError(cannot) from error
    try:
        simple.validate(full=True)
    except pa.ArrowInvalid as error:
        raise _CannotConvertError("it holds text that is not UTF-8, or is damaged") from error
    return plain, simple


def _type_of(field: Any) -> str:
    return f"its type is {name_for_screen(str(field.type), _LONGEST_TYPE)}"


def is_usable(kind: Any) -> bool:
    """Whether columns of a type can become text, numbers, or lists of either."""
    from pyarrow import types

    kind = _decoded_type(kind)
    if _is_list(kind):
        inner = _decoded_type(kind.value_type)
        return bool(_is_number(inner) or _is_text(inner) or types.is_boolean(inner) or types.is_null(inner))
    is_time = types.is_temporal(kind) and not types.is_interval(kind)
    is_word = _is_text(kind) or types.is_boolean(kind) or _is_uuid(kind)
    return bool(is_word or _is_number(kind) or is_time or types.is_null(kind))


def _decoded_type(kind: Any) -> Any:
    """Return the type of the values behind categories, runs and extensions of pyarrow's types."""
    import pyarrow as pa
    from pyarrow import types

    while not _is_uuid(kind):
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif types.is_dictionary(kind) or types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            break
    return kind


def _decoded(column: Any) -> Any:
    """Return the values `[rows]` behind categories, runs and extensions of pyarrow's types."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    while column.type != _decoded_type(column.type):
        kind = column.type
        if isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        elif types.is_dictionary(kind):
            values = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
            column = pa.chunked_array(values, kind.value_type)
        else:
            column = pc.run_end_decode(column)
    return column


def _is_rounded(kind: Any) -> bool:
    """Whether `_simplified` may lose something of a single value that matters if it is an id."""
    from pyarrow import types

    narrow = types.is_floating(kind) and not types.is_float64(kind)
    return bool(narrow or types.is_decimal(kind) or types.is_temporal(kind))


def _simplified(column: Any) -> Any:
    """Convert a column `[rows]` of decoded values to strings, numbers, or lists of either."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if _is_list(kind):
        # Always 64-bit offsets and 64-bit numbers, so that other code meets two list types only.
        inner = _decoded_type(kind.value_type)
        number = _is_number(inner) or types.is_boolean(inner)
        return column.cast(pa.large_list(pa.float64() if number else pa.large_string()), safe=False)
    if _is_uuid(kind):
        return pa.chunked_array(
            [[None if cell is None else str(cell) for cell in column.to_pylist()]], pa.large_string()
        )
    if types.is_boolean(kind) or types.is_null(kind) or _is_text(kind):
        return column.cast(pa.large_string())
    if types.is_temporal(kind):
        # Not safe: nanoseconds of our time are beyond the whole numbers that float64 holds exactly.
        days = column.cast(_number_form(kind)).cast(pa.float64(), safe=False)
        return pc.divide(days, float(_per_day(kind)))
    return column if types.is_integer(kind) else column.cast(pa.float64(), safe=False)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_uuid(kind: Any) -> bool:
    return getattr(kind, "extension_name", "") == "arrow.uuid"


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    # Not views: pyarrow converts them to something that it then calls invalid.
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _number_form(kind: Any) -> Any:
    import pyarrow as pa

    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _per_day(kind: Any) -> int:
    from pyarrow import types

    if types.is_date32(kind):
        return 1
    return SECONDS_A_DAY * (_UNITS["ms"] if types.is_date64(kind) else _UNITS[kind.unit])
