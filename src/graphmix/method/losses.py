"""Losses: one number per trial."""

from collections.abc import Callable

import torch
from torch import Tensor

from graphmix.method.softmax import log_softmax

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def cross_entropy(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Soft cross-entropy ℓ(p, y) = -Σ_c y_c log p_c.

    Args:
        logits: `[trials, nodes, classes]`.
        targets: `[trials or 1, nodes, classes]`, rows sum to 1 unless classes are weighted.
        weight: `[trials or 1, nodes]`, the nodes' weights; rows sum to 1.

    Returns:
        `[trials]`.
    """
    return -(log_softmax(logits) * targets * weight[..., None]).sum(dim=(1, 2))


def label_loss(logits: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Cross-entropy -log p_y where labels are classes, not distributions: `[trials]`.

    Args:
        logits: `[trials, nodes, classes]`.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 must have weight 0.
        weight: `[trials or 1, nodes]`, the nodes' weights.
    """
    wanted = labels.clamp_min(0).expand(logits.shape[0], -1)[..., None]
    return -(log_softmax(logits).gather(2, wanted)[..., 0] * weight).sum(dim=1)


def binary_cross_entropy(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Binary cross-entropy on softmax outputs, averaged over nodes and classes, as in the authors' released code.

    Same arguments and result as `cross_entropy`.
    """
    log_yes = log_softmax(logits)
    # 1 - p is exactly 0 where a softmax saturates; the bound keeps its logarithm finite there.
    log_no = (1 - log_yes.exp()).clamp_min(torch.finfo(logits.dtype).tiny).log()
    entropy = targets * log_yes + (1 - targets) * log_no
    return -(entropy.mean(dim=2) * weight).sum(dim=1)


LOSSES: dict[str, Loss] = {
    "cross-entropy": cross_entropy,
    "binary-cross-entropy": binary_cross_entropy,
}
