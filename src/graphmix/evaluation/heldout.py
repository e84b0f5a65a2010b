"""Predictions of labeled nodes by networks that did not see their labels: what methods are judged and calibrated by."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Split
from graphmix.data.folds import NAME as FOLDS


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Labeled nodes and what was predicted of them from the other labels.

    Attributes:
        nodes: int64 `[held]`, which nodes, in order.
        labels: int64 `[held]`, their classes.
        probabilities: float64 `[held, classes]`, the mean over the trials that held a node out; rows sum to 1.
        right: float64 `[held]`, 1 where that mean is largest for the label, else 0.
    """

    nodes: NDArray[np.int64]
    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def predicted(self) -> NDArray[np.int64]:
        """The most probable class: int64 `[held]`."""
        predicted: NDArray[np.int64] = self.probabilities.argmax(axis=1)
        return predicted


def judged_nodes(split: Split) -> Tensor:
    """The nodes that methods are compared on, bool `[splits, nodes]`: held-out folds, or a given validation set.

    A given test set chooses nothing.
    """
    return split.test if split.name == FOLDS else split.val


def hold_out(probabilities: Tensor, judged: Tensor, y: Tensor) -> HeldOut:
    """Collect what trials predict of the nodes they are judged on.

    Args:
        probabilities: `[trials, nodes, classes]`, rows sum to 1.
        judged: bool `[trials or 1, nodes]`, the nodes each trial is judged on.
        y: int64 `[nodes]`, the labels.
    """
    nodes = judged.any(dim=0).nonzero()[:, 0]
    total = torch.zeros(len(nodes), probabilities.shape[2], dtype=torch.float64)
    # Trial by trial: all at once in float64 is much memory where classes are many.
    for trial, single in enumerate(probabilities):
        total += single[nodes] * judged[trial % len(judged), nodes, None]
    # To sum to 1, which float32 rows do only nearly.
    mean = total / total.sum(dim=1, keepdim=True)
    right = (mean.argmax(dim=1) == y[nodes]).double()
    return HeldOut(nodes.numpy(), y[nodes].numpy(), mean.numpy(), right.numpy())


def ensemble(probabilities: Tensor) -> NDArray[np.float64]:
    """Average trials `[trials, nodes, classes]` into one prediction: float64 `[nodes, classes]`, rows sum to 1."""
    total = torch.zeros(probabilities.shape[1:], dtype=torch.float64)
    for trial in probabilities:  # one by one: all at once in float64 is much memory where nodes are many
        total += trial
    mean: NDArray[np.float64] = (total / total.sum(dim=1, keepdim=True)).numpy()
    return mean
