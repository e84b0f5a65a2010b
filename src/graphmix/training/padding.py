"""Fewer shapes of an epoch, so that a dozen CUDA graphs serve a run.

How many trials show heads differs from epoch to epoch. With windows of w trials, the FCN's loss is computed up to the
next multiple of w after the number of heads, and the GNN's from the last multiple before it on. So w trials have both
losses. The one that a trial's coin does not show is dropped, and its gradient too. A trial's numbers do not depend on
its neighbours in the batch, so they stay what they are, bit for bit.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.models import Backbone
from graphmix.models.registry import backbone_class
from graphmix.sparse import SparseMatrix
from graphmix.streams import Streams
from graphmix.training.config import Config
from graphmix.training.step import Moment, fcn_loss, tails_loss
from graphmix.training.task import Task

# Seconds, from the profile of an H200: of an epoch that is run normally and then captured, of the shortest replay, and
# of a multiply-add (benchmarks/results/profile-before-h200.json).
_PER_GRAPH = 0.035
_PER_EPOCH = 0.0015
_PER_PRODUCT = 8e-12


def window_width(graph: Graph, config: Config, trials: int) -> int:
    """Choose how many trials a window has; 1 where numbers of heads are taken as they are.

    A run of T trials has about 6 √T numbers of heads, three standard deviations to both sides before and after the
    ramp-up, which a width of w divides by w. It adds w / T to the time of every epoch. The width is where both costs
    are equal, and at most an eighth of the trials.
    """
    if config.method != "graphmix" or config.optimisation != "alternate":
        return 1  # only here coins are flipped
    epoch = _PER_EPOCH + _PER_PRODUCT * trials * _products(graph, config)
    best = math.sqrt(6 * math.sqrt(trials) * _PER_GRAPH * trials / (config.epochs * epoch))
    return max(1, min(int(best), trials // 8))


def padded_loss(
    model: Backbone,
    task: Task,
    config: Config,
    streams: Streams,
    moment: Moment,
    coins: tuple[Tensor, Tensor],
    window: tuple[int, int],
) -> Tensor:
    """Each trial's loss `[trials]`, as `divided_loss` gives it.

    Args:
        model: the network, with its trials' weights.
        task: the graph and its nodes.
        config: the hyperparameters.
        streams: the trials' random streams.
        moment: the part of the step that depends on its epoch.
        coins: bool `[trials]`, True for heads, and the order of the trials, heads first.
        window: the first and the last number of heads that this serves.
    """
    heads, order = coins
    low, high = window

    def part(trials: Tensor, mine: Tensor, loss: Callable[..., Tensor]) -> Tensor:
        own = _only(model.select(trials), mine), task.select(trials), config, streams.select(trials)
        found = loss(*own, moment.select(trials))
        return torch.zeros(len(order), device=found.device).index_copy(0, trials, found)

    fcn, gnn = order[:high], order[low:]
    shown = part(fcn, heads[fcn], fcn_loss)
    if low == len(order):
        return shown
    other = part(gnn, ~heads[gnn], tails_loss)
    return torch.where(heads, shown, other)


def _only(model: Backbone, mine: Tensor) -> Backbone:
    """Drop the gradients of all trials but `mine`, bool `[trials]`; also those that are not finite."""
    for weight in model.weights.values():
        weight.register_hook(lambda slope: slope.masked_fill(~mine.view(-1, *(1,) * (slope.dim() - 1)), 0))
    return model


def _products(graph: Graph, config: Config) -> float:
    """Multiply-adds of one pass of one trial's network over the graph."""
    width = backbone_class(config.backbone).footprint(graph, config.hidden, graph.num_classes, **config.options())
    entries = graph.x.nonzeros if isinstance(graph.x, SparseMatrix) else graph.x.numel()
    return (entries + width.entries) * width.hidden_width
