"""Which node an id means: the one of that very text; otherwise the only one that differs by spaces or by `.0`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.ids import FLOAT, Ids
from graphmix.tables.table import Table, quoted, shortened
from graphmix.text import counted

Numbers = NDArray[np.int64]
UNKNOWN = -1
_AMBIGUOUS = -2


class Found(NamedTuple):
    """The nodes that ids mean.

    Attributes:
        numbers: int64 `[rows]`, numbers of nodes, -1 where there is no such node.
        notes: sentences for the user.
    """

    numbers: Numbers
    notes: list[str]


def find_nodes(nodes: Sequence[str], ids: Ids, table: Table, column: str) -> Found:
    """Find ids among the nodes.

    Ids that no node has exactly are tried without outer spaces, and then without the `.0` that some programs add to
    whole numbers; the ids of the nodes are read in the same way.

    Args:
        nodes: the ids of the nodes, all different.
        ids: the ids to find.
        table: where they are, for messages.
        column: their column.

    Raises:
        DataError: an id may mean two nodes.
    """
    import pyarrow as pa

    known = pa.array(nodes, pa.large_string())
    # Each different id is looked up once.
    different = ids.texts.dictionary_encode()
    wanted = different.dictionary
    numbers = _places(wanted, known)
    if ids.kind == FLOAT:
        _mark_doubtful(numbers, wanted, known)
    notes = []
    for form, note in _FORMS:
        lost = np.flatnonzero(numbers == UNKNOWN)
        if len(lost):
            numbers[lost] = _only_places(form(wanted.take(pa.array(lost))), form(known))
            if (numbers[lost] >= 0).any():
                notes.append(f"{table.name}: {note}")
    rows = numbers[different.indices.to_numpy()]
    doubtful = np.flatnonzero(rows == _AMBIGUOUS)
    if len(doubtful):
        row = int(doubtful[0])
        raise DataError(
            f"{table.where(row)}: {shortened(ids.texts[row])} in column {quoted(column)} may mean more than one node: "
            "their ids differ by outer spaces or by '.0' only; write it as the table of nodes does"
        )
    return Found(rows, notes)


def trimmed(texts: Any) -> Any:
    """Return texts `[rows]` without outer spaces."""
    import pyarrow.compute as pc

    return pc.utf8_trim_whitespace(texts)


def plain(texts: Any) -> Any:
    """Return texts `[rows]` without outer spaces, and whole numbers without `.0`."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(trimmed(texts), r"^([+-]?[0-9]+)\.0+$", r"\1")


_FORMS: tuple[tuple[Callable[[Any], Any], str], ...] = (
    (trimmed, "ids are read without outer spaces where that matches the ids of the nodes"),
    (plain, "ids like 12.0 and 12 are taken as the same where that matches the ids of the nodes"),
)


def _places(wanted: Any, known: Any) -> Numbers:
    """Return the place of each text `[wanted]` among the known ones; -1 where there is none."""
    import pyarrow.compute as pc

    places = pc.fill_null(pc.index_in(wanted, value_set=known), UNKNOWN)
    return np.array(places, dtype=np.int64)


def _only_places(wanted: Any, known: Any) -> Numbers:
    """Like `_places`, but -2 where two of the known texts are the same."""
    places = _places(wanted, known)
    codes = known.dictionary_encode().indices.to_numpy()
    is_repeated = np.bincount(codes)[codes] > 1 if len(codes) else np.zeros(0, bool)
    found = np.flatnonzero(places >= 0)
    places[found[is_repeated[places[found]]]] = _AMBIGUOUS
    return places


def _mark_doubtful(numbers: Numbers, wanted: Any, known: Any) -> None:
    """Mark floating-point ids that may mean `7` or `7.0`, if both are nodes."""
    import pyarrow.compute as pc

    pointed = _places(pc.replace_substring_regex(wanted, "$", ".0"), known)
    numbers[(numbers >= 0) & (pointed >= 0)] = _AMBIGUOUS


def alike_notes(ids: Sequence[str], since: int = 0) -> list[str]:
    """Note ids that differ from earlier ones by outer spaces or `.0` only: they are different nodes.

    Args:
        ids: `[nodes]`, all different.
        since: the first id that the note is about.
    """
    import pyarrow as pa

    codes = plain(pa.array(ids, pa.large_string())).dictionary_encode().indices.to_numpy()
    _, first, group = np.unique(codes, return_index=True, return_inverse=True)
    earlier = first[group]
    again = np.flatnonzero(earlier < np.arange(len(codes)))
    again = again[again >= since]
    if not len(again):
        return []
    one = int(again[0])
    differ = counted(len(again), "id differs", "ids differ")
    example = f"{shortened(ids[one])} and {shortened(ids[earlier[one]])}"
    return [f"{differ} from another by outer spaces or '.0' only, such as {example}; they are different nodes"]
