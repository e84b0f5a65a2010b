"""The labeled table: the input with other labels, in the input's own format. Other cells stay as they are."""

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.tables.checked_text import CheckedText, is_gzipped
from graphmix.tables.formats import PARQUET
from graphmix.tables.layout import Layout, find_layout
from graphmix.workflow.columns import Columns
from graphmix.workflow.output import OutputTable

Labels = Mapping[str, str | None]

# A cell with what follows it: in quotes, where a quote is doubled, or plain.
_CELL = r'(?P<cell>\s*"(?:[^"]|"")*"[^{0}\r\n]*|[^{0}\r\n]*)(?P<end>{0}|\r\n|\r|\n|$)'


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
    text, mark = _decode(content, columns.encoding)
    layout = _layout(path, ending, columns)
    pieces = list(_rows(text, layout, path, columns, labels))
    written = mark + "".join(pieces).encode(_plain_encoding(columns.encoding))
    # Without the time of writing: the same labels make the same bytes.
    return gzip.compress(written, mtime=0) if is_gzipped(path) else written


def _layout(path: Path, ending: str, columns: Columns) -> Layout:
    checked = CheckedText(path, columns.encoding)
    head = b"".join(checked.pieces())
    return find_layout(checked, head, ending, columns.reading("nodes"))


def _rows(text: str, layout: Layout, path: Path, columns: Columns, labels: Labels) -> Iterator[str]:
    """Yield the lines of a table, those above its rows too, with the new labels."""
    names = layout.names
    assert columns.label is not None  # the problem has been read
    at_id = names.index(columns.id) if columns.id in names else 0
    at_label = names.index(columns.label) if columns.label in names else None
    lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
    first = next((place for place, line in enumerate(lines) if line.strip("\r\n")), 0)
    first += layout.above - layout.has_header
    yield from lines[:first]
    reader = csv.reader(lines[first:], delimiter=layout.separator)
    cells = re.compile(_CELL.format(re.escape(layout.separator)))
    begun, left = 0, set(labels)
    for number, row in enumerate(reader):
        raw = "".join(lines[first + begun : first + reader.line_num])
        begun = reader.line_num
        is_header, is_blank = layout.has_header and number == 0, not any(map(str.strip, row))
        node = row[at_id] if len(row) > at_id else ""
        if at_label is None and not is_blank:
            label = columns.label if is_header else labels.get(node)
            yield _with_cell(raw, layout.separator, label or "")
        elif not is_header and node in labels and at_label is not None:
            yield _with_label(raw, cells, at_label, layout.separator, labels[node] or "")
        else:
            yield raw
        left.discard(node)
    if left:
        raise DataError(f"{path} has no row for node {sorted(left)[0]!r}; it was changed since labeling began")


def _with_cell(raw: str, separator: str, cell: str) -> str:
    """Append a cell to a row."""
    body = raw.rstrip("\r\n")
    return f"{body}{separator}{_quoted(cell, separator)}{raw[len(body) :]}"


def _with_label(raw: str, cells: "re.Pattern[str]", at: int, separator: str, label: str) -> str:
    """Replace a cell of a row; one that the row is too short for is added."""
    place = 0
    for number in range(at + 1):
        found = cells.match(raw, place)
        assert found is not None  # it matches the empty cell too
        if number == at:
            return raw[: found.start("cell")] + _quoted(label, separator) + raw[found.end("cell") :]
        if found["end"] != separator:
            body = raw.rstrip("\r\n")
            return body + separator * (at - number) + _quoted(label, separator) + raw[len(body) :]
        place = found.end()
    raise AssertionError("the loop returns")


def _quoted(cell: str, separator: str) -> str:
    row = io.StringIO()
    csv.writer(row, delimiter=separator, lineterminator="").writerow([cell, ""])
    return row.getvalue()[: -len(separator)]


def _decode(content: bytes, encoding: str) -> tuple[str, bytes]:
    """Return the text, and the byte-order mark before it."""
    for mark in (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        if content.startswith(mark) and codecs.lookup(encoding).name in _MARKED[mark]:
            used = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}.get(mark, "utf-8")
            return content[len(mark) :].decode(used), mark
    return content.decode(encoding), b""


_MARKED = {
    codecs.BOM_UTF8: ("utf-8", "utf-8-sig"),
    codecs.BOM_UTF16_LE: ("utf-16", "utf-16-le"),
    codecs.BOM_UTF16_BE: ("utf-16", "utf-16-be"),
}


def _plain_encoding(encoding: str) -> str:
    """Return the encoding without its mark: that of the file is written as it was."""
    name = codecs.lookup(encoding).name
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(name, name)


def _parquet(path: Path, columns: Columns, ids: list[str], labels: Labels) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(path)
    assert columns.label is not None  # the problem has been read
    if table.num_rows != len(ids):
        raise DataError(f"{path} has {table.num_rows:,} rows, not {len(ids):,}; it was changed since labeling began")
    if columns.label in table.column_names:
        at = table.column_names.index(columns.label)
        column = table.column(at)
        old = column.to_pylist()
        kind = column.type
    else:
        at, old, kind = table.num_columns, [None] * len(ids), pa.string()
    array = _typed([labels.get(node, was) for node, was in zip(ids, old, strict=True)], kind)
    field = pa.field(columns.label, array.type)
    made = table.set_column(at, field, array) if at < table.num_columns else table.append_column(field, array)
    if array.type != kind:
        # pandas' own description of the columns no longer holds.
        made = made.replace_schema_metadata(None)
    sink = io.BytesIO()
    parquet.write_table(made, sink)
    return sink.getvalue()


def _typed(values: list[Any], kind: Any) -> Any:
    """Return labels as an array of the column's type; as text if a new one is no value of that type."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return pa.array([None if value is None else str(value) for value in values]).dictionary_encode()
    if types.is_string(kind) or types.is_large_string(kind):
        return pa.array([None if value is None else str(value) for value in values], kind)
    try:
        texts = pa.array([None if value is None else _text(value) for value in values], pa.string())
        return texts.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return texts


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
