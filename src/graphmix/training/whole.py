"""Predictions for a whole graph, layer by layer and in chunks of nodes, so that little memory is needed at a time.

The result is exact: a chunk has all neighbours of its nodes. What is kept of all nodes is the product of the features
with the first weights, the hidden states and the logits. Layers that read nothing of the graph but a product with its
propagation matrix take all nodes at once.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.parts import rows_of, surroundings
from graphmix.data.sampling import Adjacency
from graphmix.data.structure import Edges
from graphmix.models import Backbone
from graphmix.models.backbone import linear
from graphmix.models.shifted import Mapped
from graphmix.sparse import SparseMatrix

# Nodes of a chunk and their neighbours: for 16 hidden units and one trial, a quarter of a gigabyte.
MOST_READ = 2**22

# A chunk's nodes, first and last + 1, in the whole graph.
Chunk = tuple[int, int]


@torch.no_grad()
def whole_logits(model: Backbone, x: SparseMatrix | Tensor, graph: Graph, most: int | None = MOST_READ) -> Tensor:
    """Compute logits of all nodes without dropout: `[trials, nodes, classes]`.

    Args:
        model: the networks.
        x: features `[nodes, features]`.
        graph: the graph, or its null graph for the FCN.
        most: nodes of a chunk and their neighbours, with repeats; more only for a single node. None for one pass.
    """
    chunks = [] if most is None else chunks_of(graph, most)
    if len(chunks) <= 1:
        return model(x, graph)
    if graph.num_edges == 0:
        # Node-wise, so the rows of a chunk are a graph of their own.
        return _joined(chunks, graph.num_nodes, lambda chunk: model(_rows(x, chunk), _without_edges(graph, chunk)))
    return _decode(model, _encode(model, x, graph, chunks), graph, chunks)


def chunks_of(graph: Graph, most: int) -> list[Chunk]:
    """Divide the nodes so that those of a chunk and their neighbours are at most `most`, unless it is one node."""
    if not isinstance(graph.propagation, SparseMatrix) and graph.num_edges > 0:
        return [(0, graph.num_nodes)]  # neighbours are not listed
    degrees = torch.from_numpy(graph.structure.degrees) if graph.num_edges else torch.zeros(graph.num_nodes).long()
    read = (degrees + 1).cumsum(0)
    bounds, first = [0], 0
    while bounds[-1] < graph.num_nodes:
        last = int(torch.searchsorted(read, first + most, right=True))
        bounds.append(max(last, bounds[-1] + 1))
        first = int(read[bounds[-1] - 1])
    return list(pairwise(bounds))


def _encode(model: Backbone, x: SparseMatrix | Tensor, graph: Graph, chunks: list[Chunk]) -> Tensor:
    nodes = graph.num_nodes
    if model.encode_hops == 0:
        return _joined(chunks, nodes, lambda chunk: model.encode(_rows(x, chunk), graph))
    if model.encode_hops is None or not model.reads_x_once:
        return model.encode(x, graph)
    # Once for every node, not for every chunk that reads it.
    weight = model.first_weight(graph)
    mapped = _joined(chunks, nodes, lambda chunk: linear(_rows(x, chunk), weight, 0.0, None))

    def encode(values: Tensor, part: Graph) -> Tensor:
        return model.encode(cast(Any, Mapped(values)), part)

    if model.reads_hops:
        # A product with Â keeps nothing of its entries, and gathering neighbours would take far longer.
        return encode(mapped, graph)
    return _joined(chunks, nodes, lambda chunk: _with_neighbours(encode, mapped, graph, chunk))


def _decode(model: Backbone, hidden: Tensor, graph: Graph, chunks: list[Chunk]) -> Tensor:
    if model.decode_hops == 0:
        return _joined(chunks, graph.num_nodes, lambda chunk: model.decode(hidden[:, slice(*chunk)], graph))
    if model.decode_hops is None or model.reads_hops:
        return model.decode(hidden, graph)
    return _joined(chunks, graph.num_nodes, lambda chunk: _with_neighbours(model.decode, hidden, graph, chunk))


def _with_neighbours(layer: Callable[[Tensor, Graph], Tensor], values: Tensor, graph: Graph, chunk: Chunk) -> Tensor:
    """Apply a layer to a chunk's nodes, given values `[trials, nodes, width]` of all nodes."""
    nodes, adjacency = torch.arange(*chunk, device=values.device), graph.derived(Adjacency.of)
    part = surroundings(adjacency, nodes)
    if part.edges.num_edges == 0:
        # A layer takes a graph without edges for the null graph, so a node that has neighbours is added.
        joined = (adjacency.crow.diff() > 0).nonzero()[:1, 0]
        part = surroundings(adjacency, torch.cat([nodes, joined]))
    own = part.of(graph, x=values.new_empty(len(part.nodes), 0))
    return layer(values[:, part.nodes], own)[:, part.places(nodes)]


def _without_edges(graph: Graph, chunk: Chunk) -> Graph:
    """Return the nodes of a chunk as a graph without edges, and without features of its own."""
    y = graph.y[slice(*chunk)]
    none = torch.empty(len(y), 0, device=y.device)
    return replace(graph, x=none, structure=Edges.none(len(y), y.device), y=y)


def _joined(chunks: list[Chunk], nodes: int, compute: Callable[[Chunk], Tensor]) -> Tensor:
    """Compute chunk by chunk `[trials, nodes of the chunk, width]`; put them together: `[trials, nodes, width]`."""
    whole: Tensor | None = None
    for first, last in chunks:
        values = compute((first, last))
        if whole is None:
            whole = values.new_empty(values.shape[0], nodes, values.shape[2])
        whole[:, first:last] = values
    assert whole is not None, "a graph has nodes"
    return whole


def _rows(x: SparseMatrix | Tensor, chunk: Chunk) -> SparseMatrix | Tensor:
    return x[slice(*chunk)] if isinstance(x, Tensor) else rows_of(x, torch.arange(*chunk, device=x.crow.device))
