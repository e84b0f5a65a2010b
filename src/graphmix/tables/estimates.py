"""What reading tables will take, from their sizes alone: memory, time, and room on the disk for what comes out.

The memory is what reading was seen to take (docs/design/0030-large-tables.md), less a quarter: so nothing is refused
that would have fit.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.errors import DataError
from graphmix.files import other_kind
from graphmix.limits import as_size
from graphmix.machine import available_memory
from graphmix.tables.checked_text import is_gzipped
from graphmix.tables.files import is_path
from graphmix.tables.native import native_file
from graphmix.tables.reading import USUAL, Reading
from graphmix.text import counted

# Bytes of memory for a node, for each of its columns, and for an edge.
NODE, CELL, EDGE = 120, 24, 64
# What Python and its libraries take.
_BASE = 300 * 2**20
# Rows of edges and cells of nodes in a second, of a core of today.
_EDGES, _CELLS = 700_000, 10_000_000
# What a model's folder takes on the disk: a cell as float32, the ends of an edge as int64, and a row of predictions.
_STORED_CELL, _STORED_EDGE, _PREDICTED = 4, 16, 100
# What is unpacked of a gzip file, if it does not say; and how much of a text file shows how long its lines are.
_UNPACKED, _SAMPLE = 4, 2**20
_SURE = 0.75
# The columns that every table of nodes needs: ids and classes.
_ROLES = 2
# Reading takes less than two seconds.
_FEW_EDGES, _FEW_CELLS = 500_000, 5_000_000


@dataclass(frozen=True)
class TableSize:
    """The size of a table, from a look at its file.

    Attributes:
        rows: number of rows; of a text file estimated from the length of its first lines.
        columns: number of columns, without those that are ignored.
    """

    rows: int
    columns: int


@dataclass(frozen=True)
class Estimate:
    """What reading two tables takes.

    Attributes:
        nodes: the table of nodes.
        edges: the table of edges.
    """

    nodes: TableSize
    edges: TableSize

    @property
    def memory(self) -> int:
        """Bytes of memory, at the peak."""
        return _BASE + self._of_nodes(self.nodes.columns) + EDGE * self.edges.rows

    @property
    def seconds(self) -> float:
        """Seconds on one core."""
        return self.edges.rows / _EDGES + self.nodes.rows * self.nodes.columns / _CELLS

    @property
    def disk(self) -> int:
        """Bytes of the model's folder, with its predictions."""
        cells = self.nodes.rows * self.nodes.columns
        return _STORED_CELL * cells + _STORED_EDGE * self.edges.rows + _PREDICTED * self.nodes.rows

    @property
    def is_large(self) -> bool:
        """Whether reading takes more than a moment."""
        return self.edges.rows > _FEW_EDGES or self.nodes.rows * self.nodes.columns > _FEW_CELLS

    def __str__(self) -> str:
        return (
            f"about {counted(_rounded(self.nodes.rows), 'node')} and {counted(_rounded(self.edges.rows), 'edge')}: "
            f"reading them takes about {as_size(self.memory)} of memory and {_time(self.seconds)}, and the model "
            f"{as_size(self.disk)} on the disk"
        )

    def check(self, free: int | None = None, room: int | None = None) -> None:
        """Raise DataError if the tables cannot fit into memory, or the model onto the disk.

        Args:
            free: the free memory; the machine's if None.
            room: the free bytes of the disk that the model is written to; not checked if None.
        """
        free = available_memory() if free is None else free
        if self.memory * _SURE > free:
            raise DataError(f"{self}, but only {as_size(free)} of memory are free; {self._advice(free)}")
        if room is not None and self.disk > room:
            raise DataError(f"{self}, where only {as_size(room)} are free; make room, or choose another folder")

    def _advice(self, free: int) -> str:
        """Say what would fit."""
        room = free / _SURE - _BASE
        left = room - self._of_nodes(self.nodes.columns)
        few = self._most_columns(room - EDGE * self.edges.rows)
        ways = []
        if left > 0:
            edges = counted(_rounded(int(left / EDGE)), "edge")
            ways.append(f"about {edges} would fit with all nodes: leave others out")
        if few >= _ROLES:
            ways.append(f"leave columns out with `ignore`: of {self.nodes.columns:,} about {few:,} would fit")
        if ways:
            return "; or ".join(ways)
        nodes = _rounded(int(max(0.0, room) / (NODE + CELL * self.nodes.columns)))
        ways = ["leave columns out with `ignore`", "divide the graph"][room <= self._of_nodes(_ROLES) :]
        return f"not even the nodes fit, of which about {nodes:,} would: {', or '.join(ways)}"

    def _of_nodes(self, columns: int) -> int:
        return self.nodes.rows * (NODE + CELL * columns)

    def _most_columns(self, room: float) -> int:
        return int((room - self._of_nodes(0)) // (CELL * max(1, self.nodes.rows)))


def estimate(nodes: Any, edges: Any, reading: Reading = USUAL) -> Estimate | None:
    """Estimate what two tables take; None unless both are files that can be looked at.

    Args:
        nodes: the table of nodes.
        edges: the table of edges.
        reading: how the nodes are read; columns that it ignores do not count.
    """
    found = [
        size_of(Path(table), how) if table is not None and is_path(table) else None
        for table, how in ((nodes, reading), (edges, USUAL))
    ]
    one, other = found
    return None if one is None or other is None else Estimate(one, other)


def size_of(path: Path, reading: Reading = USUAL) -> TableSize | None:
    """Look at a file; None if it cannot be read: whoever reads it says why."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        if other_kind(path):  # reading a pipe may never end
            return None
        if path.suffix.lower() in (".parquet", ".pq"):
            with native_file(path) as source:
                found = parquet.read_metadata(source)
            # The parts of a nested column are called by its name, a dot and their own.
            names = [found.schema.column(number).path for number in range(found.num_columns)]
            kept = [name for name in names if not any(f"{name}.".startswith(f"{each}.") for each in reading.ignore)]
            return TableSize(found.num_rows, len(kept))
        return _text_size(path, reading)
    except (OSError, EOFError, LookupError, ValueError, zlib.error, pa.ArrowException):
        return None


def _text_size(path: Path, reading: Reading) -> TableSize:
    zipped = is_gzipped(path)
    if zipped:
        import gzip

        with gzip.open(path) as unpacked:
            head = unpacked.read(_SAMPLE)
    else:
        with path.open("rb") as file:
            head = file.read(_SAMPLE)
    size = path.stat().st_size * (_UNPACKED if zipped else 1)
    lines = max(1, head.count(b"\n"))
    # The first line may be the names of the columns, which are not rows; of many rows it does not matter.
    rows = lines if len(head) < _SAMPLE else int(size * lines / len(head))
    return TableSize(rows, _columns(head.partition(b"\n")[0], reading))


def _columns(first: bytes, reading: Reading) -> int:
    """Count the columns of a first line that are not ignored."""
    line = first.decode(reading.encoding, errors="replace")
    cells = line.split(max(",\t;", key=line.count))
    names = [cell.strip(' \r\ufeff"') for cell in cells]
    if not reading.has_header:
        names = [f"column {number}" for number in range(1, len(cells) + 1)]
    return sum(name not in reading.ignore for name in names)


def _rounded(count: int) -> int:
    """Round to three digits."""
    return int(float(f"{count:.2e}"))


def _time(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
