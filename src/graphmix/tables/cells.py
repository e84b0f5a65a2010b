"""Cells as text or lists, whatever type the table holds them in."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.tables.table import Table

# What programs write for a missing cell. As an id, these are ordinary names.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL", "None", "<NA>")
_NUMBER_LIST = r"^\[[-+0-9.,eEinfaNIy\s]*\]$"
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")


class Lists(NamedTuple):
    """The items of all lists of a column, one after another.

    Attributes:
        rows: int64 `[items]`, the row of each item.
        items: a pyarrow array `[items]` of strings or numbers.
        filled: bool `[rows]`, whether a row has a list, possibly an empty one.
    """

    rows: NDArray[np.int64]
    items: Any
    filled: NDArray[np.bool_]


def is_text(column: Any) -> bool:
    """Whether a column holds strings."""
    from pyarrow import types

    return bool(types.is_string(column.type) or types.is_large_string(column.type))


def is_list(column: Any) -> bool:
    """Whether a column has a list type; lists written as text do not count."""
    from pyarrow import types

    return bool(types.is_large_list(column.type))


def as_text(column: Any) -> Any:
    """Return cells `[rows]` as strings, without outer spaces; whole numbers have no decimal point."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    if is_text(column):
        return pc.utf8_trim_whitespace(column)
    if types.is_integer(column.type):
        return column.cast(pa.large_string())
    return pa.chunked_array([pa.array([_number_text(value) for value in column.to_pylist()], pa.large_string())])


def present(text: Any) -> Any:
    """Return strings `[rows]`, with null for those that mean missing, such as `NA`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nothing = pc.is_in(text, value_set=pa.array(MISSING, text.type))
    return pc.if_else(nothing, pa.scalar(None, text.type), text)


def as_words(column: Any) -> Any:
    """Return cells `[rows]` as names of classes or categories; null where missing, booleans in lower case."""
    import pyarrow.compute as pc

    text = present(as_text(column))
    truth = pc.match_substring_regex(text, "^(?i:true|false)$")
    return pc.if_else(truth, pc.ascii_lower(text), text)


def number_lists(table: Table, name: str) -> Lists | None:
    """Read a column's cells as lists of numbers: a list type, or text like `[0.1, 0.2]`; None if a cell is not one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    if is_list(column):
        return None if is_text(_inner(column)) else _flat(column)
    if not is_text(column):
        return None
    text = present(pc.utf8_trim_whitespace(column))
    if not pc.all(pc.match_substring_regex(text, _NUMBER_LIST)).as_py():
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
    """Read a column's cells as lists of words: a list type, text like `["a", "b"]`, or words between separators.

    Args:
        table: the table.
        name: the column.
        separator: where to split text that is not in brackets; a space stands for any white space.

    Returns:
        The words without outer spaces and without empty ones; None if cells have no brackets and no separator is given.
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
    """Return the first candidate that more than half of the filled cells `[rows]` contain; None if there is none."""
    import pyarrow.compute as pc

    filled = len(text) - text.null_count
    for separator in candidates:
        having = pc.sum(pc.match_substring(text, separator)).as_py() or 0
        if 2 * having > filled:
            return separator
    return None


def to_bools(mask: Any) -> NDArray[np.bool_]:
    """Return a pyarrow mask `[rows]` as a numpy array; null becomes False."""
    import pyarrow.compute as pc

    values: NDArray[np.bool_] = np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return values


def first_other_than_list(table: Table, name: str) -> int:
    """Return the first row whose text is not like `[0.1, 0.2]`; 0 if there is none, or if the column is not text."""
    import pyarrow.compute as pc

    column = table.column(name)
    if not is_text(column):
        return 0
    unlike = to_bools(pc.invert(pc.match_substring_regex(present(pc.utf8_trim_whitespace(column)), _NUMBER_LIST)))
    return int(unlike.argmax())


def _number_text(value: float | None) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if value.is_integer() else repr(value)


def _inner(column: Any) -> Any:
    import pyarrow as pa

    return pa.nulls(0, column.type.value_type)


def _flat(column: Any) -> Lists:
    """Return the items of a column of lists."""
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
    """Parse a list as JSON writes it, or as Python does, with single quotes."""
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        items = [single or double for single, double in _QUOTED.findall(cell)] or cell[1:-1].split(",")
    return [item if isinstance(item, str) else json.dumps(item) for item in items]
