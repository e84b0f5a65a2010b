"""Manifold mixup of the FCN: L_MM at the hidden layer, as in the paper, at the input, or at a random one of both."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.method import LOSSES, Loss, draw_lambda, draw_partners
from graphmix.models import BACKBONES, Backbone
from graphmix.models.mixed import Mixed
from graphmix.models.registry import backbone_class
from graphmix.sparse import SparseMatrix, mixed_rows
from graphmix.streams import Noise, Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.needed import labeled_rows
from graphmix.training.task import Picks, Task

HIDDEN, INPUT = "hidden", "input"


def check_mixup_layer(model: Backbone, config: Config) -> None:
    """Raise ConfigError if the features are to be mixed and the network does not read them in one product."""
    if config.mixup_layer == HIDDEN or model.reads_x_once or "mixup_layer" in config.unread:
        return
    able = [name for name in BACKBONES if backbone_class(name).reads_x_once]
    raise ConfigError(
        f"`mixup_layer` {config.mixup_layer!r} needs a `backbone` that reads the features in one product, "
        f"{', '.join(able[:-1])} or {able[-1]}, not {config.backbone}"
    )


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which nodes of a step are mixed, and how.

    Attributes:
        nodes: the nodes.
        partner: int64 `[trials, picks]`, which of them each is mixed with.
        lam: λ `[trials, picks or 1]`.
    """

    nodes: Picks
    partner: Tensor
    lam: Tensor

    @classmethod
    def draw(cls, nodes: Picks, config: Config, noise: Noise) -> "Pairs":
        """Draw λ and partners for nodes."""
        picks = nodes.index.shape[1]
        lam = draw_lambda(config.alpha, noise, picks if config.lambda_per == "pair" else 1)
        return cls(nodes, draw_partners(noise, nodes.count, picks), lam)

    def mix(self, values: Tensor, where: Tensor | None = None) -> Tensor:
        """Mix rows `[trials, picks, width]`: in all trials, or only in those `where` bool `[trials]` is True."""
        lam = self.lam if where is None else self.lam.masked_fill(~where[:, None], 1.0)
        return mixed_rows(values, self.partner, lam)


def label_mixup_loss(
    model: Backbone, task: Task, config: Config, streams: Streams, epoch: int | Tensor, loss: Loss | None = None
) -> Tensor:
    """L_supervised, manifold mixup of the labeled nodes by the FCN: `[trials]`."""
    x, nodes = labeled_rows(model, task)
    pairs = Pairs.draw(nodes, config, streams.at(Purpose.MIXING_LABELED, epoch))
    noise = streams.at(Purpose.FCN_DROPOUT, epoch)
    (mixed,) = mixed_states(model, task.null, x, [pairs], noise, draw_layer(config, streams, epoch))
    return mixup_loss(model, task, mixed, (pairs, task.targets), noise, loss or LOSSES[config.fcn_loss])


@dataclass(frozen=True, eq=False)
class Layer:
    """Where a step mixes.

    Attributes:
        at_input: bool `[trials]`, which trials mix the input and not the hidden layer; None if all do the same.
        hidden: whether it is the hidden layer, if all do the same.
    """

    at_input: Tensor | None = None
    hidden: bool = True


def draw_layer(config: Config, streams: Streams, epoch: int | Tensor) -> Layer:
    """Return the layer of a step, which the config says or every trial draws."""
    if config.mixup_layer in (HIDDEN, INPUT):
        return Layer(hidden=config.mixup_layer == HIDDEN)
    return Layer(streams.at(Purpose.MIXUP_LAYER, epoch).words(1)[:, 0] < 0)


def mixed_states(
    model: Backbone, null: Graph, x: SparseMatrix | Tensor, pairs: list[Pairs], noise: Noise, layer: Layer
) -> list[Tensor]:
    """The FCN's hidden states of mixed nodes, for each of several lists of pairs: `[trials, picks, hidden]`.

    The FCN is node-wise, so one pass serves all lists. Where trials draw a layer, all mix at both, with λ = 1, which
    changes nothing, at the one they did not draw.
    """
    at_input = layer.at_input
    if at_input is None and layer.hidden:
        hidden = model.encode(x, null, noise)
        return [each.mix(each.nodes.of(hidden)) for each in pairs]
    mixed = Mixed(x, lambda mapped: torch.cat([each.mix(each.nodes.of(mapped), at_input) for each in pairs], dim=1))
    states = model.encode(cast(Tensor, mixed), null, noise).split([each.partner.shape[1] for each in pairs], dim=1)
    # Kernels read states that lie side by side.
    parts = [part.contiguous() for part in states]
    if at_input is None:
        return parts
    return [each.mix(part, ~at_input) for each, part in zip(pairs, parts, strict=True)]


def mixup_loss(
    model: Backbone, task: Task, mixed: Tensor, labels: tuple[Pairs, Tensor], noise: Noise, loss: Loss
) -> Tensor:
    """L_MM of mixed hidden states `[trials, picks, hidden]` and their mixed targets (Eq. 2): `[trials]`."""
    pairs, targets = labels
    logits = model.decode(mixed, task.null, noise)
    return loss(logits, pairs.mix(targets.expand(mixed.shape[0], -1, -1)), pairs.nodes.weight)
