"""CSV, TSV and similar text files: pyarrow reads them, and every cell stays text.

What can be wrong with a file is found out only after pyarrow has failed, or if what it read looks wrong.
"""

import contextlib
import gzip
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphmix.errors import DataError
from graphmix.limits import as_size
from graphmix.tables.blank import is_blank, without_blank_rows
from graphmix.tables.checked_text import LARGEST_ROW, CheckedText, is_gzipped, too_large
from graphmix.tables.layout import Layout, find_layout, is_enough
from graphmix.tables.native import native_file
from graphmix.tables.quotes import find_open_quote
from graphmix.tables.reading import UTF8, Reading, Tell
from graphmix.tables.simplified import unnamed
from graphmix.tables.table import Table, one_line, shortened
from graphmix.text import counted

# pyarrow parses small blocks faster, and they suffice for nearly every file; but a row must fit into one block.
SMALL_BLOCK = 2**22
# Files of so many bytes take seconds to read, and it is told how far that is.
LARGE_FILE = 2**26
_GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)


def read_delimited(path: Path, ending: str, reading: Reading, largest: int = LARGEST_ROW) -> Table:
    """Read a CSV, TSV or text file, plain or gzipped.

    Args:
        path: the file.
        ending: the end of its name without `.gz`: a key of `SEPARATORS`.
        reading: its encoding, and whether it has a header.
        largest: the bytes that a row may have.

    Raises:
        DataError: the file is not such a table; the message names the line where possible.
    """
    text = CheckedText(path, reading.encoding, largest)
    try:
        with _as_utf8(text) as (file, head):
            layout = find_layout(text, head, ending, reading)
            columns, rows = _parse(text, file, layout, reading.tell)
        _check_cells(text, columns, layout)
        columns, filled = without_blank_rows(columns, rows)
    except _GZIP_ERRORS as error:
        raise DataError(f"{path} is not a complete gzip file: {error}") from error
    if not filled:
        raise DataError(_never_closed(text, layout) or _no_rows(path))
    decimal = "," if layout.separator == ";" else "."
    return Table(
        path.name,
        columns,
        filled,
        count_lines=lambda: _count_lines(text, rows - filled),
        has_header=layout.has_header,
        lacks_names=not reading.has_header,
        lines_above=layout.above,
        decimal=decimal,
    )


@contextlib.contextmanager
def _as_utf8(text: CheckedText) -> Iterator[tuple[Path, bytes]]:
    """Give a file that holds the text in UTF-8, and the top of its text, with the whole header.

    pyarrow reads in a thread of its own that may outlive the interpreter, so it is given a file, never a Python stream.
    """
    with contextlib.closing(text.pieces()) as pieces:
        head = b""
        for piece in pieces:
            head += piece
            if is_enough(head):
                break
        if text.is_utf8:
            yield text.path, head
            return
        with tempfile.NamedTemporaryFile(suffix=".csv") as copy:
            copy.write(head)
            copy.writelines(pieces)
            copy.flush()
            yield Path(copy.name), head


def _parse(text: CheckedText, file: Path, layout: Layout, tell: Tell) -> tuple[dict[str, Any], int]:
    """Return the columns and the number of rows."""
    import pyarrow as pa

    blocks = _blocks(text)
    for block in blocks:
        try:
            table = _read(file, layout, block, tell=partial(tell, f"reading {text.path.name}"))
        except pa.ArrowInvalid as error:
            if _is_too_large(error) and block != blocks[-1]:
                continue
            raise DataError(_diagnosis(text, file, layout)) from error
        except OSError:
            # The pass names a damaged gzip file in better words than pyarrow.
            text.whole()
            raise
        _check_unnamed(text.path, table, layout)
        return {name: table.column(name) for name in layout.names}, table.num_rows
    raise AssertionError("the last block either suffices or raises")


def _check_unnamed(path: Path, table: Any, layout: Layout) -> None:
    """Raise DataError if a column without a name has a cell."""
    for place in range(len(layout.names), table.num_columns):
        if not is_blank(table.column(place)):
            raise DataError(unnamed(path, place + 1))


def _blocks(text: CheckedText) -> tuple[int, ...]:
    """Return the sizes of blocks to try."""
    return (SMALL_BLOCK, text.largest) if text.largest > SMALL_BLOCK else (SMALL_BLOCK,)


def _read(
    file: Path,
    layout: Layout,
    block: int,
    refuse: Callable[[Any], str] | None = None,
    tell: Callable[[int], None] = lambda rows: None,
) -> Any:
    """Let pyarrow read a file in blocks of so many bytes.

    `refuse` is called with rows of the wrong length, and `tell` with how many rows of a large file have been read.
    """
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(
        # One thread takes less time altogether, and only then does pyarrow number invalid rows.
        use_threads=False,
        block_size=block,
        column_names=layout.all_names,
        skip_rows=layout.skipped,
        skip_rows_after_names=int(layout.has_header),
    )
    parsing = csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True, invalid_row_handler=refuse)
    converting = csv.ConvertOptions(column_types={name: pa.string() for name in layout.all_names})
    with (
        native_file(file) as source,
        pa.input_stream(source, compression="gzip" if is_gzipped(file) else None) as stream,
    ):
        if file.stat().st_size < LARGE_FILE:
            return csv.read_csv(stream, reading, parsing, converting)
        return _in_blocks(csv.open_csv(stream, reading, parsing, converting), tell)


def _in_blocks(reader: Any, tell: Callable[[int], None]) -> Any:
    """Read a table block by block, and tell how many rows there are so far."""
    import pyarrow as pa

    blocks, rows = [], 0
    for each in reader:
        blocks.append(each)
        rows += each.num_rows
        tell(rows)
    return pa.Table.from_batches(blocks, reader.schema)


def _is_too_large(error: Exception) -> bool:
    """Whether pyarrow failed because a row did not fit into a block."""
    return "straddling" in str(error)


def _diagnosis(text: CheckedText, file: Path, layout: Layout) -> str:
    """Say why pyarrow could not read a file.

    Raises:
        DataError: the text itself is at fault: its encoding, a NUL byte, or a line too long for a row.
    """
    import pyarrow as pa

    # First, because pyarrow can hand over a row only if its text is valid.
    whole = text.whole()
    if whole.lines == whole.skipped + layout.above and not layout.has_bare_returns:
        return _never_closed(text, layout) or _no_rows(whole.path)
    ragged: list[Any] = []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    blocks = _blocks(text)
    for block in blocks:
        try:
            _read(file, layout, block, refuse)
        except pa.ArrowInvalid as error:
            if ragged:
                return _ragged(whole, ragged[0], layout)
            if not _is_too_large(error):
                return f"{whole.path} cannot be read as a table: {one_line(error)}"
    return _never_closed(text, layout) or _large_row(whole, layout)


def _large_row(text: CheckedText, layout: Layout) -> str:
    """Say which row is larger than the limit, and whether a quote is why."""
    opened = _find_open_quote(text, layout, text.largest)
    if opened is None:
        return too_large(text.path, text.find_large_row(text.largest), text.largest)
    where, limit = f"{text.path.name} line {opened}", as_size(text.largest)
    remedy = f"close it, or raise the limit with `limit` cell={4 * text.largest}"
    return f"{where}: a quote opens here and is not closed within {limit}; {remedy}"


def _ragged(text: CheckedText, row: Any, layout: Layout) -> str:
    breaks = row.text.count("\n")
    if breaks and (fault := _never_closed(text, layout)):
        return fault
    first = row.text.encode(UTF8).splitlines()[0] if row.text else b""
    line = text.find_line(row.number, first)
    where = f"line {line}" if line is not None else f"row {row.number - 1}"
    expected = f"names {row.expected_columns}"
    if layout.unnamed:
        expected = f"has {row.expected_columns}, the last without a name"
    fault = f"has {counted(row.actual_columns, 'cell')}, but the header {expected}"
    hint = ""
    if breaks:
        hint = f"; a quote on it is closed only {counted(breaks, 'line')} below"
    elif row.expected_columns == 1 and layout.has_header:
        hint = "; if it is the header, remove the lines above it"
    return f"{text.path.name} {where} {fault}; it begins {shortened(row.text)}{hint}"


def _check_cells(text: CheckedText, columns: dict[str, Any], layout: Layout) -> None:
    """Look at what pyarrow read for two defects that it accepts: NUL bytes, and a quote that is never closed.

    Raises:
        DataError: there is one.
    """
    if any(map(_has_nul, columns.values())):
        # This raises, with the line; the next line is for a file that was changed meanwhile.
        text.whole()
        raise DataError(f"{text.path} has a NUL byte, so it is not a text table")
    last = list(columns.values())[-1]
    if len(last) and "\n" in last[-1].as_py() and (fault := _never_closed(text, layout)):
        raise DataError(fault)


def _no_rows(path: Path) -> str:
    return f"{path} has a header but no rows"


def _never_closed(text: CheckedText, layout: Layout) -> str:
    """Say where a quote opens that is never closed; "" if there is none."""
    line = _find_open_quote(text, layout)
    if line is None:
        return ""
    return f"{text.path.name} line {line}: a quote opens here and is never closed; close or remove it"


def _find_open_quote(text: CheckedText, layout: Layout, most: int | None = None) -> int | None:
    fresh = CheckedText(text.path, text.encoding, text.largest)
    line = find_open_quote(fresh.pieces(), layout.separator, most)
    return None if line is None else fresh.skipped + line


def _has_nul(column: Any) -> bool:
    """Whether a NUL byte is in a column of strings `[rows]`."""
    for chunk in column.chunks:
        _, offsets, letters = chunk.buffers()
        if letters is not None and len(chunk):
            bounds = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
            if not np.frombuffer(letters, np.uint8)[slice(*bounds)].all():
                return True
    return False


def _count_lines(text: CheckedText, blank: int) -> int | None:
    """Count the lines of a file without the blank rows at its end; None if it can no longer be read."""
    try:
        return text.whole().lines - blank
    except (DataError, OSError, *_GZIP_ERRORS):
        # The file was changed or removed since it was read; messages then name rows, not lines.
        return None
