"""What spreadsheets leave at the edges of a text table: columns without a name or a cell, and rows without a cell."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def without_blank_rows(columns: dict[str, Any], rows: int) -> tuple[dict[str, Any], int]:
    """Leave out the rows at the end of a table that have no cell filled.

    Args:
        columns: strings `[rows]` by name.
        rows: the number of rows.

    Returns:
        The columns, and how many rows they have.
    """
    # Almost every table ends with a row, so its cells are looked at first.
    if not rows or any(column[rows - 1].as_py().strip() for column in columns.values()):
        return columns, rows
    filled = np.zeros(rows, dtype=np.bool_)
    for column in columns.values():
        filled |= _filled(column)
    kept = int(filled.nonzero()[0].max(initial=-1)) + 1
    return {name: column.slice(0, kept) for name, column in columns.items()}, kept


def is_blank(column: Any) -> bool:
    """Whether no cell of a column of strings `[rows]` is filled."""
    return not _filled(column).any()


def _filled(column: Any) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    filled: NDArray[np.bool_] = pc.not_equal(pc.utf8_trim_whitespace(column), "").to_numpy()
    return filled
