"""Adam, as `torch.optim.Adam(fused=True)` computes it, bit for bit, without torch's compiler.

The first use of any optimizer of `torch.optim` imports `torch._dynamo`, and sympy with it: 800 modules that training
never uses, and that take nearly as long as `import torch` itself. A step is one call of one kernel.

On a CPU that kernel rounds differently at the end of a tensor, where less than a cache line is left. A trial's result
would depend on its place in the batch. Weights of such sizes, as biases, are updated as `Adam(fused=False)` does.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from graphmix.models import Backbone
from graphmix.training.config import Config

# Those of Kingma and Ba (2015), and torch's defaults.
BETAS = (0.9, 0.999)
EPSILON = 1e-8
# Float32 values in a cache line, in which torch's fused Adam works on a CPU.
_CACHE_LINE = 16


class Optimizer(Protocol):
    """What updates weights by their gradients."""

    def zero_grad(self) -> None:
        """Forget the gradients."""

    def step(self) -> None:
        """Update every weight by its gradient."""

    def state(self) -> dict[str, Tensor]:
        """All tensors besides the weights that a step changes, by name; they stay in place."""
        ...


class Group(NamedTuple):
    """Weights that are decayed at one rate, and whether one kernel updates them."""

    weights: list[Tensor]
    decay: float
    fused: bool = True


def weight_groups(model: Backbone, config: Config) -> list[Group]:
    """Divide a model's weights by their rates of decay, and by whether one kernel can update them."""
    trained = {name: weight for name, weight in model.weights.items() if weight.requires_grad}
    return group(trained.values(), [model.decay_of(name, config.weight_decay) for name in trained])


def group(weights: Iterable[Tensor], decays: Iterable[float]) -> list[Group]:
    """Divide weights `[trials, ...]`, each with its rate of decay."""
    groups: dict[tuple[float, bool], list[Tensor]] = {}
    for weight, decay in zip(weights, decays, strict=True):
        fused = weight.is_cuda or weight[0].numel() % _CACHE_LINE == 0
        groups.setdefault((decay, fused), []).append(weight)
    return [Group(members, decay, fused) for (decay, fused), members in groups.items()]


def filled_gradients(weights: Iterable[Tensor]) -> list[Tensor]:
    """Return the gradients of the weights that are trained; those that have none get 0."""
    trained = [weight for weight in weights if weight.requires_grad]
    for weight in trained:
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
    return [weight.grad for weight in trained if weight.grad is not None]


class Adam:
    """Adam for tensors that stay in place, with steps that a CUDA graph can capture."""

    def __init__(self, groups: Iterable[Group], rate: float, betas: tuple[float, float] = BETAS):
        self._groups = list(groups)
        self._rate, self._betas = rate, betas
        # Per group: first and second moments, and the number of steps, which kernels read from device memory.
        self._state = [
            (
                [torch.zeros_like(weight, requires_grad=False) for weight in group.weights],
                [torch.zeros_like(weight, requires_grad=False) for weight in group.weights],
                [torch.zeros((), device=weight.device) for weight in group.weights],
            )
            for group in self._groups
        ]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for group in self._groups:
            for weight in group.weights:
                weight.grad = None

    def state(self) -> dict[str, Tensor]:
        """The moments and the numbers of steps, by name; they stay in place."""
        return {
            f"{group}.{kind}.{place}": tensor
            for group, kinds in enumerate(self._state)
            for kind, tensors in zip(("first", "second", "steps"), kinds, strict=True)
            for place, tensor in enumerate(tensors)
        }

    @torch.no_grad()
    def step(self) -> None:
        """Update every weight by its gradient.

        A weight without a gradient was not used in this step by any trial, as attention weights when all coins show
        heads. It is updated with a gradient of 0, as in a batch where another trial used it.
        """
        for group, (first, second, steps) in zip(self._groups, self._state, strict=True):
            gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in group.weights]
            torch._foreach_add_(steps, 1)
            if not group.fused:
                for each in zip(group.weights, gradients, first, second, steps, strict=True):
                    _update(*each, rate=self._rate, decay=group.decay, betas=self._betas)
                continue
            torch._fused_adam_(
                group.weights,
                gradients,
                first,
                second,
                [],
                steps,
                lr=self._rate,
                beta1=self._betas[0],
                beta2=self._betas[1],
                weight_decay=group.decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )


def _update(
    weight: Tensor,
    gradient: Tensor,
    first: Tensor,
    second: Tensor,
    steps: Tensor,
    *,
    rate: float,
    decay: float,
    betas: tuple[float, float],
) -> None:
    """Update one weight on a CPU, operation by operation."""
    if decay != 0:
        gradient = gradient.add(weight, alpha=decay)
    first.lerp_(gradient, 1 - betas[0])
    second.mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
    number = steps.item()
    size = rate / (1 - betas[0] ** number)
    denominator = (second.sqrt() / math.sqrt(1 - betas[1] ** number)).add_(EPSILON)
    weight.addcdiv_(first, denominator, value=-size)
