"""Graphs coarsened by gated top-k pooling (Gao and Ji, 2019), differently in each trial, with all nodes kept in place.

Let P₀ = A + I, and P_l the matrix of a coarser graph with ones on its diagonal. Pooling keeps some nodes and joins
those that paths of up to two steps connect: off the diagonal, P_(l+1) is P_l² between the kept nodes. Nodes are masked,
never gathered. P₀ is the only matrix and is shared by all trials. P_(l+1) is an operator
(docs/design/0007-pooling-on-the-trial-axis.md):

    P_(l+1) v = m ⊙ (P_l P_l v - r_l ⊙ v),    r_l = diag(P_l²) - 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.errors import ConfigError
from graphmix.models.backbone import GraphLike
from graphmix.sparse import SparseMatrix, matmul


@dataclass(frozen=True, eq=False)
class Finest:
    """The graph before any pooling: shared by all trials.

    Attributes:
        loops: A + I `[nodes, nodes]`.
        propagation: D^-1/2 (A + 2I) D^-1/2, D the degrees of A + 2I: every node counts itself twice.
        returns: r₀ `[1, nodes, 1]`: how many neighbours each node has.
    """

    loops: SparseMatrix
    propagation: SparseMatrix
    returns: Tensor

    def walk(self, values: Tensor) -> Tensor:
        """Compute P₀ times values `[trials, nodes, width]`."""
        return matmul(self.loops, values)

    def aggregate(self, values: Tensor) -> Tensor:
        """Propagate values `[trials, nodes, width]` along the edges."""
        return _symmetric(lambda operand: matmul(self.propagation, operand), values)

    def pool(self, scores: Tensor, count: int) -> "Pooled":
        """Keep each trial's `count` nodes of highest score `[trials, nodes]`."""
        return Pooled(self, self.returns, choose(scores, count))

    def turned(self) -> "Finest":
        """The same graph: it does not depend on trials."""
        return self

    @cached_property
    def squares(self) -> SparseMatrix:
        """P₀² without its diagonal, every entry squared."""
        loops = self.loops.to_scipy()
        paths = sp.coo_array(loops @ loops)
        off = paths.row != paths.col
        entries = (paths.data[off].astype(np.float64) ** 2, (paths.row[off], paths.col[off]))
        return SparseMatrix.from_scipy(sp.coo_array(entries, shape=paths.shape)).to(self.returns.device)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The graph between the nodes that each trial kept; values of other nodes are 0.

    Attributes:
        finer: the graph that was pooled.
        returns: r of the finer graph, `[trials or 1, nodes, 1]`.
        mask: float32 `[trials, nodes, 1]`, 1 for kept nodes, else 0.
    """

    finer: "Finest | Pooled"
    returns: Tensor
    mask: Tensor

    def walk(self, values: Tensor) -> Tensor:
        """Compute P times values `[trials, nodes, width]` that are 0 at dropped nodes; no gradient."""
        twice = self.finer.walk(self.finer.walk(values))
        return twice.addcmul_(self.returns, values, value=-1).mul_(self.mask)

    def aggregate(self, values: Tensor) -> Tensor:
        """Propagate values `[trials, nodes, width]` along the edges; every node counts itself twice."""
        return _symmetric(self._aggregate, values)

    def pool(self, scores: Tensor, count: int) -> "Pooled":
        """Keep each trial's `count` nodes of highest score `[trials, nodes]` among those still there.

        A product with one shared matrix of squares gives r for every choice of nodes. After a second pooling the
        entries themselves depend on the choice, and no such product exists.
        """
        if not isinstance(self.finer, Finest):
            raise ConfigError("a graph can be pooled at most twice; give one or two `pool_ratios`")
        returns = _turn(matmul(self.finer.squares, _turn(self.mask)))
        there = self.mask.squeeze(2) > 0
        return Pooled(self, returns, choose(scores.masked_fill(~there, -torch.inf), count))

    def turned(self) -> "Pooled":
        """The same graph for values `[1, nodes, trials]`."""
        return Pooled(self.finer.turned(), _turn(self.returns), _turn(self.mask))

    @cached_property
    def scale(self) -> Tensor:
        """1/sqrt(degree + 2) of kept nodes, 0 of others: `[trials, nodes, 1]`."""
        # The trials are the columns of one operand: one pass over the matrix serves all of them.
        turned = self.turned()
        return self.mask * _turn(turned.walk(turned.mask) + 1).rsqrt()

    def _aggregate(self, values: Tensor) -> Tensor:
        scaled = values * self.scale
        return self.walk(scaled).add_(scaled).mul_(self.scale)


def finest(graph: GraphLike) -> Finest | None:
    """Return what pooling needs to know of a graph; None on the null graph, where no node has a neighbour."""
    if graph.propagation is None:
        return None
    nodes = graph.propagation.shape[0]
    row, col = graph.edge_index.cpu().numpy()
    own = sp.eye_array(nodes)
    loops = sp.csr_array((np.ones(row.size), (row, col)), shape=(nodes, nodes)) + own
    degrees = loops.sum(axis=1) - 1
    # Float64 until the end, as in the GCN's matrix.
    scale = sp.diags_array((degrees + 2) ** -0.5)
    device = graph.edge_index.device
    return Finest(
        SparseMatrix.from_scipy(loops).to(device),
        SparseMatrix.from_scipy(scale @ (loops + own) @ scale).to(device),
        torch.from_numpy(degrees.astype(np.float32)).view(1, nodes, 1).to(device),
    )


def choose(scores: Tensor, count: int) -> Tensor:
    """Mark each trial's `count` nodes of highest score: `[trials, nodes]` to float32 `[trials, nodes, 1]`.

    Nodes whose score equals the last one kept are kept as well, so that nothing depends on how the nodes are numbered.
    """
    last = scores.topk(count, dim=1, sorted=False).values.amin(dim=1, keepdim=True)
    return (scores >= last).to(scores.dtype).unsqueeze(2)


def _turn(values: Tensor) -> Tensor:
    """Turn `[trials, nodes, 1]` into `[1, nodes, trials]`, and back."""
    return values.permute(2, 1, 0).contiguous()


def _symmetric(function: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """Apply a symmetric linear function. It is its own gradient, so nothing is kept for the backward pass."""
    result: Tensor = _Symmetric.apply(values, function)
    return result


class _Symmetric(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        ctx.function = function
        return function(values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.function(grad), None
