"""Predictions of many rows, written to a file piece by piece: only the rows of a piece are Python objects at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.workflow.formulas import count_formulas
from graphmix.workflow.mixture import Decisions
from graphmix.workflow.output import PIECE, OutputTable, column_array, delimited, said_of_formulas
from graphmix.workflow.predictions import Predictions, tabulate
from graphmix.workflow.rows import RowIds, Rows


@dataclass(frozen=True, eq=False)
class PredictionPieces:
    """Predictions that are laid out a piece at a time.

    Attributes:
        rows: the ids of the rows, by heading.
        decisions: the predictions.
        classes: the names of the classes.
        y: int64 `[rows]`, the given labels, -1 where there is none.
    """

    rows: Rows
    decisions: Decisions
    classes: Sequence[str]
    y: NDArray[np.int64]

    def __iter__(self) -> Iterator[Predictions]:
        for start in range(0, len(self.y), PIECE):
            own = slice(start, start + PIECE)
            names = {heading: RowIds(ids.texts[own], ids.kind).values for heading, ids in self.rows.items()}
            labels = [None if label < 0 else self.classes[label] for label in self.y[own].tolist()]
            yield Predictions(tabulate(names, _some(self.decisions, own), self.classes, labels), tuple(names))

    def content(self, path: Path, *, escape_formulas: bool = False) -> Iterator[bytes]:
        """Yield the bytes of a CSV, TSV or Parquet file, by the ending of its name: the same as of one large table."""
        if path.suffix.lower() == ".parquet":
            yield from self._parquet()
            return
        for place, piece in enumerate(self):
            yield delimited(piece, path, escape_formulas=escape_formulas, header=place == 0)

    def formula_notes(self, path: Path, *, escape_formulas: bool = False) -> list[str]:
        """Note how many cells a spreadsheet would run, headings included, if they are written to a text file."""
        if escape_formulas or path.suffix.lower() == ".parquet":
            return []
        cells = 0
        for place, piece in enumerate(self):
            headings: list[object] = [] if place else list(piece.columns)
            cells += count_formulas([headings, *piece.columns.values()])
        return said_of_formulas(cells)

    def _parquet(self) -> Iterator[bytes]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink, writer = _Sink(), None
        for piece in self:
            if writer is None:
                writer = pq.ParquetWriter(pa.PythonFile(sink, "w"), self._schema(piece))
            writer.write_table(
                pa.table({name: column_array(cells) for name, cells in piece.columns.items()}).cast(writer.schema)
            )
            yield sink.taken()
        if writer is not None:
            writer.close()
        yield sink.taken()

    def _schema(self, piece: OutputTable) -> Any:
        """Return the types of all rows: integers of a later piece may be larger than those of the first."""
        import pyarrow as pa

        whole = {heading: column_array(ids.values).type for heading, ids in self.rows.items() if ids.kind != "text"}
        return pa.schema([(name, whole.get(name) or column_array(cells).type) for name, cells in piece.columns.items()])


def _some(decisions: Decisions, own: slice) -> Decisions:
    """Return the decisions on some rows."""
    arrays: dict[str, Any] = {
        name: value[own] for name, value in vars(decisions).items() if isinstance(value, np.ndarray)
    }
    return replace(decisions, **arrays)


class _Sink:
    """A file, as far as pyarrow needs one, from which what was written can be taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        """Return how much has been written."""
        return self._size

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        taken, self._parts = b"".join(self._parts), []
        return taken

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing is open."""
