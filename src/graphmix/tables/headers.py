"""Whether the name of a column is really a cell: a file without a header would lose its first row."""

import re
from typing import Any

from graphmix.tables.patterns import NUMBER

# Cells looked at, and the share of them that must be like the name.
_CELLS = 1000
_SHARE = 0.9
_NUMBER = re.compile(NUMBER)
_DIGITS = re.compile(r"[0-9]+")
# Names are shorter than hashes and other ids of one length.
_LONG = 12


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
