"""Weighted sums of powers of a sparse matrix, with a weight per power and trial."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.sparse.ops import matmul


def sum_of_powers(matrix: SparseMatrix | Chain, weights: Tensor, dense: Tensor) -> Tensor:
    """Compute Σₖ γₖ Mᵏ Z, k = 0 … K, by K products.

    Gradients flow into the weights and the operand. Only the operand is kept for them, not the K products: with
    Gₖ = (Mᵀ)ᵏ G, the gradient of γₖ is ⟨Gₖ, Z⟩ and that of Z is Σₖ γₖ Gₖ.

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
        ctx.save_for_backward(weights, dense)
        return _weighted(matrix, weights, dense)[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        weights, dense = ctx.saved_tensors
        total, products = _weighted(ctx.matrix.transposed, weights, grad, dense)
        return torch.stack(products, dim=1), total, None


def _weighted(
    matrix: SparseMatrix | Chain, weights: Tensor, dense: Tensor, other: Tensor | None = None
) -> tuple[Tensor, list[Tensor]]:
    """Return Σₖ γₖ Mᵏ Z and, if another operand is given, its inner product `[trials]` with every power."""
    products = []
    total = torch.zeros_like(dense)
    for power, weight in enumerate(weights.unbind(1)):
        dense = dense if power == 0 else matmul(matrix, dense)
        total.addcmul_(dense, weight[:, None, None])
        if other is not None:
            products.append((dense * other).flatten(1).sum(dim=1))
    return total, products
