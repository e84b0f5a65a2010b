"""Algorithm 1: one step of GraphMix, for every trial at once."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphmix.method import (
    LOSSES,
    Loss,
    align,
    balance_targets,
    cross_entropy,
    draw_positions,
    ramp_up,
    sharpen,
    softmax,
)
from graphmix.models import Backbone
from graphmix.streams import Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.devices import pass_groups
from graphmix.training.method import FCN
from graphmix.training.mixup import Pairs, draw_layer, label_mixup_loss, mixed_states, mixup_loss
from graphmix.training.needed import label_logits, reads_labeled_rows
from graphmix.training.rules.rule import make_rule
from graphmix.training.task import Picks, Task


@dataclass(frozen=True)
class Moment:
    """The part of a step that depends on its epoch.

    Attributes:
        epoch: t, from 0, which determines the step's random numbers; an int64 tensor `[1]` if the step is captured
            once and replayed for many epochs.
        weight: w(t), the weight of the unsupervised loss; None if it is 0, so that this loss is not computed.
        kept: where targets are kept between steps, `[trials, unlabeled, classes]`; None if every step predicts its own.
        refresh: whether this step predicts the targets anew and keeps them.
        teacher: the networks that predict the targets for the FCN, if not those that are trained.
    """

    epoch: int | Tensor
    weight: float | Tensor | None
    kept: Tensor | None = None
    refresh: bool = True
    teacher: Backbone | None = None

    def select(self, trials: Tensor) -> "Moment":
        """Keep only the teachers of the given trials."""
        return self if self.teacher is None else replace(self, teacher=self.teacher.select(trials))

    @classmethod
    def at(cls, config: Config, epoch: int) -> "Moment":
        """Return the moment of an epoch."""
        return cls(epoch, unsupervised_weight(config, epoch) or None)


def unsupervised_weight(config: Config, epoch: int) -> float:
    """w(t) of a run; 0 throughout for a method without predicted targets."""
    if not config.predicts_targets:
        return 0.0
    return ramp_up(epoch, config.rampup_start, config.rampup_end, config.gamma, config.rampup_before)


def step_loss(
    model: Backbone, task: Task, config: Config, streams: Streams, epoch: int, heads: Tensor | None = None
) -> Tensor:
    """The loss that each trial minimises in this step: the FCN's if its coin shows heads, else the GNN's.

    Only GraphMix by alternate optimisation flips coins; a method with a rule has its rule's loss. Trials share no
    weights, so the gradient of the sum consists of the trials' own gradients.

    Args:
        model: the network, with its trials' weights.
        task: the graph and its nodes.
        config: the hyperparameters.
        streams: the trials' random streams.
        epoch: the step's number t, from 0; it determines the step's random numbers.
        heads: bool `[trials]`, the coins; default: flipped with the streams.

    Returns:
        `[trials]`.
    """
    rule = make_rule(model, task, config, streams)
    if rule is not None:
        return rule.loss(rule.phase(epoch), epoch)
    if heads is None:
        heads = flip_coins(config, streams, epoch + 1)[epoch]
    order = heads_first(heads.to(streams.keys.device))
    return divided_loss(model, task, config, streams, Moment.at(config, epoch), (order, int(heads.sum())))


def flip_coins(config: Config, streams: Streams, epochs: int) -> Tensor:
    """Flip every trial's coins: bool `[epochs, trials]`, True for heads; other methods have only one side."""
    coins = streams.coins(epochs)
    if config.method == "fcn-mixup":
        return coins | True
    return coins if config.method == "graphmix" and config.optimisation == "alternate" else coins & False


def heads_first(coins: Tensor) -> Tensor:
    """Order trials with heads before those with tails: bool `[..., trials]` to int64 `[..., trials]`."""
    return (~coins).to(torch.uint8).argsort(dim=-1, stable=True)


def divided_loss(
    model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment, order: tuple[Tensor, int]
) -> Tensor:
    """Each trial's loss `[trials]`, given the order of the trials, heads first, and the number of heads."""
    trials, heads = order
    if heads == 0:
        return _loss_without_heads(model, task, config, streams, moment)
    if heads == len(trials):
        return fcn_loss(model, task, config, streams, moment)
    fcn, gnn = trials[:heads], trials[heads:]
    losses = [
        fcn_loss(model.select(fcn), task.select(fcn), config, streams.select(fcn), moment.select(fcn)),
        tails_loss(model.select(gnn), task.select(gnn), config, streams.select(gnn), moment),
    ]
    joined = torch.cat(losses)
    return torch.zeros_like(joined).index_copy(0, trials, joined)


def _loss_without_heads(model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment) -> Tensor:
    if config.method == "graphmix-steady":
        return steady_loss(model, task, config, streams, moment)
    if config.method != "graphmix":
        return self_training_loss(model, task, config, streams, moment)
    if config.optimisation == "joint":
        return joint_loss(model, task, config, streams, moment)
    return tails_loss(model, task, config, streams, moment)


def gnn_loss(model: Backbone, task: Task, streams: Streams, moment: Moment) -> Tensor:
    """L_GNN = ℓ(G(X_l), Y_l), the ordinary loss: `[trials]`."""
    logits = label_logits(model, task, streams.at(Purpose.GNN_DROPOUT, moment.epoch))
    return cross_entropy(logits, task.targets, task.labeled.weight)


def tails_loss(model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment) -> Tensor:
    """The GNN's loss in a step of GraphMix: L_GNN, and w(t) ℓ(G(X_u), Ŷ_u) if `gnn_targets` says so: `[trials]`."""
    if config.gnn_targets == "none" or moment.weight is None:
        return gnn_loss(model, task, streams, moment)
    return self_training_loss(model, task, config, streams, moment, config.gnn_targets)


def fcn_loss(
    model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment, loss: Loss | None = None
) -> Tensor:
    """L_FCN = L_supervised + w(t) L_unsupervised (Eq. 6): `[trials]`; ℓ is the config's loss unless one is given."""
    epoch, loss = moment.epoch, loss or LOSSES[config.fcn_loss]
    if moment.weight is None:
        return label_mixup_loss(model, task, config, streams, epoch, loss)
    noise = streams.at(Purpose.FCN_DROPOUT, epoch)
    unlabeled = draw_unlabeled(task, config, streams, epoch)
    targets = predict_targets(moment.teacher or model, task, config, streams, epoch, unlabeled)
    pairs = [
        Pairs.draw(task.labeled, config, streams.at(Purpose.MIXING_LABELED, epoch)),
        Pairs.draw(unlabeled, config, streams.at(Purpose.MIXING_UNLABELED, epoch)),
    ]
    mixed = mixed_states(model, task.null, task.x, pairs, noise, draw_layer(config, streams, epoch))
    supervised, unsupervised = (
        mixup_loss(model, task, states, (own, labels), noise, loss)
        for states, own, labels in zip(mixed, pairs, (task.targets, targets), strict=True)
    )
    return supervised + moment.weight * unsupervised


def joint_loss(model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment) -> Tensor:
    """L_GraphMix = L_GNN + λ L_FCN, both in one step: `[trials]`."""
    gnn = tails_loss(model, task, config, streams, moment)
    return gnn + config.joint_weight * fcn_loss(model, task, config, streams, moment)


def steady_loss(model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment) -> Tensor:
    """ℓ(G(X_l), Y_l) + w(t) ℓ(G(X_u), Ŷ_u) + λ L_supervised, the last of the FCN: `[trials]`.

    The GNN learns from its own targets, so that errors of the FCN do not reach it by way of them, and the FCN by mixup
    of the labels alone (docs/design/0017-steady-graphmix.md).
    """
    gnn = self_training_loss(model, task, config, streams, moment)
    return gnn + config.joint_weight * label_mixup_loss(model, task, config, streams, moment.epoch)


def _label_loss_of_rows(model: Backbone, task: Task, streams: Streams, epoch: int | Tensor) -> Tensor:
    """ℓ(f(X_l), Y_l) of the FCN, which reads labeled rows alone: `[trials]`."""
    noise = streams.at(Purpose.FCN_DROPOUT, epoch)
    x, nodes = task.labeled_rows
    # Which rows there are depends on other trials; hidden states of the trial's own labels do not.
    hidden = nodes.of(model.encode(x, task.null, noise))
    return cross_entropy(model.decode(hidden, task.null, noise), task.targets, nodes.weight)


def self_training_loss(
    model: Backbone, task: Task, config: Config, streams: Streams, moment: Moment, source: str | None = None
) -> Tensor:
    """ℓ(f(X_l), Y_l) + w(t) ℓ(f(X_u), Ŷ_u), where the method decides if f is the GNN or the FCN: `[trials]`.

    The targets Ŷ_u are the teacher's, as in GraphMix, or those of the network that `source` names; with K = 0 they are
    the predictions that this step makes of them anyway. With w(t) = 0 this is training on the labels alone.
    """
    epoch = moment.epoch
    if config.trains_gnn and moment.weight is None:
        return gnn_loss(model, task, streams, moment)
    if config.trains_gnn:
        logits = model(task.x, task.graph, streams.at(Purpose.GNN_DROPOUT, epoch))
    elif moment.weight is None and reads_labeled_rows(model, task):
        return _label_loss_of_rows(model, task, streams, epoch)
    else:
        logits = model(task.x, task.null, streams.at(Purpose.FCN_DROPOUT, epoch))
    supervised = cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight)
    if moment.weight is None:
        return supervised
    unlabeled = draw_unlabeled(task, config, streams, epoch)
    predicted = unlabeled.of(logits)
    if moment.kept is not None and not moment.refresh:
        targets = moment.kept
    elif config.perturbations == 0:
        targets = _as_targets(softmax(predicted.detach()), task, config, unlabeled)
    else:
        teacher = model if source is not None or moment.teacher is None else moment.teacher
        targets = predict_targets(teacher, task, config, streams, epoch, unlabeled, *([source] if source else []))
    if moment.kept is not None and moment.refresh:
        moment.kept.copy_(targets)
    return supervised + moment.weight * cross_entropy(predicted, targets, unlabeled.weight)


def draw_unlabeled(task: Task, config: Config, streams: Streams, epoch: int | Tensor) -> Picks:
    """Choose the unlabeled nodes of this step: all of them, or a fresh subset drawn with replacement.

    In a trial that has none, those drawn have weight 0.
    """
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
    weight = weight * (task.unlabeled.count > 0)[:, None]
    return Picks(index, count, weight, torch.full_like(drawn, -1), distinct=False)


@torch.no_grad()  # Targets are constants in the paper's objective.
def predict_targets(
    model: Backbone,
    task: Task,
    config: Config,
    streams: Streams,
    epoch: int | Tensor,
    nodes: Picks,
    source: str | None = None,
) -> Tensor:
    """Average a network's predictions over K dropout passes and sharpen them (Algorithm 1, lines 6 to 10).

    It is the GNN in the paper; `source` or else the config's teacher says if it is the FCN.

    Returns:
        `[trials, picks, classes]`; rows sum to 1, unless the config balances the classes. A row is 0, and adds nothing
        to the loss, where no class has a mean probability of at least `target_confidence`.
    """
    noise = streams.copies(0, config.perturbations).at(Purpose.TARGET_DROPOUT, epoch)
    graph = task.null if (source or config.teacher).startswith(FCN) else task.graph
    mean = model.mean_predictions(task.x, graph, noise, nodes.index)
    if mean is not None:
        return _as_targets(mean, task, config, nodes)
    # If most nodes are needed, picking rows in every pass costs more than the softmax it saves.
    most = 2 * nodes.index.shape[1] > task.graph.num_nodes
    trials = model.trials
    total = torch.zeros((), device=task.device)
    for first, last in pass_groups(task.graph, config, trials, task.device, model):
        noise = streams.copies(first, last).at(Purpose.TARGET_DROPOUT, epoch)
        logits = model(task.x, graph, noise)
        predictions = softmax(logits if most else nodes.of(logits, last - first))
        # Added one by one: the order of the sum, and so its rounding, must not depend on how passes are grouped.
        for single in predictions.unflatten(0, (trials, last - first)).unbind(1):
            total = total + single
    mean = nodes.of(total / config.perturbations) if most else total / config.perturbations
    return _as_targets(mean, task, config, nodes)


def _as_targets(mean: Tensor, task: Task, config: Config, nodes: Picks) -> Tensor:
    """Align and sharpen mean predictions `[trials, picks, classes]`, drop those that are not confident, balance."""
    if config.target_alignment > 0:
        mean = align(mean, nodes.weight, task.label_shares, config.target_alignment)
    targets = sharpen(mean, config.temperature)
    if config.target_confidence > 0:
        targets = targets * (mean.amax(dim=2, keepdim=True) >= config.target_confidence)
    return targets if config.target_weight == "none" else balance_targets(targets, nodes.weight)
