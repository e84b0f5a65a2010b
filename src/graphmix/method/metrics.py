"""How good predictions are: one number per trial."""

import torch
from torch import Tensor


def accuracy(logits: Tensor, labels: Tensor) -> Tensor:
    """Share of nodes whose largest logit (the first of equal ones) is the label's: `[trials]`, NaN without nodes.

    Args:
        logits: `[trials, nodes, classes]`.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 do not count.
    """
    # Counts are integers, so epochs with the same number of correct nodes tie exactly.
    return (logits.argmax(dim=2) == labels).sum(dim=1) / (labels >= 0).sum(dim=1)


def confusion(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Count nodes by label and by predicted class: int64 `[trials, classes, classes]`, labels first.

    Args:
        predicted: int64 `[trials, nodes]`.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 do not count.
        classes: how many classes there are.

    Example:
        >>> confusion(torch.tensor([[0, 0, 1, 1]]), torch.tensor([[0, 1, 1, -1]]), classes=2).tolist()
        [[[1, 0], [1, 1]]]
    """
    trials = predicted.shape[0]
    labels = labels.expand(trials, -1)
    trial = torch.arange(trials, device=predicted.device)[:, None]
    place = ((trial * classes + labels) * classes + predicted)[labels >= 0]
    return torch.bincount(place, minlength=trials * classes**2).view(trials, classes, classes)


def reliability(probabilities: Tensor, labels: Tensor, bins: int = 15) -> Tensor:
    """Compare confidence with accuracy, in bins of equal width over the confidence (Guo et al., 2017).

    Args:
        probabilities: `[trials, nodes, classes]`, rows sum to 1.
        labels: int64 `[trials or 1, nodes]`; nodes with the label -1 do not count.
        bins: how many bins there are from 0 to 1.

    Returns:
        float64 `[trials, bins, 3]`: nodes in a bin, the sum of their confidences, and how many are right.
    """
    trials = probabilities.shape[0]
    labels = labels.expand(trials, -1)
    # A network that diverged gives NaN: its confidence counts as 0.
    confidence, predicted = probabilities.double().nan_to_num(0.0).max(dim=2)
    trial = torch.arange(trials, device=probabilities.device)[:, None]
    known = labels >= 0
    place = (trial * bins + (confidence * bins).ceil().long().clamp(1, bins) - 1)[known]
    # Whole millionths: a sum of integers does not depend on the order of its terms, which CUDA does not define.
    millionths = (confidence * 1e6).round()[known]
    right = (predicted == labels)[known].double()
    sums = [torch.bincount(place, weights, minlength=trials * bins) for weights in (None, millionths, right)]
    return torch.stack([sums[0].double(), sums[1] / 1e6, sums[2]], dim=1).view(trials, bins, 3)


def f1(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    """F1 = 2 TP / (2 TP + FP + FN) of every class; NaN for a class that is neither a label nor predicted.

    The mean over the classes, without NaN, is the macro F1.

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
    labeled = labels[..., None] == each
    chosen = (predicted[..., None] == each) & (labels >= 0)[..., None]
    return 2 * (chosen & labeled).sum(dim=1) / (chosen.sum(dim=1) + labeled.sum(dim=1))
