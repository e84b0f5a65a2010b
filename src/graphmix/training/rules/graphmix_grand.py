"""GraphMix over random propagation, the recipe of docs/design/0024-recipe.md: GNN and FCN in one step.

Every step makes S passes of the GNN, each with other nodes left out, and minimises

    1/S Σₛ ℓ(G(X̃ₛ)_l, Y_l) + w(t)/S Σₛ mean over nodes of d(pₛ, p̂) + λ L_FCN,   p̂ = the sharpened mean of the pₛ

p̂ is GraphMix's target of a node, a constant, and d is GRAND's squared distance or the cross-entropy (`consistency`).
L_FCN is manifold mixup on the null graph: of the labeled nodes, and with `fcn_targets` also w(t) times of the others
with their p̂.
"""

import torch
from torch import Tensor

from graphmix.method import cross_entropy, log_softmax, ramp_up, sharpen
from graphmix.models import Backbone
from graphmix.streams import Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.mixup import Pairs, draw_layer, label_mixup_loss, mixed_states, mixup_loss
from graphmix.training.rules.rule import Rule
from graphmix.training.task import Task


class GraphMixGrand(Rule):
    """The loss of the recipe."""

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        super().__init__(model, task, config, streams)
        # A replayed step reads its weight here, by its epoch.
        ramp = (config.rampup_start, config.rampup_end, config.gamma, config.rampup_before)
        weights = [ramp_up(epoch, *ramp) for epoch in range(config.epochs)]
        self._weights = torch.tensor(weights, device=task.device)

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The loss of the passes on labels, w(t) times their distance to the targets, and λ times the FCN's."""
        task, config = self.task, self.config
        noise = self.streams.copies(0, config.perturbations).at(Purpose.RANDOM_PROPAGATION, epoch)
        logits = self.model(task.x, task.graph, noise).unflatten(0, (-1, config.perturbations))
        labeled = task.labeled
        losses = [cross_entropy(labeled.of(each), task.targets, labeled.weight) for each in logits.unbind(1)]
        total = torch.stack(losses).mean(dim=0)
        logs, weight = log_softmax(logits), self._weights[epoch]
        targets = agreed_targets(logs.detach().exp(), config.temperature, config.target_confidence)
        if config.gamma > 0:
            total = total + weight * distance(logs, targets, config.consistency)
        return total if config.joint_weight == 0 else total + config.joint_weight * self._fcn(targets, weight, epoch)

    def _fcn(self, targets: Tensor, weight: Tensor, epoch: int | Tensor) -> Tensor:
        """L_FCN, given the targets of all nodes `[trials, nodes, classes]`: `[trials]`."""
        model, task, config, streams = self.model, self.task, self.config, self.streams
        if not config.fcn_targets or config.gamma == 0:
            return label_mixup_loss(model, task, config, streams, epoch, cross_entropy)
        noise = streams.at(Purpose.FCN_DROPOUT, epoch)
        pairs = [
            Pairs.draw(task.labeled, config, streams.at(Purpose.MIXING_LABELED, epoch)),
            Pairs.draw(task.unlabeled, config, streams.at(Purpose.MIXING_UNLABELED, epoch)),
        ]
        mixed = mixed_states(model, task.null, task.x, pairs, noise, draw_layer(config, streams, epoch))
        # In turn, because dropout of the hidden layer draws from the same noise.
        supervised, unsupervised = (
            mixup_loss(model, task, states, (own, labels), noise, cross_entropy)
            for states, own, labels in zip(mixed, pairs, (task.targets, task.unlabeled.of(targets)), strict=True)
        )
        return supervised + weight * unsupervised


def agreed_targets(predictions: Tensor, temperature: float, confidence: float) -> Tensor:
    """The sharpened mean over the passes of `[trials, passes, nodes, classes]`: `[trials, nodes, classes]`.

    A row is 0 where no class has a mean probability of at least `confidence`.
    """
    mean = predictions.mean(dim=1)
    targets = sharpen(mean, temperature)
    return targets * (mean.amax(dim=2, keepdim=True) >= confidence) if confidence > 0 else targets


def distance(logs: Tensor, targets: Tensor, form: str) -> Tensor:
    """The mean distance of predictions to targets `[trials, nodes, classes]` over passes and nodes: `[trials]`.

    Nodes without a target count as 0.

    Args:
        logs: logarithms of the predictions, `[trials, passes, nodes, classes]`.
        targets: `[trials, nodes, classes]`; rows sum to 1 or are 0.
        form: "squared" for the squared distance, "cross-entropy" for that.
    """
    wanted = targets[:, None]
    if form == "cross-entropy":
        return -(logs * wanted).sum(dim=3).mean(dim=(1, 2))
    apart = (logs.exp() - wanted).square() * (wanted.sum(dim=3, keepdim=True) > 0.5)
    return apart.sum(dim=3).mean(dim=(1, 2))
