"""Activations that give every trial the same bits at any place of a batch."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


def elu(values: Tensor) -> Tensor:
    """Compute ELU: v above 0, exp(v) - 1 below."""
    out: Tensor = _ELU.apply(values)
    return out


class _ELU(torch.autograd.Function):
    # On a CPU torch's ELU rounds differently at the end of a tensor, where less than a full vector is left. A trial's
    # result would depend on its place in the batch.
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        if values.is_cuda:
            out = F.elu(values)
        else:
            below = values.clamp(max=0).expm1_()
            out = torch.maximum(values, below, out=below)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (out,) = ctx.saved_tensors
        slanted: Tensor = torch.ops.aten.elu_backward(grad, 1.0, 1.0, 1.0, True, out)
        return slanted
