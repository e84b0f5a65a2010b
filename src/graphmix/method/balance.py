"""Classes that count alike, however many nodes they have."""

import torch.nn.functional as F
from torch import Tensor

# A class that is hardly ever predicted must not be blown up into one that decides the step.
LARGEST_FACTOR = 10.0


def class_weights(labels: Tensor, classes: int) -> Tensor:
    """Balanced weights w_c = labeled / (classes · labeled of class c), those of King and Zeng (2001) and scikit-learn.

    Args:
        labels: int64 `[..., nodes]`, -1 where there is none.
        classes: how many classes there are.

    Returns:
        float32 `[..., classes]`, 0 for a class without a label.
    """
    # The label -1 becomes class 0 of one class more, and is left out again.
    counts = F.one_hot(labels + 1, classes + 1)[..., 1:].sum(dim=-2)
    labeled = counts.sum(dim=-1, keepdim=True)
    return (labeled / (classes * counts.clamp_min(1))).where(counts > 0, 0.0)


def balance_targets(targets: Tensor, weight: Tensor) -> Tensor:
    """Multiply class c of all targets by v_c = (1 / classes) / (mean share of class c), at most 10.

    Together the targets then hold as much of every class, so that predicted classes count alike in the loss whatever
    the network predicts most.

    Args:
        targets: `[trials, nodes, classes]`, rows sum to 1.
        weight: `[trials or 1, nodes]`, what each node counts; rows sum to 1.

    Returns:
        `[trials, nodes, classes]`; rows sum to 1 no longer.
    """
    classes = targets.shape[-1]
    share = (targets * weight[..., None]).sum(dim=-2, keepdim=True)
    return targets * (1 / classes / share.clamp_min(1 / classes / LARGEST_FACTOR))
