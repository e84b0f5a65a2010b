"""Which node an id means: the one of that very text; otherwise the only one that differs by spaces or by `.0`."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.ids import FLOAT, Ids
from graphmix.tables.table import Table, quoted, shortened
from graphmix.text import counted

Numbers = NDArray[np.int32]
UNKNOWN = -1
_AMBIGUOUS = -2
# So many ids are looked up at a time, or as many as there are nodes: every time, the ids of all nodes are hashed.
_PIECE = 2**22


class Found(NamedTuple):
    """The nodes that ids mean.

    Attributes:
        numbers: int32 `[rows]`, numbers of nodes, -1 where there is no such node.
        notes: sentences for the user.
    """

    numbers: Numbers
    notes: list[str]


class Finder:
    """Finds ids among the nodes.

    Ids that no node has exactly are tried without outer spaces, and then without the `.0` that some programs add to
    whole numbers; the ids of the nodes are read in the same way.
    """

    def __init__(self, nodes: Sequence[str]) -> None:
        """Take the ids of the nodes, all different."""
        import pyarrow as pa

        self._known = pa.array(nodes, pa.large_string())
        self._formed: dict[Callable[[Any], Any], tuple[Any, NDArray[np.bool_]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, ids: Ids, table: Table, column: str, tell: Callable[[int], None] = lambda rows: None) -> Found:
        """Find ids, piece by piece.

        Args:
            ids: the ids.
            table: where they are, for messages.
            column: their column.
            tell: called with how many rows are done.

        Raises:
            DataError: an id may mean two nodes.
        """
        numbers = np.empty(len(ids.texts), dtype=np.int32)
        used: dict[str, None] = {}
        size = max(_PIECE, len(self))
        for start in range(0, len(numbers), size):
            piece = ids.texts[start : start + size]
            numbers[start : start + size] = self._places(piece, ids.kind, used)
            tell(min(start + size, len(numbers)))
        doubtful = int((numbers == _AMBIGUOUS).argmax()) if len(numbers) else 0
        if len(numbers) and numbers[doubtful] == _AMBIGUOUS:
            raise DataError(
                f"{table.where(doubtful)}: {shortened(ids.texts[doubtful])} in column {quoted(column)} may mean more "
                "than one node: their ids differ by outer spaces or by '.0' only; write it as the table of nodes does"
            )
        return Found(numbers, [f"{table.name}: {note}" for note in used])

    def _places(self, wanted: Any, kind: str, used: dict[str, None]) -> Numbers:
        """Return the numbers of texts `[wanted]`; notes on the forms that were needed go into `used`."""
        import pyarrow as pa

        numbers = _places(wanted, self._known)
        if kind == FLOAT:
            _mark_doubtful(numbers, wanted, self._known)
        for form, note in _FORMS:
            lost = np.flatnonzero(numbers == UNKNOWN)
            if len(lost):
                numbers[lost] = self._only_places(form(wanted.take(pa.array(lost))), form)
                if (numbers[lost] >= 0).any():
                    used[note] = None
        return numbers

    def _only_places(self, wanted: Any, form: Callable[[Any], Any]) -> Numbers:
        """The numbers of texts `[wanted]` among the nodes' ids in a form; -2 where two of these are the same."""
        if form not in self._formed:
            known = form(self._known)
            codes = known.dictionary_encode().indices.to_numpy()
            self._formed[form] = known, np.bincount(codes)[codes] > 1 if len(codes) else np.zeros(0, bool)
        known, is_repeated = self._formed[form]
        places = _places(wanted, known)
        found = np.flatnonzero(places >= 0)
        places[found[is_repeated[places[found]]]] = _AMBIGUOUS
        return places


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
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(wanted, value_set=known)
    chunks = found.chunks if isinstance(found, pa.ChunkedArray) else [found]
    places = np.empty(len(found), dtype=np.int32)
    start = 0
    for chunk in chunks:
        places[start : start + len(chunk)] = pc.fill_null(chunk, UNKNOWN).to_numpy(zero_copy_only=False)
        start += len(chunk)
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

    encoded = plain(pa.array(ids, pa.large_string())).dictionary_encode()
    if len(encoded.dictionary) == len(ids):
        return []
    codes = encoded.indices.to_numpy()
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
