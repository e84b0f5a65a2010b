"""Problem: a graph read from tables, its labels, and what is needed to add new rows later.

`NodeProblem` (nodes.py) classifies nodes and `LinkProblem` (links.py) classifies links.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.data.checks import UNKNOWN
from graphmix.data.folds import fold_split
from graphmix.errors import DataError
from graphmix.results.columns import ColumnUse
from graphmix.storage.graphs import pack_graph, unpack_graph
from graphmix.tables.files import TableSource
from graphmix.tables.reading import Tell, nothing
from graphmix.tables.stored import is_text, text
from graphmix.tables.table import NAMED, shortened
from graphmix.text import counted, visible
from graphmix.workflow.columns import Columns
from graphmix.workflow.rows import Rows, check_rows, values

Stage = Callable[[str], None]
Source = TableSource | None
_ROLES = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Grown:
    """The graph of a problem with new rows after the old ones.

    Attributes:
        graph: the whole graph; only old rows have labels.
        old: the ids of the old rows, by heading.
        new: the ids of the new rows, by heading; None if there are no new rows.
        notes: what was found and done, in sentences.
    """

    graph: Graph
    old: Rows
    new: Rows | None = None
    notes: tuple[str, ...] = ()

    @property
    def first(self) -> int:
        """Number of the first new row; 0 if there are no new rows."""
        return 0 if self.new is None else len(next(iter(self.old.values())).texts)

    @property
    def names(self) -> dict[str, list[Any]]:
        """The ids of old and new rows, by the old headings."""
        if self.new is None:
            return values(self.old)
        both = zip(self.old.items(), self.new.values(), strict=True)
        return {heading: old.followed_by(new).values for (heading, old), new in both}

    @property
    def new_names(self) -> dict[str, list[Any]]:
        """The ids of the new rows, of all if there are no new rows, by heading."""
        return self.names if self.new is None else values(self.new)


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(ABC):
    """What is to be learned from tables.

    Attributes:
        task: "nodes" or "links": what is classified.
        graph: its nodes are what is classified; labels are -1 where unknown.
        split: the given split; None if the labels are to be split into folds.
        ids: the ids of the nodes; of a link problem, those of the users that the links join.
        columns: what each column means, the column of ids as it was found: another column of a new table may look like
            ids.
        id_columns: the type of the ids by their heading in outputs; two of a link problem, one for each end.
        uses: what became of every column; empty for a problem that was stored or made from arrays.
        notes: what was found and done, in sentences.
        warnings: what may spoil the model, in sentences.
    """

    task: ClassVar[str]

    graph: Graph
    split: Split | None
    ids: Sequence[str]
    columns: Columns = field(default_factory=Columns)
    id_columns: Mapping[str, str]
    uses: tuple[ColumnUse, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    @abstractmethod
    def read(
        cls,
        nodes: Source,
        edges: Source,
        columns: Columns,
        *,
        ignore_unknown: bool = False,
        stage: Stage,
        tell: Tell = nothing,
    ) -> Self:
        """Read the problem from tables; see `graphmix.workflow.problems.read_problem`."""

    @abstractmethod
    def rows(self) -> Rows:
        """Return the ids of the rows to classify, by heading."""

    def row_names(self) -> dict[str, list[Any]]:
        """Return the ids of the rows to classify, in their own types, by heading."""
        return values(self.rows())

    @abstractmethod
    def grow(self, nodes: Source, edges: Source, *, ignore_unknown: bool = False) -> Grown:
        """Add new tables to the graph; without any, return it as it is.

        Args:
            nodes: new nodes, with the columns of the table trained on; or None.
            edges: new edges between new and old nodes, or new links to classify; or None.
            ignore_unknown: whether to leave out edges to unknown nodes instead of raising an error.

        Raises:
            DataError: a table is invalid or does not suit the model.
        """

    @abstractmethod
    def encoders_json(self) -> dict[str, Any]:
        """Return what turned columns into features, as JSON values."""

    @classmethod
    @abstractmethod
    def _from_parts(
        cls, shared: dict[str, Any], described: Any, tensors: dict[str, Tensor], encoders: Any, ids: Any
    ) -> Self:
        """Add what only this kind of problem has to the `shared` fields."""

    def describe(self) -> dict[str, Any]:
        """Return what model.json says of the problem."""
        return {
            "task": self.task,
            "name": self.graph.name,
            "classes": list(self.classes),
            "columns": self.columns.to_json(),
            # As pairs, because their order matters.
            "id_columns": [list(pair) for pair in self.id_columns.items()],
            "split": None if self.split is None else self.split.name,
        }

    def ids_json(self) -> dict[str, Any]:
        """Return the ids, as JSON values."""
        return {"ids": list(self.ids)}

    def tensors(self) -> dict[str, Tensor]:
        """Return the graph and the given split as tensors by name."""
        split = {} if self.split is None else {role: getattr(self.split, role) for role in _ROLES}
        return pack_graph(self.graph) | split

    @classmethod
    def from_parts(cls, described: Any, tensors: dict[str, Tensor], encoders: Any, ids: Any) -> Self:
        """Read back what `describe`, `tensors`, `encoders_json` and `ids_json` returned, validated like a new problem.

        Raises:
            KeyError: a value is missing.
            ValueError: a value is invalid.
            TypeError: a value has another type.
        """
        classes = described["classes"]
        if not _are_names(classes) or not _are_names(ids["ids"]):
            raise ValueError("missing or invalid: classes or ids")
        graph = unpack_graph(tensors, tuple(classes), text(described, "name"))
        split = None
        if described["split"] is not None:
            split = Split.build(tensors["train"], tensors["val"], tensors["test"], text(described, "split"))
            split.require_validation()
            split.check(graph)
        columns = Columns.from_json(described["columns"])
        shared = {"graph": graph, "split": split, "ids": ids["ids"], "columns": columns}
        problem = cls._from_parts(shared, described, tensors, encoders, ids)
        check_rows(problem.rows())
        return problem

    def splits(self, trials: int, seed: int) -> Split:
        """Return the given split, or else the labels split into folds."""
        return self.split if self.split is not None else fold_split(self.graph, trials, seed)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; their numbers if they have none."""
        return self.graph.class_names or tuple(map(str, range(self.graph.num_classes)))

    @property
    def labels(self) -> list[str | None]:
        """The given labels by name `[nodes]`; None where there is none."""
        return [None if label < 0 else self.classes[label] for label in self.graph.y.tolist()]

    @property
    def known(self) -> Tensor:
        """The nodes to learn from, bool `[nodes]`: all labeled ones except a given test set."""
        if self.split is None:
            return self.graph.y != UNKNOWN
        return (self.split.train | self.split.val)[0]

    @property
    def learned(self) -> Graph:
        """The graph with only the labels to learn from."""
        return replace(self.graph, y=torch.where(self.known, self.graph.y, UNKNOWN))


def learned_from(y: NDArray[np.int64], split: Split | None) -> NDArray[np.int64]:
    """Return the labels `[rows]` to learn from: all but those of a given test set, -1 where there is none."""
    return y if split is None else np.where((split.train | split.val)[0].numpy(), y, UNKNOWN)


def given_split(
    name: str, roles: list[str | None] | None, y: NDArray[np.int64], classes: Sequence[str]
) -> tuple[Split | None, list[str]]:
    """Make a split from a column of train, val or test `[nodes]`; rows without a label are in no part.

    Args:
        name: the name of the table, for messages.
        roles: what the column says; None without such a column.
        y: int64 `[nodes]`, the labels.
        classes: their names.

    Returns:
        The split, None without such a column; and notes on labels that are in no part of it, and on classes without a
        label to train on.

    Raises:
        DataError: no labeled row is left to train on or to select by.
    """
    if roles is None:
        return None, []
    said, known = np.array([role or "" for role in roles]), y != UNKNOWN
    train, val, test = (known & (said == role) for role in _ROLES)
    for role, mask in (("train", train), ("val", val)):
        if not mask.any():
            raise DataError(f"{name}: no labeled row has {role!r} in the `split` column; correct it or leave it out")
    unused = int((known & ~(train | val | test)).sum())
    notes = [f"{counted(unused, 'label is', 'labels are')} in no part of the split and not used"] if unused else []
    absent = [shortened(classes[each]) for each in np.setdiff1d(y[val | test], y[train]).tolist()]
    if absent:
        few = counted(len(absent), "class has", "classes have")
        shown = f"{', '.join(absent[:NAMED])}{', …' if len(absent) > NAMED else ''}"
        notes.append(f"{few} labels in val or test but none in train, and cannot be learned: {shown}")
    return Split.build(train, val, test, "given"), notes


def graph_name(table: str) -> str:
    """Return the name of a graph: that of its table without endings, and made visible: a file's may be any bytes."""
    return visible(table.split(".")[0]) or "graph"


def _are_names(value: Any) -> bool:
    """Whether a value is a list of different texts."""
    return isinstance(value, list) and all(map(is_text, value)) and len(set(value)) == len(value)
