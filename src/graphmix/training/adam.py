"""Adam, as `torch.optim.Adam(fused=True)` computes it, bit for bit, without torch's compiler.

The first use of any optimizer of `torch.optim` imports `torch._dynamo`, and sympy with it: 800 modules that training
never uses, and that take nearly as long as `import torch` itself. A step is one call of one kernel.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from graphmix.models import Backbone
from graphmix.training.config import Config

# Those of Kingma and Ba (2015), and torch's defaults.
BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Group(NamedTuple):
    """Weights that are decayed at one rate."""

    weights: list[Tensor]
    decay: float


def weight_groups(model: Backbone, config: Config) -> list[Group]:
    """Divide a model's weights into those that are decayed and those that are not, if there are any."""
    decayed = [weight for name, weight in model.weights.items() if name not in model.undecayed]
    undecayed = [model.weights[name] for name in model.undecayed]
    groups = [Group(decayed, config.weight_decay), Group(undecayed, 0.0)]
    return [group for group in groups if group.weights]


class Adam:
    """Adam for tensors that stay in place, with steps that a CUDA graph can capture."""

    def __init__(self, groups: Iterable[Group], rate: float):
        self._groups = list(groups)
        self._rate = rate
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

    @torch.no_grad()
    def step(self) -> None:
        """Update every weight by its gradient.

        A weight without a gradient was not used in this step by any trial, as attention weights when all coins show
        heads. It is updated with a gradient of 0, as in a batch where another trial used it.
        """
        for group, (first, second, steps) in zip(self._groups, self._state, strict=True):
            gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in group.weights]
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                group.weights,
                gradients,
                first,
                second,
                [],
                steps,
                lr=self._rate,
                beta1=BETAS[0],
                beta2=BETAS[1],
                weight_decay=group.decay,
                eps=EPSILON,
                amsgrad=False,
                maximize=False,
            )
