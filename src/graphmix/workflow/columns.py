"""Columns: which column of the tables means what."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from graphmix.errors import ConfigError, DataError
from graphmix.tables.reading import Reading, Tell, nothing
from graphmix.tables.stored import is_text, member
from graphmix.tables.table import shortened

TABLES = ("nodes", "edges")
# Fields that folders of older versions lack.
_ADDED = ("no_weight", "no_header", "keep")


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
        no_weight: whether the edges have no weights, even if a column is called weight.
        link_label: the classes of the links, in the table of edges; links are classified instead of nodes.
        features: columns to use as features, each with its kind, or None to detect the kind; empty to use all columns
            that can be features.
        keep: columns to use besides those that are found to be features, each with its kind, or None to detect it.
        ignore: columns not to use.
        encoding: the encoding of text files.
        no_header: the tables, "nodes" or "edges", whose files have no header; their columns are called `column 1`,
            `column 2`, …
    """

    id: str | None = None
    label: str | None = None
    split: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    no_weight: bool = False
    link_label: str | None = None
    features: Mapping[str, str | None] = field(default_factory=dict)
    keep: Mapping[str, str | None] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    encoding: str = "utf-8"
    no_header: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("features", "keep"):
            if not isinstance(getattr(self, name), Mapping):
                raise ConfigError(f"`{name}` must be a dictionary from columns to kinds, for example {{'age': None}}")
        if self.features and self.keep:
            raise ConfigError(
                "give `features`, which names all columns to use, or `keep`, which adds some to those that are found"
            )
        if isinstance(self.ignore, str):
            raise ConfigError(f"`ignore` must be a list of columns, for example [{self.ignore!r}]")
        # One name may stand alone, as on the command line.
        object.__setattr__(self, "no_header", (self.no_header,) if isinstance(self.no_header, str) else self.no_header)
        for table in self.no_header:
            if table not in TABLES:
                raise ConfigError(f"`no_header` must be {' or '.join(TABLES)}, not {shortened(table)}")
        if self.no_weight and self.weight is not None:
            raise ConfigError("give `weight` or `no_weight`, not both")

    def check_task(self, has_nodes: bool) -> None:
        """Raise a DataError unless it is clear what to classify: nodes, which need their table, or links."""
        if self.label is not None and self.link_label is not None:
            raise DataError("nodes or links can be classified, not both: give `label` or `link_label`")
        if self.link_label is None and not (has_nodes and self.label is not None):
            raise DataError("to classify nodes, give a table of `nodes` and its column of classes, `label`")

    def reading(self, table: str, tell: Tell = nothing) -> Reading:
        """Return how a table, "nodes" or "edges", is read; `tell` is called with how many rows have been."""
        return Reading(self.encoding, table not in self.no_header, frozenset(self.ignore), tell)

    def without_weights(self) -> "Columns":
        """Return the choices for edges without weights."""
        return replace(self, weight=None, no_weight=True)

    def without_header(self, tables: Sequence[str]) -> "Columns":
        """Return the choices for tables some of which have no header, unlike those of the fit.

        The ends of edges and their weights are then found by their places.
        """
        more = replace(self, no_header=tables)  # checks the names
        if "edges" in more.no_header and "edges" not in self.no_header:
            more = replace(more, source=None, target=None, weight=None)
        return replace(more, no_header=tuple(dict.fromkeys((*self.no_header, *more.no_header))))

    def to_json(self) -> dict[str, Any]:
        """Return every choice by name, as JSON values; what older versions did not know only where it is used."""
        listed = {"ignore": list(self.ignore), "no_header": list(self.no_header)}
        every = asdict(self) | {"features": dict(self.features), "keep": dict(self.keep)} | listed
        return {name: value for name, value in every.items() if name not in _ADDED or value}

    @classmethod
    def from_json(cls, value: Any) -> "Columns":
        """Read back what `to_json` returned.

        Raises:
            DataError: a value is missing or invalid.
        """
        features, ignore = (member(value, name) for name in ("features", "ignore"))
        every: dict[str, Any] = {"no_weight": False, "no_header": [], "keep": {}, **value}
        lists, dicts = [ignore, every["no_header"]], [features, every["keep"]]
        if not all(isinstance(each, dict) for each in dicts) or not all(isinstance(each, list) for each in lists):
            raise DataError("the stored columns are invalid")
        if every.keys() != {each.name for each in fields(cls)} or not isinstance(every["no_weight"], bool):
            raise DataError("the stored columns are invalid")
        single = [each for name, each in every.items() if name not in ("features", "ignore", *_ADDED)]
        named = [*single, *lists[0], *lists[1]]
        named += [name for each in dicts for pair in each.items() for name in pair]
        if not all(name is None or is_text(name) for name in named) or every["encoding"] is None:
            raise DataError("the stored name of a column is not text")
        return cls(**every | {"ignore": tuple(ignore), "no_header": tuple(every["no_header"])})
