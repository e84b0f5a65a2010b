"""The labeled table: the input with other labels, in the input's own format. Other cells stay as they are."""

import codecs
import csv
import gzip
import io
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.limits import LARGEST_CELL
from graphmix.tables.checked_text import CheckedText, is_gzipped
from graphmix.tables.formats import PARQUET
from graphmix.tables.ids import id_text
from graphmix.tables.layout import Layout, find_layout
from graphmix.workflow.columns import Columns
from graphmix.workflow.output import OutputTable

Labels = Mapping[str, str | None]

# A cell with what follows it: in quotes, where a quote is doubled, or plain. A quote after a space is part of the text.
_CELL = r'(?P<cell>"[^"]*(?:""[^"]*)*"[^{0}\r\n]*|[^{0}\r\n]*)(?P<end>{0}|\r\n|\r|\n|$)'
# Of `csv`, which has one limit for all threads.
_LIMIT = threading.Lock()


def labeled_table(path: Path, columns: Columns, ids: list[str], labels: Labels) -> bytes:
    """Return the content of a table of nodes with other labels.

    Of a text file only the cells of these labels differ; a column that is missing is added at the end. A Parquet file
    keeps its columns and types; the labels become text if a new one is no value of their type.

    Args:
        path: the table: a text file, plain or gzipped, or a Parquet file.
        columns: which column holds the ids, and which the labels.
        ids: the ids of all rows, in order.
        labels: the labels to write by id, None for an empty cell; other rows keep theirs.

    Raises:
        DataError: the table is not the one that labeling began with.
    """
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    if plain.suffix.lower() in PARQUET:
        return _parquet(path, columns, ids, labels)
    return _delimited(path, plain.suffix.lower(), columns, labels)


def two_columns(heading: str, ids: list[Any], label: str, labels: list[str | None]) -> bytes:
    """Return a CSV table of ids and labels, for a model whose table is not at hand."""
    shown = [each or "" for each in labels]
    name = label if label != heading else "label"
    return OutputTable({heading: ids, name: shown}, (heading,)).content(Path("labels.csv"))


def _delimited(path: Path, ending: str, columns: Columns, labels: Labels) -> bytes:
    content = gzip.decompress(path.read_bytes()) if is_gzipped(path) else path.read_bytes()
    text, mark, encoding = _decode(content, columns.encoding)
    layout = _layout(path, ending, columns)
    with _any_size():
        pieces = list(_rows(text, layout, path, columns, labels))
    written = mark + "".join(pieces).encode(encoding)
    # Without the time of writing: the same labels make the same bytes.
    return gzip.compress(written, mtime=0) if is_gzipped(path) else written


def _layout(path: Path, ending: str, columns: Columns) -> Layout:
    checked = CheckedText(path, columns.encoding, LARGEST_CELL)
    head = b"".join(checked.pieces())
    return find_layout(checked, head, ending, columns.reading("nodes"))


def _rows(text: str, layout: Layout, path: Path, columns: Columns, labels: Labels) -> Iterator[str]:
    """Yield the lines of a table, those above its rows too, with the new labels."""
    names = layout.names
    assert columns.label is not None  # the problem has been read
    at_id = names.index(columns.id) if columns.id in names else 0
    is_new = columns.label not in names
    at_label = len(names) if is_new else names.index(columns.label)
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    first = next((place for place, line in enumerate(lines) if line.strip("\r\n")), 0)
    first += layout.above - layout.has_header
    above = lines[:first]
    if is_new and not layout.has_header and columns.reading("nodes").has_header:
        # The last comment names the columns.
        named = max(place for place, line in enumerate(above) if line.startswith("#"))
        above[named] = _with_cell(above[named], layout.separator, columns.label)
    yield from above
    cells = re.compile(_CELL.format(re.escape(layout.separator)))
    left = set(labels)
    for number, (line, row, raw) in enumerate(_parsed(lines, first, layout.separator, path)):
        is_header = layout.has_header and number == 0
        node = row[at_id] if len(row) > at_id else ""
        label = columns.label if is_header else labels.get(node)
        if is_new and row and not layout.unnamed:
            yield _with_cell(raw, layout.separator, label or "")
        elif is_new if is_header else node in labels:
            # The first column without a name, which is empty, becomes the new one.
            found = _cells(raw, cells, layout.separator)
            if len(found) != len(row):
                raise DataError(f"{path} line {line}: its cells cannot be told apart, so no label can be written there")
            yield _with_label(raw, found, at_label, layout.separator, label or "")
        else:
            yield raw
        left.discard(node)
    if left:
        raise DataError(f"{path} has no row for node {sorted(left)[0]!r}; it was changed since labeling began")


def _parsed(lines: list[str], first: int, separator: str, path: Path) -> Iterator[tuple[int, list[str], str]]:
    """Yield each row: the number of its first line, its cells, and its text."""
    reader, begun = csv.reader(lines[first:], delimiter=separator), first
    try:
        for row in reader:
            ended = first + reader.line_num
            yield begun + 1, row, "".join(lines[begun:ended])
            begun = ended
    except csv.Error as error:
        raise DataError(f"{path} line {begun + 1} cannot be read: {error}") from error


@contextmanager
def _any_size() -> Iterator[None]:
    """Let `csv` read cells as large as a table may have."""
    with _LIMIT:
        before = csv.field_size_limit(LARGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _with_cell(raw: str, separator: str, cell: str) -> str:
    """Append a cell to a row."""
    body = raw.rstrip("\r\n")
    return f"{body}{separator}{_quoted(cell, separator)}{raw[len(body) :]}"


def _cells(raw: str, cells: "re.Pattern[str]", separator: str) -> list[tuple[int, int]]:
    """Return where each cell of a row begins and ends."""
    found, place = [], 0
    while True:
        cell = cells.match(raw, place)
        assert cell is not None  # it matches the empty cell too
        found.append(cell.span("cell"))
        if cell["end"] != separator:
            return found
        place = cell.end()


def _with_label(raw: str, cells: list[tuple[int, int]], at: int, separator: str, label: str) -> str:
    """Replace a cell of a row; one that the row is too short for is added."""
    if at >= len(cells):
        body = raw.rstrip("\r\n")
        return body + separator * (at + 1 - len(cells)) + _quoted(label, separator) + raw[len(body) :]
    begin, end = cells[at]
    return raw[:begin] + _quoted(label, separator) + raw[end:]


def _quoted(cell: str, separator: str) -> str:
    if separator == " " and not cell:
        return '""'  # several spaces would not part cells
    row = io.StringIO()
    csv.writer(row, delimiter=separator, lineterminator="").writerow([cell, ""])
    return row.getvalue()[: -len(separator)]


def _decode(content: bytes, encoding: str) -> tuple[str, bytes, str]:
    """Return the text, the byte-order mark before it, and the encoding of what follows the mark."""
    name = codecs.lookup(encoding).name
    for mark, used, names in _MARKED:
        if content.startswith(mark) and name in names:
            return content[len(mark) :].decode(used), mark, used
    # Without a mark none is written.
    plain = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(name, name)
    return content.decode(encoding), b"", plain


_MARKED = (
    (codecs.BOM_UTF8, "utf-8", ("utf-8", "utf-8-sig")),
    (codecs.BOM_UTF16_LE, "utf-16-le", ("utf-16", "utf-16-le")),
    (codecs.BOM_UTF16_BE, "utf-16-be", ("utf-16", "utf-16-be")),
)


def _parquet(path: Path, columns: Columns, ids: list[str], labels: Labels) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(path)
    assert columns.label is not None  # the problem has been read
    if table.num_rows != len(ids):
        raise DataError(f"{path} has {table.num_rows:,} rows, not {len(ids):,}; it was changed since labeling began")
    # As the reader has them.
    names = [name.strip() for name in table.column_names]
    if columns.label in names:
        at = names.index(columns.label)
        column = table.column(at)
        called, old, kind = table.column_names[at], column.to_pylist(), column.type
    else:
        at, called, old, kind = table.num_columns, columns.label, [None] * len(ids), pa.string()
    array = _typed([labels.get(node, was) for node, was in zip(ids, old, strict=True)], kind)
    field = pa.field(called, array.type)
    made = table.set_column(at, field, array) if at < table.num_columns else table.append_column(field, array)
    if array.type != kind:
        # pandas' own description of the columns no longer holds.
        made = made.replace_schema_metadata(None)
    sink = io.BytesIO()
    parquet.write_table(made, sink)
    return sink.getvalue()


def _typed(values: list[Any], kind: Any) -> Any:
    """Return labels as an array of the column's type; as text if one would not be read from that type as it is."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return pa.array([None if value is None else str(value) for value in values]).dictionary_encode()
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.array([None if value is None else str(value) for value in values], kind)
    named = [None if value is None else _text(value) for value in values]
    texts = pa.array(named, pa.string())
    try:
        made = texts.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return texts
    read = [None if value is None else _text(value) for value in made.to_pylist()]
    return made if read == named else texts


def _text(value: Any) -> str:
    """Return a label as the page shows it."""
    return str(value).lower() if isinstance(value, bool) else id_text(value)
