"""Headers: whether a row is one, and whether the name of a column is really a cell of a file without a header."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from graphmix.tables.patterns import MARKS_OF_MISSING, NUMBER

# Usual names of the column of ids, and of the two columns of ends, the most likely first.
ID_NAMES = ("id", "node_id", "nodeid", "node", "node id")
# A graph of words may have a node `node`.
CERTAIN_NAMES = ("id", "node_id", "nodeid", "node id")
END_NAMES = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("citing", "cited"),
    ("source_id", "target_id"),
    ("node1", "node2"),
    ("head", "tail"),
    ("u", "v"),
)
_ENDS = {name for ends in END_NAMES for name in ends}
# Cells looked at, and the share of them that must be like the name.
_CELLS = 1000
_SHARE = 0.9
_NUMBER = re.compile(NUMBER)
_DIGITS = re.compile(r"[0-9]+")
# Names are shorter than hashes and other ids of one length.
_LONG = 12


def is_header(row: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Whether a row is likely to be a header: it has a usual name, or no number but a word above a number.

    Words that stand in their columns, too, are no names, and marks of a missing value are no words.

    Example:
        >>> is_header(["paper", "year"], [["p1", "1990"]]), is_header(["p1", "1990"], [["p2", "1991"]])
        (True, False)
    """
    if _is_repeated(row, following):
        return False
    if has_usual_name(row):
        return True
    below = following[0] if following else ()
    return not any(map(_is_number, row)) and any(
        _is_number(cell) and _is_word(name) for name, cell in zip_longest(row, below, fillvalue="")
    )


def has_column_names(row: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Whether a row is surely a header: it has one of `CERTAIN_NAMES` or a pair of ends, or is words above numbers.

    Example:
        >>> has_column_names(["user", "stars"], [["1", "5"]]), has_column_names(["ann", "new"], [["bob", "5"]])
        (True, False)
    """
    lowered = {name.strip().lower() for name in row}
    if not lowered.isdisjoint(CERTAIN_NAMES) or any(lowered.issuperset(ends) for ends in END_NAMES):
        return not _is_repeated(row, following)
    return all(map(_is_word, row)) and any(following) and all(_is_number(cell) for each in following for cell in each)


def _is_repeated(row: Sequence[str], following: Sequence[Sequence[str]]) -> bool:
    """Whether a cell of a row stands in its column below, too; an end of an edge, in any column."""
    columns = [{each[place].strip() for each in following if place < len(each)} for place in range(len(row))]
    anywhere = set().union(*columns)
    return any(
        name.strip() and name.strip() in (anywhere if name.strip().lower() in _ENDS else column)
        for name, column in zip(row, columns, strict=True)
    )


def _is_word(cell: str) -> bool:
    return any(letter.isalpha() for letter in cell) and cell.strip().lower() not in MARKS_OF_MISSING


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell.strip()) is not None


def has_usual_name(names: Sequence[str]) -> bool:
    """Whether one of some names is a usual one of ids, or two are those of the ends of edges."""
    lowered = {name.strip().lower() for name in names}
    return not lowered.isdisjoint(ID_NAMES) or any(lowered.issuperset(ends) for ends in END_NAMES)


def looks_like_cell(name: str, column: Any) -> bool:
    """Whether the name of a column of strings `[rows]` is of the same form as its cells.

    A number above numbers, `n0` above `n1` and `n2`, or a long id above others of its length.
    """
    cells = [cell.strip() for cell in column.slice(0, _CELLS).to_pylist() if cell and cell.strip()]
    if not cells or not any(letter.isdigit() for letter in name):
        return False
    if _NUMBER.fullmatch(name):
        alike = [_NUMBER.fullmatch(cell) is not None for cell in cells]
    else:
        form = _DIGITS.sub("0", name)
        alike = [_DIGITS.sub("0", cell) == form or len(cell) == len(name) >= _LONG for cell in cells]
    return sum(alike) >= _SHARE * len(alike)


def occurs(name: str, *columns: Any) -> bool:
    """Whether the name of a column is also a cell of one of some columns of strings `[rows]`."""
    import pyarrow.compute as pc

    return any(pc.index(column, name).as_py() >= 0 for column in columns)
