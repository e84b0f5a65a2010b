"""How large a table may be: checked before a file is read, and again on what was read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from graphmix.errors import DataError
from graphmix.limits import PIECE, Excess, Limits, as_size, enough, gzip_excess, gzip_pieces, refuse, too_many
from graphmix.tables.checked_text import is_gzipped
from graphmix.tables.table import Table, quoted

# No row of a text file is shorter: a letter and a line break.
_SHORTEST_ROW = 2
_QUOTE = b'"'
# How much of a file is looked at to say how many rows it has about: if it is too large anyway, and at the least.
_BEGINNING, _LEAST = 2**26, 2**24


def check_text_size(path: Path, limit: Limits) -> None:
    """Raise DataError if a text file, plain or gzipped, unpacks to too many bytes or has too many rows.

    Nothing is kept in memory. A small file passes unread, and so does one that is not text: reading it says why.

    Raises:
        OSError: it cannot be read.
    """
    found = gzip_excess(path, limit) if is_gzipped(path) else []
    size = limit.size if is_gzipped(path) else path.stat().st_size
    if size > _SHORTEST_ROW * limit.rows:
        # Of a file that unpacks to too much only the beginning is counted.
        found += _too_many_rows(path, limit, _BEGINNING if found else None)
    refuse(str(path), found)


def _too_many_rows(path: Path, limit: Limits, most: int | None) -> list[Excess]:
    """Return an excess if a text file has too many rows, by its first `most` bytes or by all."""
    rows, on_disk, read, share = _RowCount(limit.cell), path.stat().st_size, 0, 1.0
    with path.open("rb") as file:
        for piece, place in gzip_pieces(file) if is_gzipped(path) else _plain_pieces(file):
            if not rows.may_go_on(piece):
                return []
            read, share = read + len(piece), place / max(on_disk, 1)
            if (rows.count > limit.rows and read > _LEAST) or (most is not None and read > most):
                break
    expected = int(rows.count / share) if rows.count > 0 else 0
    if expected <= limit.rows:
        return []
    rounded = int(float(f"{expected:.3g}"))
    many = f"about {rounded if rounded > limit.rows else expected:,}" if share < 1 else f"{expected:,}"
    how = f"has {many} rows, and the limit is {limit.rows:,}"
    return [Excess(how, "rows", enough(rows.count, share, limit.rows))]


def _plain_pieces(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Read a file a piece at a time, each with the place where it ends."""
    while piece := file.read(PIECE):
        yield piece, file.tell()


def check_table_size(table: Table, limit: Limits) -> None:
    """Raise DataError if a table that was read has too many rows or columns, or a cell is too large.

    A column that is None has not been read, because it is ignored.
    """
    found = too_many(table.rows, limit.rows, "rows") + too_many(len(table.columns), limit.columns, "columns")
    most, name, row = _largest_cell(table)
    if most > limit.cell and not found:
        raise DataError(f"{table.where(row)}: {large_cell(name, most, limit)}")
    if most > limit.cell:
        found.append(Excess(f"has a cell of {as_size(most)}, and the limit is {as_size(limit.cell)}", "cell", most))
    refuse(table.name, found)


def _largest_cell(table: Table) -> tuple[int, str, int]:
    """Return the bytes of the largest cell, its column and its row."""
    import pyarrow.compute as pc

    largest = (0, "", 0)
    for name, column in table.columns.items():
        sizes = None if column is None else _cell_sizes(column)
        most = 0 if sizes is None else pc.max(sizes).as_py() or 0
        if most > largest[0]:
            largest = (most, name, pc.index(sizes, most).as_py())
    return largest


def large_cell(column: str, size: int, limit: Limits) -> str:
    """Say that a cell is too large."""
    return (
        f"a cell of column {quoted(column)} has {as_size(size)}, and the limit is {as_size(limit.cell)}; shorten it "
        f"or raise the limit with `limit` cell={size}"
    )


class _RowCount:
    """Counts the rows of a text that comes in pieces: line breaks outside quotes."""

    def __init__(self, cell: int) -> None:
        self._cell = cell
        self._breaks = {b"\n": 0, b"\r": 0}
        self._quoted = 0
        self._since_break = 0

    @property
    def count(self) -> int:
        """The rows so far."""
        # Windows ends a line with both. The first line is the header.
        return max(self._breaks.values()) - 1

    def may_go_on(self, piece: bytes) -> bool:
        """Count one more piece, and return whether counting the next can matter."""
        # The reader says what is wrong with zeros, which a sparse file has by the terabyte, and with an endless row.
        self._since_break = 0 if b"\n" in piece or b"\r" in piece else self._since_break + len(piece)
        if self._since_break > 2 * self._cell or piece.startswith(bytes(8)):
            return False
        parts = piece.split(_QUOTE)
        outside = parts[self._quoted :: 2]
        self._quoted = (self._quoted + len(parts) - 1) % 2
        for mark in self._breaks:
            self._breaks[mark] += sum(part.count(mark) for part in outside)
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
