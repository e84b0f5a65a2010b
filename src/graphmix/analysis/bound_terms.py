"""What is measured of a network for the paper's bound (Theorem 1): losses, and correlations with random signs."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.method import draw_positions
from graphmix.models import Backbone
from graphmix.streams import Purpose, Streams
from graphmix.training.config import Config
from graphmix.training.step import Moment, fcn_loss
from graphmix.training.task import Task

# c, the largest loss of a node. `bounded_loss` has that of the 0-1 loss, the paper's example.
LARGEST_LOSS = 1.0
# How many draws of pairs and λ each measurement has.
DRAWS = 10


def bounded_loss(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """The expected error ℓ(f, y) = 1 - y_argmax(f), in [0, 1]; the 0-1 loss where targets are labels.

    Args:
        logits: `[trials, nodes, classes]`; the first of equal logits is the prediction.
        targets: `[trials or 1, nodes, classes]`, rows sum to 1.
        weight: `[trials or 1, nodes]`, the nodes' weights; rows sum to 1.

    Returns:
        `[trials]`.

    Example:
        >>> logits, weight = torch.tensor([[[2.0, 1.0], [0.0, 3.0]]]), torch.tensor([[0.5, 0.5]])
        >>> bounded_loss(logits, torch.tensor([[[0.75, 0.25], [1.0, 0.0]]]), weight)
        tensor([0.6250])
    """
    return (_errors(logits, targets) * weight).sum(dim=1)


def concentration(m: int, grid: int, delta: float) -> float:
    """c √(ln(|Γ|/δ) / 2m): how far a mean of m losses may be off by chance, for all |Γ| settings at once.

    Example:
        >>> round(4 * concentration(m=140, grid=16, delta=0.05), 3)
        0.574
    """
    return LARGEST_LOSS * math.sqrt(math.log(grid / delta) / (2 * m))


def draw_signs(task: Task, streams: Streams) -> tuple[Tensor, Tensor]:
    """Draw signs ξ for the labeled nodes, and the targets of a network that follows the signs.

    If ξ = -1 the target is the true label, with loss 0. If ξ = +1 it is a wrong class drawn at random, with loss 1.

    Returns:
        Signs `[trials, labeled]`, and one-hot targets `[trials, labeled, classes]`.
    """
    # Epoch 0 holds Algorithm 1's coins.
    noise = streams.at(Purpose.COIN, 1)
    labels, classes = task.targets.argmax(dim=2), task.targets.shape[2]
    plus = noise.words(labels.shape[1]) < 0
    others = torch.full_like(task.labeled.count, classes - 1)
    wrong = (labels + 1 + draw_positions(noise, others, labels.shape[1])) % classes
    return torch.where(plus, 1.0, -1.0), F.one_hot(torch.where(plus, wrong, labels), classes).float()


@torch.no_grad()
def correlation(model: Backbone, task: Task, signs: Tensor) -> Tensor:
    """(2/m) Σ ξᵢ (ℓ(f(xᵢ; G), yᵢ) - c/2) for signs ξ `[trials, labeled]`: `[trials]`, at most c.

    Subtracting c/2 changes no expectation, because signs have mean 0, and it is the same for every f. With it a network
    that follows all signs gets c whatever the signs are, not twice the share of signs that are +1.
    """
    errors = _errors(task.labeled.of(model(task.x, task.graph)), task.targets) - LARGEST_LOSS / 2
    return 2 * (signs * errors * task.labeled.weight).sum(dim=1)


@torch.no_grad()
def fcn_parts(model: Backbone, task: Task, config: Config, streams: Streams) -> Tensor:
    """Both terms of L_FCN with the bounded loss, on labels and on predicted targets: `[2, trials]`.

    Each is a mean over draws of pairs and λ that training has not used. The draws are the same for every network of a
    trial, so that only the networks differ.
    """
    # Two weights at once, [2, 1] broadcast to [trials]: L_FCN without and with its second term.
    weights = torch.tensor([[0.0], [1.0]], device=task.device)
    total = torch.zeros(2, model.trials, device=task.device)
    for epoch in range(config.epochs, config.epochs + DRAWS):
        total += fcn_loss(model, task, config, streams, Moment(epoch, weights), loss=bounded_loss)
    supervised, both = total / DRAWS
    return torch.stack([supervised, both - supervised])


def least(parts: Tensor, gamma: float) -> Tensor:
    """The smallest L_FCN = supervised + γ unsupervised of candidates `[candidates, 2, trials]`: `[trials]`."""
    losses = parts[:, 0] + gamma * parts[:, 1]
    # NaN comes from a network that diverged, which is not a candidate.
    return losses.nan_to_num(nan=math.inf).amin(dim=0)


def _errors(logits: Tensor, targets: Tensor) -> Tensor:
    """1 - y_argmax(f), node by node: `[trials, nodes]`."""
    predicted = logits.argmax(dim=2, keepdim=True)
    return 1 - targets.expand(logits.shape[0], -1, -1).gather(2, predicted)[..., 0]
