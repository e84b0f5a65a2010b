"""Columns: which column of the tables means what."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from graphmix.errors import ConfigError, DataError
from graphmix.tables.stored import is_text, member


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which column of the tables means what; None for a column that is found by its name or place.

    Attributes:
        id: the ids, in the table of nodes.
        label: the classes, in the table of nodes.
        split: train, val or test for each row.
        source: one end of each edge, in the table of edges.
        target: the other end of each edge.
        weight: the weights of the edges.
        link_label: the classes of the links, in the table of edges; links are classified instead of nodes.
        features: columns to use as features, each with its kind, or None to detect the kind; empty to use all columns
            that can be features.
        ignore: columns not to use.
        encoding: the encoding of text files.
    """

    id: str | None = None
    label: str | None = None
    split: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    link_label: str | None = None
    features: Mapping[str, str | None] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if not isinstance(self.features, Mapping):
            raise ConfigError("`features` must be a dictionary from columns to kinds, for example {'age': None}")
        if isinstance(self.ignore, str):
            raise ConfigError(f"`ignore` must be a list of columns, for example [{self.ignore!r}]")

    def check_task(self, has_nodes: bool) -> None:
        """Raise a DataError unless it is clear what to classify: nodes, which need their table, or links."""
        if self.label is not None and self.link_label is not None:
            raise DataError("nodes or links can be classified, not both: give `label` or `link_label`")
        if self.link_label is None and not (has_nodes and self.label is not None):
            raise DataError("to classify nodes, give a table of `nodes` and its column of classes, `label`")

    def to_json(self) -> dict[str, Any]:
        """Return every choice by name, as JSON values."""
        return asdict(self) | {"features": dict(self.features), "ignore": list(self.ignore)}

    @classmethod
    def from_json(cls, value: Any) -> "Columns":
        """Read back what `to_json` returned.

        Raises:
            DataError: a value is missing or invalid.
        """
        features, ignore = (member(value, name) for name in ("features", "ignore"))
        if not isinstance(features, dict) or not isinstance(ignore, list) or len(value) != len(fields(cls)):
            raise DataError("the stored columns are invalid")
        single = {name: cell for name, cell in value.items() if name not in ("features", "ignore")}
        named = [*single.values(), *features, *features.values(), *ignore]
        if not all(name is None or is_text(name) for name in named) or value.get("encoding") is None:
            raise DataError("the stored name of a column is not text")
        return cls(features=features, ignore=tuple(ignore), **single)
