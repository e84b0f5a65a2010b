"""How large a table may be: checked before a file is read, and again on what was read."""

from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.limits import PIECE, Limits, as_size, check_count, check_gzip, gzip_pieces, how_to_raise
from graphmix.tables.checked_text import is_gzipped
from graphmix.tables.table import Table, quoted

# No row of a text file is shorter: a letter and a line break.
_SHORTEST_ROW = 2
_QUOTE = b'"'


def check_text_size(path: Path, limit: Limits) -> None:
    """Raise DataError if a text file, plain or gzipped, unpacks to too many bytes or has too many rows.

    Nothing is kept in memory. A small file passes unread, and so does one that is not text: reading it says why.

    Raises:
        OSError: it cannot be read.
    """
    zipped = is_gzipped(path)
    if zipped:
        check_gzip(path, limit)
    size = limit.size if zipped else path.stat().st_size
    if size <= _SHORTEST_ROW * limit.rows:
        return
    rows = _RowCount(path, limit)
    with path.open("rb") as file:
        for piece in gzip_pieces(file) if zipped else iter(lambda: file.read(PIECE), b""):
            if not rows.may_go_on(piece):
                return


def check_table_size(table: Table, limit: Limits) -> None:
    """Raise DataError if a table that was read has too many rows or columns, or a cell is too large.

    A column that is None has not been read, because it is ignored.
    """
    check_count(table.rows, limit.rows, "rows", table.name)
    check_count(len(table.columns), limit.columns, "columns", table.name)
    for name, column in table.columns.items():
        sizes = None if column is None else _cell_sizes(column)
        if sizes is None:
            continue
        import pyarrow.compute as pc

        most = pc.max(sizes).as_py() or 0
        if most > limit.cell:
            row = pc.index(sizes, most).as_py()
            raise DataError(f"{table.where(row)}: {large_cell(name, most, limit)}")


def large_cell(column: str, size: int, limit: Limits) -> str:
    """Say that a cell is too large."""
    return (
        f"a cell of column {quoted(column)} has {as_size(size)}, and the limit is {as_size(limit.cell)}; shorten it "
        f"or raise the limit with `limit` cell={size}"
    )


class _RowCount:
    """Counts the rows of a text that comes in pieces: line breaks outside quotes."""

    def __init__(self, path: Path, limit: Limits) -> None:
        self._path, self._limit = path, limit
        self._breaks = {b"\n": 0, b"\r": 0}
        self._quoted = 0
        self._since_break = 0

    def may_go_on(self, piece: bytes) -> bool:
        """Count one more piece, and return whether counting the next can matter.

        Raises:
            DataError: there are too many rows already.
        """
        # The reader says what is wrong with zeros, which a sparse file has by the terabyte, and with an endless row.
        self._since_break = 0 if b"\n" in piece or b"\r" in piece else self._since_break + len(piece)
        if self._since_break > 2 * self._limit.cell or piece.startswith(bytes(8)):
            return False
        parts = piece.split(_QUOTE)
        outside = parts[self._quoted :: 2]
        self._quoted = (self._quoted + len(parts) - 1) % 2
        for mark in self._breaks:
            self._breaks[mark] += sum(part.count(mark) for part in outside)
        # Windows ends a line with both. The first line is the header.
        if max(self._breaks.values()) - 1 > self._limit.rows:
            raise DataError(
                f"{self._path} has more than {self._limit.rows:,} rows, the limit; "
                f"{how_to_raise('rows', 4 * self._limit.rows)}"
            )
        return True


def _cell_sizes(column: Any) -> Any | None:
    """Return the bytes of each cell of texts or lists `[rows]`; None for numbers, which are small."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        return pc.binary_length(column)
    if types.is_list(kind) or types.is_large_list(kind):
        # Texts in lists are counted with 16 bytes each, which is what they take at the least with their offsets.
        width = 8 if types.is_floating(kind.value_type) or types.is_integer(kind.value_type) else 16
        return pc.multiply(pc.list_value_length(column).cast(pa.int64()), width)
    return None
