"""Weights that make all classes count the same, however many nodes they have."""

import torch.nn.functional as F
from torch import Tensor

# The largest weight. Without it a class that is hardly ever predicted would dominate the step.
LARGEST_FACTOR = 10.0


def class_weights(labels: Tensor, classes: int) -> Tensor:
    """Balanced weights w_c = labeled / (classes · labeled of class c), those of King and Zeng (2001) and scikit-learn.

    Args:
        labels: int64 `[..., nodes]`, -1 for nodes without a label.
        classes: how many classes there are.

    Returns:
        float32 `[..., classes]`, 0 for a class without a label.
    """
    # Shifted by one: the label -1 becomes an extra class 0, which is dropped again.
    counts = F.one_hot(labels + 1, classes + 1)[..., 1:].sum(dim=-2)
    labeled = counts.sum(dim=-1, keepdim=True)
    return (labeled / (classes * counts.clamp_min(1))).where(counts > 0, 0.0)


def balance_targets(targets: Tensor, weight: Tensor) -> Tensor:
    """Multiply class c of all targets by v_c = (1 / classes) / (mean share of class c), at most 10.

    The targets together then hold the same amount of every class. So all predicted classes count the same in the loss,
    whichever class the network predicts most.

    Args:
        targets: `[trials, nodes, classes]`, rows sum to 1.
        weight: `[trials or 1, nodes]`, the nodes' weights; rows sum to 1.

    Returns:
        `[trials, nodes, classes]`; rows no longer sum to 1.
    """
    classes = targets.shape[-1]
    share = (targets * weight[..., None]).sum(dim=-2, keepdim=True)
    return targets * (1 / classes / share.clamp_min(1 / classes / LARGEST_FACTOR))
