"""How good the trials' networks are after an epoch, by their logits of the whole graph."""

from typing import NamedTuple

from torch import Tensor

from graphmix.method import accuracy, label_loss
from graphmix.training.task import Task

try:
    from graphmix.training import triton_judging
except ImportError:  # Triton ships with CUDA builds of torch only
    triton_judging = None  # type: ignore[assignment]


class Judged(NamedTuple):
    """Validation and test accuracy, cross-entropy on training and validation nodes: `[trials]` each."""

    val: Tensor
    test: Tensor
    train_loss: Tensor
    val_loss: Tensor


def judge(logits: Tensor, task: Task) -> Judged:
    """Measure logits `[trials, nodes, classes]`."""
    if triton_judging is not None and logits.is_cuda:
        nodes = task.judged_nodes
        right, losses = triton_judging.measure(logits, nodes.index, nodes.labels, nodes.weight, nodes.bounds)
        _, val, test = right / nodes.counts
        return Judged(val, test, losses[0], losses[1])
    val, test = accuracies(logits, task)
    train_loss, val_loss = (
        label_loss(nodes.of(logits), nodes.labels, nodes.weight) for nodes in (task.labeled, task.val)
    )
    return Judged(val, test, train_loss, val_loss)


def accuracies(logits: Tensor, task: Task) -> tuple[Tensor, Tensor]:
    """Validation and test accuracy of logits `[trials, nodes, classes]`: `[trials]` each."""
    return accuracy(task.val.of(logits), task.val.labels), accuracy(task.test.of(logits), task.test.labels)
