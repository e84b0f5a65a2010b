"""Hidden states of trained networks: how concentrated a class is, and a picture of all."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from graphmix.analysis.plane import Array, project
from graphmix.data import Graph, Split
from graphmix.method import softmax
from graphmix.models import Backbone
from graphmix.results.details import Embedding
from graphmix.training import Fit
from graphmix.training.task import prepare

MOST_POINTS = 2000


def hidden_states(fit: Fit, graph: Graph, trial: int, device: torch.device | str = "cpu") -> Tensor:
    """The hidden states before the last layer, by a trial's network at its best epoch: `[nodes, hidden]`.

    They are computed on the device, and returned on the CPU.
    """
    return next(each_hidden(fit, graph, [trial], device))


@torch.no_grad()
def each_hidden(fit: Fit, graph: Graph, trials: Iterable[int], device: torch.device | str = "cpu") -> Iterator[Tensor]:
    """The `hidden_states` of trial after trial."""
    graph, judged = _prepared(fit, graph, device)
    for trial in trials:
        yield _network(fit, trial, device).encode(graph.x, judged)[0].cpu()


def _prepared(fit: Fit, graph: Graph, device: torch.device | str) -> tuple[Graph, Graph]:
    graph = prepare(graph, fit.config).to(device)
    return graph, graph if fit.config.predicts_with_gnn else graph.null()


def _network(fit: Fit, trial: int, device: torch.device | str) -> Backbone:
    model = fit.select(trial).model()
    return replace(model, weights={name: weight.to(device) for name, weight in model.weights.items()})


def soft_rank(hidden: Tensor) -> float:
    """Sum of the singular values of hidden states `[nodes, hidden]` over the largest (the appendix on soft-rank).

    It is between 1, if all states are on one line through the origin, and the rank. NaN if all states are zero, there
    are no states, or one is not finite.

    Example:
        >>> soft_rank(torch.eye(3)), soft_rank(torch.ones(5, 3))
        (3.0, 1.0)
    """
    if not len(hidden) or not hidden.isfinite().all():
        return math.nan
    values = torch.linalg.svdvals(hidden.double())
    return (values.sum() / values[0]).item() if values[0] > 0 else math.nan


def class_soft_ranks(hidden: Tensor, y: Tensor, classes: int) -> list[float | None]:
    """Soft-rank of every class's hidden states, by the true labels `[nodes]`; None for a class without one."""
    ranks = [soft_rank(hidden[y == label]) for label in range(classes)]
    return [None if rank != rank else round(rank, 4) for rank in ranks]


def separation(hidden: Tensor, y: Tensor) -> float:
    """How far classes are apart: the scatter of class means over the scatter within classes, by true labels `[nodes]`.

    tr(S_between) / tr(S_within): the squared distances of the class means from the mean, each counted once per node,
    over the squared distances of the nodes from their class means. Nodes with an unknown label, -1, are left out. NaN
    if no state differs from its class mean, or one is not finite.

    Example:
        >>> separation(torch.tensor([[0.0], [2.0], [10.0], [12.0]]), torch.tensor([0, 0, 1, 1]))
        25.0
    """
    known = y >= 0
    states, labels = hidden[known].double(), y[known]
    if not len(states) or not states.isfinite().all():
        return math.nan
    nearest = class_means(states, labels)[labels]
    within = (states - nearest).square().sum()
    between = (nearest - states.mean(dim=0)).square().sum()
    return (between / within).item() if within > 0 else math.nan


def centroid_accuracy(hidden: Tensor, y: Tensor, train: Tensor, test: Tensor) -> float:
    """Share of test nodes nearest to their own class's mean over the training nodes; masks are bool `[nodes]`.

    A class without a training node is never predicted. NaN without test nodes, or if a state is not finite.
    """
    if not test.any() or not train.any() or not hidden.isfinite().all():
        return math.nan
    means = class_means(hidden[train].double(), y[train])
    means[torch.bincount(y[train], minlength=len(means)) == 0] = math.inf
    predicted = torch.cdist(hidden[test].double(), means).nan_to_num(math.inf, math.inf).argmin(dim=1)
    return (predicted == y[test]).double().mean().item()


def class_means(states: Tensor, labels: Tensor) -> Tensor:
    """Mean of every class's states `[nodes, width]`, by labels `[nodes]`: `[classes, width]`, 0 for an empty class."""
    classes = int(labels.max()) + 1
    total = states.new_zeros(classes, states.shape[1]).index_add_(0, labels, states)
    return total / torch.bincount(labels, minlength=classes).clamp_min(1)[:, None]


def embedding(
    fit: Fit,
    graph: Graph,
    split: Split,
    *,
    trial: int = 0,
    most: int = MOST_POINTS,
    layout: Callable[[Array], Array] = project,
    device: torch.device | str = "cpu",
) -> Embedding:
    """t-SNE of a trial's hidden states by `project` or `sketch`, with each point's label and prediction.

    If the graph has more than `most` nodes, `most` of them are drawn at random, the same ones every time.
    """
    nodes = _draw_nodes(graph.num_nodes, most)
    hidden, probabilities = _states_and_probabilities(fit, graph, trial, device)
    points = layout(hidden[nodes].nan_to_num(0.0, 0.0, 0.0).numpy().astype(np.float64))
    confidence, predicted = probabilities[nodes].nan_to_num(0.0).max(dim=1)
    masks = {name: getattr(split, name)[trial % split.num_splits].cpu()[nodes] for name in ("train", "val", "test")}
    role = np.full(len(nodes), "none", dtype=object)
    for name, mask in masks.items():
        role[mask.numpy()] = name
    return Embedding(
        x=tuple(round(value, 2) for value in points[:, 0].tolist()),
        y=tuple(round(value, 2) for value in points[:, 1].tolist()),
        node=tuple(nodes.tolist()),
        label=tuple(graph.y.cpu()[nodes].tolist()),
        predicted=tuple(predicted.tolist()),
        confidence=tuple(round(100 * value, 1) for value in confidence.tolist()),
        role=tuple(role.tolist()),
        nodes=graph.num_nodes,
    )


@torch.no_grad()
def _states_and_probabilities(fit: Fit, graph: Graph, trial: int, device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Hidden states `[nodes, hidden]` and class probabilities `[nodes, classes]` by one network, on the CPU."""
    graph, judged = _prepared(fit, graph, device)
    model = _network(fit, trial, device)
    hidden = model.encode(graph.x, judged)
    return hidden[0].cpu(), softmax(model.decode(hidden, judged))[0].cpu()


def _draw_nodes(nodes: int, most: int) -> Tensor:
    if nodes <= most:
        return torch.arange(nodes)
    drawn = np.random.Generator(np.random.PCG64(0)).choice(nodes, size=most, replace=False)
    return torch.from_numpy(np.sort(drawn))
