"""Rows of each trial's dense tensor: picked, and mixed with one another."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from graphmix.method import mix
from graphmix.sparse.ops import _use_triton

try:
    from graphmix.sparse import triton_rows
except ImportError:  # Triton ships with CUDA builds of torch only
    triton_rows = None  # type: ignore[assignment]


def rows(dense: Tensor, index: Tensor) -> Tensor:
    """Pick rows, per trial; a row may be picked several times.

    Args:
        dense: `[trials, nodes, width]`.
        index: int64 `[trials, picks]`.

    Returns:
        `[trials, picks, width]`.
    """
    picked: Tensor = _Rows.apply(dense, index, _sum_rows)
    return picked


def distinct_rows(dense: Tensor, index: Tensor) -> Tensor:
    """Pick rows like `rows`, each at most once in a trial: the gradient is then a copy, which is cheaper than a sum."""
    picked: Tensor = _Rows.apply(dense, index, _place_rows)
    return picked


def mixed_rows(values: Tensor, partner: Tensor, lam: Tensor) -> Tensor:
    """Mix every row with another one of its trial: λ a + (1 - λ) b.

    Args:
        values: `[trials, rows, width]`.
        partner: int64 `[trials, rows]`, which row each is mixed with; every row once.
        lam: λ `[trials, rows or 1]`.

    Returns:
        `[trials, rows, width]`.
    """
    if _use_triton(values):
        mixed: Tensor = triton_rows.MixRows.apply(values, partner, lam)
        return mixed
    return mix(values, distinct_rows(values, partner), lam)


def taken(values: Tensor, index: Tensor) -> Tensor:
    """Pick the same rows for all trials, without a gradient: `[trials, nodes, …]` by int32 or int64 `[picks]`."""
    if not _use_triton(values):
        return values.index_select(1, index)
    picked: Tensor = triton_rows.pick(values.flatten(2), index.expand(len(values), -1))
    return picked.view(len(values), len(index), *values.shape[2:])


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, index: Tensor, collect: Callable[[Tensor, Tensor, int], Tensor]) -> Tensor:
        ctx.save_for_backward(index)
        ctx.nodes, ctx.collect = dense.shape[1], collect
        if _use_triton(dense):
            return triton_rows.pick(dense, index)
        picked = dense.reshape(-1, dense.shape[2]).index_select(0, _flat(index, dense.shape[1]))
        return picked.view(*index.shape, dense.shape[2])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        return ctx.collect(grad, index, ctx.nodes), None, None


def _flat(index: Tensor, nodes: int) -> Tensor:
    """Positions in `[trials * nodes]` of picks int64 `[trials, picks]`."""
    offset = torch.arange(0, index.shape[0] * nodes, nodes, device=index.device)[:, None]
    return (index + offset).view(-1)


def _place_rows(grad: Tensor, index: Tensor, nodes: int) -> Tensor:
    """Put gradients `[trials, picks, width]` of distinct rows where they belong: `[trials, nodes, width]`."""
    if _use_triton(grad):
        return triton_rows.place(grad, index, nodes)
    placed = grad.new_zeros(grad.shape[0] * nodes, grad.shape[2])
    return placed.index_copy_(0, _flat(index, nodes), grad.reshape(-1, grad.shape[2])).view(grad.shape[0], nodes, -1)


def _sum_rows(grad: Tensor, index: Tensor, nodes: int) -> Tensor:
    """The same where a row may have been picked several times: its gradients are summed."""
    trials, _, width = grad.shape
    place, grad = _flat(index, nodes), grad.reshape(-1, width)
    if not grad.is_cuda:
        return grad.new_zeros(trials * nodes, width).index_add_(0, place, grad).view(trials, nodes, width)
    # Threads add in any order, which changes how sums of floats round but not sums of integers. The scale allows
    # gradients up to 2^19, far beyond those of a mean loss, and rounds at 6e-14.
    finite = grad.isfinite()
    whole = (grad.where(finite, 0) * 2.0**44).round().long()
    summed = torch.zeros(trials * nodes, width, device=grad.device, dtype=torch.int64).index_add_(0, place, whole)
    # A gradient that is not finite makes its sum NaN.
    wrong = torch.zeros_like(grad).where(finite, torch.nan)
    return (summed.to(grad.dtype) * 2.0**-44).index_add_(0, place, wrong).view(trials, nodes, width)
