"""RMSprop, as `torch.optim.RMSprop` computes it, without torch's compiler; see `training.adam`."""

from collections.abc import Iterable

import torch
from torch import Tensor

from graphmix.training.adam import EPSILON, Group

# How much of the mean of squared gradients a step keeps: torch's default.
KEPT = 0.99


class RMSprop:
    """RMSprop for tensors that stay in place, with steps that a CUDA graph can capture."""

    def __init__(self, groups: Iterable[Group], rate: float):
        self._weights = [(weight, part.decay) for part in groups for weight in part.weights]
        self._squares = [torch.zeros_like(weight, requires_grad=False) for weight, _ in self._weights]
        self._rate = rate

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for weight, _ in self._weights:
            weight.grad = None

    def state(self) -> dict[str, Tensor]:
        """The means of squared gradients, by name; they stay in place."""
        return {f"square.{place}": square for place, square in enumerate(self._squares)}

    @torch.no_grad()
    def step(self) -> None:
        """Update every weight by its gradient divided by the root of its mean square."""
        for (weight, decay), square in zip(self._weights, self._squares, strict=True):
            gradient = torch.zeros_like(weight) if weight.grad is None else weight.grad
            gradient = gradient.add(weight, alpha=decay)
            square.mul_(KEPT).addcmul_(gradient, gradient, value=1 - KEPT)
            weight.addcdiv_(gradient, square.sqrt().add_(EPSILON), value=-self._rate)
