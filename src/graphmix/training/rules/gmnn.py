"""GMNN (Qu et al., 2019): pseudolikelihood EM with two networks.

q predicts a node's class from the features, p from the classes of its neighbours. After a pretraining of q on the
labels, they train in turn:

    M-step: draw classes ŷ from q (sharpened), the labels where they are known; train p: ℓ(p(ŷ), ŷ) over all nodes
    E-step: predict targets with p(ŷ), the labels where they are known; train q: ℓ(q(X), targets) over all nodes

q predicts. The best epoch is chosen among those of the last E-step.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.method import cross_entropy, softmax
from graphmix.models import Backbone
from graphmix.streams import Noise, Purpose, Streams
from graphmix.training.adam import Adam, Optimizer, weight_groups
from graphmix.training.config import Config
from graphmix.training.rmsprop import RMSprop
from graphmix.training.rules.rule import Rule, descend, optimizer_states, require_one_product
from graphmix.training.task import Task

PRETRAIN, DRAW, TRAIN_P, TEACH, TRAIN_Q = range(5)


@dataclass(frozen=True)
class Known:
    """The labels of each trial.

    Attributes:
        where: bool `[trials or 1, nodes, 1]`.
        classes: one-hot `[trials or 1, nodes, classes]`, 0 where unknown.
    """

    where: Tensor
    classes: Tensor

    @classmethod
    def of(cls, task: Task) -> "Known":
        """Spread the labels over all nodes."""
        picks, nodes, classes = task.labeled, task.graph.num_nodes, task.graph.num_classes
        real = (picks.weight > 0)[..., None]
        one_hot = F.one_hot(picks.labels.clamp_min(0), classes).float() * real
        shape, index = (picks.index.shape[0], nodes, classes), picks.index[..., None]
        spread = torch.zeros(shape, device=task.device).scatter(1, index.expand(-1, -1, classes), one_hot)
        where = torch.zeros(*shape[:2], 1, dtype=torch.bool, device=task.device).scatter(1, index, real)
        return cls(where, spread)

    def over(self, values: Tensor) -> Tensor:
        """Put the labels in the place of values `[trials, nodes, classes]`."""
        return torch.where(self.where, self.classes, values)


class GMNN(Rule):
    """Two networks that train in turn; the one on the features predicts."""

    forgets: ClassVar[tuple[int, ...]] = (TEACH,)

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        require_one_product(model, config)
        super().__init__(model, task, config, streams)
        classes = task.graph.num_classes
        # A stream of its own: the two networks do not start from the same numbers.
        self.second = type(model).create(
            streams.copies(0, 1), (classes, config.hidden, classes), bias=config.bias, **model.options
        )
        self.known = Known.of(task)
        self.drawn = torch.zeros(model.trials, task.graph.num_nodes, classes, device=task.device)
        self.targets = torch.zeros_like(self.drawn)
        self._optimizers = [_optimizer(each, config) for each in (model, self.second)]

    def phase(self, epoch: int) -> int:
        """Pretraining, then p and q in turn; the first epoch of each turn also prepares its data."""
        place, length = epoch - self.config.pretraining, self.config.phase_epochs
        if place < 0:
            return PRETRAIN
        first = place % length == 0
        if place // length % 2 == 0:
            return DRAW if first else TRAIN_P
        return TEACH if first else TRAIN_Q

    def state(self) -> dict[str, Tensor]:
        """The second network, both optimisers, what was drawn, and the targets."""
        second = {f"second.{name}": weight for name, weight in self.second.weights.items()}
        return second | optimizer_states(self._optimizers) | {"drawn": self.drawn, "targets": self.targets}

    def update(self, phase: int, epoch: int | Tensor, optimizer: Optimizer) -> Tensor:
        """Prepare the data of a turn if it begins, and train one of the networks."""
        if phase == DRAW:
            self.restore()
            self.draw(self.streams.at(Purpose.DRAWN_LABELS, epoch))
        elif phase == TEACH:
            self.teach()
        loss = self.loss(phase, epoch)
        descend(self._optimizers[phase in (DRAW, TRAIN_P)], loss)
        return loss

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The loss of the network whose turn it is: `[trials]`."""
        task = self.task
        if phase in (DRAW, TRAIN_P):
            logits = self.second(self.drawn, task.graph, self.streams.at(Purpose.SECOND_DROPOUT, epoch))
            return _mean_loss(logits, self.drawn)
        logits = self.model(task.x, task.graph, self.streams.at(Purpose.GNN_DROPOUT, epoch))
        if phase == PRETRAIN:
            return cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight)
        return _mean_loss(logits, self.targets)

    @torch.no_grad()
    def restore(self) -> None:
        """Go back to q's best weights so far."""
        for name, weight in self.kept.items():
            self.model.weights[name].copy_(weight)

    @torch.no_grad()
    def draw(self, noise: Noise) -> None:
        """Draw a class of every node from q, known labels excepted."""
        logits = self.model(self.task.x, self.task.graph) / self.config.temperature
        limits = softmax(logits).cumsum(dim=2)
        chance = noise.uniform(logits.shape[1])[..., None]
        number = (limits[..., :-1] <= chance).sum(dim=2)
        self.drawn.copy_(self.known.over(F.one_hot(number, logits.shape[2]).float()))

    @torch.no_grad()
    def teach(self) -> None:
        """Predict q's targets with p, known labels excepted."""
        self.targets.copy_(self.known.over(softmax(self.second(self.drawn, self.task.graph))))


def _mean_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy of all nodes: `[trials]`."""
    nodes = logits.shape[1]
    return cross_entropy(logits, targets, logits.new_full((1, nodes), 1 / nodes))


def _optimizer(model: Backbone, config: Config) -> Optimizer:
    kind = RMSprop if config.optimiser == "rmsprop" else Adam
    return kind(weight_groups(model, config), config.learning_rate)
