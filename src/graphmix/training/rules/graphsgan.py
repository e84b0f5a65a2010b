"""GraphSGAN (Ding et al., 2018): a generator that fills the gaps between the classes, and a classifier that knows it.

With Z = Σ exp of the logits, and real / made nodes in batches of 64, the classifier minimises

    ℓ(labels) + ½ · ½ (mean of -log Z/(1+Z) over unlabeled + mean of log(1+Z) over made nodes)
    + entropy of unlabeled predictions, a mean over nodes and classes + the pull-away term of unlabeled h₅,

and the generator |mean h₅ of made nodes - mean h₅ of unlabeled ones| + the pull-away term of the made ones' h₅. The
pull-away term is the mean squared cosine of two different nodes. An epoch here is ten such pairs of steps.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.errors import DataError
from graphmix.method import draw_positions, log_softmax, softmax
from graphmix.models import Backbone
from graphmix.models.activations import elu
from graphmix.models.backbone import glorot, zeros
from graphmix.models.sgan import SGAN, inputs, unit
from graphmix.sparse import product
from graphmix.streams import Noise, Purpose, Streams
from graphmix.training.adam import Adam, Optimizer, group
from graphmix.training.config import Config
from graphmix.training.rules.rule import Rule, descend, optimizer_states
from graphmix.training.task import Picks, Task

STEPS, BATCH, SEEDS = 10, 64, 200
UNLABELED_WEIGHT = 0.5
_BETAS = (0.5, 0.999)


class GraphSGAN(Rule):
    """The game of a classifier and a generator."""

    model: SGAN

    def __init__(self, model: Backbone, task: Task, config: Config, streams: Streams):
        super().__init__(model, task, config, streams)
        if not bool((task.unlabeled.count > 0).all()):
            raise DataError("graphsgan learns from unlabeled nodes, and there are none; choose another `method`")
        self._inputs = task.graph.derived(inputs)
        self.generator = Generator(streams.copies(0, 1), config.hidden, self._inputs.shape[1])
        self._optimizers = [_adam(each, config) for each in (list(model.parameters()), self.generator.parameters())]

    def state(self) -> dict[str, Tensor]:
        """The generator and both optimisers."""
        made = {f"generator.{place}": weight for place, weight in enumerate(self.generator.parameters())}
        return made | optimizer_states(self._optimizers)

    def update(self, phase: int, epoch: int | Tensor, optimizer: Optimizer) -> Tensor:
        """Train both several times, in turn; return the classifier's mean loss `[trials]`."""
        drawn, noise = self._noises(epoch)
        losses = []
        for _ in range(STEPS):
            losses.append(self.classifier_loss(drawn, noise))
            descend(self._optimizers[0], losses[-1])
            descend(self._optimizers[1], self.generator_loss(drawn, noise))
        return torch.stack(losses).detach().mean(dim=0)

    def loss(self, phase: int, epoch: int | Tensor) -> Tensor:
        """The classifier's loss in the first of an epoch's steps: `[trials]`."""
        return self.classifier_loss(*self._noises(epoch))

    def classifier_loss(self, drawn: Noise, noise: Noise) -> Tensor:
        """The classifier's loss: `[trials]`."""
        labeled, place = self.batch(self.task.labeled, drawn)
        unlabeled, _ = self.batch(self.task.unlabeled, drawn)
        targets = self.task.targets.expand(self.model.trials, -1, -1)
        wanted = targets.gather(1, place[..., None].expand(-1, -1, targets.shape[2]))
        supervised = -(log_softmax(self.model.run(labeled, noise)[1]) * wanted).sum(dim=2).mean(dim=1)
        hidden, logits = self.model.run(unlabeled, noise)
        made = self.model.run(self.generator(drawn).detach(), noise)[1]
        real, fake = logits.logsumexp(dim=2), made.logsumexp(dim=2)
        unsupervised = 0.5 * (F.softplus(-real).mean(dim=1) + F.softplus(fake).mean(dim=1))
        entropy = -(softmax(logits) * log_softmax(logits)).mean(dim=(1, 2))
        return supervised + UNLABELED_WEIGHT * unsupervised + entropy + pull_away(hidden)

    def generator_loss(self, drawn: Noise, noise: Noise) -> Tensor:
        """The generator's loss: `[trials]`."""
        unlabeled, _ = self.batch(self.task.unlabeled, drawn)
        made = self.model.run(self.generator(drawn), noise)[0]
        real = self.model.run(unlabeled, noise)[0]
        return (made.mean(dim=1) - real.mean(dim=1)).abs().mean(dim=1) + pull_away(made)

    def batch(self, nodes: Picks, drawn: Noise) -> tuple[Tensor, Tensor]:
        """Draw nodes, with replacement: their inputs `[trials, batch, width]`, and their places among the picks."""
        place = draw_positions(drawn, nodes.count, BATCH)
        index = nodes.index.expand(place.shape[0], -1).gather(1, place)
        return self._inputs[index], place

    def _noises(self, epoch: int | Tensor) -> tuple[Noise, Noise]:
        return self.streams.at(Purpose.GAME_BATCHES, epoch), self.streams.at(Purpose.GAME_NOISE, epoch)


class Generator:
    """From random numbers to inputs: two layers with batch norm and ELU, one with weight norm and tanh."""

    def __init__(self, streams: Streams, hidden: int, width: int):
        noise = streams.at(Purpose.WEIGHTS)
        self.layers = [glorot(noise, SEEDS, hidden), glorot(noise, hidden, hidden)]
        self.last = glorot(noise, hidden, width)
        self.biases = [zeros(noise, hidden), zeros(noise, hidden), zeros(noise, width)]
        self.scale = (zeros(noise, width).detach() + 1).requires_grad_()

    def parameters(self) -> list[Tensor]:
        """The tensors that are trained."""
        return [*self.layers, self.last, *self.biases, self.scale]

    def __call__(self, noise: Noise) -> Tensor:
        """Make a batch of inputs: `[trials, batch, width]`."""
        values = noise.uniform(BATCH * SEEDS).view(-1, BATCH, SEEDS)
        for weight, bias in zip(self.layers, self.biases, strict=False):
            mapped = product(values, weight)
            mean = mapped.mean(dim=1, keepdim=True)
            spread = (mapped - mean).square().mean(dim=1, keepdim=True)
            values = elu((mapped - mean) * (spread + 1e-6).rsqrt() + bias)
        return (product(values, unit(self.last) * self.scale) + self.biases[2]).tanh()


def pull_away(values: Tensor) -> Tensor:
    """The mean squared cosine of two different rows of `[trials, rows, width]`: `[trials]`."""
    size = values.shape[1]
    rows = values * values.square().sum(dim=2, keepdim=True).clamp_min(1e-24).rsqrt()
    cosines = product(rows, rows.mT).square()
    return (cosines.sum(dim=(1, 2)) - cosines.diagonal(dim1=1, dim2=2).sum(dim=1)) / (size * (size - 1))


def _adam(parameters: list[Tensor], config: Config) -> Adam:
    return Adam(group(parameters, [config.weight_decay] * len(parameters)), config.learning_rate, _BETAS)
