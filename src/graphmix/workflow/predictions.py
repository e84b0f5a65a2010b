"""Predictions as a table: what to expect of each node and how far to believe it."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphmix.errors import ConfigError, RunError
from graphmix.files import write_whole
from graphmix.workflow.model import Decisions

ALTERNATIVES = 2
ENDINGS = (".csv", ".tsv", ".parquet")
_DIGITS = 6
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
# A sign alone is none, nor is a number.
_HARMLESS = re.compile(r"[+-]|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def check_ending(path: Path) -> None:
    """Refuse a file whose form its name does not tell."""
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{path}: predictions are written as {', '.join(ENDINGS)}; choose one of these endings")


def check_place(path: Path, folder: Path) -> None:
    """Refuse, before anything slow is begun, to write predictions where they cannot be written or something is.

    Args:
        path: where they are to go.
        folder: one that will be there by then.

    Raises:
        ConfigError: its ending is none, its folder is not there, or it is there itself.
    """
    check_ending(path)
    if path.parent.resolve() != folder.resolve() and not path.parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent} for the predictions; make it or choose another")
    if path.exists():
        raise ConfigError(f"{path} is there already; choose another name for the predictions")


def tabulate(
    ids: Mapping[str, Sequence[str]], decisions: Decisions, classes: Sequence[str], labels: Sequence[str | None]
) -> dict[str, list[Any]]:
    """Lay decisions out, one row per node.

    Args:
        ids: the columns that name a node: "id", or "source" and "target" of a link.
        decisions: what is predicted.
        classes: their names.
        labels: the given labels, None where there is none.

    Returns:
        Columns by name: ids, label, predicted, probability, second, second_probability, …, abstain, set.
    """
    names = np.array(classes, dtype=object)
    columns: dict[str, list[Any]] = {name: list(values) for name, values in ids.items()}
    columns["label"] = list(labels)
    headings = ("predicted", "second", "third")[: min(1 + ALTERNATIVES, len(classes))]
    for place, heading in enumerate(headings):
        chosen = decisions.order[:, place]
        columns[heading] = names[chosen].tolist()
        shares = np.take_along_axis(decisions.probabilities, chosen[:, None], axis=1)[:, 0]
        columns["probability" if place == 0 else f"{heading}_probability"] = shares.round(_DIGITS).tolist()
    columns["abstain"] = decisions.abstain.tolist()
    columns["set"] = [
        ";".join(names[order[held[order]]]) for order, held in zip(decisions.order, decisions.sets, strict=True)
    ]
    return columns


def write_predictions(path: Path, columns: dict[str, list[Any]]) -> None:
    """Write a table as CSV, TSV or Parquet, by the ending of its name, whole or not at all.

    In CSV and TSV a text that a spreadsheet would take for a formula gets an apostrophe before it.

    Raises:
        RunError: it cannot be written.
    """
    check_ending(path)
    parquet = path.suffix.lower() == ".parquet"
    content = _parquet(columns) if parquet else _delimited(columns, "\t" if path.suffix.lower() == ".tsv" else ",")
    try:
        write_whole(path, content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def escape(text: str) -> str:
    """Keep a spreadsheet from running a text as a formula; a number is none.

    Example:
        >>> escape("=1+1"), escape("-3.5"), escape("plain")
        ("'=1+1", '-3.5', 'plain')
    """
    return f"'{text}" if _FORMULA.match(text) and not _HARMLESS.fullmatch(text) else text


def _delimited(columns: dict[str, list[Any]], separator: str) -> bytes:
    rows: list[str] = []
    # Only the line ends it writes itself are quoted in cells, so it is told of both.
    writer = csv.writer(SimpleNamespace(write=rows.append), delimiter=separator, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_cells(values) for values in columns.values()), strict=True))
    return "".join(f"{row.removesuffix(writer.dialect.lineterminator)}\n" for row in rows).encode("utf-8", "replace")


def _cells(values: list[Any]) -> list[Any]:
    if values and isinstance(values[0], bool):
        return ["true" if value else "false" for value in values]
    return [escape(value) if isinstance(value, str) else value for value in values]


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A column without a single value has no type of its own.
    arrays = {
        name: pa.array(values, None if any(v is not None for v in values) else pa.string())
        for name, values in columns.items()
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays), sink)
    return sink.getvalue()
