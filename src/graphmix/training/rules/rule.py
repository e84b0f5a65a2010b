"""What a training rule is. Importing this imports torch; `methods.METHODS` names the rules without it."""

import abc
import importlib
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from graphmix.errors import ConfigError
from graphmix.models import BACKBONES, Backbone
from graphmix.models.registry import backbone_class
from graphmix.streams import Streams
from graphmix.training.adam import Optimizer
from graphmix.training.config import Config
from graphmix.training.methods import METHODS
from graphmix.training.task import Task


class Rule(abc.ABC):
    """How a method trains a batch of trials: the loss of a step, and what it needs besides the network that predicts.

    A rule is made once for a batch. All that it keeps between steps are tensors that stay in place, and no step waits
    for the device, so that on CUDA an epoch can be captured once and replayed.

    Attributes:
        model: the network that predicts, with its trials' weights.
        task: the graph and its nodes.
        config: the hyperparameters.
        streams: the trials' random streams.
        forgets: phases that begin anew: epochs before them are no longer candidates for the best one.
        kept: the weights at the best epochs so far, name to tensor, which the batch updates in place; the initial ones
            if nobody evaluates, and empty outside a batch.
    """

    forgets: ClassVar[tuple[int, ...]] = ()

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        self.model, self.task, self.config, self.streams = model, task, config, streams
        self.kept: dict[str, Tensor] = {}

    def phase(self, epoch: int) -> int:
        """Which kind of step an epoch does, if there are several: each kind is captured on its own."""
        return 0

    @abc.abstractmethod
    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The loss that each trial minimises in a step: `[trials]`; the epoch determines its random numbers."""

    def state(self) -> dict[str, Tensor]:
        """All tensors that steps change, by name, besides the network that predicts; they stay in place."""
        return {}

    def update(self, phase: int, epoch: int | Tensor, optimizer: Optimizer) -> Tensor:
        """Do a step: update the weights once, and return each trial's loss `[trials]`."""
        loss = self.loss(phase, epoch)
        descend(optimizer, loss)
        return loss


def require_one_product(model: Backbone, config: Config) -> None:
    """Raise ConfigError unless the network reads the features in one product: then they may differ between trials."""
    if not model.reads_x_once:
        able = [name for name in BACKBONES if backbone_class(name).reads_x_once]
        raise ConfigError(
            f"{config.method} needs a `backbone` that reads the features in one product, {', '.join(able[:-1])} or "
            f"{able[-1]}, not {config.backbone}"
        )


def descend(optimizer: Optimizer, loss: Tensor) -> None:
    """Update weights by the gradients of losses `[trials]`. Trials share no weights, so those of the sum are theirs."""
    optimizer.zero_grad()
    loss.sum().backward()
    optimizer.step()


def optimizer_states(optimizers: Sequence[Optimizer]) -> dict[str, Tensor]:
    """All tensors of several optimisers, by name; they stay in place."""
    return {
        f"optimizer.{place}.{name}": tensor
        for place, each in enumerate(optimizers)
        for name, tensor in each.state().items()
    }


def make_rule(model: Backbone, task: Task, config: Config, streams: Streams) -> Rule | None:
    """Make the rule of the config's method for a batch of trials; None if GraphMix's own step trains it."""
    place = METHODS[config.method].rule
    if place is None:
        return None
    module, name = place
    made: Rule = getattr(importlib.import_module(f"graphmix.training.rules.{module}"), name)(
        model, task, config, streams
    )
    return made
