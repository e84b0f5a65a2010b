"""Perturbations of the features in the direction in which predictions change most, without writing them out.

A network that reads the features in one product X W has the gradient G Wᵀ with respect to X, where G, `[nodes, width]`,
is that with respect to the product. So perturbations R = A Wᵀ, held as A, are all that a step along gradients can
reach; R W = A Wᵀ W, and the length of a row of R follows from Wᵀ W, too. What a perturbation has besides, orthogonal to
W, changes no prediction.
"""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from graphmix.method import cross_entropy, log_softmax, softmax
from graphmix.models import Backbone
from graphmix.models.shifted import Shifted
from graphmix.sparse import product
from graphmix.streams import Noise, Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.rules.rule import Rule, require_one_product
from graphmix.training.task import Picks, Task

# As in the code of Feng et al. (2019): the gradient of a mean over nodes at a row may be smaller than its rounding.
SHORTEST = 1e-6


class Adversarial(Rule):
    """A rule that perturbs features."""

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        require_one_product(model, config)
        super().__init__(model, task, config, streams)

    def clean(self, epoch: int | Tensor) -> tuple[Tensor, Tensor]:
        """The logits `[trials, nodes, classes]` of the plain features, and their loss on labels `[trials]`."""
        task = self.task
        logits = self.model(task.x, task.graph, self.streams.at(Purpose.GNN_DROPOUT, epoch))
        return logits, cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight)

    def perturbed(self, shift: Callable[[Tensor], Tensor], noise: Noise) -> Tensor:
        """The logits of perturbed features."""
        x = cast(Tensor, Shifted(self.task.x, shift))
        return self.model(x, self.task.graph, noise)

    def low_rank(self, left: Tensor) -> Callable[[Tensor], Tensor]:
        """R = A Wᵀ as a shift, W a constant: `left` is A `[trials, nodes, width]`."""
        right = self._first.mT
        return lambda weight: product(left, product(right, weight))

    def with_length(self, left: Tensor, length: float) -> Tensor:
        """Scale the rows of A so that those of A Wᵀ have a length.

        Rows shorter than `SHORTEST` stay short: they are mostly rounding.
        """
        return left * (length / self.squares(left).clamp_min(SHORTEST**2).sqrt())

    def squares(self, left: Tensor) -> Tensor:
        """The squared lengths of the rows of A Wᵀ: `[trials, nodes, 1]`."""
        return (product(left, product(self._first.mT, self._first)) * left).sum(dim=2, keepdim=True).clamp_min(0)

    def steepest(self, distance: Callable[[Tensor], Tensor], noise: Noise, left: Tensor | None = None) -> Tensor:
        """G at the features, perturbed by A Wᵀ if A is given, of a distance from logits to `[trials]`."""
        trials, width = self._first.shape[0], self._first.shape[2]
        probe = torch.zeros(trials, self.task.graph.num_nodes, width, device=self.task.device, requires_grad=True)
        added = None if left is None else self.low_rank(left)
        logits = self.perturbed(lambda weight: probe if added is None else added(weight) + probe, noise)
        (gradient,) = torch.autograd.grad(distance(logits).sum(), probe)
        return gradient

    def virtual(self, logits: Tensor, epoch: int | Tensor, noise: Noise, nodes: Picks | None = None) -> Tensor:
        """A of the virtual adversarial perturbation: where the divergence of predictions grows fastest."""
        width = self._first.shape[2]
        start = self.streams.at(Purpose.PERTURBATION, epoch).uniform(logits.shape[1] * width)
        left = (2 * start - 1).view(-1, logits.shape[1], width)
        for _ in range(self.config.power_iterations):
            step = self.with_length(left, self.config.perturbation_probe)
            left = self.steepest(lambda moved: divergence(logits.detach(), moved, nodes), noise, step)
        return self.with_length(left, self.config.perturbation_size)

    @property
    def _first(self) -> Tensor:
        return self.model.first_weight(self.task.graph).detach()


def divergence(logits: Tensor, moved: Tensor, nodes: Picks | None = None) -> Tensor:
    """The mean of KL(p ‖ q) of nodes, all or some; p and q are the predictions of two logits: `[trials]`."""
    if nodes is not None:
        logits, moved = nodes.of(logits), nodes.of(moved)
    each = (softmax(logits) * (log_softmax(logits) - log_softmax(moved))).sum(dim=2)
    return each.mean(dim=1) if nodes is None else (each * nodes.weight).sum(dim=1)


def entropy(logits: Tensor) -> Tensor:
    """The mean entropy of the predictions of all nodes: `[trials]`."""
    return -(softmax(logits) * log_softmax(logits)).sum(dim=2).mean(dim=1)
