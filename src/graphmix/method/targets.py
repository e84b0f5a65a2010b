"""Targets for unlabeled nodes (Appendix "Accurate Target Prediction")."""

import torch
from torch import Tensor

from graphmix.method.softmax import softmax


def align(probabilities: Tensor, weight: Tensor, shares: Tensor, strength: float) -> Tensor:
    """Move mean predictions towards given class shares: p_c (s_c / p̄_c)^a, normalised (Berthelot et al., 2020, a = 1).

    Without it the class that the network predicts most grows at the cost of the others, step by step.

    Args:
        probabilities: p `[trials, nodes, classes]`, rows sum to 1.
        weight: `[trials or 1, nodes]`, the nodes' weights in the mean p̄; rows sum to 1.
        shares: s `[trials or 1, classes]`, rows sum to 1.
        strength: a, from 0, which changes nothing, to 1.

    Returns:
        `[trials, nodes, classes]`, rows sum to 1.
    """
    tiny = torch.finfo(probabilities.dtype).tiny
    mean = (probabilities * weight[..., None]).sum(dim=-2)
    # Through logarithms, so that a row whose classes all have a share of 0 does not become 0 / 0.
    factor = shares.clamp_min(tiny).log() - mean.clamp_min(tiny).log()
    return softmax(probabilities.clamp_min(tiny).log() + strength * factor[..., None, :])


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
