"""From tables of nodes and edges to a problem."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.errors import DataError
from graphmix.tables import (
    EdgeTable,
    Matched,
    Structural,
    check_classes,
    match,
    read_edges,
    read_nodes,
)
from graphmix.workflow.links import read_links
from graphmix.workflow.problem import (
    NODES,
    Columns,
    Problem,
    encode,
    given_split,
    name_of,
    number_classes,
    place,
    unused_labels,
)

Stage = Callable[[str], None]


def read_problem(
    nodes: Path | None,
    edges: Path,
    columns: Columns,
    *,
    ignore_unknown: bool = False,
    stage: Stage = lambda name: None,
) -> Problem:
    """Read tables and make a graph of them.

    Args:
        nodes: the table of nodes; may be missing where links are classified.
        edges: the table of edges.
        columns: what means what.
        ignore_unknown: whether edges to nodes that the table of nodes does not have are left out, not refused.
        stage: called as "reading" and "encoding" begin.

    Raises:
        DataError: something in a table is wrong; the message names the file, the line, the column or the node.
    """
    stage("reading")
    if columns.link_label is not None:
        if columns.label is not None:
            raise DataError("either nodes are classified or links: give --label or --link-label, not both")
        return read_links(nodes, edges, columns, stage)
    if nodes is None or columns.label is None:
        raise DataError("a table of nodes and its column of labels are needed: --nodes and --label")
    return _read_nodes(nodes, edges, columns, ignore_unknown, stage)


def _read_nodes(nodes: Path, edges: Path, columns: Columns, ignore_unknown: bool, stage: Stage) -> Problem:
    table = read_nodes(nodes, id=columns.id, label=columns.label, split=columns.split, encoding=columns.encoding)
    notes = check_classes(table)
    edge_table = read_edges(
        edges, source=columns.source, target=columns.target, weight=columns.weight, encoding=columns.encoding
    )
    matched = match(table.ids, edge_table, ignore_unknown=ignore_unknown)
    if not matched.pairs.shape[1]:
        raise DataError(
            f"no edge of {edges.name} joins two nodes of {nodes.name}, whose ids are read from column "
            f"{table.id_column!r}; --id, --source and --target name other columns"
        )
    notes += _edge_notes(edge_table)
    stage("encoding")
    classes, y = number_classes(table.labels)
    weights, scale = _scale_weights(edge_table, matched)
    encoders, x, found = encode(table.table, table.used, columns)
    structural = None
    if encoders is None:
        x = np.zeros((len(y), 1))
        found.append("no column is a feature: nodes are told apart by their place in the graph (structural features)")
    graph = Graph.build(x, matched.pairs, y, len(classes), name_of(nodes), classes, weights=weights, normalise=False)
    if encoders is None:
        structural = Structural.fit(graph.edge_index.numpy(), len(y))
        graph = place(structural, table.ids, graph)
    split = None if table.split is None else given_split(nodes, table.split, y)
    return Problem(
        NODES,
        graph,
        split,
        table.ids,
        encoders,
        structural,
        scale,
        tuple(dict.fromkeys([*notes, *unused_labels(split, y), *matched.notes, *found])),
        columns=replace(columns, id=table.id_column),
    )


def _edge_notes(edges: EdgeTable) -> list[str]:
    """Say which columns of the edges are used, and which are not."""
    notes = [] if edges.weight_column is None else [f"edges weigh what column {edges.weight_column!r} says"]
    unused = [name for name in edges.table.columns if name not in edges.used]
    if unused:
        notes.append(f"of the edges {', '.join(map(repr, unused[:8]))} is not used; --weight takes a column of numbers")
    return notes


def _scale_weights(edges: EdgeTable, matched: Matched) -> tuple[NDArray[np.float64] | None, float | None]:
    """Divide weights by their mean, so that a self-loop, which weighs 1, weighs as much as an edge."""
    if edges.weights is None:
        return None, None
    weights = edges.weights[matched.kept]
    # In two steps: the sum of a million large weights may be no number.
    most = float(weights.max(initial=0.0))
    if not most > 0:
        raise DataError(f"{edges.table.name}: every edge weighs 0; leave the weights out or mend them")
    scale = most * float((weights / most).mean())
    return weights / scale, scale
