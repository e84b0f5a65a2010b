"""A problem: a graph made of tables, its labels, and all it takes to add to it later."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.data.checks import UNKNOWN
from graphmix.data.folds import fold_split
from graphmix.errors import DataError
from graphmix.tables import Encoders, Structural, Table, choose_kinds
from graphmix.tables.stored import is_text, member

# Features of which more than this share is not zero are kept as a dense matrix.
_DENSE = 0.3
NODES, LINKS = "nodes", "links"
# How many columns of a kind a sentence names.
_NAMED = 8
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of the tables mean what; None where it is to be found out.

    Attributes:
        id: a node's name, in the table of nodes.
        label: its class.
        split: its part: train, val or test.
        source: where an edge begins, in the table of edges.
        target: where it ends.
        weight: what it weighs.
        link_label: its class, where links are classified and not nodes.
        features: columns to use as features, each with its kind or None; all that can be when empty.
        ignore: columns not to use.
        encoding: how text files are encoded.
    """

    id: str | None = None
    label: str | None = None
    split: str | None = None
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    link_label: str | None = None
    features: Mapping[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    encoding: str = "utf-8"

    def to_json(self) -> dict[str, Any]:
        """Every choice by name."""
        return asdict(self) | {"features": dict(self.features), "ignore": list(self.ignore)}

    @classmethod
    def from_json(cls, value: Any) -> "Columns":
        """Read back what `to_json` gave.

        Raises:
            DataError: it is something else.
        """
        features, ignore = (member(value, name) for name in ("features", "ignore"))
        if not isinstance(features, dict) or not isinstance(ignore, list) or len(value) != len(fields(cls)):
            raise DataError("the columns are not as they were written")
        single = {name: cell for name, cell in value.items() if name not in ("features", "ignore")}
        named = [*single.values(), *features, *features.values(), *ignore]
        if not all(name is None or is_text(name) for name in named) or value.get("encoding") is None:
            raise DataError("a column's name is no text")
        return cls(features=features, ignore=tuple(ignore), **single)


@dataclass(frozen=True, eq=False)
class Problem:
    """What tables came to.

    Attributes:
        task: "nodes" or "links": what is classified.
        graph: labels where known, else -1; for links the dual graph.
        split: the split that was given; None where folds are to be drawn.
        ids: the nodes' ids, in the order of the table; for links those of the users.
        encoders: what made features of columns; None without such columns.
        structural: what made features of the edges; None where columns did.
        weight_scale: the mean weight of an edge, by which weights were divided; None without weights.
        notes: what was found and done, in sentences.
        link_encoders: of links, what made features of the edges' own columns; `encoders` is for their ends.
        user_x: float32 `[users, width]`, the features of their ends; None where there are none.
        columns: what the tables' columns meant; the ids' as it was found, since a table to come may have others that
            look like ids.
    """

    task: str
    graph: Graph
    split: Split | None
    ids: list[str]
    encoders: Encoders | None
    structural: Structural | None
    weight_scale: float | None
    notes: tuple[str, ...]
    link_encoders: Encoders | None = None
    user_x: sp.csr_array | None = None
    columns: Columns = field(default_factory=Columns)

    def splits(self, trials: int, seed: int) -> Split:
        """The given split, or folds of the labels."""
        return self.split if self.split is not None else fold_split(self.graph, trials, seed)

    @property
    def known(self) -> Tensor:
        """The nodes whose labels may be learned from, bool `[nodes]`: all labeled ones, but for a given test set."""
        if self.split is None:
            return self.graph.y != UNKNOWN
        return (self.split.train | self.split.val)[0]

    @property
    def learned(self) -> Graph:
        """The graph with no labels but those that may be learned from."""
        return replace(self.graph, y=torch.where(self.known, self.graph.y, UNKNOWN))


def number_classes(labels: Sequence[str | None]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Give every class a number, in the order of its name: the names, and int64 `[nodes]`, -1 where there is none.

    Whole numbers are in the order of their size.
    """
    names = {label for label in labels if label is not None}
    numeric = all(_WHOLE.fullmatch(name) for name in names)
    ordered = tuple(sorted(names, key=lambda name: (int(name), name) if numeric else (0, name)))
    place = {name: number for number, name in enumerate(ordered)}
    return ordered, np.array([UNKNOWN if label is None else place[label] for label in labels], dtype=np.int64)


def _compact(x: sp.csr_array) -> sp.csr_array | NDArray[np.float32]:
    """Write features `[nodes, features]` out where few are zero."""
    full = x.nnz > _DENSE * x.shape[0] * x.shape[1]
    return x.toarray() if full else x


def place(structural: Structural, ids: Sequence[str], graph: Graph) -> Graph:
    """Give nodes the features that their place in the graph makes."""
    weights = None if graph.edge_weights is None else graph.edge_weights.double().numpy()
    return graph.with_x(torch.from_numpy(structural.encode(ids, graph.edge_index.numpy(), weights)))


def encode(table: Table, used: Collection[str], columns: Columns) -> tuple[Encoders | None, Any, list[str]]:
    """Make features of a table's columns: what made them, `[rows, features]`, and notes; None without any."""
    kinds, notes = choose_kinds(table, exclude=used, asked=columns.features, ignore=columns.ignore)
    encoders = Encoders.fit(table, kinds)
    if not encoders.width:
        return None, None, notes
    encoded = encoders.encode(table)
    return encoders, _compact(encoded.x), [_listed(kinds), *notes, *encoded.notes]


def _listed(kinds: Mapping[str, str]) -> str:
    """Say which columns are features: `features: year, age (number); title (text)`."""
    named = []
    for kind in dict.fromkeys(kinds.values()):
        columns = [name for name, found in kinds.items() if found == kind]
        more = len(columns) - _NAMED
        named.append(", ".join(columns[:_NAMED]) + (f" and {more:,} more" if more > 0 else "") + f" ({kind})")
    return f"features: {'; '.join(named)}"


def name_of(path: Path) -> str:
    """What to call a graph: its file's name without endings."""
    return path.name.split(".")[0] or "graph"


def unused_labels(split: Split | None, y: NDArray[np.int64]) -> list[str]:
    """Say how many labels a given split has no part for."""
    if split is None:
        return []
    unused = int((y != UNKNOWN).sum() - (split.train | split.val | split.test).sum())
    return [f"{unused:,} labels are in no part of the split, and are not used"] if unused else []


def given_split(path: Path, roles: Sequence[str | None], y: NDArray[np.int64]) -> Split:
    """Make a split of what a column says: train, val or test `[nodes]`; rows without a label have no part.

    Raises:
        DataError: nothing is left to train on or to select by.
    """
    said, known = np.array([role or "" for role in roles]), y != UNKNOWN
    train, val, test = (known & (said == role) for role in ("train", "val", "test"))
    for role, mask in (("train", train), ("val", val)):
        if not mask.any():
            raise DataError(f"{path.name}: no labeled row has {role!r} in the split column; mend it or leave it out")
    return Split.build(train, val, test, "given")
