"""Graph adversarial training (Feng et al., 2019): predictions close to the neighbours', even where that is hardest.

    GraphAT:  ℓ(G(X_l), Y_l) + β Σₖ mean over nodes of KL(p(X)_jₖ ‖ p(X + R)_i)
    GraphVAT: the same + α mean over nodes of KL(p(X) ‖ p(X + Rᵛ)), the loss of VAT

j₁, j₂, … are neighbours of i, drawn anew in every step. R, with rows of length ε, goes in the direction in which the
divergence from the neighbours grows fastest. The neighbours' predictions and R are constants.
"""

import torch
from torch import Tensor

from graphmix.models import Backbone
from graphmix.sparse import rows
from graphmix.streams import Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.rules.adversarial import divergence, entropy
from graphmix.training.rules.vat import VAT
from graphmix.training.task import Task


class GraphAT(VAT):
    """The loss on labels and on perturbations away from the neighbours."""

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        super().__init__(model, task, config, streams)
        source = task.graph.edge_index[0]
        self._degree = torch.bincount(source, minlength=task.graph.num_nodes)
        self._begin = self._degree.cumsum(0) - self._degree

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The loss of a step: `[trials]`."""
        logits, supervised = self.clean(epoch)
        return supervised + self.config.graph_weight * self.discord(logits, epoch)

    def discord(self, logits: Tensor, epoch: int | Tensor) -> Tensor:
        """The divergence from the neighbours that the worst perturbations cause: `[trials]`."""
        drawn = self.draw_neighbours(epoch)
        beside = [rows(logits.detach(), each) for each in drawn.unbind(1)]
        noise = self.streams.at(Purpose.GRAPH_DROPOUT, epoch)

        def distance(moved: Tensor) -> Tensor:
            return torch.stack([divergence(each, moved) for each in beside]).sum(dim=0)

        left = self.with_length(self.steepest(distance, noise), self.config.graph_perturbation_size)
        return distance(self.perturbed(self.low_rank(left), noise))

    def draw_neighbours(self, epoch: int | Tensor) -> Tensor:
        """Draw neighbours of every node, with replacement: int64 `[trials, draws, nodes]`.

        A node without neighbours draws itself.
        """
        draws, nodes = self.config.neighbour_draws, self.task.graph.num_nodes
        chance = self.streams.at(Purpose.NEIGHBOURS, epoch).uniform(draws * nodes).view(-1, draws, nodes)
        if self.task.graph.num_edges == 0:
            return torch.arange(nodes, device=chance.device).expand(chance.shape)
        place = self._begin + (chance * self._degree).long()
        target = self.task.graph.edge_index[1]
        found = target[place.clamp_max(target.shape[0] - 1)]
        return found.where(self._degree > 0, torch.arange(nodes, device=chance.device))


class GraphVAT(GraphAT):
    """The loss of GraphAT and that of VAT."""

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The loss of a step: `[trials]`."""
        logits, supervised = self.clean(epoch)
        smooth = self.smoothness(logits, epoch) + self.config.entropy_weight * entropy(logits)
        return supervised + self.config.graph_weight * self.discord(logits, epoch) + smooth
