"""Attention over a graph's edges with a trial axis: the contract, and its plain-torch backend.

Attention (Veličković et al., 2018) weighs node i's neighbours by a softmax, head by head:

    z_ij = t_i + s_j,    α_ij = softmax over j of LeakyReLU(z_ij),    out_i = Σ_j d_ij α_ij v_j,

where d_ij is 0 if dropout removed the edge, and a constant above 1 otherwise. With p_ij = exp(LeakyReLU(z_ij) - max),
c_ij the slope of LeakyReLU at z_ij, g the gradient of out and D_i = <g_i, out_i>, the gradients are

    v_j: Σ_i d_ij α_ij g_i,    t_i: Σ_j α_ij c_ij (d_ij <g_i, v_j> - D_i),    s_j: the same, summed over i.

The inner products move out of the sums, Σ_j w_ij <g_i, v_j> = <g_i, Σ_j w_ij v_j>. So forward and backward passes are
the same few products of a sparse matrix, with new values every time, and a dense operand. As in `ops`, each product is
an `embedding_bag`, which sums every row in order. On CUDA `triton_attention` implements the same contract if Triton is
installed.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.errors import ConfigError
from graphmix.sparse.matrix import MOST_NONZEROS, SparseMatrix
from graphmix.sparse.ops import _bag, unpack
from graphmix.streams import Keep

try:
    from graphmix.sparse import triton_attention
except ImportError:  # Triton ships with CUDA builds of torch only
    triton_attention = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Who attends to whom.

    Attributes:
        matrix: `[nodes, nodes]`; node i attends to the columns of the non-zeros in row i, whatever their values. No row
            is empty.
    """

    matrix: SparseMatrix
    _per_head: dict[int, "_PerHead"] = field(default_factory=dict, init=False, repr=False)

    def per_head(self, heads: int) -> "_PerHead":
        """Return the edges with every node split into one node per head; computed once."""
        if heads not in self._per_head:
            self._per_head[heads] = _PerHead.of(self.matrix, heads)
        return self._per_head[heads]


def attend(
    neighbours: Neighbours, source: Tensor, target: Tensor, values: Tensor, slope: float, keep: Keep | None = None
) -> Tensor:
    """Let every node average its neighbours' values, weighted by attention, head by head.

    Args:
        neighbours: who attends to whom.
        source: `[blocks, nodes, heads]`, what a node adds to the scores it receives (s).
        target: `[blocks, nodes, heads]`, what a node adds to the scores it gives (t).
        values: `[blocks, nodes, heads, width]`.
        slope: of LeakyReLU below zero, from 0 to 1.
        keep: which weights dropout keeps; None without dropout. Bit `e * heads + h` is for head h and the non-zero e.

    Returns:
        `[blocks, nodes, heads, width]`.

    Raises:
        ConfigError: all heads together have more than `MOST_NONZEROS` edges.
    """
    _check_size(neighbours.matrix.nonzeros, values.shape[2])
    words, scale = (None, 1.0) if keep is None else (keep.words, keep.scale)
    if has_kernels() and values.is_cuda:
        fused: Tensor = triton_attention.Attend.apply(source, target, values, neighbours.matrix, slope, words, scale)
        return fused
    # A node with several heads becomes several nodes with one head each. The code below knows no heads.
    single = neighbours.per_head(values.shape[2])
    flat = source.flatten(1), target.flatten(1), values.flatten(1, 2)
    attended: Tensor = _Attend.apply(*flat, single, slope, words, scale)
    return attended.view(values.shape)


def _check_size(nonzeros: int, heads: int) -> None:
    # Every head has a dropout bit for every edge, and positions of bits are int32.
    if nonzeros * heads > MOST_NONZEROS:
        raise ConfigError(
            f"{heads} attention heads over {nonzeros:,} edges and self-loops are {nonzeros * heads:,} weights; at most "
            f"{MOST_NONZEROS:,} are supported: use fewer `heads`"
        )


def has_kernels() -> bool:
    """Whether the CUDA kernels of `triton_attention` are available."""
    return triton_attention is not None


class _PerHead(NamedTuple):
    """The edges of each head.

    Attributes:
        matrix: `[nodes * heads, nodes * heads]`, the Kronecker product with the identity; its values are not used.
        row: int32 `[edges]`, the row of each non-zero.
        bit: int32 `[edges]`, its dropout bit.
    """

    matrix: SparseMatrix
    row: Tensor
    bit: Tensor

    @classmethod
    def of(cls, matrix: SparseMatrix, heads: int) -> "_PerHead":
        csr = matrix.to_scipy()
        # Counted from 1, because a Kronecker product may drop zeros.
        first = sp.csr_array((np.arange(1, csr.nnz + 1), csr.indices, csr.indptr), csr.shape)
        spread = sp.csr_array(sp.kron(first, sp.eye_array(heads, dtype=np.int64), format="csr"))
        spread.sort_indices()
        row = np.repeat(np.arange(spread.shape[0]), np.diff(spread.indptr))
        bit = (spread.data - 1) * heads + row % heads
        device = matrix.values.device
        return cls(
            SparseMatrix.from_scipy(spread).to(device),
            torch.from_numpy(row.astype(np.int32)).to(device),
            torch.from_numpy(bit.astype(np.int32)).to(device),
        )


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        values: Tensor,
        edges: _PerHead,
        slope: float,
        words: Tensor | None,
        scale: float,
    ) -> Tensor:
        matrix = edges.matrix
        found = source.index_select(1, matrix.col)
        # LeakyReLU never decreases: the largest score is that of the largest source.
        largest = F.leaky_relu(target + _reduce(matrix, found, "max"), slope)
        score = found.add_(target.index_select(1, edges.row))
        weight = F.leaky_relu(score, slope).sub_(largest.index_select(1, edges.row)).exp_()
        weight = weight.mul_(_reduce(matrix, weight, "sum").reciprocal_().index_select(1, edges.row))
        factor = None if words is None else unpack(words, matrix.nonzeros).index_select(1, edges.bit).mul_(scale)
        kept = weight if factor is None else weight * factor
        out = _bag(matrix, kept, values)
        if any(ctx.needs_input_grad):
            slanted = torch.ops.aten.leaky_relu_backward(weight, score, slope, False)
            kept_slanted = slanted if factor is None else slanted * factor
            ctx.matrix = matrix
            ctx.save_for_backward(values, out, kept, slanted, kept_slanted)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        values, out, kept, slanted, kept_slanted = ctx.saved_tensors
        matrix, back, origin = ctx.matrix, ctx.matrix.transposed, ctx.matrix.origin
        shared = (grad * out).sum(-1)
        to_target = (grad * _bag(matrix, kept_slanted, values)).sum(-1) - shared * _reduce(matrix, slanted, "sum")
        to_source = (values * _bag(back, kept_slanted.index_select(1, origin), grad)).sum(-1)
        to_source -= _bag(back, slanted.index_select(1, origin), shared[..., None])[..., 0]
        to_values = _bag(back, kept.index_select(1, origin), grad)
        return to_source, to_target, to_values, None, None, None, None


def _reduce(matrix: SparseMatrix, values: Tensor, how: str) -> Tensor:
    """Reduce values of the non-zeros `[blocks, nonzeros]` row by row: `[blocks, rows]`."""
    crow = matrix.tiled(values.shape[0]).crow
    reduced: Tensor = torch.segment_reduce(values.view(-1), how, offsets=crow, unsafe=True)
    return reduced.view(values.shape[0], matrix.shape[0])
