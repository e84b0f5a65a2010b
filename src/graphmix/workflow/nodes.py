"""NodeProblem: nodes to classify, from a table of nodes and a table of edges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data.checks import UNKNOWN
from graphmix.errors import DataError
from graphmix.tables.edges import EdgeTable, check_first_line, has_weights, match, read_edges
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.tables.ids import TEXT
from graphmix.tables.labels import label_notes
from graphmix.tables.matching import alike_notes
from graphmix.tables.nodes import NodeTable, read_nodes
from graphmix.tables.reading import Tell, nothing
from graphmix.tables.stored import positive
from graphmix.tables.structural import Structural
from graphmix.tables.table import quoted, shortened
from graphmix.text import counted
from graphmix.workflow.columns import Columns
from graphmix.workflow.features import encode, number_classes, stack
from graphmix.workflow.node_graph import build_graph, graph_like, placed
from graphmix.workflow.problem import (
    Grown,
    Problem,
    Source,
    Stage,
    given_split,
    learned_from,
)
from graphmix.workflow.roles import (
    check_labels,
    edge_roles,
    edge_uses,
    giveaways,
    id_role,
    unused_columns,
    unused_labels,
)
from graphmix.workflow.rows import RowIds, Rows, heading_notes, headings, stored_columns

_ID = ("id",)


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeProblem(Problem):
    """Nodes to classify.

    Attributes:
        encoders: what turned columns into features; None if no column is a feature.
        structural: what turned the edges into features; None if columns are features. A problem made from arrays, by
            `GraphMixClassifier`, has neither.
        weight_scale: the mean weight of an edge, by which weights were divided; None without weights.
    """

    task: ClassVar[str] = "nodes"

    id_columns: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(_ID, TEXT))
    encoders: Encoders | None = None
    structural: Structural | None = None
    weight_scale: float | None = None

    @classmethod
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
        """Read a table of nodes and a table of edges."""
        assert nodes is not None  # read_problem has checked
        reading = columns.reading("nodes", tell)
        table = read_nodes(nodes, id=columns.id, label=columns.label, split=columns.split, reading=reading)
        notes = check_labels(table.table, columns.label, table.labels)
        return cls._join(table, edges, columns, notes, ignore_unknown, stage, tell)

    @classmethod
    def read_to_label(cls, nodes: Source, edges: Source, columns: Columns, *, ignore_unknown: bool = False) -> Self:
        """Read tables that somebody is about to label: there may be no label at all, and no column of labels."""
        assert nodes is not None  # the caller has checked
        reading, label = columns.reading("nodes"), columns.label
        there = label is not None and read_table(nodes, "nodes", reading).has(label)
        found = columns if there else replace(columns, label=None)
        table = read_nodes(nodes, id=columns.id, label=found.label, reading=reading)
        if found.label is not None:
            label_notes(table.table, found.label)  # refuses dates, whose names as classes would be numbers
        problem = cls._join(table, edges, found, [], ignore_unknown, lambda stage: None)
        return replace(problem, columns=replace(problem.columns, label=label), warnings=())

    @classmethod
    def _join(
        cls,
        table: NodeTable,
        edges: Source,
        columns: Columns,
        notes: list[str],
        ignore_unknown: bool,
        stage: Stage,
        tell: Tell = nothing,
    ) -> Self:
        """Join the edges to a table of nodes, whose cells are dropped once they are features."""
        edge_table = _read_edges(edges, columns, tell)
        _check_first_line(edge_table, table.ids, columns)
        matched = match(table.ids, edge_table, ignore_unknown=ignore_unknown)
        edge_table = edge_table.without_cells()
        if not matched.pairs.shape[1]:
            raise DataError(
                f"no edge of {edge_table.table.name} joins two nodes of {table.table.name}, whose ids are read from "
                f"column {quoted(table.id_column)}; `id`, `source` and `target` choose other columns"
            )
        notes = [id_role(table), edge_roles(edge_table), *unused_columns(edge_table, columns.no_weight), *notes]
        stage("encoding")
        encoded = encode(table.table, _roles(table, columns), columns)
        classes, y = number_classes(table.labels)
        split, unused = given_split(table.table.name, table.split, y, classes)
        warnings: tuple[str, ...] = ()
        if columns.label is not None:
            warnings = giveaways(table.table, columns.label, table.labels, encoded, learned_from(y, split))
        table.drop_cells()
        graph, made, found = build_graph(table, (classes, y), edge_table, matched, encoded)
        own = (table.id_column,)
        notes += [*alike_notes(table.ids), *heading_notes(own, _ID), *unused, *matched.notes, *found]
        return cls(
            graph=graph,
            split=split,
            ids=table.ids,
            columns=replace(columns, id=table.id_column),
            id_columns=dict.fromkeys(headings(own, _ID), table.id_kind),
            uses=(*encoded.uses, *edge_uses(edge_table)),
            notes=tuple(dict.fromkeys(notes)),
            warnings=warnings,
            **made,
        )

    def rows(self) -> Rows:
        """Return the ids of the nodes."""
        return {heading: RowIds(self.ids, kind) for heading, kind in self.id_columns.items()}

    def grow(self, nodes: Source, edges: Source, *, ignore_unknown: bool = False) -> Grown:
        """Add new nodes, and new edges between new and old nodes."""
        if nodes is None and edges is None:
            return Grown(self.learned, self.rows())
        if self.encoders is None and self.structural is None:
            raise DataError(
                "this model was saved by GraphMixClassifier, which learns from arrays and knows no columns: leave the "
                "tables out to predict its own graph, or load it with GraphMixClassifier.load for new nodes"
            )
        if nodes is None:
            raise DataError("a table of edges alone has no new nodes to predict; give a table of `nodes` too")
        table = self._read_new(nodes)
        ids = [*self.ids, *table.ids]
        pairs, weights, notes = self._join_edges(ids, edges, ignore_unknown)
        x: Any = np.zeros((len(ids), 1))
        if self.encoders is not None:
            encoded = self.encoders.encode(table.table)
            x, notes = stack(self.graph.x, encoded.x), [*notes, *encoded.notes]
        y = np.concatenate([self.learned.y.numpy(), np.full(len(table.ids), UNKNOWN)])
        graph = graph_like(x, pairs, y, self.graph, weights)
        if self.structural is not None:
            graph = placed(self.structural, ids, graph)
        new = dict.fromkeys(self.id_columns, RowIds(table.ids, table.id_kind))
        notes = [id_role(table), *notes, *unused_labels(table.table, self.columns.label)]
        return Grown(graph, self.rows(), new, (*alike_notes(ids, since=len(self.ids)), *notes))

    def describe(self) -> dict[str, Any]:
        """Return what model.json says of the problem."""
        return super().describe() | {"weight_scale": self.weight_scale}

    def encoders_json(self) -> dict[str, Any]:
        """Return what made the features, as JSON values."""
        made = {"encoders": self.encoders, "structural": self.structural}
        return {name: None if part is None else part.to_json() for name, part in made.items()}

    @classmethod
    def _from_parts(
        cls, shared: dict[str, Any], described: Any, tensors: dict[str, Tensor], encoders: Any, ids: Any
    ) -> Self:
        if "edges" not in tensors:
            raise ValueError("the stored graph is not one of nodes")
        if len(shared["ids"]) != shared["graph"].num_nodes:
            raise ValueError(f"there are {len(shared['ids'])} ids for {shared['graph'].num_nodes} nodes")
        columns, structural = encoders["encoders"], encoders["structural"]
        scale = described["weight_scale"]
        return cls(
            **shared,
            id_columns=stored_columns(described, (shared["columns"].id,), _ID),
            encoders=None if columns is None else Encoders.from_json(columns),
            structural=None if structural is None else Structural.from_json(structural),
            weight_scale=None if scale is None else positive(described, "weight_scale"),
        )

    def _read_new(self, nodes: Source) -> NodeTable:
        taken = columns_in_use(self.columns, self.encoders)
        table = read_nodes(nodes, id=self.columns.id, reading=self.columns.reading("nodes"), taken=taken)
        refuse_known(table, self.ids)
        return table

    def _join_edges(
        self, ids: Sequence[str], edges: Source, ignore_unknown: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, list[str]]:
        """Return old and new edges `[2, entries]`, their weights `[entries]` or None, and notes."""
        packed = self.graph.structure.packed()
        pairs = packed["edges"].numpy()
        weights = packed["weights"].double().numpy() if "weights" in packed else None
        if edges is None:
            return pairs, weights, ["no new edges: new nodes are predicted without neighbours"]
        # Weights that the model cannot use need not be valid.
        table = _read_edges(edges, self.columns if weights is not None else self.columns.without_weights())
        _check_first_line(table, ids, self.columns)
        matched = match(ids, table, ignore_unknown=ignore_unknown)
        notes = [edge_roles(table), *matched.notes]
        fresh = ~_are_among(matched.pairs, pairs, len(ids))
        if not fresh.all():
            again = "there at training and {} not added again"
            one, several = f"edge was {again.format('is')}", f"edges were {again.format('are')}"
            notes.append(counted(int((~fresh).sum()), one, several))
        if weights is not None:
            added = np.ones(int(fresh.sum()))
            if table.weights is not None:
                added = matched.of(table.weights)[fresh] / (self.weight_scale or 1)
            weights = np.concatenate([weights, added])
            if table.weights is None:
                notes.append(f"{table.table.name} has no weights; its edges get the mean weight at training")
        elif not self.columns.no_weight and has_weights(table.table):
            notes.append(f"the weights of {table.table.name} are not used: the model was trained without")
        return np.concatenate([pairs, matched.pairs[:, fresh]], axis=1), weights, notes


def columns_in_use(columns: Columns, encoders: Encoders | None) -> set[str | None]:
    """Return the columns that were not ids at training, and so are not ids in a new table either."""
    features = () if encoders is None else encoders.columns
    return {columns.label, columns.link_label, columns.split, *(feature.name for feature in features)}


def refuse_known(table: NodeTable, ids: Sequence[str]) -> None:
    """Raise a `DataError` if a new table has a node of the training graph."""
    old = set(ids)
    for row, name in enumerate(table.ids):
        if name in old:
            known = f"{table.table.where(row)}: node {shortened(name)} was there at training"
            raise DataError(f"{known}; give only new nodes, or fit again")


def _read_edges(edges: Source, columns: Columns, tell: Tell = nothing) -> EdgeTable:
    named = {name: getattr(columns, name) for name in ("source", "target", "weight")}
    return read_edges(edges, **named, weighted=not columns.no_weight, reading=columns.reading("edges", tell))


def _check_first_line(edges: EdgeTable, ids: Sequence[str], columns: Columns) -> None:
    """Raise a `DataError` if the table of edges has no header, unless the user named a column of it."""
    if columns.source is None and columns.target is None:
        check_first_line(edges, ids)


def _roles(table: NodeTable, columns: Columns) -> dict[str, str]:
    """Return what the columns of the nodes are that are not features."""
    named = {table.id_column: "id", columns.label: "label", columns.split: "split"}
    return {name: role for name, role in named.items() if name is not None}


def _are_among(pairs: NDArray[np.int32], old: NDArray[np.int64], nodes: int) -> NDArray[np.bool_]:
    """Which pairs `[2, edges]` are among the old ones, in either direction: bool `[edges]`."""
    keys, held = (both.min(axis=0).astype(np.int64) * nodes + both.max(axis=0) for both in (pairs, old))
    return np.isin(keys, held)
