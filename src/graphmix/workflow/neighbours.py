"""Who is joined to whom, in a graph of listed edges or of links that share a user, without listing the latter."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.data.dual_graph import SharedEnds

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Joined:
    """The edges between some nodes, counted by the nodes' classes.

    Attributes:
        edges: how many there are.
        same: how many join two nodes of one class.
        ends: int64 `[classes]`, how many ends they have in each class; sums to twice `edges`.
    """

    edges: int
    same: int
    ends: Ints


def degrees(graph: Graph) -> Ints:
    """How many neighbours each node has: int64 `[nodes]`."""
    if isinstance(graph.structure, SharedEnds):
        total = np.zeros(graph.num_nodes, dtype=np.int64)
        for sign, group, link in _groups(graph.structure):
            size = np.bincount(group)
            np.add.at(total, link, sign * (size[group] - 1))
        return total
    return np.bincount(graph.edge_index[0].cpu().numpy(), minlength=graph.num_nodes)


def strengths(graph: Graph) -> NDArray[np.float64]:
    """What the edges of each node weigh together: float64 `[nodes]`; how many there are, where they have no weights."""
    if graph.edge_weights is None:
        return degrees(graph).astype(np.float64)
    sums = np.bincount(graph.edge_index[0].numpy(), graph.edge_weights.double().numpy(), minlength=graph.num_nodes)
    return sums.astype(np.float64)


def joined(graph: Graph, nodes: Mask, labels: Ints) -> Joined:
    """Count the edges between the given nodes, bool `[nodes]`, by their labels `[nodes]`, which must be known there."""
    if isinstance(graph.structure, SharedEnds):
        return _joined_links(graph.structure, nodes, labels, graph.num_classes)
    row, col = graph.edge_index.cpu().numpy()
    between = nodes[row] & nodes[col]
    row, col = labels[row[between]], labels[col[between]]
    # Both directions of an edge are listed: each end is the row once.
    return Joined(len(row) // 2, int((row == col).sum()) // 2, np.bincount(row, minlength=graph.num_classes))


def spread(graph: Graph, nodes: Mask) -> Mask:
    """The given nodes, bool `[nodes]`, and their neighbours."""
    if isinstance(graph.structure, SharedEnds):
        ends = graph.structure.ends.cpu().numpy()
        met = np.zeros(ends.max() + 1, dtype=np.bool_)
        met[ends[:, nodes]] = True
        either: Mask = met[ends].any(axis=0)
        return either
    row, col = graph.edge_index.cpu().numpy()
    reached = nodes.copy()
    reached[col[nodes[row]]] = True
    return reached


def neighbours_of(graph: Graph, node: int) -> Ints:
    """One node's neighbours, in order: int64 `[neighbours]`."""
    if isinstance(graph.structure, SharedEnds):
        ends = graph.structure.ends.cpu().numpy()
        met: Ints = np.flatnonzero(np.isin(ends, ends[:, node]).any(axis=0))
        others: Ints = met[met != node]
        return others
    row, col = graph.edge_index.cpu().numpy()
    # The list is sorted by row.
    start, end = np.searchsorted(row, [node, node + 1])
    beside: Ints = col[start:end]
    return beside


def count_components(graph: Graph) -> int:
    """How many parts the graph falls into, a node without neighbours being one."""
    # csgraph takes a while to import, and only this needs it.
    from scipy.sparse.csgraph import connected_components

    if isinstance(graph.structure, SharedEnds):
        ends = graph.structure.ends.cpu().numpy()
        users = np.unique(ends, return_inverse=True)[1].reshape(2, -1)
        size = int(users.max()) + 1
    else:
        users, size = graph.edge_index.cpu().numpy(), graph.num_nodes
    joins = sp.coo_array((np.ones(users.shape[1], dtype=np.int8), tuple(users)), shape=(size, size))
    return int(connected_components(joins, directed=False, return_labels=False))


def _groups(structure: SharedEnds) -> list[tuple[int, Ints, Ints]]:
    """Links by the users and, to take off what that counts twice, by the pairs of users they have (data/dual_graph.py).

    Returns:
        (sign, group, link) each, the last two `[members]`: link is a member of group.
    """
    ends = np.sort(structure.ends.cpu().numpy(), axis=0)
    place = np.arange(ends.shape[1])
    two = ends[0] != ends[1]
    users = np.concatenate([ends[0], ends[1, two]])
    pairs = np.unique(ends[0, two] * (ends.max() + 1) + ends[1, two], return_inverse=True)[1]
    return [(1, users, np.concatenate([place, place[two]])), (-1, pairs, place[two])]


def _joined_links(structure: SharedEnds, nodes: Mask, labels: Ints, classes: int) -> Joined:
    edges = same = 0
    ends = np.zeros(classes, dtype=np.int64)
    for sign, group, link in _groups(structure):
        group, label = group[nodes[link]], labels[link[nodes[link]]]
        size = np.bincount(group)
        # The members of a group that are of one class.
        alike = np.unique(group * classes + label, return_counts=True)[1]
        edges += sign * int((size * (size - 1) // 2).sum())
        same += sign * int((alike * (alike - 1) // 2).sum())
        np.add.at(ends, label, sign * (size[group] - 1))
    return Joined(edges, same, ends)
