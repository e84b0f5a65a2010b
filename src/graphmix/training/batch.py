"""A batch of trials in training: its state, and how it does one epoch."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from graphmix.errors import ConfigError
from graphmix.method import f1
from graphmix.models import Backbone
from graphmix.models.registry import backbone_class
from graphmix.streams import Streams
from graphmix.training.adam import BETAS, EPSILON, Adam, filled_gradients, weight_groups
from graphmix.training.config import LAST, Config
from graphmix.training.history import Best
from graphmix.training.judging import accuracies, judge, logits_of
from graphmix.training.mixup import check_mixup_layer
from graphmix.training.padding import padded_loss
from graphmix.training.rules.rule import descend, make_rule
from graphmix.training.sizes import epochs_between_evaluations
from graphmix.training.step import Moment, divided_loss, flip_coins, heads_first, unsupervised_weight
from graphmix.training.task import Task
from graphmix.training.teacher import Teacher
from graphmix.training.team import Order, Team
from graphmix.training.warm import compile_kernels


class Batch:
    """Trials that train side by side.

    Everything that an epoch reads or writes, including its number, is a tensor that stays in place. So on CUDA an epoch
    can be captured once and replayed. With a `window` above 1, epochs have fewer shapes, and take a little longer. The
    processes of a `team` have a batch of the same trials each, and do its steps together.

    Attributes:
        best: the best epochs so far.
        kept: name to weights `[trials, ...]` at the best epochs.
        curves: `[5, epochs, trials]`, the fields of `History` in their order; an epoch that is not evaluated has the
            values of the last one that was, NaN if there was none.
    """

    def __init__(
        self,
        task: Task,
        config: Config,
        trials: list[int],
        network: Backbone | None = None,
        window: int = 1,
        team: Team | None = None,
    ):
        device = task.device
        self._task, self._config, self._team = task, config, team
        self._streams = Streams.from_seeds([config.seed + trial for trial in trials], device)
        self._model = build_model(task, config, self._streams, network)
        check_mixup_layer(self._model, config)
        self._teacher = Teacher(self._model, config) if config.averages_teacher else None
        self._optimizer = Adam(weight_groups(self._model, config), config.learning_rate)
        self._rule = make_rule(self._model, task, config, self._streams)
        self._window = window
        self._coins = flip_coins(config, self._streams, config.epochs)
        self._heads: list[int] = self._coins.sum(dim=1).tolist()
        self._order = heads_first(self._coins)
        self._weight = [unsupervised_weight(config, epoch) for epoch in range(config.epochs)]
        self._weights = torch.tensor(self._weight, device=device)
        self._epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self._targets = None
        if config.target_every > 1 and config.predicts_targets:
            self._targets = torch.zeros(
                len(trials), task.unlabeled.index.shape[1], task.graph.num_classes, device=device
            )
        self.best = Best.none(len(trials), device)
        self.kept = {name: weight.detach().clone() for name, weight in self._model.weights.items()}
        if self._rule is not None:
            self._rule.kept = self.kept
        self.curves = torch.zeros(5, config.epochs, len(trials), device=device)
        self._every = epochs_between_evaluations(task.graph, config)

    @property
    def model(self) -> Backbone:
        """The current networks, not those of the best epochs; the next epoch changes their weights in place."""
        return self._model

    @property
    def epochs_done(self) -> int:
        """How many epochs the batch has done; reading it waits for the device."""
        return int(self._epoch)

    def state(self) -> dict[str, Tensor]:
        """All tensors that epochs change, by name; they stay in place."""
        parts: dict[str, Mapping[str, Tensor]] = {
            "weights": self._model.weights,
            "kept": self.kept,
            "best": vars(self.best),
            "optimizer": self._optimizer.state(),
            "teacher": {} if self._teacher is None else self._teacher.model.weights,
            "rule": {} if self._rule is None else self._rule.state(),
            "targets": {} if self._targets is None else {"kept": self._targets},
        }
        named = {f"{part}.{name}": tensor for part, held in parts.items() for name, tensor in held.items()}
        return named | {"epoch": self._epoch, "curves": self.curves}

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a copy of what `state` returned.

        Raises:
            ValueError: it is the state of another batch.
        """
        own = self.state()
        for name, tensor in own.items():
            if name not in state or state[name].shape != tensor.shape or state[name].dtype != tensor.dtype:
                raise ValueError(f"missing or invalid: {name}")
        for name, tensor in own.items():
            tensor.copy_(state[name])

    @property
    def device(self) -> torch.device:
        """The device that the batch trains on."""
        return self._task.device

    def compile_kernels(self) -> None:
        """Compile the kernels of all epochs side by side, on CUDA."""
        compile_kernels(self._model, self._task, self._config, self._streams)

    def shape(self, epoch: int) -> tuple[int, bool, bool]:
        """What an epoch does: the number of heads, whether targets are needed, and whether they are predicted anew.

        The number of heads is rounded down to a multiple of the window. If the method brings its own rule, the first
        number is the phase of the rule.
        """
        if self._rule is not None:
            return self._rule.phase(epoch), False, False
        needed = self._weight[epoch] > 0
        first = needed and (epoch == 0 or not self._weight[epoch - 1] > 0)
        heads = self._heads[epoch] // self._window * self._window
        return heads, needed, needed and (first or epoch % self._config.target_every == 0)

    def advance(self, heads: int, unsupervised: bool, refresh: bool) -> None:
        """Do the next epoch, given its shape: a step, then evaluation if it is due."""
        loss = self._step(heads, unsupervised, refresh)
        if not self._is_due():
            self.best.improved.zero_()
            self._note(loss, *self._last_evaluation())
            return
        score, val, test, losses = self._judge()
        if self._rule is not None and heads in self._rule.forgets:
            self.best.score.fill_(-1.0)
        self.best.update_(self._epoch, score, val, test, ties=self._config.ties)
        self._keep_improved()
        self._note(loss, val, test, *losses)

    def _is_due(self) -> bool:
        """Whether an epoch is evaluated: every so many, and the last one."""
        # Reading the number waits for the device, which an epoch that is captured must not do.
        if self._every == 1:
            return True
        done = int(self._epoch) + 1
        return done % self._every == 0 or done == self._config.epochs

    def _last_evaluation(self) -> Tensor:
        """What the curves have of the epoch before: accuracies and losses `[4, trials]`; NaN before the first."""
        epoch = int(self._epoch)
        return self.curves[1:, epoch - 1] if epoch > 0 else torch.full_like(self.curves[1:, 0], torch.nan)

    def _note(self, loss: Tensor, *judged: Tensor) -> None:
        """End an epoch: add its loss to the curves, with the last evaluation."""
        self.curves.index_copy_(1, self._epoch, torch.stack([loss.detach(), *judged])[:, None])
        self._epoch += 1

    def advance_blindly(self, heads: int, unsupervised: bool, refresh: bool) -> None:
        """Do the next epoch without an evaluation: `best`, `kept` and `curves` stay what they are."""
        self._step(heads, unsupervised, refresh)
        self._epoch += 1

    def _step(self, heads: int, unsupervised: bool, refresh: bool) -> Tensor:
        """Update the weights once; return each trial's loss `[trials]`."""
        if self._rule is not None:
            return self._rule.update(heads, self._epoch, self._optimizer)
        weight = self._weights[self._epoch] if unsupervised else None
        teacher = None if self._teacher is None else self._teacher.model
        moment = Moment(self._epoch, weight, self._targets, refresh, teacher)
        loss = self._descend(lambda sample: self._loss(replace(moment, epoch=sample), heads))
        if self._teacher is not None:
            self._teacher.follow(self._model, self._epoch)
        return loss

    def _descend(self, loss_of: Callable[[Tensor], Tensor]) -> Tensor:
        """Update the weights by the mean gradient of the step's samples; return their mean loss `[trials]`.

        A sample has a number, from which its nodes and all its random numbers follow.
        """
        parts, team = 1 if self._task.parts is None else self._config.batch_parts, self._team
        if parts == 1 and team is None:
            loss = loss_of(self._epoch)
            descend(self._optimizer, loss)
            return loss
        if team is not None and team.leads:
            team.order(Order.STEP)
        own = range(parts) if team is None else team.share(parts)
        self._optimizer.zero_grad()
        total = torch.zeros_like(self.best.score)
        for part in own:
            loss = loss_of(self._epoch * parts + part) / parts
            loss.sum().backward()
            total += loss.detach()
        if team is not None:
            team.add_up([*filled_gradients(self._model.weights.values()), total])
        self._optimizer.step()
        return total

    def _loss(self, moment: Moment, heads: int) -> Tensor:
        order = self._order.index_select(0, self._epoch)[0]
        state = self._model, self._task.at(moment.epoch, self._config), self._config, self._streams, moment
        if self._window == 1:
            return divided_loss(*state, (order, heads))
        coins = self._coins.index_select(0, self._epoch)[0]
        return padded_loss(*state, (coins, order), (heads, min(heads + self._window, len(order))))

    @torch.no_grad()
    def _judge(self) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """The selection score, validation and test accuracy, training and validation loss: `[trials]` each."""
        logits = logits_of(self._model, self._task)
        val, test, *losses = judge(logits, self._task)
        if self._config.select_by == "accuracy":
            return val, val, test, losses
        if self._config.select_by == LAST:
            # From 0 to 1 like the other scores, and every epoch is better than the one before.
            return ((self._epoch + 1) / self._config.epochs).expand_as(val), val, test, losses
        if self._config.select_by == "loss":
            # From 0 to 1 like the other scores: the geometric mean of the probabilities of the labels; 0 if it is NaN.
            return (-losses[1]).exp().nan_to_num(0.0), val, test, losses
        nodes = self._task.val
        return f1(nodes.of(logits).argmax(dim=2), nodes.labels, logits.shape[2]).nanmean(dim=1), val, test, losses

    @torch.no_grad()
    def test_logits(self) -> Tensor:
        """Logits of the test nodes, by each trial's network at its best epoch: `[trials, test nodes, classes]`."""
        best = replace(self._model, weights=self.kept)
        return self._task.test.of(logits_of(best, self._task))

    @torch.no_grad()
    def _keep_improved(self) -> None:
        for name, weight in self._model.weights.items():
            improved = self.best.improved.view(-1, *(1,) * (weight.dim() - 1))
            torch.where(improved, weight, self.kept[name], out=self.kept[name])


def build_model(task: Task, config: Config, streams: Streams, network: Backbone | None = None) -> Backbone:
    """Create the config's network, or the custom model, with initial weights from each trial's stream."""
    sizes = (task.graph.num_features, config.hidden, task.graph.num_classes)
    if network is None:
        return backbone_class(config.backbone).create(streams, sizes, bias=config.bias, **config.options())
    if task.graph.edge_weights is not None and config.trains_gnn and not network.heeds_weights:
        raise ConfigError(
            "the graph has edge weights, but they do not change what the custom model computes; let its forward take "
            "them as edge_weight, or leave the edge weights out"
        )
    return network.create(streams, sizes, bias=config.bias, **network.options)


def build_optimizer(model: Backbone, config: Config) -> torch.optim.Optimizer:
    """Return Adam. Its updates are element-wise, so over stacked weights it is one Adam per trial.

    `fit` makes the same updates with `graphmix.training.adam.Adam`, which takes less time to import.
    """
    optimizer = torch.optim.Adam(
        [
            {"params": group.weights, "weight_decay": group.decay, "fused": group.fused}
            for group in weight_groups(model, config)
        ],
        lr=config.learning_rate,
        betas=BETAS,
        eps=EPSILON,
        capturable=next(model.parameters()).is_cuda,
    )
    optimizer.register_step_pre_hook(_fill_gradients)
    return optimizer


def _fill_gradients(optimizer: torch.optim.Optimizer, *_: object) -> None:
    # No trial used a weight without a gradient in this step, as attention weights when all coins show heads. Adam would
    # skip it, but it updates the same weight in a batch where another trial used it.
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)


@torch.no_grad()
def evaluate(model: Backbone, task: Task) -> tuple[Tensor, Tensor]:
    """Validation and test accuracy, without dropout: `[trials]` each."""
    return accuracies(logits_of(model, task), task)
