"""Batch virtual adversarial training (Deng et al., 2019): perturbations that know of each other.

    ℓ(G(X_l), Y_l) + α mean of KL(p(X) ‖ p(X + R)) + β mean entropy of p(X)

In VAT, perturbations of nodes within each other's reach work against each other. The *sampled* form takes the mean over
nodes drawn far from each other alone. The *optimised* form starts from small random numbers and takes ten steps of Adam
on ½ ‖R‖² - KL(p(X) ‖ p(X + R)), for all nodes together.
"""

import torch
from torch import Tensor

from graphmix.errors import ConfigError
from graphmix.models import Backbone
from graphmix.sparse import per_trial
from graphmix.streams import Noise, Purpose, Streams
from graphmix.training.adam import BETAS, EPSILON
from graphmix.training.config import Config
from graphmix.training.rules.adversarial import divergence
from graphmix.training.rules.far_nodes import far_nodes
from graphmix.training.rules.vat import VAT
from graphmix.training.task import Task

# Adam's steps on the perturbations, their size, and the deviation of the random numbers they start from.
STEPS, RATE, START = 10, 1e-3, 0.01
# Squared, relative to the longest row: what a row of zeros counts as.
_DAMPING, _LEAST = 1e-6, 1e-30
# Perturbations of all nodes are written out, up to this many entries.
_MOST_WRITTEN = 2**25


class BVAT(VAT):
    """The loss on labels and on perturbations of a batch of nodes."""

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        super().__init__(model, task, config, streams)
        graph = task.graph
        if config.bvat_form == "optimised" and graph.num_nodes * graph.num_features > _MOST_WRITTEN:
            raise ConfigError(
                f"the optimised form of bvat writes out {graph.num_nodes:,} × {graph.num_features:,} numbers for each "
                "trial, which is too many; use `bvat_form='sampled'`"
            )

    def smoothness(self, logits: Tensor, epoch: int | Tensor) -> Tensor:
        """α times the divergence that the perturbations cause: `[trials]`."""
        noise = self.streams.at(Purpose.PERTURBED_DROPOUT, epoch)
        if self.config.bvat_form == "sampled":
            drawn, graph = self.streams.at(Purpose.FAR_NODES, epoch), self.task.graph
            nodes = far_nodes(drawn, graph.edge_index, graph.num_nodes, self.config.perturbed_nodes)
            moved = self.perturbed(self.low_rank(self.virtual(logits, epoch, noise, nodes)), noise)
            return self.config.adversarial_weight * divergence(logits.detach(), moved, nodes)
        added = self.optimise(logits.detach(), epoch, noise)
        moved = self.perturbed(lambda weight: per_trial(added, weight), noise)
        return self.config.adversarial_weight * divergence(logits.detach(), moved)

    def with_length(self, left: Tensor, length: float) -> Tensor:
        """Scale the rows of A so that those of A Wᵀ have nearly a length, unless far shorter than the longest row."""
        squares = self.squares(left)
        largest = squares.amax(dim=1, keepdim=True).clamp_min(_LEAST)
        return left * (length * ((squares / largest + _DAMPING) * largest).rsqrt())

    def optimise(self, logits: Tensor, epoch: int | Tensor, noise: Noise) -> Tensor:
        """R of all nodes: `[trials, nodes, features]`."""
        shape = self.task.x.shape
        added = self.streams.at(Purpose.PERTURBATION, epoch).bell(shape[0] * shape[1]).view(-1, *shape) * START
        mean, square = torch.zeros_like(added), torch.zeros_like(added)
        first, second = BETAS
        for step in range(1, STEPS + 1):
            with torch.enable_grad():
                free = added.detach().requires_grad_()
                moved = self.perturbed(lambda weight, free=free: per_trial(free, weight), noise)  # type: ignore[misc]
                (gradient,) = torch.autograd.grad(divergence(logits, moved).sum(), free)
            slope = added - gradient
            mean = mean.lerp(slope, 1 - first)
            square = square.lerp(slope.square(), 1 - second)
            length = (square / (1 - second**step)).sqrt() + EPSILON
            added = added - RATE / (1 - first**step) * mean / length
        return added
