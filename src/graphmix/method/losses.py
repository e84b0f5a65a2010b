"""Losses and accuracy: one number per trial."""

from collections.abc import Callable

import torch
from torch import Tensor

from graphmix.method.softmax import log_softmax

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def cross_entropy(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Soft cross-entropy ℓ(p, y) = -Σ_c y_c log p_c.

    Args:
        logits: `[trials, nodes, classes]`.
        targets: `[trials or 1, nodes, classes]`, rows sum to 1.
        weight: `[trials or 1, nodes]`, what each node counts; rows sum to 1.

    Returns:
        `[trials]`.
    """
    return -(log_softmax(logits) * targets * weight[..., None]).sum(dim=(1, 2))


def binary_cross_entropy(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """Binary cross-entropy on softmax outputs, averaged over nodes and classes, as in the authors' released code.

    Same arguments and result as `cross_entropy`.
    """
    log_yes = log_softmax(logits)
    # 1 - p is exactly 0 where a softmax saturates; the bound keeps its logarithm finite there.
    log_no = (1 - log_yes.exp()).clamp_min(torch.finfo(logits.dtype).tiny).log()
    entropy = targets * log_yes + (1 - targets) * log_no
    return -(entropy.mean(dim=2) * weight).sum(dim=1)


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of nodes whose largest logit is the label's, the first of equals: `[trials]`, NaN without nodes.

    Args:
        logits: `[trials, nodes, classes]`.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 do not count.
    """
    # Counted in whole numbers: epochs that are right on as many nodes tie exactly.
    return (logits.argmax(dim=2) == labels).sum(dim=1) / (labels >= 0).sum(dim=1)


LOSSES: dict[str, Loss] = {
    "cross-entropy": cross_entropy,
    "binary-cross-entropy": binary_cross_entropy,
}
