"""How good the trials' networks are after an epoch, by their logits of the whole graph."""

from typing import NamedTuple

import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.method import accuracy, label_loss
from graphmix.models import Backbone
from graphmix.training.task import Picks, Task
from graphmix.training.whole import whole_logits

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


def logits_of(model: Backbone, task: Task, graph: Graph | None = None) -> Tensor:
    """Compute logits of all nodes, by default on the graph that is judged: `[trials, nodes, classes]`.

    With mini-batches the whole graph may be too large for one pass: then it is done in chunks.
    """
    graph = task.judged if graph is None else graph
    return model(task.x, graph) if task.parts is None else whole_logits(model, task.x, graph)


def judge(logits: Tensor, task: Task) -> Judged:
    """Measure logits `[trials, nodes, classes]`."""
    if triton_judging is not None and logits.is_cuda:
        nodes = task.judged_nodes
        right, losses = triton_judging.measure(logits, nodes.index, nodes.labels, nodes.weight, nodes.bounds)
        _, val, test = right / nodes.counts
        return Judged(val, test, losses[0], _of_some(losses[1], task.val))
    val, test = accuracies(logits, task)
    train_loss, val_loss = (
        label_loss(nodes.of(logits), nodes.labels, nodes.weight) for nodes in (task.labeled, task.val)
    )
    return Judged(val, test, train_loss, _of_some(val_loss, task.val))


def _of_some(loss: Tensor, nodes: Picks) -> Tensor:
    """A loss `[trials]`; NaN in trials without nodes."""
    return loss.where(nodes.count > 0, torch.nan)


def accuracies(logits: Tensor, task: Task) -> tuple[Tensor, Tensor]:
    """Validation and test accuracy of logits `[trials, nodes, classes]`: `[trials]` each."""
    return accuracy(task.val.of(logits), task.val.labels), accuracy(task.test.of(logits), task.test.labels)
