"""Algorithm 1: one step of GraphMix, for every trial at once."""

import torch
from torch import Tensor

from graphmix.method import (
    LOSSES,
    cross_entropy,
    draw_lambda,
    draw_partners,
    draw_positions,
    mix,
    ramp_up,
    sharpen,
    softmax,
)
from graphmix.models import Backbone
from graphmix.sparse import distinct_rows
from graphmix.streams import Noise, Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.devices import passes_at_once
from graphmix.training.task import Picks, Task


def step_loss(
    model: Backbone, task: Task, config: Config, streams: Streams, epoch: int, heads: Tensor | None = None
) -> Tensor:
    """The loss each trial minimises in this step: the FCN's where its coin shows heads, the GNN's elsewhere.

    Trials share no weight, so the gradient of the sum is every trial's own gradient.

    Args:
        model: the network, with its trials' weights.
        task: the graph and its nodes.
        config: the hyperparameters; with method "supervised" every coin shows tails.
        streams: the trials' random streams.
        epoch: the step's number t, from 0; it fixes the step's random numbers.
        heads: bool `[trials]` on the host, the coins; flipped from the streams when not given.

    Returns:
        `[trials]`.
    """
    if config.method == "supervised":
        return gnn_loss(model, task, streams, epoch)
    if heads is None:
        heads = streams.coins(epoch + 1)[epoch].cpu()
    if heads.all():
        return fcn_loss(model, task, config, streams, epoch)
    if not heads.any():
        return gnn_loss(model, task, streams, epoch)
    device = streams.keys.device
    order = torch.cat([heads.nonzero(), (~heads).nonzero()]).flatten()
    place = order.argsort().to(device, non_blocking=True)
    fcn, gnn = order.to(device, non_blocking=True).split([int(heads.sum()), int((~heads).sum())])
    losses = [
        fcn_loss(model.select(fcn), task.select(fcn), config, streams.select(fcn), epoch),
        gnn_loss(model.select(gnn), task.select(gnn), streams.select(gnn), epoch),
    ]
    return torch.cat(losses)[place]


def gnn_loss(model: Backbone, task: Task, streams: Streams, epoch: int) -> Tensor:
    """L_GNN = ℓ(G(X_l), Y_l), the ordinary loss: `[trials]`."""
    logits = model(task.x, task.graph, streams.at(Purpose.GNN_DROPOUT, epoch))
    return cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight)


def fcn_loss(model: Backbone, task: Task, config: Config, streams: Streams, epoch: int) -> Tensor:
    """L_FCN = L_supervised + w(t) L_unsupervised (Eq. 6): `[trials]`."""
    noise = streams.at(Purpose.FCN_DROPOUT, epoch)
    # Node-wise on the null graph, so one pass serves labeled and unlabeled nodes alike.
    hidden = model.encode(task.x, task.null, noise)
    mixing = streams.at(Purpose.MIXING_LABELED, epoch)
    supervised = _mixup_loss(model, task, config, hidden, task.labeled, task.targets, (noise, mixing))
    weight = ramp_up(epoch, config.rampup_start, config.rampup_end, config.gamma, config.rampup_before)
    if weight == 0:
        return supervised
    unlabeled = draw_unlabeled(task, config, streams, epoch)
    targets = predict_targets(model, task, config, streams, epoch, unlabeled)
    mixing = streams.at(Purpose.MIXING_UNLABELED, epoch)
    unsupervised = _mixup_loss(model, task, config, hidden, unlabeled, targets, (noise, mixing))
    return supervised + weight * unsupervised


def draw_unlabeled(task: Task, config: Config, streams: Streams, epoch: int) -> Picks:
    """Choose the unlabeled nodes of this step: all of them, or a fresh subset drawn with replacement."""
    if config.unlabeled == "all":
        return task.unlabeled
    if config.unlabeled == "labeled":
        count, size, weight = task.labeled.count, task.labeled.index.shape[1], task.labeled.weight
    else:
        size = int(config.unlabeled)
        count = torch.full_like(task.labeled.count, size)
        weight = torch.full((1, size), 1 / size, device=task.device)
    drawn = draw_positions(streams.at(Purpose.UNLABELED_SUBSET, epoch), task.unlabeled.count, size)
    index = task.unlabeled.index.expand(drawn.shape[0], -1).gather(1, drawn)
    return Picks(index, count, weight, torch.full_like(drawn, -1), distinct=False)


@torch.no_grad()  # Targets are constants in the paper's objective.
def predict_targets(model: Backbone, task: Task, config: Config, streams: Streams, epoch: int, nodes: Picks) -> Tensor:
    """Average the GNN's predictions over K dropout passes and sharpen them (Algorithm 1, lines 6 to 10).

    Returns:
        `[trials, picks, classes]`, rows sum to 1.
    """
    # Picking rows in every pass costs more than the softmax it saves when most nodes are wanted anyway.
    most = 2 * nodes.index.shape[1] > task.graph.num_nodes
    trials = model.trials
    total = torch.zeros((), device=task.device)
    for first, last in _pass_groups(task, config, trials):
        noise = streams.copies(first, last).at(Purpose.TARGET_DROPOUT, epoch)
        logits = model(task.x, task.graph, noise)
        predictions = softmax(logits if most else nodes.of(logits, last - first))
        # One by one: the order of the sum, and so its rounding, must not depend on how the passes are grouped.
        for single in predictions.unflatten(0, (trials, last - first)).unbind(1):
            total = total + single
    mean = total / config.perturbations
    return sharpen(nodes.of(mean) if most else mean, config.temperature)


def _pass_groups(task: Task, config: Config, trials: int) -> list[tuple[int, int]]:
    """Group the K passes into as few calls as the device handles well."""
    size = min(config.perturbations, passes_at_once(task.graph, config, trials, task.device))
    return [(first, min(first + size, config.perturbations)) for first in range(0, config.perturbations, size)]


def _mixup_loss(
    model: Backbone,
    task: Task,
    config: Config,
    hidden: Tensor,
    nodes: Picks,
    targets: Tensor,
    noises: tuple[Noise, Noise],
) -> Tensor:
    """L_MM, manifold mixup at the hidden layer (Eq. 2): `[trials]`."""
    dropout_noise, mixing = noises
    picks = nodes.index.shape[1]
    lam = draw_lambda(config.alpha, mixing, picks if config.lambda_per == "pair" else 1)
    partner = draw_partners(mixing, nodes.count, picks)
    own = nodes.of(hidden)
    targets = targets.expand(own.shape[0], -1, -1)
    mixed = mix(own, distinct_rows(own, partner), lam)
    mixed_targets = mix(targets, distinct_rows(targets, partner), lam)
    logits = model.decode(mixed, task.null, dropout_noise)
    return LOSSES[config.fcn_loss](logits, mixed_targets, nodes.weight)
