"""Nodes and links that did not exist at training time, joined to the graph the model was trained on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.checks import UNKNOWN
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix
from graphmix.tables import Encoders, NodeTable, match, read_edges, read_labeled_links, read_nodes
from graphmix.workflow.fitting import name_rows
from graphmix.workflow.folder import Stored
from graphmix.workflow.links import dual_graph, link_features, place_users
from graphmix.workflow.problem import LINKS, Columns, Problem, place

_POINT = re.compile(r"[0-9]+\.0")


@dataclass(frozen=True, eq=False)
class Grown:
    """A graph with new nodes after the old ones.

    Attributes:
        graph: the whole graph; labels are the old nodes' alone.
        names: the columns that name every node.
        first: how many nodes are old.
        notes: what was found and done, in sentences.
    """

    graph: Graph
    names: dict[str, list[str]]
    first: int
    notes: tuple[str, ...]


def grow(stored: Stored, nodes: Path | None, edges: Path | None, *, ignore_unknown: bool = False) -> Grown:
    """Join new tables to a model's graph; without any, the graph is as it was.

    Args:
        stored: the model and its graph.
        nodes: a table of new nodes, with the columns of the one it was trained on.
        edges: a table of new edges, between new nodes and old ones in any combination; of new links to classify
            where links are.
        ignore_unknown: whether edges to nodes that neither graph has are left out, not refused.

    Raises:
        DataError: something in a table is wrong; the message names it.
    """
    problem = stored.problem
    if nodes is None and edges is None:
        return Grown(problem.learned, name_rows(problem), 0, ())
    if problem.task == LINKS:
        return _grow_links(stored, nodes, edges)
    return _grow_nodes(stored, nodes, edges, ignore_unknown)


def _grow_nodes(stored: Stored, nodes: Path | None, edges: Path | None, ignore_unknown: bool) -> Grown:
    problem, columns = stored.problem, stored.problem.columns
    if nodes is None:
        raise DataError("edges alone name no new nodes; give their table too: --nodes")
    table = read_nodes(nodes, id=columns.id, encoding=columns.encoding, taken=_taken(columns, problem.encoders))
    table = _plain_ids(table, problem)
    _refuse_known(table, problem)
    ids = [*problem.ids, *table.ids]
    pairs, weights, notes = _joined_edges(stored, ids, edges, ignore_unknown)
    x: Any = np.zeros((len(ids), 1))
    if problem.structural is None:
        added, found = _encode(problem.encoders, table)
        x, notes = stack(problem.graph.x, added), notes + found
    y = np.concatenate([problem.learned.y.numpy(), np.full(len(table.ids), UNKNOWN)])
    classes = problem.graph.class_names
    graph = Graph.build(
        x, pairs, y, problem.graph.num_classes, problem.graph.name, classes, weights=weights, normalise=False
    )
    if problem.structural is not None:
        graph = place(problem.structural, ids, graph)
    return Grown(graph, {"id": ids}, problem.graph.num_nodes, tuple(notes))


def _grow_links(stored: Stored, nodes: Path | None, edges: Path | None) -> Grown:
    problem, columns, graph = stored.problem, stored.problem.columns, stored.problem.graph
    if edges is None:
        raise DataError("the model classifies links: give their table, --edges")
    links = read_labeled_links(
        edges,
        source=columns.source,
        target=columns.target,
        encoding=columns.encoding,
        taken=_taken(columns, problem.link_encoders),
    )
    ids, user_x, notes = _grow_users(stored, nodes)
    every, ends = place_users(links, ids, None)
    new = len(every) - len(ids)
    if new:
        notes.append(f"{new:,} users were not there at training; their links are judged by what else is known")
    if user_x is not None:
        user_x = sp.csr_array(sp.vstack([user_x, sp.csr_array((new, user_x.shape[1]), dtype=np.float32)]))
    own = None
    if problem.link_encoders is not None:
        encoded = problem.link_encoders.encode(links.table)
        own, notes = encoded.x, [*notes, *encoded.notes]
    x = stack(graph.x, link_features(ends, len(problem.ids), own, user_x))
    joined = np.concatenate([graph.structure.tensors[0].numpy(), ends], axis=1)
    y = np.concatenate([problem.learned.y.numpy(), np.full(ends.shape[1], UNKNOWN)])
    names = {side: [every[user] for user in end] for side, end in zip(("source", "target"), joined, strict=True)}
    return Grown(dual_graph(x, joined, y, stored.model.classes, graph.name), names, graph.num_nodes, tuple(notes))


def _grow_users(stored: Stored, nodes: Path | None) -> tuple[list[str], sp.csr_array | None, list[str]]:
    """The users of the model and of a table, if one is given, with their features if the model uses any."""
    problem, columns = stored.problem, stored.problem.columns
    if nodes is None or problem.encoders is None or problem.user_x is None:
        return problem.ids, problem.user_x, []
    table = read_nodes(nodes, id=columns.id, encoding=columns.encoding, taken=_taken(columns, problem.encoders))
    _refuse_known(table, problem)
    added, notes = _encode(problem.encoders, table)
    return [*problem.ids, *table.ids], sp.csr_array(sp.vstack([problem.user_x, added])), notes


def _taken(columns: Columns, encoders: Encoders | None) -> set[str | None]:
    """Columns that were no ids at training, and so are none in a table that has them in another order."""
    features = () if encoders is None else encoders.columns
    return {columns.label, columns.link_label, columns.split, *(feature.name for feature in features)}


def _plain_ids(table: NodeTable, problem: Problem) -> NodeTable:
    """Take 12.0 for 12 where all new ids are written so, and no old one is: programs add the point to whole numbers."""
    if all(map(_POINT.fullmatch, table.ids)) and not any(map(_POINT.fullmatch, problem.ids)):
        return replace(table, ids=[name.removesuffix(".0") for name in table.ids])
    return table


def _refuse_known(table: NodeTable, problem: Problem) -> None:
    held = set(problem.ids)
    for row, name in enumerate(table.ids):
        if name in held:
            raise DataError(
                f"{table.table.where(row)}: node {name!r} was there at training; give only new nodes, or fit again"
            )


def _joined_edges(
    stored: Stored, ids: Sequence[str], edges: Path | None, ignore_unknown: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, list[str]]:
    graph, scale, columns = stored.problem.graph, stored.problem.weight_scale, stored.problem.columns
    # One direction is enough, and of weights just right: the mean of both.
    forward = graph.edge_index[0] < graph.edge_index[1]
    pairs = graph.edge_index[:, forward].numpy()
    weights = None if graph.edge_weights is None else graph.edge_weights[forward].double().numpy()
    if edges is None:
        return pairs, weights, ["no new edges: new nodes are judged without neighbours"]
    table = read_edges(
        edges, source=columns.source, target=columns.target, weight=columns.weight, encoding=columns.encoding
    )
    matched = match(ids, table, ignore_unknown=ignore_unknown)
    notes = list(matched.notes)
    fresh = ~_joined_already(matched.pairs, pairs, len(ids))
    if not fresh.all():
        notes.append(f"{int((~fresh).sum()):,} edges were there at training, and are left as they were")
    new = matched.pairs[:, fresh]
    if weights is not None:
        rows = matched.kept[fresh]
        added = np.ones(len(rows)) if table.weights is None else table.weights[rows] / (scale or 1)
        if table.weights is None:
            notes.append(f"{edges.name} has no weights; its edges weigh as much as the mean edge at training")
        weights = np.concatenate([weights, added])
    elif table.weights is not None:
        notes.append(f"the weights of {edges.name} are not used: the model was trained without")
    return np.concatenate([pairs, new], axis=1), weights, notes


def _joined_already(pairs: NDArray[np.int64], old: NDArray[np.int64], nodes: int) -> NDArray[np.bool_]:
    """Which pairs `[2, edges]` are among old ones, whichever way round: bool `[edges]`."""
    keys, held = (both.min(axis=0) * nodes + both.max(axis=0) for both in (pairs, old))
    return np.isin(keys, held)


def stack(old: SparseMatrix | Tensor, new: sp.csr_array) -> Any:
    """Put new rows `[new, features]` under old ones `[old, features]`, dense if those are."""
    if isinstance(old, Tensor):
        return np.concatenate([old.numpy(), new.toarray().astype(np.float32)])
    return sp.vstack([old.to_scipy(), new]).tocsr()


def _encode(encoders: Encoders | None, table: NodeTable) -> tuple[sp.csr_array, list[str]]:
    if encoders is None:
        raise DataError("the model has no features of nodes")
    encoded = encoders.encode(table.table)
    return encoded.x, list(encoded.notes)
