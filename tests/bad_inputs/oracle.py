"""An independent reading of tables: which ids there are, which nodes the edges join, and what predictions name.

Text is read with Python's csv module and Parquet with pyarrow's plainest call, as a person would who checks the results
by hand. Where a person could not say what is right, neither does this file: it returns None.
"""

import csv
import decimal
import gzip
import io
import math
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from bad_inputs.case import Ids
from bad_inputs.tables import Written

# What is whole in all three: beyond it, floats of a column may have been rounded before they were written.
_WHOLE = {"double": 2**53, "float": 2**24, "halffloat": 2**11}
_SPACE = " \t\r\n"


class Refusal(Exception):
    """These tables must be refused; the message says why."""


def read(folder: Path, written: Written) -> dict[str, list[str]] | None:
    """The cells of a table by column, ids as text; None if it cannot be read without doubt."""
    path = folder / written.name
    try:
        return _parquet(path) if written.separator is None else _text(path, written)
    except (OSError, ValueError, csv.Error, EOFError, zlib.error, StopIteration):
        return None


def _text(path: Path, written: Written) -> dict[str, list[str]] | None:
    if not path.is_file():
        return None
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    text = content.decode(written.encoding or "utf-8").removeprefix("\ufeff").lstrip("\r\n")
    if "\0" in text or "\r" in text.replace("\r\n", ""):
        return None
    csv.field_size_limit(2**27)
    header, *rows = (
        row for row in csv.reader(io.StringIO(text, newline=""), delimiter=written.separator, strict=True) if row
    )
    names = [name.strip() for name in header]
    if len(set(names)) < len(names) or any(len(row) != len(names) for row in rows):
        return None
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else None


def _parquet(path: Path) -> dict[str, list[str]] | None:
    from pyarrow import parquet

    if not path.is_file():
        return None
    table = parquet.ParquetFile(path).read(use_threads=False)
    columns = {}
    for name in ("id", "source", "target"):
        if table.column_names.count(name) == 1:
            column = table.column(name)
            cells = [_cell(value, str(column.type)) for value in column.to_pylist()]
            if None in cells:
                return None
            columns[name] = cells
    return columns


def _cell(value: Any, kind: str) -> str | None:
    """A cell as text; None where it may be read in more than one way."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return None
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < _WHOLE.get(kind, 0):
        return str(int(value))
    if isinstance(value, decimal.Decimal) and value == value.to_integral_value():
        return str(int(value))
    return None


def node_rows(nodes: dict[str, list[str]]) -> list[tuple[str, ...]]:
    """The ids of nodes, one in each row.

    Raises:
        Refusal: one is missing or there twice.
    """
    ids = nodes["id"]
    if "" in ids:
        raise Refusal("an id is empty")
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise Refusal(f"the id {twice[0][:50]!r} is there twice")
    return [(name,) for name in ids]


def joined(ids: list[str], edges: dict[str, list[str]], ignore_unknown: bool) -> set[tuple[int, int]] | None:
    """The pairs of nodes that edges join, without loops; None where ids are ambiguous.

    Raises:
        Refusal: an end is not among the nodes.
    """
    found = set()
    index = _Index(ids)
    for ends in zip(edges["source"], edges["target"], strict=True):
        numbers = [index.find(end) for end in ends]
        if _AMBIGUOUS in numbers:
            return None
        if None in numbers:
            if not ignore_unknown:
                raise Refusal(f"an edge ends at {ends!r}, which is not among the nodes"[:200])
            continue
        low, high = sorted(numbers)
        if low != high:
            found.add((low, high))
    return found


_AMBIGUOUS = -1


class _Index:
    """Finds a node by its id: exactly; else without outer spaces; else without the `.0` of a whole number."""

    def __init__(self, ids: list[str]) -> None:
        self._forms = [_count_of(ids, form) for form in (str, _trimmed, _whole)]

    def find(self, end: str) -> int | None:
        if end.strip() != end.strip(_SPACE):
            return _AMBIGUOUS
        for form, known in zip((str, _trimmed, _whole), self._forms, strict=True):
            numbers = known.get(form(end), [])
            if numbers:
                return numbers[0] if len(numbers) == 1 else _AMBIGUOUS
        return None


def _count_of(ids: list[str], form: Any) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, name in enumerate(ids):
        found.setdefault(form(name), []).append(number)
    return found


def _trimmed(text: str) -> str:
    return text.strip(_SPACE)


def _whole(text: str) -> str:
    text = _trimmed(text)
    return text.removesuffix(".0") if text.removesuffix(".0").lstrip("+-").isdigit() else text


def wrong_ids(folder: Path, expected: Ids) -> str | None:
    """What is wrong with the ids of the predictions or with the model's edges; None if nothing is."""
    names = len(expected.rows[0]) if expected.rows else 1
    rows = _named(folder / expected.file, names)
    if len(rows) != len(expected.rows):
        return f"{len(rows)} predictions for {len(expected.rows)} rows"
    for number, (row, wanted) in enumerate(zip(rows, expected.rows, strict=True)):
        if row != wanted:
            return f"row {number}: {row!r} for {wanted!r}"[:300]
    if expected.model is not None and expected.edges is not None:
        found = _stored_edges(folder / expected.model)
        if found != expected.edges and not (expected.weighted and found < expected.edges):
            return f"{len(found)} edges for {len(expected.edges)}: {sorted(found ^ expected.edges)[:5]}"
    return None


def _named(path: Path, names: int) -> list[tuple[str, ...]]:
    """The first cells of every row of a file of predictions."""
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        table = parquet.ParquetFile(path).read(use_threads=False)
        columns = [table.column(place) for place in range(names)]
        cells = [[_cell(value, str(column.type)) or str(value) for value in column.to_pylist()] for column in columns]
        return list(zip(*cells, strict=True))
    csv.field_size_limit(2**27)
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    return [tuple(row[:names]) for row in rows]


def _stored_edges(model: Path) -> set[tuple[int, int]]:
    from safetensors.numpy import load_file

    ends = load_file(next(model.glob("graph*.safetensors")))["edges"]
    return {(int(min(pair)), int(max(pair))) for pair in ends.T if pair[0] != pair[1]}
