"""How good predictions are: one number per trial."""

import torch
from torch import Tensor


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of nodes whose largest logit is the label's, the first of equals: `[trials]`, NaN without nodes.

    Args:
        logits: `[trials, nodes, classes]`.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 do not count.
    """
    # Counted in whole numbers: epochs that are right on as many nodes tie exactly.
    return (logits.argmax(dim=2) == labels).sum(dim=1) / (labels >= 0).sum(dim=1)


def f1(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    """F1 = 2 TP / (2 TP + FP + FN) of every class; NaN for one that is neither a label nor predicted.

    Its mean over the classes, NaN left out, is the macro F1.

    Args:
        predicted: int64 `[trials, nodes]`.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 do not count.
        classes: how many classes there are.

    Returns:
        `[trials, classes]`.

    Example:
        >>> f1(torch.tensor([[0, 0, 1, 1]]), torch.tensor([[0, 1, 1, 1]]), classes=2)
        tensor([[0.6667, 0.8000]])
    """
    each = torch.arange(classes, device=predicted.device)
    wanted = labels[..., None] == each
    said = (predicted[..., None] == each) & (labels >= 0)[..., None]
    return 2 * (said & wanted).sum(dim=1) / (said.sum(dim=1) + wanted.sum(dim=1))
