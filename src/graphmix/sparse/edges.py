"""Edges whose weights are learned, trial by trial and head by head: sums over neighbours, and comparisons along edges.

With weights w of the edges and values v of the nodes, for every head,

    weigh: out_i = Σ_j w_ij v_j,    compare: c_ij = ⟨l_i, r_j⟩,    at_edges: e_ij = t_i + s_j.

The first two are each other's gradients. As in `ops`, every sum over edges is an `embedding_bag`, which adds a row's
entries in order, on a CPU and on CUDA: a trial's result does not depend on the batch or on the number of threads.
"""

from typing import Any

import torch
from torch import Tensor

from graphmix.sparse.attention import Neighbours, _check_size, _reduce
from graphmix.sparse.matrix import SparseMatrix
from graphmix.sparse.ops import _SUM, _bag, unpack
from graphmix.sparse.rows import taken
from graphmix.streams import Keep


def weigh(neighbours: Neighbours, weights: Tensor, values: Tensor) -> Tensor:
    """Add up the neighbours' values, each times the weight of its edge, head by head.

    Args:
        neighbours: who is whose neighbour; a row may be empty.
        weights: `[blocks, edges, heads]`, in the order of the non-zeros.
        values: `[blocks, nodes, heads, width]`.

    Returns:
        `[blocks, nodes, heads, width]`.
    """
    _check_size(neighbours.matrix.nonzeros, weights.shape[2])
    result: Tensor = _Weigh.apply(weights, values, neighbours)
    return result


def compare(neighbours: Neighbours, left: Tensor, right: Tensor) -> Tensor:
    """Multiply the vectors at both ends of every edge, head by head.

    Args:
        neighbours: who is whose neighbour.
        left: `[blocks, nodes, heads, width]`, of the node whose neighbours are summed.
        right: `[blocks, nodes, heads, width]`, of the neighbour.

    Returns:
        `[blocks, edges, heads]`.
    """
    _check_size(neighbours.matrix.nonzeros, left.shape[2])
    result: Tensor = _Compare.apply(left, right, neighbours)
    return result


def at_edges(neighbours: Neighbours, target: Tensor, source: Tensor) -> Tensor:
    """Add what the two ends of an edge bring to it: from `[blocks, nodes, width]` twice, `[blocks, edges, width]`."""
    result: Tensor = _AtEdges.apply(target, source, neighbours)
    return result


def attend_by(neighbours: Neighbours, scores: Tensor, values: Tensor, keep: Keep | None = None) -> Tensor:
    """Let every node average its neighbours' values, weighted by the softmax of given scores, head by head.

    Args:
        neighbours: who attends to whom; no row is empty.
        scores: `[blocks, edges, heads]`.
        values: `[blocks, nodes, heads, width]`.
        keep: which weights dropout keeps; None without dropout. Bit `e * heads + h` is for head h and the non-zero e.

    Returns:
        `[blocks, nodes, heads, width]`.
    """
    heads = scores.shape[2]
    single = neighbours.per_head(heads)
    largest = _reduce(single.matrix, scores.detach().flatten(1).index_select(1, single.bit), "max")
    row = neighbours.per_head(1).row
    weights = (scores - taken(largest.unflatten(1, (-1, heads)), row)).exp()
    total = weigh(neighbours, weights, torch.ones_like(values[..., :1]))
    if keep is not None:
        weights = weights * (unpack(keep.words, weights[0].numel()) * keep.scale).view(weights.shape)
    return weigh(neighbours, weights, values) / total


class _Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, neighbours: Neighbours) -> Tensor:
        ctx.neighbours = neighbours
        ctx.save_for_backward(weights, values)
        return _sum(neighbours, weights, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        weights, values = ctx.saved_tensors
        to_weights = _dots(ctx.neighbours, grad, values) if ctx.needs_input_grad[0] else None
        to_values = _sum_back(ctx.neighbours, weights, grad) if ctx.needs_input_grad[1] else None
        return to_weights, to_values, None


class _Compare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, neighbours: Neighbours) -> Tensor:
        ctx.neighbours = neighbours
        ctx.save_for_backward(left, right)
        return _dots(neighbours, left, right)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        left, right = ctx.saved_tensors
        return _sum(ctx.neighbours, grad, right), _sum_back(ctx.neighbours, grad, left), None


class _AtEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, target: Tensor, source: Tensor, neighbours: Neighbours) -> Tensor:
        ctx.neighbours = neighbours
        row = neighbours.per_head(1).row
        return taken(source, neighbours.matrix.col).add_(taken(target, row))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        matrix: SparseMatrix = ctx.neighbours.matrix
        return _ends(matrix, grad), _ends(matrix.transposed, taken(grad, matrix.origin)), None


def _sum(neighbours: Neighbours, weights: Tensor, values: Tensor) -> Tensor:
    """Σ_j w_ij v_j, where a node with several heads becomes several nodes with one head each."""
    single = neighbours.per_head(values.shape[2])
    spread = weights.flatten(1).index_select(1, single.bit)
    return _bag(single.matrix, spread, values.flatten(1, 2)).view(values.shape)


def _sum_back(neighbours: Neighbours, weights: Tensor, values: Tensor) -> Tensor:
    """Σ_i w_ij v_i, the same with the transpose."""
    single = neighbours.per_head(values.shape[2])
    spread = weights.flatten(1).index_select(1, single.bit.index_select(0, single.matrix.origin))
    return _bag(single.matrix.transposed, spread, values.flatten(1, 2)).view(values.shape)


def _dots(neighbours: Neighbours, left: Tensor, right: Tensor) -> Tensor:
    row, col = neighbours.per_head(1).row, neighbours.matrix.col
    return (taken(left, row) * taken(right, col)).sum(-1)


def _ends(matrix: SparseMatrix, values: Tensor) -> Tensor:
    """Add up values of the non-zeros `[blocks, nonzeros, width]` row by row: `[blocks, rows, width]`."""
    blocks, nonzeros, width = values.shape
    crow = matrix.tiled(blocks).crow
    place = torch.arange(blocks * nonzeros, device=values.device, dtype=torch.int32)
    operand = values.reshape(blocks * nonzeros, width)
    summed = torch.embedding_bag(operand, place, crow, mode=_SUM, include_last_offset=True)[0]
    return summed.view(blocks, matrix.shape[0], width)
