"""CSV and its kin, cell by cell as text: separators, encodings, line ends, and what can be wrong with each."""

import contextlib
import csv
import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.tables.checked_text import LARGEST_ROW, PIECE, UTF8, CheckedText, is_gzipped, too_large
from graphmix.tables.simplified import check_names
from graphmix.tables.table import Table, counted, one_line, shortened

# Small blocks are faster to parse, and enough for nearly every file; a row must fit into one.
BLOCKS = (2**22, LARGEST_ROW)
SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".tab": "\t", ".txt": "\t,;"}


def read_delimited(path: Path, ending: str, encoding: str) -> Table:
    """Read a CSV, TSV or text file, plain or gzipped, with every cell as text.

    Args:
        path: the file.
        ending: what its name ends in, without `.gz`: a key of `SEPARATORS`.
        encoding: any of Python's, say `latin-1`.

    Raises:
        DataError: the file is not such a table; the message says where.
    """
    text = CheckedText(path, encoding)
    try:
        with _checked_file(text) as (file, head):
            separator, names = _header(head.decode(UTF8, errors="ignore"), path, ending)
            if text.lines == text.skipped + 1 and b"\r" not in head.rstrip():
                raise DataError(f"{path} has a header but no rows")
            columns, rows = _parse(text, file, separator, names)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a whole gzip file: {error}") from error
    if not rows:
        raise DataError(f"{path} has a header but no rows")
    if text.quotes % 2 and text.ending != b'"' and "\n" in columns[names[-1]][-1].as_py():
        raise DataError(f"{path}: a quote is opened in row {rows} and never closed, so that row swallows the rest")
    return Table(path.name, columns, rows, count_lines=lambda: text.lines, decimal="," if separator == ";" else ".")


@contextlib.contextmanager
def _checked_file(text: CheckedText) -> Iterator[tuple[Path, bytes]]:
    """Read a file's text through once; give a file that holds it in UTF-8, and its first piece.

    pyarrow reads in a thread of its own, so it must not be handed a stream of ours: Python may be gone before it ends.
    """
    pieces = text.pieces()
    head = next(pieces, b"")
    if text.is_utf8:
        for _ in pieces:
            pass
        yield text.path, head
        return
    with tempfile.NamedTemporaryFile(suffix=".csv") as copy:
        copy.write(head)
        copy.writelines(pieces)
        copy.flush()
        yield Path(copy.name), head


def _header(head: str, path: Path, ending: str) -> tuple[str, list[str]]:
    """Find the separator and the columns' names in the first piece of a file."""
    if not head.strip():
        raise DataError(f"{path} is empty")
    # Only a cell in quotes can hold a separator.
    first = head.replace("\r", "\n").partition("\n")[0]
    bare = "".join(first.split('"')[::2])
    candidates = SEPARATORS[ending]
    if ending == ".txt":
        separator = max(candidates, key=bare.count)
    else:
        separator = next((candidate for candidate in candidates if candidate in bare), candidates[0])
    try:
        names = [name.strip() for name in next(csv.reader(io.StringIO(head, newline=""), delimiter=separator))]
    except csv.Error as error:
        raise DataError(f"{path}: its first line is not a header: {error}") from error
    if first == head and len(head) > PIECE // 2:
        raise DataError(f"{path}: its header is longer than {PIECE // 2**20} MiB")
    check_names(names, str(path))
    return separator, names


def _parse(text: CheckedText, file: Path, separator: str, names: list[str]) -> tuple[dict[str, Any], int]:
    """Return the columns, and how many rows they have."""
    import pyarrow as pa

    for block in BLOCKS:
        ragged: list[Any] = []
        try:
            table = _read(text, file, separator, names, block, ragged)
        except pa.ArrowInvalid as error:
            if ragged:
                raise DataError(_ragged(text, ragged[0])) from error
            if "straddling" not in str(error):
                raise DataError(f"{text.path} cannot be read as a table: {one_line(error)}") from error
            continue
        return {name: table.column(name) for name in names}, table.num_rows
    raise DataError(too_large(text.path, text.find_large_row(block), block))


def _read(text: CheckedText, file: Path, separator: str, names: list[str], block: int, ragged: list[Any]) -> Any:
    """Have pyarrow read a file; rows of another length than the header's are added to `ragged`."""
    import pyarrow as pa
    from pyarrow import csv

    def refuse(row: Any) -> str:
        ragged.append(row)
        return "error"

    reading = csv.ReadOptions(
        # One thread, because only then are wrong rows numbered.
        use_threads=False,
        block_size=block,
        column_names=names,
        # A copy has no empty lines on top.
        skip_rows=text.skipped if text.is_utf8 else 0,
        skip_rows_after_names=1,
    )
    parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True, invalid_row_handler=refuse)
    converting = csv.ConvertOptions(column_types={name: pa.string() for name in names})
    with pa.input_stream(str(file), compression="gzip" if is_gzipped(file) else None) as stream:
        return csv.read_csv(stream, reading, parsing, converting)


def _ragged(text: CheckedText, row: Any) -> str:
    first = row.text.encode(UTF8).splitlines()[0] if row.text else b""
    line = text.find_line(row.number, first)
    where = f"line {line}" if line is not None else f"row {row.number - 1}"
    fault = f"has {counted(row.actual_columns, 'cell')}, but the header names {row.expected_columns}"
    return f"{text.path.name} {where} {fault}; it begins {shortened(row.text)}"
