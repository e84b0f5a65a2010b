"""What names the rows of an output: ids under the headings, and in the types, that they have in the user's tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphmix.tables.ids import TEXT, check_stored, typed
from graphmix.tables.stored import is_text
from graphmix.tables.table import quoted

# Every heading of ours; a column of ids with one of these names gets another.
_PREDICTED = {"predicted", "probability", "second", "second_probability", "third", "third_probability"}
_ADVISED = {"suggested", "score", "gnn_label", "gnn_suggested", "fcn_label", "fcn_suggested", "uncertainty", "informs"}
HEADINGS = frozenset(_PREDICTED | _ADVISED | {"label", "abstain", "set", "reason"})


@dataclass(frozen=True, eq=False)
class RowIds:
    """A column of ids.

    Attributes:
        texts: the ids as text `[rows]`.
        kind: their type; see `Ids`.
    """

    texts: Sequence[str]
    kind: str = TEXT

    @property
    def values(self) -> list[Any]:
        """The ids in their own type `[rows]`."""
        return typed(self.texts, self.kind)

    def followed_by(self, other: "RowIds") -> "RowIds":
        """Return these ids and others after them, as text if the two differ in type."""
        return RowIds([*self.texts, *other.texts], self.kind if self.kind == other.kind else TEXT)


Rows = Mapping[str, RowIds]


def values(rows: Rows) -> dict[str, list[Any]]:
    """Return columns of ids in their own types, by heading."""
    return {heading: ids.values for heading, ids in rows.items()}


def headings(own: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the id columns, or the usual ones if one of them is a heading of ours.

    Example:
        >>> headings(["paper"], ["id"]), headings(["label"], ["id"])
        (('paper',), ('id',))
    """
    return tuple(usual if HEADINGS.intersection(own) else own)


def heading_notes(own: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Note id columns that have another heading in outputs."""
    renamed = [(name, heading) for name, heading in zip(own, headings(own, usual), strict=True) if name != heading]
    return [
        f"the ids of column {quoted(name)} are called {quoted(heading)} in outputs, which have columns of that name"
        for name, heading in renamed
    ]


def stored_columns(described: Any, own: Sequence[str | None], usual: Sequence[str]) -> dict[str, str]:
    """Return the types of the id columns by heading, as model.json has them.

    Args:
        described: the content of model.json; that of an older version says nothing of the types.
        own: the names of the columns, where known.
        usual: the headings otherwise.

    Raises:
        ValueError: they are not what was written.
    """
    if "id_columns" not in described:
        known = [name or heading for name, heading in zip(own, usual, strict=True)]
        return dict.fromkeys(headings(known, usual), TEXT)
    stored = dict(described["id_columns"])
    if len(stored) != len(usual) or not all(map(is_text, stored)) or HEADINGS.intersection(stored):
        raise ValueError("missing or invalid: id_columns")
    return stored


def check_rows(rows: Rows) -> None:
    """Raise ValueError unless stored ids match their stored types."""
    for ids in rows.values():
        check_stored(ids.texts, ids.kind)
