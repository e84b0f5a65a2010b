"""The table of edges: the nodes they join, and their weights."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.alike import likely_meant
from graphmix.tables.directions import direction_notes
from graphmix.tables.files import TableSource, read_table
from graphmix.tables.headers import END_NAMES, looks_like_cell, occurs
from graphmix.tables.ids import Ids, read_ids
from graphmix.tables.matching import Finder
from graphmix.tables.nodes import check_roles
from graphmix.tables.numbers import as_numbers
from graphmix.tables.reading import USUAL, Reading, Tell, nothing
from graphmix.tables.table import NAMED, Table, has_header, no_header, quoted, shortened
from graphmix.text import counted

WEIGHT = "weight"


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges as they are in the user's table.

    Attributes:
        table: all columns.
        source: the ids of one end `[edges]`.
        target: the ids of the other end.
        weights: float64 `[edges]`, finite and not negative; None if there is no such column.
        weight_column: the column of `weights`, or None.
        used: the columns that cannot be features.
        ends: the columns of `source` and `target`.
        tell: called with what is done with how many edges so far.
    """

    table: Table
    source: Ids
    target: Ids
    weights: NDArray[np.float64] | None
    weight_column: str | None
    used: frozenset[str]
    ends: tuple[str, str] = END_NAMES[0]
    tell: Tell = nothing

    def without_cells(self) -> "EdgeTable":
        """Return the table without its cells, which take much memory; its weights are kept."""
        import pyarrow as pa

        empty = replace(self.table, columns=dict.fromkeys(self.table.columns), exact={})
        none = Ids(pa.chunked_array([], pa.large_string()))
        return replace(self, table=empty, source=none, target=none)


@dataclass(frozen=True, eq=False)
class Matched:
    """Edges whose ends are known nodes.

    Attributes:
        pairs: int32 `[2, kept]`, node numbers; loops and repeated edges are still included.
        rows: int64 `[kept]`, the rows of the edge table that these edges come from; None for all rows.
        notes: sentences for the user.
    """

    pairs: NDArray[np.int32]
    rows: NDArray[np.int64] | None
    notes: tuple[str, ...]

    @property
    def kept(self) -> NDArray[np.int64]:
        """The rows of the edge table that these edges come from: int64 `[kept]`."""
        return np.arange(self.pairs.shape[1]) if self.rows is None else self.rows

    def of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return those of these edges, `[kept]`, given values of all rows of the table, `[rows]`."""
        return values if self.rows is None else values[self.rows]


def read_edges(
    edges: TableSource,
    *,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    weighted: bool = True,
    reading: Reading = USUAL,
) -> EdgeTable:
    """Read a table with one edge in each row.

    Args:
        edges: a CSV, TSV or Parquet file, a pyarrow Table or a pandas DataFrame.
        source: the column of one end's ids; by default one called source, src, from, citing or similar, otherwise the
            first.
        target: the column of the other end's ids; by default target, dst, to, cited or similar, otherwise the second.
        weight: the column of weights; by default the one called weight, if it exists.
        weighted: whether a column called weight holds weights.
        reading: how the table is read.

    Raises:
        DataError: the table, an id or a weight is invalid; the message names the line.
    """
    table = read_table(edges, "edges", reading)
    named = source is not None and target is not None
    source, target = find_ends(table, source, target, {weight})
    if not named:
        check_not_end(table, weight, "weight", (source, target))
    if weight is None and weighted:
        weight = next((name for name in _weight_columns(table) if name not in (source, target)), None)
    used = check_roles(table, source, target, weight)
    weights = None if weight is None else _weights(table, weight)
    one, other = (read_ids(table, name) for name in (source, target))
    return EdgeTable(table, one, other, weights, weight, used, (source, target), reading.tell)


def has_weights(table: Table) -> bool:
    """Whether a table of edges has a column called weight."""
    return bool(_weight_columns(table))


def _weight_columns(table: Table) -> list[str]:
    return [name for name in table.columns if name.lower() == WEIGHT]


def match(ids: Sequence[str], edges: EdgeTable, ignore_unknown: bool = False) -> Matched:
    """Find the ends of edges among the nodes; see `Finder`.

    Args:
        ids: `[nodes]`, all different.
        edges: the edges.
        ignore_unknown: leave out edges with an unknown end instead of raising.

    Raises:
        DataError: an edge has an unknown end, the message names the first ones; or one that may mean two nodes.
    """
    finder, notes = Finder(ids), dict[str, None]()
    pairs = np.empty((2, len(edges.source.texts)), dtype=np.int32)
    for place, (end, column) in enumerate(zip((edges.source, edges.target), edges.ends, strict=True)):
        tell = partial(_tell_share, edges, place)
        found = finder.find(end, edges.table, column, tell)
        pairs[place] = found.numbers
        notes |= dict.fromkeys(found.notes)
    known, rows = (pairs[0] >= 0) & (pairs[1] >= 0), None
    if not known.all():
        if not ignore_unknown:
            raise DataError(_unknown(edges, pairs, np.flatnonzero(~known), ids))
        rows, pairs = np.flatnonzero(known), np.ascontiguousarray(pairs[:, known])
        lost = len(known) - len(rows)
        notes[f"{counted(lost, 'edge')} left out because an end is not among the nodes"] = None
    used = pairs
    if edges.weights is not None:
        positive = (edges.weights if rows is None else edges.weights[rows]) > 0
        if not positive.all():
            notes[f"{counted(int((~positive).sum()), 'edge')} of weight 0 left out"] = None
            used = pairs[:, positive]
    return Matched(pairs, rows, (*notes, *direction_notes(used, len(ids), weighted=edges.weights is not None)))


def _tell_share(edges: EdgeTable, place: int, rows: int) -> None:
    """Tell how many edges are done, given the rows of one end; both ends take the same time."""
    edges.tell("finding the ends of edges", (place * len(edges.source.texts) + rows) // 2)


def find_ends(
    table: Table, source: str | None, target: str | None, taken: Collection[str | None] = ()
) -> tuple[str, str]:
    """Find the columns of both ends.

    Args:
        table: the table.
        source: the column of one end, or None to find it.
        target: the column of the other end, or None to find it.
        taken: columns that hold something else.

    Raises:
        DataError: a named column does not exist, or two columns cannot be found.
    """
    for name in (source, target):
        if name is not None:
            table.column(name)
    free = [name for name in table.columns if name not in (source, target) and name not in taken]
    # A column of ends that cannot be used must not be replaced by another without a word.
    called = {name.lower(): name for name in reversed([*free, *table.ignored]) if name not in taken}
    for one, other in END_NAMES:
        if source is None and target is None and one in called and other in called:
            return called[one], called[other]
    if len(free) < (source is None) + (target is None):
        raise DataError(f"{table.name} needs two columns, one for each end; it has {table.names()}{table.hint()}")
    named = source is not None or target is not None
    source = source if source is not None else free.pop(0)
    target = target if target is not None else free.pop(0)
    if source == target:
        raise DataError(f"column {quoted(source)} cannot be both ends of the edges; name two columns")
    if not named and table.has_header and _is_edge(table, source, target):
        raise DataError(no_header(table, [source, target], "an edge"))
    if table.lacks_names:
        _check_no_header(table, source, target)
    return source, target


def _check_no_header(table: Table, source: str, target: str) -> None:
    """Raise DataError if the first row of a table that is said to have no header is one."""
    first = tuple(str(table.column(name)[0]) for name in (source, target))
    if tuple(name.strip().lower() for name in first) in END_NAMES:
        raise DataError(has_header(table, first))


def check_first_line(edges: EdgeTable, ids: Collection[str]) -> None:
    """Raise DataError if both ends are called like nodes: the file has no header, and its first edge would be lost."""
    usual = tuple(end.lower() for end in edges.ends) in END_NAMES
    if edges.table.has_header and not usual and all(end in ids for end in edges.ends):
        raise DataError(no_header(edges.table, edges.ends, "an edge"))


def check_not_end(table: Table, name: str | None, parameter: str, ends: tuple[str, str]) -> None:
    """Raise DataError if a column with another role has the name of an end, and the columns of the ends do not.

    Args:
        table: the table.
        name: the column, or None.
        parameter: what names it.
        ends: the columns that were found for the ends.
    """
    is_end = name is not None and any(name.lower() in pair for pair in END_NAMES)
    if name is not None and is_end and tuple(end.lower() for end in ends) not in END_NAMES:
        where = f"{table.name}: column {quoted(name)}"
        raise DataError(
            f"{where} is the `{parameter}`, but its name is that of an end; give both ends as `source` and `target`"
        )


def _is_edge(table: Table, source: str, target: str) -> bool:
    """Whether the names of two columns of strings are those of nodes."""
    columns = [table.column(name) for name in (source, target)]
    return all(
        looks_like_cell(name, column) or occurs(name, *columns)
        for name, column in zip((source, target), columns, strict=True)
    )


def _weights(table: Table, name: str) -> NDArray[np.float64]:
    numbers = as_numbers(table, name)
    faults = (
        (numbers.wrong, "is not a number"),
        (numbers.huge, "is too large for a weight"),
        (np.flatnonzero(np.isnan(numbers.values)), "is missing"),
        (np.flatnonzero(numbers.values < 0), "is negative"),
    )
    for rows, fault in faults:
        if len(rows):
            remedy = "give every edge a weight of at least 0, or ignore the weights with `no_weight`"
            raise DataError(f"{table.locate(int(rows[0]), name)} {fault}; {remedy}")
    return numbers.values


def _unknown(edges: EdgeTable, pairs: NDArray[np.int32], lost: NDArray[np.int64], known: Sequence[str]) -> str:
    first: dict[str, int] = {}
    for row in lost.tolist():
        for end, ids in enumerate((edges.source, edges.target)):
            if pairs[end, row] < 0:
                first.setdefault(ids.texts[row].as_py(), row)
        if len(first) > NAMED:
            break
    shown = dict(list(first.items())[:NAMED])
    named = ", ".join(f"{shortened(name)} ({edges.table.where(row)})" for name, row in shown.items())
    rows = counted(len(lost), "edge names a node", "edges name nodes")
    more = ", …" if len(first) > NAMED else ""
    return f"{rows} not among the nodes: {named}{more}{likely_meant(shown, known)}; `ignore_unknown` leaves them out"
