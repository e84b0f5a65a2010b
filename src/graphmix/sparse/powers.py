"""Weighted sums of powers of a sparse matrix, with a weight per power and trial."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.sparse.ops import matmul, native_ops


def sum_of_powers(matrix: SparseMatrix | Chain, weights: Tensor, dense: Tensor) -> Tensor:
    """Compute Σₖ γₖ Mᵏ Z, k = 0 … K, by K products.

    Gradients flow into the weights and the operand. Only the operand is kept for them, not the K products: with
    Gₖ = (Mᵀ)ᵏ G, the gradient of γₖ is ⟨Gₖ, Z⟩ and that of Z is Σₖ γₖ Gₖ. On a CPU `numba_ops` takes all powers of some
    columns in turn if numba is installed.

    Args:
        matrix: M `[nodes, nodes]`; constant, no gradient flows into it.
        weights: γ `[trials, powers]`.
        dense: Z `[trials, nodes, width]`.

    Returns:
        `[trials, nodes, width]`.
    """
    result: Tensor = _SumOfPowers.apply(weights, dense, matrix)
    return result


class _SumOfPowers(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, dense: Tensor, matrix: SparseMatrix | Chain) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(weights, dense if ctx.needs_input_grad[0] else None)
        return _sum(matrix, weights, dense)[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, None]:
        weights, dense = ctx.saved_tensors
        total, products = _sum(ctx.matrix.transposed, weights, grad, dense)
        return products, total, None


def _sum(
    matrix: SparseMatrix | Chain, weights: Tensor, dense: Tensor, other: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return Σₖ γₖ Mᵏ Z and, if another operand is given, its inner product with every power: `[trials, powers]`."""
    if isinstance(matrix, SparseMatrix) and (fast := native_ops(matrix, dense)) is not None:
        result: tuple[Tensor, Tensor | None] = fast.sum_of_powers(matrix, weights, dense, other)
        return result
    trials, nodes, width = dense.shape
    # On a CPU the trials stand side by side: each entry of the matrix is read once for all of them, which halves the
    # time of large graphs. On CUDA the kernel does that by itself.
    fold, unfold = (_beside, _apart) if not dense.is_cuda else (_same, _same)
    power, products = fold(dense, trials), []
    total, against = torch.zeros_like(power), None if other is None else fold(other, trials)
    for hop, weight in enumerate(weights.unbind(1)):
        power = power if hop == 0 else matmul(matrix, power)
        total.addcmul_(power, fold(weight[:, None, None].expand(-1, 1, width), trials))
        if against is not None:
            # A trial's entries are brought together first: then its sum does not depend on the other trials.
            products.append(unfold(power * against, trials).reshape(trials, nodes * width).sum(dim=1))
    return unfold(total, trials).contiguous(), torch.stack(products, dim=1) if products else None


def _beside(values: Tensor, trials: int) -> Tensor:
    """`[trials, rows, width]` to `[1, rows, trials * width]`."""
    return values.transpose(0, 1).flatten(1)[None]


def _apart(values: Tensor, trials: int) -> Tensor:
    """`[1, rows, trials * width]` to `[trials, rows, width]`."""
    return values[0].view(values.shape[1], trials, -1).transpose(0, 1)


def _same(values: Tensor, trials: int) -> Tensor:
    return values
