"""The graph of a NodeProblem, from tables of nodes and edges that have been joined."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.errors import DataError
from graphmix.tables.edges import EdgeTable, Matched
from graphmix.tables.nodes import NodeTable
from graphmix.tables.structural import Structural
from graphmix.workflow.features import Features
from graphmix.workflow.problem import graph_name


def build_graph(
    table: NodeTable,
    labels: tuple[tuple[str, ...], NDArray[np.int64]],
    edges: EdgeTable,
    matched: Matched,
    made: Features,
) -> tuple[Graph, dict[str, Any], list[str]]:
    """Build the graph; return it, what made its features and weights, by the names of the fields, and notes.

    The labels are the names of the classes, and the class of every node, int64 `[nodes]`.
    """
    classes, y = labels
    weights, scale = _scale_weights(edges, matched)
    encoders, x, notes, structural = made.encoders, made.x, [], None
    if encoders is None:
        x = np.zeros((len(y), 1))
        notes.append("no column is a feature: features are made from each node's place in the graph (structural)")
    name = graph_name(table.table.name)
    count = max(len(classes), 1)  # tables that are to be labeled may have none yet
    graph = Graph.build(x, matched.pairs, y, count, name, classes or None, weights=weights, normalise=False)
    if encoders is None:
        structural = Structural.fit(graph.edge_index.numpy(), len(y))
        graph = placed(structural, table.ids, graph)
    return graph, {"encoders": encoders, "structural": structural, "weight_scale": scale}, notes


def graph_like(x: Any, pairs: NDArray[np.int64], y: NDArray[np.int64], old: Graph, weights: Any) -> Graph:
    """Build a graph with the classes and the name of another."""
    return Graph.build(x, pairs, y, old.num_classes, old.name, old.class_names, weights=weights, normalise=False)


def placed(structural: Structural, ids: Sequence[str], graph: Graph) -> Graph:
    """Replace the features by those of each node's place in the graph."""
    weights = None if graph.edge_weights is None else graph.edge_weights.double().numpy()
    return graph.with_x(torch.from_numpy(structural.encode(ids, graph.edge_index.numpy(), weights)))


def _scale_weights(edges: EdgeTable, matched: Matched) -> tuple[NDArray[np.float64] | None, float | None]:
    """Divide weights by their mean: a self-loop, whose weight is 1, then counts as much as a mean edge."""
    if edges.weights is None:
        return None, None
    weights = matched.of(edges.weights)
    # In two steps: the sum of a million large weights may overflow.
    most = float(weights.max(initial=0.0))
    if not most > 0:
        raise DataError(f"{edges.table.name}: every edge has weight 0; correct the weights or leave them out")
    scale = most * float((weights / most).mean())
    return weights / scale, scale
