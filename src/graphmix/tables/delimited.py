"""CSV, TSV and similar text files: pyarrow reads them, and every cell stays text.

What can be wrong with a file is found out only after pyarrow has failed, or if what it read looks wrong.
"""

import contextlib
import csv
import gzip
import io
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphmix.errors import DataError
from graphmix.tables.checked_text import LARGEST_ROW, CheckedText, is_gzipped, too_large
from graphmix.tables.reading import UTF8, Reading
from graphmix.tables.simplified import check_names
from graphmix.tables.table import Table, counted, one_line, shortened

# pyarrow parses small blocks faster, and they suffice for nearly every file; but a row must fit into one block.
BLOCKS = (2**22, LARGEST_ROW)
SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".tab": "\t", ".txt": "\t,;"}
LONGEST_HEADER = 2**20
_LINE_BREAK = re.compile(rb"[\r\n]")
_GZIP_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error)


@dataclass(frozen=True)
class _Layout:
    """What the top of a file says about the rest.

    Attributes:
        separator: the character between cells.
        names: the columns.
        skipped: how many empty lines are above the header in the file that pyarrow reads.
        has_bare_returns: whether lines may end in a carriage return alone.
    """

    separator: str
    names: list[str]
    skipped: int
    has_bare_returns: bool


def read_delimited(path: Path, ending: str, reading: Reading) -> Table:
    """Read a CSV, TSV or text file, plain or gzipped.

    Args:
        path: the file.
        ending: the end of its name without `.gz`: a key of `SEPARATORS`.
        reading: its encoding, and whether it has a header.

    Raises:
        DataError: the file is not such a table; the message names the line where possible.
    """
    text = CheckedText(path, reading.encoding)
    try:
        with _as_utf8(text) as (file, head):
            layout = _find_layout(text, head, ending)
            columns, rows = _parse(text, file, layout)
        _check_cells(text, columns)
    except _GZIP_ERRORS as error:
        raise DataError(f"{path} is not a complete gzip file: {error}") from error
    if not rows:
        raise DataError(f"{path} has a header but no rows")
    decimal = "," if layout.separator == ";" else "."
    return Table(path.name, columns, rows, count_lines=lambda: _count_lines(text), decimal=decimal)


@contextlib.contextmanager
def _as_utf8(text: CheckedText) -> Iterator[tuple[Path, bytes]]:
    """Give a file that holds the text in UTF-8, and the top of its text, with the whole header.

    pyarrow reads in a thread of its own that may outlive the interpreter, so it is given a file, never a Python stream.
    """
    with contextlib.closing(text.pieces()) as pieces:
        head = b""
        for piece in pieces:
            head += piece
            # A line break between two quotes is part of a name.
            has_header = head.count(b'"') % 2 == 0 and _LINE_BREAK.search(head)
            if has_header or len(head) > LONGEST_HEADER:
                break
        if text.is_utf8:
            yield text.path, head
            return
        with tempfile.NamedTemporaryFile(suffix=".csv") as copy:
            copy.write(head)
            copy.writelines(pieces)
            copy.flush()
            yield Path(copy.name), head


def _find_layout(text: CheckedText, head: bytes, ending: str) -> _Layout:
    """Find the separator and the names of the columns in the top of a file."""
    path, decoded = text.path, head.decode(UTF8, errors="ignore")
    if not decoded.strip():
        raise DataError(f"{path} is empty")
    first = decoded.replace("\r", "\n").partition("\n")[0]
    # A separator inside quotes is part of a name.
    bare = "".join(first.split('"')[::2])
    candidates = SEPARATORS[ending]
    if ending == ".txt":
        separator = max(candidates, key=bare.count)
    else:
        separator = next((candidate for candidate in candidates if candidate in bare), candidates[0])
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(decoded, newline=""), delimiter=separator))]
    except csv.Error as error:
        raise DataError(f"{path}: its first line is not a header: {error}") from error
    if first == decoded and len(head) > LONGEST_HEADER:
        raise DataError(f"{path}: its header is longer than {LONGEST_HEADER // 2**20} MiB")
    check_names(names, str(path))
    # The empty lines were left out of a copy in UTF-8.
    return _Layout(separator, names, text.skipped if text.is_utf8 else 0, b"\r" in head.rstrip())


def _parse(text: CheckedText, file: Path, layout: _Layout) -> tuple[dict[str, Any], int]:
    """Return the columns and the number of rows."""
    import pyarrow as pa

    for block in BLOCKS:
        try:
            table = _read(file, layout, block)
        except pa.ArrowInvalid as error:
            if _is_too_large(error) and block != BLOCKS[-1]:
                continue
            raise DataError(_diagnosis(text, file, layout)) from error
        except OSError:
            # The pass names a damaged gzip file in better words than pyarrow.
            text.whole()
            raise
        return {name: table.column(name) for name in layout.names}, table.num_rows
    raise AssertionError("the last block either suffices or raises")


def _read(file: Path, layout: _Layout, block: int, refuse: Callable[[Any], str] | None = None) -> Any:
    """Let pyarrow read a file in blocks of so many bytes; `refuse` is called with rows of the wrong length."""
    import pyarrow as pa
    from pyarrow import csv

    reading = csv.ReadOptions(
        # One thread takes less time altogether, and only then does pyarrow number invalid rows.
        use_threads=False,
        block_size=block,
        column_names=layout.names,
        skip_rows=layout.skipped,
        skip_rows_after_names=1,
    )
    parsing = csv.ParseOptions(delimiter=layout.separator, newlines_in_values=True, invalid_row_handler=refuse)
    converting = csv.ConvertOptions(column_types={name: pa.string() for name in layout.names})
    with pa.input_stream(str(file), compression="gzip" if is_gzipped(file) else None) as stream:
        return csv.read_csv(stream, reading, parsing, converting)


def _is_too_large(error: Exception) -> bool:
    """Whether pyarrow failed because a row did not fit into a block."""
    return "straddling" in str(error)


def _diagnosis(text: CheckedText, file: Path, layout: _Layout) -> str:
    """Say why pyarrow could not read a file.

    Raises:
        DataError: the text itself is at fault: its encoding, a NUL byte, or a line too long for a row.
    """
    import pyarrow as pa

    # First, because pyarrow can hand over a row only if its text is valid.
    whole = text.whole()
    if whole.lines == whole.skipped + 1 and not layout.has_bare_returns:
        return f"{whole.path} has a header but no rows"
    ragged: list[Any] = []

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    for block in BLOCKS:
        try:
            _read(file, layout, block, refuse)
        except pa.ArrowInvalid as error:
            if ragged:
                return _ragged(whole, ragged[0])
            if not _is_too_large(error):
                return f"{whole.path} cannot be read as a table: {one_line(error)}"
    return too_large(whole.path, whole.find_large_row(BLOCKS[-1]), BLOCKS[-1])


def _ragged(text: CheckedText, row: Any) -> str:
    first = row.text.encode(UTF8).splitlines()[0] if row.text else b""
    line = text.find_line(row.number, first)
    where = f"line {line}" if line is not None else f"row {row.number - 1}"
    fault = f"has {counted(row.actual_columns, 'cell')}, but the header names {row.expected_columns}"
    return f"{text.path.name} {where} {fault}; it begins {shortened(row.text)}"


def _check_cells(text: CheckedText, columns: dict[str, Any]) -> None:
    """Look at what pyarrow read for two defects that it accepts: NUL bytes, and a quote that is never closed.

    Raises:
        DataError: there is one.
    """
    if any(map(_has_nul, columns.values())):
        # This raises, with the line; the next line is for a file that was changed meanwhile.
        text.whole()
        raise DataError(f"{text.path} has a NUL byte, so it is not a text table")
    last = list(columns.values())[-1]
    if len(last) and "\n" in last[-1].as_py():
        whole = text.whole()
        if whole.quotes % 2 and whole.ending != b'"':
            raise DataError(
                f"{text.path}: a quote opened in row {len(last)} is never closed, so that row contains the rest of "
                "the file"
            )


def _has_nul(column: Any) -> bool:
    """Whether a NUL byte is in a column of strings `[rows]`."""
    for chunk in column.chunks:
        _, offsets, letters = chunk.buffers()
        if letters is not None and len(chunk):
            bounds = np.frombuffer(offsets, np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
            if not np.frombuffer(letters, np.uint8)[slice(*bounds)].all():
                return True
    return False


def _count_lines(text: CheckedText) -> int | None:
    try:
        return text.whole().lines
    except (DataError, OSError, *_GZIP_ERRORS):
        # The file was changed or removed since it was read; messages then name rows, not lines.
        return None
