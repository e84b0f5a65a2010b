"""GRAND (Feng et al., 2020): random propagation, and predictions that agree.

Every step makes S passes, each with other nodes left out, and minimises

    1/S Σₛ ℓ(f(X̃ₛ)_l, Y_l) + λ/S Σₛ mean over nodes of ‖pₛ - p̂‖²,   p̂ = the sharpened mean of the pₛ (a constant)

over all nodes. S is `perturbations`, λ `gamma`, and the temperature of the sharpening `temperature`. Which nodes are
left out is up to the network: `models.grand`.
"""

import torch
from torch import Tensor

from graphmix.method import cross_entropy, sharpen, softmax
from graphmix.streams import Purpose
from graphmix.training.rules.rule import Rule


class GrandRule(Rule):
    """The loss of GRAND."""

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The mean loss of the passes on labels, and λ times their mean distance to the sharpened mean."""
        task, passes = self.task, self.config.perturbations
        noise = self.streams.copies(0, passes).at(Purpose.RANDOM_PROPAGATION, epoch)
        logits = self.model(task.x, task.graph, noise).unflatten(0, (-1, passes))
        labeled = task.labeled
        losses = [cross_entropy(labeled.of(each), task.targets, labeled.weight) for each in logits.unbind(1)]
        supervised = torch.stack(losses).mean(dim=0)
        return supervised + self.config.gamma * inconsistency(softmax(logits), self.config.temperature)


def inconsistency(predictions: Tensor, temperature: float) -> Tensor:
    """The mean squared distance of `[trials, passes, nodes, classes]` to their sharpened mean: `[trials]`."""
    target = sharpen(predictions.detach().mean(dim=1, keepdim=True), temperature)
    return (predictions - target).square().sum(dim=3).mean(dim=(1, 2))
