"""Targets for unlabeled nodes (Appendix "Accurate Target Prediction")."""

import torch
from torch import Tensor

from graphmix.method.softmax import softmax


def sharpen(probabilities: Tensor, temperature: float) -> Tensor:
    """Sharpen: pᵢ^(1/T) / Σⱼ pⱼ^(1/T) (Eq. 9), through logarithms so that p^10 does not underflow.

    Args:
        probabilities: `[..., nodes, classes]`, rows sum to 1.
        temperature: above 0; 1 changes nothing, towards 0 the largest class gets everything.

    Returns:
        `[..., nodes, classes]`, rows sum to 1; the classes keep their order.
    """
    logs = probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log()
    # Relative to the largest logarithm, so that this one stays 0 at every temperature.
    return softmax((logs - logs.amax(dim=-1, keepdim=True)) / temperature)
