"""A batch of trials in training: its state, and one epoch of it."""

import torch
from torch import Tensor

from graphmix.method import accuracy
from graphmix.models import BACKBONES, Backbone
from graphmix.streams import Streams
from graphmix.training.config import Config
from graphmix.training.history import Best
from graphmix.training.step import Moment, divided_loss, flip_coins, heads_first, unsupervised_weight
from graphmix.training.task import Task


class Batch:
    """Trials that train side by side.

    Everything an epoch reads or writes is a tensor that stays in place, the number of the epoch included, so that on
    CUDA an epoch can be captured once and replayed.

    Attributes:
        best: the best epochs so far.
        kept: name to weights `[trials, ...]` at the best epochs.
        curves: loss, validation and test accuracy, `[3, epochs, trials]`.
    """

    def __init__(self, task: Task, config: Config, trials: list[int]):
        device = task.device
        self._task, self._config = task, config
        self._streams = Streams.from_seeds([config.seed + trial for trial in trials], device)
        self._model = build_model(task, config, self._streams)
        self._optimizer = build_optimizer(self._model, config)
        coins = flip_coins(config, self._streams, config.epochs)
        self._heads: list[int] = coins.sum(dim=1).tolist()
        self._order = heads_first(coins)
        self._weight = [unsupervised_weight(config, epoch) for epoch in range(config.epochs)]
        self._weights = torch.tensor(self._weight, device=device)
        self._epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self.best = Best.none(len(trials), device)
        self.kept = {name: weight.detach().clone() for name, weight in self._model.weights.items()}
        self.curves = torch.empty(3, config.epochs, len(trials), device=device)

    def shape(self, epoch: int) -> tuple[int, bool]:
        """What the shapes of an epoch depend on: how many coins show heads, and whether targets are needed."""
        return self._heads[epoch], self._weight[epoch] > 0

    def advance(self, heads: int, unsupervised: bool) -> None:
        """Do the next epoch, a step and what follows from it, given its shape."""
        moment = Moment(self._epoch, self._weights[self._epoch] if unsupervised else None)
        order = self._order.index_select(0, self._epoch)[0]
        loss = divided_loss(self._model, self._task, self._config, self._streams, moment, (order, heads))
        self._optimizer.zero_grad()
        loss.sum().backward()
        self._optimizer.step()
        val, test = evaluate(self._model, self._task)
        self.best.update_(self._epoch, val, test, ties=self._config.ties)
        self._keep_improved()
        self.curves.index_copy_(1, self._epoch, torch.stack([loss.detach(), val, test])[:, None])
        self._epoch += 1

    @torch.no_grad()
    def _keep_improved(self) -> None:
        for name, weight in self._model.weights.items():
            improved = self.best.improved.view(-1, *(1,) * (weight.dim() - 1))
            torch.where(improved, weight, self.kept[name], out=self.kept[name])


def build_model(task: Task, config: Config, streams: Streams) -> Backbone:
    """Create the configured network for a task, with initial weights from each trial's stream."""
    sizes = (task.graph.num_features, config.hidden, task.graph.num_classes)
    return BACKBONES[config.backbone].create(streams, sizes, bias=config.bias, **config.options())


def build_optimizer(model: Backbone, config: Config) -> torch.optim.Optimizer:
    """Adam, whose updates are element-wise: over stacked weights it is one Adam per trial."""
    parameters = list(model.parameters())
    return torch.optim.Adam(
        parameters,
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        fused=True,
        capturable=parameters[0].is_cuda,
    )


@torch.no_grad()
def evaluate(model: Backbone, task: Task) -> tuple[Tensor, Tensor]:
    """Validation and test accuracy of the GNN, without dropout: `[trials]` each."""
    logits = model(task.x, task.graph)
    val, test = (accuracy(nodes.of(logits), nodes.labels) for nodes in (task.val, task.test))
    return val, test
