"""A part of a graph: some of its nodes, and of each node's neighbours all, some or none.

A node's edges weigh as much as in the whole graph: degrees are those of the whole graph, and if a node has only some of
its neighbours, they stand for the others. So a product with a part estimates the product with the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from graphmix.data.features import Features
from graphmix.data.graph import Graph
from graphmix.data.sampling import Adjacency
from graphmix.data.structure import Edges
from graphmix.sparse import SparseMatrix
from graphmix.streams import Noise


@dataclass(frozen=True, eq=False)
class PartEdges(Edges):
    """Directed edges of a part, from a node (row) to the neighbours that it reads (columns), sorted by both.

    Attributes:
        strengths_in_whole: float64 `[nodes]`, the sum of the weights of each node's edges in the whole graph.
    """

    strengths_in_whole: Tensor = None  # type: ignore[assignment] # fields of the base class have defaults

    @property
    def num_edges(self) -> int:
        """Half of the entries, rounded up: 0 only without any."""
        return -(-self.edge_index.shape[1] // 2)

    @cached_property
    def propagation(self) -> SparseMatrix | None:
        """The rows of D^-1/2 (A + I) D^-1/2 of the whole graph; the neighbours stand for those left out."""
        if self.num_edges == 0:
            return None
        scale = (self.strengths_in_whole + 1) ** -0.5
        row, col = self.edge_index
        return _with_diagonal(row, col, scale[row] * scale[col] * self._raised, scale.square())

    @cached_property
    def neighbour_mean(self) -> SparseMatrix | None:
        """The mean of the neighbours that are there, by the weights of their edges."""
        row, col = self.edge_index
        return None if self.num_edges == 0 else _csr(row, col, self._raised / self._in_whole(row), self.num_nodes)

    @cached_property
    def normalised_adjacency(self) -> SparseMatrix | None:
        """The rows of D^-1/2 A D^-1/2 of the whole graph; the neighbours stand for those left out."""
        row, col = self.edge_index
        if self.num_edges == 0:
            return None
        return _csr(row, col, self._raised / (self._in_whole(row) * self._in_whole(col)).sqrt(), self.num_nodes)

    def _in_whole(self, nodes: Tensor) -> Tensor:
        return self.strengths_in_whole[nodes]

    @cached_property
    def _raised(self) -> Tensor:
        """Weights of edges, raised so that those of a node sum to what they do in the whole: float64 `[entries]`."""
        row = self.edge_index[0]
        weights = torch.ones_like(row, dtype=torch.float64) if self.weights is None else self.weights.double()
        here = torch.zeros_like(self.strengths_in_whole).index_add_(0, row, weights)
        return weights * (self.strengths_in_whole / here)[row]

    def to(self, device: torch.device | str) -> "PartEdges":
        """Move to a device."""
        weights = None if self.weights is None else self.weights.to(device)
        return PartEdges(self.edge_index.to(device), self.num_nodes, weights, self.strengths_in_whole.to(device))


@dataclass(frozen=True, eq=False)
class Part:
    """Some nodes of a graph.

    Attributes:
        nodes: int64 `[nodes]`, their numbers in the whole graph, increasing.
        edges: their edges, by their places in `nodes`.
    """

    nodes: Tensor
    edges: PartEdges

    def places(self, nodes: Tensor) -> Tensor:
        """Return the places of nodes of this part, int64 `[picks]`, given by their numbers in the whole graph."""
        return torch.searchsorted(self.nodes, nodes)

    def of(self, graph: Graph, x: Features | None = None) -> Graph:
        """Return the part as a graph, with its own rows of features; or with those given, `[nodes, features]`."""
        x = rows_of(graph.x, self.nodes) if x is None else x
        return replace(graph, x=x, structure=self.edges, y=graph.y[self.nodes])


def sample(adjacency: Adjacency, seeds: Tensor, fanouts: Sequence[int], noise: Noise) -> Part:
    """Draw the neighbours of seeds, then neighbours of those, hop by hop; every node reads those that it drew.

    The nodes of the last hop read no neighbours. A network of as many layers as hops does not need theirs.

    Args:
        adjacency: the whole graph.
        seeds: int64 `[seeds]`, increasing, no repeats.
        fanouts: for each hop, how many neighbours a node draws, without replacement.
        noise: the random numbers, of one stream.
    """
    nodes, front, found = seeds, seeds, []
    for fanout in fanouts:
        place, entry = adjacency.some_of(front, fanout, noise)
        found.append((front[place], entry))
        reached = torch.cat([nodes, adjacency.col[entry]]).unique()
        # What was there before has drawn its neighbours already.
        front = reached[~_among(reached, nodes)]
        nodes = reached
    return _part(adjacency, nodes, found)


def surroundings(adjacency: Adjacency, seeds: Tensor) -> Part:
    """Return seeds, int64 `[seeds]`, with all their neighbours; those read none themselves.

    Neighbours are not sorted: it takes time in proportion to their number and to the nodes of the whole graph.
    """
    seeds = seeds.sort().values
    place, entry = adjacency.all_of(seeds)
    neighbours = adjacency.col[entry]
    there = torch.zeros(adjacency.num_nodes, dtype=torch.bool, device=seeds.device)
    there[seeds] = there[neighbours] = True
    nodes = there.nonzero()[:, 0]
    number = torch.empty(adjacency.num_nodes, dtype=torch.int64, device=seeds.device)
    number[nodes] = torch.arange(len(nodes), device=seeds.device)
    weights = None if adjacency.weights is None else adjacency.weights[entry]
    edges = torch.stack([number[seeds][place], number[neighbours]])
    return Part(nodes, PartEdges(edges, len(nodes), weights, adjacency.strengths[nodes]))


def induced(adjacency: Adjacency, nodes: Tensor) -> Part:
    """Return nodes, int64 `[nodes]`, increasing, with all edges between them."""
    place, entry = adjacency.all_of(nodes)
    inside = _among(adjacency.col[entry], nodes)
    return _part(adjacency, nodes, [(nodes[place[inside]], entry[inside])])


def rows_of(x: Features, rows: Tensor) -> Features:
    """Gather rows of features, int64 `[rows]`; of a memory-mapped tensor only these are read."""
    if isinstance(x, Tensor):
        return x.index_select(0, rows)
    start = x.crow[rows].long()
    count = x.crow[rows + 1].long() - start
    crow = torch.cat([count.new_zeros(1), count.cumsum(0)])
    entry = torch.arange(int(crow[-1]), device=rows.device) + (start - crow[:-1]).repeat_interleave(count)
    return SparseMatrix(crow.int(), x.col[entry], x.values[entry], (len(rows), x.shape[1]))


def _part(adjacency: Adjacency, nodes: Tensor, found: Sequence[tuple[Tensor, Tensor]]) -> Part:
    """Put together entries, given as their nodes and their places in `col`."""
    none = nodes.new_empty(0)
    row, entry = (torch.cat(each) for each in zip((none, none), *found, strict=True))
    # By node, and then by neighbour: the order of `col`.
    entry, order = entry.sort()
    places = torch.searchsorted(nodes, torch.stack([row[order], adjacency.col[entry]]))
    weights = None if adjacency.weights is None else adjacency.weights[entry]
    return Part(nodes, PartEdges(places, len(nodes), weights, adjacency.strengths[nodes]))


def _among(values: Tensor, increasing: Tensor) -> Tensor:
    """Whether each value is in a list that increases: bool, in the shape of the values."""
    place = torch.searchsorted(increasing, values).clamp_max(len(increasing) - 1)
    return increasing[place] == values


def _csr(row: Tensor, col: Tensor, values: Tensor, nodes: int) -> SparseMatrix:
    """Put together a matrix of entries that are sorted by row, and then by column."""
    return SparseMatrix(_starts(row, nodes).int(), col.int(), values.float(), (nodes, nodes))


def _with_diagonal(row: Tensor, col: Tensor, values: Tensor, diagonal: Tensor) -> SparseMatrix:
    """Put together a matrix of sorted entries off the diagonal and of the diagonal's, `[nodes]`, without sorting."""
    nodes = len(diagonal)
    starts, own = _starts(row, nodes), torch.arange(nodes, device=row.device)
    # Before an entry stand the diagonal's of all rows above it, and its own row's unless it is left of it.
    moved = torch.arange(len(row), device=row.device) + row + (col > row)
    middle = starts[:-1] + own + torch.bincount(row[col < row], minlength=nodes)
    all_col, all_values = col.new_empty(len(row) + nodes), values.new_empty(len(row) + nodes)
    all_col[moved], all_col[middle] = col, own
    all_values[moved], all_values[middle] = values, diagonal
    crow = starts + torch.arange(nodes + 1, device=row.device)
    return SparseMatrix(crow.int(), all_col.int(), all_values.float(), (nodes, nodes))


def _starts(row: Tensor, nodes: int) -> Tensor:
    """Where each row begins, int64 `[nodes + 1]`, given the sorted rows of all entries."""
    return torch.cat([row.new_zeros(1), torch.bincount(row, minlength=nodes).cumsum(0)])
