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


def confusion(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Count nodes by their label and by what was predicted: int64 `[trials, classes, classes]`, labels first.

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
    # A network whose loss went out of numbers is sure of nothing.
    confidence, predicted = probabilities.double().nan_to_num(0.0).max(dim=2)
    trial = torch.arange(trials, device=probabilities.device)[:, None]
    known = labels >= 0
    place = (trial * bins + (confidence * bins).ceil().long().clamp(1, bins) - 1)[known]
    # Millionths, in whole numbers: their sum does not depend on its order, which on CUDA is anybody's guess.
    millionths = (confidence * 1e6).round()[known]
    right = (predicted == labels)[known].double()
    sums = [torch.bincount(place, weights, minlength=trials * bins) for weights in (None, millionths, right)]
    return torch.stack([sums[0].double(), sums[1] / 1e6, sums[2]], dim=1).view(trials, bins, 3)


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
