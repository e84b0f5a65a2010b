"""What cells say: text, numbers and lists, from a file that may hold everything as text."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.tables.table import Table

# What programs write where there is nothing. An id may be called so.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "<NA>")
# Larger numbers are mistakes or stand for "missing", and their squares would drown all others.
LARGEST = 1e30
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(?i:inf|infinity)$"
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")


class Numbers(NamedTuple):
    """A column as numbers.

    Attributes:
        values: float64 `[rows]`, NaN where there is none.
        wrong: rows of cells that are there but are no numbers.
        huge: rows of numbers too large to mean anything; their values are NaN.
        filled: how many cells are there.
    """

    values: NDArray[np.float64]
    wrong: NDArray[np.int64]
    huge: NDArray[np.int64]
    filled: int


class Lists(NamedTuple):
    """A column of lists, laid end to end.

    Attributes:
        rows: int64 `[items]`, the row an item is of.
        items: a pyarrow array `[items]` of strings or numbers.
        filled: bool `[rows]`, where there is a list, be it empty.
    """

    rows: NDArray[np.int64]
    items: Any
    filled: NDArray[np.bool_]


def is_text(column: Any) -> bool:
    """Whether a column holds strings."""
    from pyarrow import types

    return bool(types.is_string(column.type) or types.is_large_string(column.type))


def is_list(column: Any) -> bool:
    """Whether a column holds lists, as only a Parquet file's can."""
    from pyarrow import types

    return bool(types.is_large_list(column.type))


def as_text(column: Any) -> Any:
    """Return cells `[rows]` as strings: stripped, and whole numbers without a point."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if is_text(column):
        return pc.utf8_trim_whitespace(column)
    if types.is_integer(column.type):
        return column.cast(pa.large_string())
    return pa.chunked_array([pa.array([_number_text(value) for value in column.to_pylist()], pa.large_string())])


def present(text: Any) -> Any:
    """Return strings `[rows]` with null for those that say there is nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pc.is_in(text, value_set=pa.array(MISSING, text.type))
    return pc.if_else(nothing, pa.scalar(None, text.type), text)


def as_words(column: Any) -> Any:
    """Return cells `[rows]` as names of classes or categories: null where missing; truth values in one spelling."""
    import pyarrow.compute as pc

    text = present(as_text(column))
    truth = pc.match_substring_regex(text, "^(?i:true|false)$")
    return pc.if_else(truth, pc.ascii_lower(text), text)


def as_numbers(table: Table, name: str) -> Numbers:
    """Read a column's cells as numbers; once, however often it is asked for."""
    return table.parsed(name, _parse_numbers)


def number_lists(table: Table, name: str) -> Lists | None:
    """Read a column's cells as lists of numbers: Parquet's, or `[0.1, 0.2]`; None where one is something else."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    if is_list(column):
        return None if is_text(_inner(column)) else _flat(column)
    if not is_text(column):
        return None
    text = present(pc.utf8_trim_whitespace(column))
    if not pc.all(pc.match_substring_regex(text, r"^\[[-+0-9.,eEinfaNIy\s]*\]$")).as_py():
        return None
    bare = pc.replace_substring_regex(pc.utf8_trim(text, "[] \t\r\n"), r"\s*,\s*|\s+", ",")
    lists = _flat(pc.split_pattern(bare.cast(pa.large_string()), ","))
    # An empty list splits into one empty string.
    kept = np.flatnonzero(pc.not_equal(lists.items, "").to_numpy(zero_copy_only=False))
    try:
        items = lists.items.take(pa.array(kept)).cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return Lists(lists.rows[kept], items, lists.filled)


def string_lists(table: Table, name: str, separator: str | None) -> Lists | None:
    """Read a column's cells as lists of words: Parquet's, `["a", "b"]`, or words with a separator between them.

    Args:
        table: the file.
        name: the column.
        separator: what to split at where the cells are not in brackets; a space splits at any white space.

    Returns:
        Stripped words, empty ones left out; None where cells are neither in brackets nor to be split.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    if is_list(column):
        return _tidy(_flat(column))
    text = present(as_text(column)).cast(pa.large_string())
    if pc.all(pc.match_substring_regex(text, r"(?s)^\[.*\]$")).as_py():
        parsed = [None if cell is None else _parsed_list(cell) for cell in text.to_pylist()]
        return _tidy(_flat(pa.chunked_array([pa.array(parsed, pa.large_list(pa.large_string()))])))
    if separator is None:
        return None
    parts = pc.utf8_split_whitespace(text) if separator == " " else pc.split_pattern(text, separator)
    return _tidy(_flat(parts))


def separator_of(text: Any, candidates: str = ";|") -> str | None:
    """Find what stands between the words of a cell: the first candidate that most cells `[rows]` have."""
    import pyarrow.compute as pc

    filled = len(text) - text.null_count
    for separator in candidates:
        having = pc.sum(pc.match_substring(text, separator)).as_py() or 0
        if 2 * having > filled:
            return separator
    return None


def to_bools(mask: Any) -> NDArray[np.bool_]:
    """Return a pyarrow mask as numpy's `[rows]`, null as False."""
    import pyarrow.compute as pc

    values: NDArray[np.bool_] = np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return values


def _parse_numbers(table: Table, name: str) -> Numbers:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    if not is_text(column):
        values = _to_numpy(column)
        filled = table.rows - int(np.isnan(values).sum())
        return _without_huge(values, np.empty(0, np.int64), filled)
    text = present(pc.utf8_trim_whitespace(column))
    filled = table.rows - text.null_count
    try:
        return _without_huge(_to_numpy(text.cast(pa.float64())), np.empty(0, np.int64), filled)
    except pa.ArrowInvalid:
        pass
    if table.decimal != ".":
        text = pc.replace_substring_regex(text, r"^([+-]?[0-9]*),([0-9]+([eE][+-]?[0-9]+)?)$", r"\1.\2")
    number = pc.match_substring_regex(text, _NUMBER)
    wrong = np.flatnonzero(pc.fill_null(pc.invert(number), False).to_numpy())
    good = pc.if_else(number, pc.utf8_ltrim(text, "+"), pa.scalar(None, text.type))
    return _without_huge(_to_numpy(good.cast(pa.float64())), wrong, filled)


def _number_text(value: float | None) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if value.is_integer() else repr(value)


def _without_huge(values: NDArray[np.float64], wrong: NDArray[np.int64], filled: int) -> Numbers:
    huge = np.abs(values) > LARGEST
    if not huge.any():
        return Numbers(values, wrong, np.empty(0, np.int64), filled)
    return Numbers(np.where(huge, np.nan, values), wrong, np.flatnonzero(huge), filled)


def _to_numpy(column: Any) -> NDArray[np.float64]:
    import pyarrow as pa

    values: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    return values


def _inner(column: Any) -> Any:
    import pyarrow as pa

    return pa.nulls(0, column.type.value_type)


def _flat(column: Any) -> Lists:
    """Lay a column of lists end to end."""
    import pyarrow.compute as pc

    array = column.combine_chunks()
    rows = pc.list_parent_indices(array).to_numpy(zero_copy_only=False).astype(np.int64)
    return Lists(rows, pc.list_flatten(array), to_bools(array.is_valid()))


def _tidy(lists: Lists) -> Lists:
    import pyarrow as pa
    import pyarrow.compute as pc

    words = present(as_text(pa.chunked_array([lists.items])))
    kept = np.flatnonzero(to_bools(words.is_valid()))
    return Lists(lists.rows[kept], pc.take(words, pa.array(kept)).combine_chunks(), lists.filled)


def _parsed_list(cell: str) -> list[str]:
    """Take a list apart: JSON's, or Python's with its single quotes."""
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        items = [single or double for single, double in _QUOTED.findall(cell)] or cell[1:-1].split(",")
    return [item if isinstance(item, str) else json.dumps(item) for item in items]
