"""Cells as numbers, as programs or as people write them."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.tables.cells import is_text, present
from graphmix.tables.notation import (
    MARKS,
    PLAIN,
    PLAIN_NUMBER,
    WORDS,
    bare,
    find_notation,
    find_words,
    mixed_units,
    pattern,
    units_of,
    unmarked,
)
from graphmix.tables.patterns import MARKS_OF_MISSING
from graphmix.tables.table import Table

# Larger numbers are mistakes or stand for "missing", and their squares would dominate the standard deviation.
LARGEST = 1e30
# A column is looked at for notations if one of so many cells that are not plain numbers has one.
_FIRST = 1_000


class Numbers(NamedTuple):
    """A column as numbers.

    Attributes:
        values: float64 `[rows]`, NaN where a cell is missing or cannot be used.
        wrong: the rows whose cell is neither missing nor a number.
        huge: the rows whose number is beyond `LARGEST`; their values are NaN.
        filled: how many cells are not missing.
        notation: how the numbers are written, one of `NOTATIONS`.
        doubt: what the user should know about the notation, or "".
        units: those of the cells, as `units_of` returns them; empty if the notation has none.
    """

    values: NDArray[np.float64]
    wrong: NDArray[np.int64]
    huge: NDArray[np.int64]
    filled: int
    notation: str = PLAIN
    doubt: str = ""
    units: tuple[str, ...] = ()


def as_numbers(table: Table, name: str, notation: str | None = None) -> Numbers:
    """Read a column's cells as numbers; parsed once per table.

    Args:
        table: the table.
        name: the column.
        notation: how the numbers are written; None to find it.
    """
    read = _find if notation is None else _reader(notation)
    # Numbers are read in no time, and to keep them would take as much memory again.
    return table.parsed(name, read) if is_text(table.column(name)) else read(table, name)


def without_marks(text: Any) -> Any:
    """Return strings `[rows]` without outer spaces, with null where people would see a missing number or date."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # No mark is longer, and long text is not worth turning into lower case.
    short = pc.less_equal(pc.binary_length(text), max(len(mark.encode()) for mark in MARKS_OF_MISSING))
    lowered = pc.utf8_lower(pc.if_else(short, text, pa.scalar("x", text.type)))
    nothing = pc.is_in(lowered, value_set=pa.array(MARKS_OF_MISSING, text.type))
    return pc.if_else(nothing, pa.scalar(None, text.type), text)


def _find(table: Table, name: str) -> Numbers:
    """Read numbers in the notation that suits the column."""
    column = table.column(name)
    quick = _as_they_are(table, column)
    if quick is not None and not is_text(column):
        return quick
    if quick is not None:
        found = quick
    else:
        text = without_marks(_trimmed(column))
        notation, doubt, stripped = _notation(text, table.decimal)
        found = _read(text, notation, table, stripped)
        found = found._replace(doubt="; ".join(each for each in (doubt, mixed_units(found.units)) if each))
    # Whoever reads the column in the notation that was found need not parse it again.
    table.remember(name, _reader(found.notation), found)
    return found


@cache
def _reader(notation: str) -> Callable[[Table, str], Numbers]:
    def read(table: Table, name: str) -> Numbers:
        column = table.column(name)
        quick = _as_they_are(table, column) if notation == PLAIN or not is_text(column) else None
        return _read(without_marks(_trimmed(column)), notation, table) if quick is None else quick

    return read


def _as_they_are(table: Table, column: Any) -> Numbers | None:
    """Read a column of numbers, or of text in which every cell is a plain number; None if one is not."""
    import pyarrow as pa

    try:
        values = _to_numpy(_trimmed(column).cast(pa.float64()) if is_text(column) else column)
    except pa.ArrowInvalid:
        return None
    return _without_huge(values, np.empty(0, np.int64), table.rows - int(np.isnan(values).sum()), PLAIN)


def _notation(text: Any, decimal: str) -> tuple[str, str, Any]:
    """Find the notation of cells `[rows]`, what is odd about it, and the cells without units if anybody needed them."""
    import pyarrow.compute as pc

    odd = text.filter(pc.invert(pc.match_substring_regex(_pointed(text, decimal), PLAIN_NUMBER)))
    if not len(odd):
        return PLAIN, "", None
    words = find_words(text)
    if words:
        return words, "", None
    first = bare(odd[:_FIRST])
    if not any(pc.any(pc.match_substring_regex(first, pattern(name))).as_py() for name in MARKS):
        return PLAIN, "", None
    stripped = bare(text)
    notation, doubt = find_notation(stripped, decimal)
    return notation, doubt, stripped


def _read(text: Any, notation: str, table: Table, stripped: Any = None) -> Numbers:
    """Read cells `[rows]` in a notation; `stripped` are the cells without units, if they are at hand."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = table.rows - text.null_count
    nothing = pa.scalar(None, text.type)
    units: tuple[str, ...] = ()
    if notation in WORDS:
        yes, no = (pc.equal(pc.ascii_lower(text), word) for word in WORDS[notation])
        wrong = pc.invert(pc.or_(yes, no))
        digits = pc.if_else(wrong, nothing, pc.if_else(yes, pa.scalar("1", text.type), pa.scalar("0", text.type)))
    else:
        form = _pointed(text, table.decimal) if notation == PLAIN else bare(text) if stripped is None else stripped
        right = pc.match_substring_regex(form, PLAIN_NUMBER if notation == PLAIN else pattern(notation))
        wrong, digits = pc.invert(right), pc.if_else(right, pc.utf8_ltrim(form, "+"), nothing)
        units = () if notation == PLAIN else units_of(text.filter(right))
        digits = digits if notation == PLAIN else unmarked(digits, notation)
    rows = np.flatnonzero(pc.fill_null(wrong, False).to_numpy())
    return _without_huge(_to_numpy(digits.cast(pa.float64())), rows, filled, notation)._replace(units=units)


def _trimmed(column: Any) -> Any:
    import pyarrow.compute as pc

    return present(pc.utf8_trim_whitespace(column))


def _pointed(text: Any, decimal: str) -> Any:
    """Return cells `[rows]` with a decimal point, if the file suggests that their comma is the decimal mark."""
    import pyarrow.compute as pc

    if decimal == ".":
        return text
    return pc.replace_substring_regex(text, r"^([+-]?[0-9]*),([0-9]+([eE][+-]?[0-9]+)?)$", r"\1.\2")


def _without_huge(values: NDArray[np.float64], wrong: NDArray[np.int64], filled: int, notation: str) -> Numbers:
    huge = np.abs(values) > LARGEST
    if not huge.any():
        return Numbers(values, wrong, np.empty(0, np.int64), filled, notation)
    return Numbers(np.where(huge, np.nan, values), wrong, np.flatnonzero(huge), filled, notation)


def _to_numpy(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return values
