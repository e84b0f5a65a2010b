"""Ids: compared as text, and given back in the type they came in.

An id is text exactly as it is in the table, spaces included. Numbers are compared by value, whatever type holds them:
the integer 7, the decimal 7.00 and the floating-point number 7.0 are all the id `7`.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from graphmix.errors import DataError
from graphmix.tables.table import Table, quoted, shortened

TEXT, INTEGER, FLOAT, DECIMAL = "text", "integer", "float", "decimal"
_VALUES: dict[str, Callable[[str], Any]] = {TEXT: str, INTEGER: int, FLOAT: float, DECIMAL: Decimal}
# Digits of the longest number that Arrow holds, a decimal256.
MOST_DIGITS = 76
_NUMBER = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}(\.[0-9]{{1,{MOST_DIGITS}}})?(e[+-][0-9]{{1,3}})?")
_FORMS = {TEXT: re.compile(r"(?s).+"), INTEGER: re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}")}
# Whole numbers beyond these are rounded, by bits of the type.
_EXACT_BELOW = {16: 2**11, 32: 2**24, 64: 2**53}
# What pyarrow writes for a date whose year has too many digits.
_OUT_OF_RANGE = "<value out of range"


@dataclass(frozen=True, eq=False)
class Ids:
    """A column of ids.

    Attributes:
        texts: by which ids are compared, a pyarrow chunked array of large strings `[rows]`.
        kind: the type they are given back in: text, integer, float or decimal.
    """

    texts: Any
    kind: str = TEXT


def read_ids(table: Table, name: str) -> Ids:
    """Read a column of ids; `NA` is an id like any other.

    Raises:
        DataError: a cell is empty, or the column cannot tell its ids apart.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = table.exact.get(name, table.column(name))
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts, kind = _texts(table, name, column)
    texts = texts.cast(pa.large_string())
    texts = texts if isinstance(texts, pa.ChunkedArray) else pa.chunked_array([texts], pa.large_string())
    start = 0
    for chunk in texts.chunks:
        empty = pc.index(pc.equal(pc.utf8_trim_whitespace(pc.fill_null(chunk, "")), ""), True).as_py()
        if empty >= 0:
            raise DataError(f"{table.where(start + empty)} has no id: column {quoted(name)} is empty there")
        start += len(chunk)
    return Ids(texts, kind)


def typed(texts: Iterable[str], kind: str) -> list[Any]:
    """Return ids in their own type.

    Example:
        >>> typed(["7", "08"], "text"), typed(["7", "18446744073709551615"], "integer")
        (['7', '08'], [7, 18446744073709551615])
    """
    return list(map(_VALUES[kind], texts))


def id_text(value: Any) -> str:
    """Return the text by which an id is compared, whatever its type.

    Example:
        >>> id_text("7"), id_text(7), id_text(7.0), id_text(Decimal("7.50"))
        ('7', '7', '7', '7.5')
    """
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, Decimal):
        digits = format(value, "f")
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return str(value)


def check_stored(texts: Iterable[str], kind: Any) -> None:
    """Raise ValueError unless stored ids are of a kind that exists."""
    if kind not in _VALUES:
        raise ValueError(f"there is no type of ids {kind!r}")
    form = _FORMS.get(kind, _NUMBER)
    wrong = next((text for text in texts if not form.fullmatch(text)), None)
    if wrong is not None:
        raise ValueError(f"the id {shortened(wrong)} is not of type {kind}")


def _texts(table: Table, name: str, column: Any) -> tuple[Any, str]:
    """Return the texts of a column of any type `[rows]`, null where a cell is missing, and its kind."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_integer(kind):
        return column.cast(pa.large_string()), INTEGER
    if types.is_floating(kind):
        return _float_texts(table, name, column), FLOAT
    if types.is_decimal(kind):
        texts = [None if value is None else id_text(value) for value in column.to_pylist()]
        has_fraction = any(text is not None and "." in text for text in texts)
        return pa.array(texts, pa.large_string()), DECIMAL if has_fraction else INTEGER
    if types.is_temporal(kind):
        return _time_texts(table, name, column), TEXT
    return column, TEXT


def _float_texts(table: Table, name: str, column: Any) -> Any:
    import pyarrow as pa

    bits = column.type.bit_width
    values = column.cast(pa.float64()).to_pylist()
    limit = _EXACT_BELOW[bits]
    for row, value in enumerate(values):
        if value is not None and math.isinf(value):
            raise DataError(f"{table.where(row)}: id {value!r} in column {quoted(name)} is no number; correct it")
        if value is not None and abs(value) >= limit:
            raise DataError(
                f"{table.where(row)}: id {value!r} in column {quoted(name)} is a floating-point number of {bits} bits, "
                f"which cannot tell whole numbers from {limit:,} on apart; store the ids as integers or as text"
            )
    # NaN is a missing cell.
    texts = [None if value is None or value != value else id_text(value) for value in values]
    return pa.array(texts, pa.large_string())


def _time_texts(table: Table, name: str, column: Any) -> Any:
    """Return dates and times as ISO 8601 writes them, times with a zone in UTC; the same in every unit."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_duration(kind) or types.is_interval(kind):
        raise DataError(f"{table.name}: column {quoted(name)} holds {kind}, which cannot be ids; store them as text")
    if types.is_timestamp(kind) and kind.tz is not None:
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
    texts = column.cast(pa.large_string())
    wrong = pc.index(pc.fill_null(pc.starts_with(texts, _OUT_OF_RANGE), False), True).as_py()
    if wrong >= 0:
        cell = f"{table.where(wrong)}: column {quoted(name)}"
        raise DataError(f"{cell} has a date that cannot be written; store the ids as text")
    texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    return pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+(Z?)$", r"\1\2")
