"""Cells as dates and times: numbers of days since 1970, or parts of a day for times without a date.

A form is named by an example: `31/12/2020`. It is found once, when a column is learned from, stored with the encoder,
and then used for every other table.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.tables.cells import is_text, present
from graphmix.tables.numbers import without_marks
from graphmix.tables.simplified import SECONDS_A_DAY
from graphmix.tables.table import Table

ISO, DAY_FIRST, MONTH_FIRST = "2020-12-31", "31/12/2020", "12/31/2020"
DAY_NAMED, MONTH_NAMED, CLOCK = "31 Dec 2020", "Dec 31, 2020", "23:59"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_REST = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "t|tember", "ober", "ember", "ember")
_MONTH = "(?P<month>(?i:{}))".format("|".join(f"{a}(?:{b})?" for a, b in zip(_MONTHS, _REST, strict=True)))
_WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_YEAR, _TWO, _ORDINAL = "(?P<year>[0-9]{4})", "[0-9]{1,2}", "(?i:st|nd|rd|th)?"
_ZONE = r"(?P<zone>[Zz]|(?i:UTC|GMT)|[+-][0-9]{2}:?(?:[0-9]{2})?)?"
_HOUR = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:\.[0-9]+)?))?\s?(?P<half>(?i:[ap]\.?m\.?))?\s?"
) + _ZONE
_TIME = rf"(?:(?:[Tt]|,?\s+){_HOUR})?$"
_NUMBERED = rf"^(?P<first>{_TWO})[-/.](?P<last>{_TWO})[-/.](?P<year>[0-9]{{4}}|[0-9]{{2}}){_TIME}"
_PATTERNS = {
    ISO: rf"^{_YEAR}[-/.](?P<month>{_TWO})(?:[-/.](?P<day>{_TWO}))?{_TIME}",
    DAY_FIRST: _NUMBERED.replace("first", "day").replace("last", "month"),
    MONTH_FIRST: _NUMBERED.replace("first", "month").replace("last", "day"),
    DAY_NAMED: rf"^{_WEEKDAY}(?P<day>{_TWO}){_ORDINAL}[-\s./]*{_MONTH}[-\s.,/]*(?P<year>[0-9]{{4}}|[0-9]{{2}}){_TIME}",
    MONTH_NAMED: rf"^{_WEEKDAY}{_MONTH}\.?[-\s]*(?P<day>{_TWO})?{_ORDINAL},?[-\s]+{_YEAR}{_TIME}",
    CLOCK: rf"^{_HOUR}$",
}
FORMS = tuple(_PATTERNS)
# A column is looked at for dates if so many of its first cells, in half of them, are dates.
_FIRST = 200
# Years of two digits from here on are of the last century.
_LAST_CENTURY = 69


class Dates(NamedTuple):
    """A column as dates.

    Attributes:
        days: float64 `[rows]`, days since 1970 in UTC; NaN where a cell is missing or not a date.
        wrong: the rows whose cell is neither missing nor a date.
        filled: how many cells are not missing.
        form: how the dates are written, one of `FORMS`; "" if the cells are not dates.
        doubt: what the user should know about the form, or "".
    """

    days: NDArray[np.float64]
    wrong: NDArray[np.int64]
    filled: int
    form: str
    doubt: str = ""


def as_dates(table: Table, name: str, form: str | None = None) -> Dates:
    """Read a column's cells as dates; parsed once per table.

    Args:
        table: the table.
        name: the column.
        form: how the dates are written; None to find it.
    """
    return table.parsed(name, _find) if form is None else table.parsed(name, _reader(form))


def is_moment(table: Table, name: str) -> bool:
    """Whether a column has a type of dates or times; durations do not count."""
    from pyarrow import types

    kind = table.exact[name].type if name in table.exact else None
    return kind is not None and bool(types.is_temporal(kind) and not types.is_duration(kind))


def _find(table: Table, name: str) -> Dates:
    column = table.column(name)
    if not is_text(column):
        return _typed(table, name)
    text = _trimmed(column)
    form, doubt = _form(text)
    found = _read(text, form)._replace(doubt=doubt)
    table.remember(name, _reader(form), found)
    return found


@cache
def _reader(form: str) -> Callable[[Table, str], Dates]:
    def read(table: Table, name: str) -> Dates:
        column = table.column(name)
        return _read(_trimmed(column), form) if is_text(column) else _typed(table, name)

    return read


def _typed(table: Table, name: str) -> Dates:
    """Read a column that is not text: its dates are numbers of days already; other numbers are not dates."""
    from pyarrow import types

    column = table.column(name)
    days = column.cast("float64", safe=False).to_numpy()
    filled = int((~np.isnan(days)).sum())
    if not is_moment(table, name):
        return Dates(np.full(len(days), np.nan), np.flatnonzero(~np.isnan(days)), filled, "")
    return Dates(days, np.empty(0, np.int64), filled, CLOCK if types.is_time(table.exact[name].type) else ISO)


def _trimmed(column: Any) -> Any:
    import pyarrow.compute as pc

    return without_marks(present(pc.utf8_trim_whitespace(column)))


def _form(text: Any) -> tuple[str, str]:
    """Return the form that most cells `[rows]` have, and what is doubtful about it; "" if they are not dates."""
    first = text.drop_null()[:_FIRST]
    likely = [form for form in FORMS if 2 * _count(first, form) > len(first)]
    if not likely:
        return "", ""
    if not {DAY_FIRST, MONTH_FIRST} & set(likely):
        return likely[0], ""
    day, month = (_count(text, form) for form in (DAY_FIRST, MONTH_FIRST))
    if day != month:
        return (DAY_FIRST if day > month else MONTH_FIRST), ""
    slashes = "/" in first[0].as_py()
    if slashes:
        return MONTH_FIRST, "1/2/2020 is read as 2 January; it could also be 1 February"
    return DAY_FIRST, "1.2.2020 is read as 1 February; it could also be 2 January"


def _count(text: Any, form: str) -> int:
    return int((~np.isnan(_days(text, form))).sum())


def _read(text: Any, form: str) -> Dates:
    there = np.asarray(text.is_valid())
    days = _days(text, form) if form else np.full(len(text), np.nan)
    return Dates(days, np.flatnonzero(there & np.isnan(days)), int(there.sum()), form)


def _days(text: Any, form: str) -> NDArray[np.float64]:
    """Return the days `[rows]` that text says in a form; NaN where it does not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    coded = coded.dictionary_encode()
    parts = pc.extract_regex(coded.dictionary, _PATTERNS[form])
    names = [field.name for field in parts.type]
    found = {name: pc.struct_field(parts, name) for name in names}
    days = np.where(np.asarray(parts.is_valid()), _clock(found), np.nan)
    if form != CLOCK:
        days = days + _midnight(found)
    places = pc.fill_null(coded.indices, len(days)).to_numpy(zero_copy_only=False)
    everywhere: NDArray[np.float64] = np.append(days, np.nan)[places]
    return everywhere


def _midnight(parts: dict[str, Any]) -> NDArray[np.float64]:
    """Return the days of dates from their parts `[dates]`; NaN where there is no such day."""
    year, day = _number(parts["year"]), _number(parts["day"], 1)
    short = np.asarray(_lengths(parts["year"])) == 2
    year = np.where(short, year + np.where(year < _LAST_CENTURY, 2000, 1900), year)
    month = _month(parts["month"])
    valid = (month >= 1) & (month <= 12) & (year >= 1)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype(np.int64)
    first, after = (each.astype("M8[M]").astype("M8[D]").astype(np.int64) for each in (months, months + 1))
    valid &= (day >= 1) & (day <= after - first)
    return np.where(valid, first + day - 1, np.nan)


def _clock(parts: dict[str, Any]) -> NDArray[np.float64]:
    """Return the parts of a day that times say, less their time zone; NaN where there is no such time."""
    import pyarrow.compute as pc

    hour, minute, second = (_number(parts[name]) for name in ("hour", "minute", "second"))
    half = np.asarray(pc.utf8_slice_codeunits(pc.fill_null(pc.ascii_lower(parts["half"]), ""), 0, 1).to_pylist())
    valid = (minute < 60) & (second < 61) & np.where(half != "", (hour >= 1) & (hour <= 12), hour < 24)
    hour = np.where(half != "", hour % 12 + 12 * (half == "p"), hour)
    digits = pc.replace_substring(pc.fill_null(parts["zone"], ""), ":", "")
    zone = pc.if_else(pc.match_substring_regex(digits, "^[+-]"), digits, "+0000")
    away = _number(pc.utf8_slice_codeunits(zone, 1, 3)) * 60 + _number(pc.utf8_slice_codeunits(zone, 3, 5))
    away = np.where(np.asarray(pc.starts_with(zone, "-")), -away, away)
    found: NDArray[np.float64] = np.where(valid, (hour * 3600 + (minute - away) * 60 + second) / SECONDS_A_DAY, np.nan)
    return found


def _month(text: Any) -> NDArray[np.float64]:
    """Return numbers of months, from digits or names."""
    import pyarrow as pa
    import pyarrow.compute as pc

    begin = pc.utf8_slice_codeunits(pc.ascii_lower(text), 0, 3)
    named = pc.add(pc.index_in(begin, value_set=pa.array(_MONTHS, text.type)), 1)
    digits = pc.if_else(pc.match_substring_regex(text, "^[0-9]+$"), text, pa.scalar(None, text.type))
    found: NDArray[np.float64] = np.asarray(
        pc.fill_null(pc.coalesce(digits.cast("int32"), named), 0).to_numpy(zero_copy_only=False), dtype=np.float64
    )
    return found


def _number(text: Any, default: float = 0) -> NDArray[np.float64]:
    """Return digits as numbers; a cell without digits gives the default."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), text)
    found: NDArray[np.float64] = pc.fill_null(digits.cast("float64"), default).to_numpy(zero_copy_only=False)
    return found


def _lengths(text: Any) -> list[int]:
    import pyarrow.compute as pc

    lengths: list[int] = pc.fill_null(pc.utf8_length(text), 0).to_pylist()
    return lengths
