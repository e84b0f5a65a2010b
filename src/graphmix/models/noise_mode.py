"""Random numbers of a custom module, drawn from the trial's stream.

A module calls `torch.nn.functional.dropout` and does not know about trials. While a `TrialNoise` is active, it answers
such calls from one trial's stream and does not use torch's generators. Inside `torch.func.vmap` the trial's key is a
tensor with a hidden trial axis; the same code then draws for all trials at once.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from graphmix.errors import ConfigError
from graphmix.models.constants import Constants
from graphmix.models.features import Features
from graphmix.sparse.ops import unpack
from graphmix.streams import Noise, binary_digits

# One pass through half a network may draw this often. The next pass starts this many draws later, however many this
# pass used: a trial's numbers must not depend on how often another trial, or an earlier half, drew.
DRAWS = 2**10


class TrialNoise(TorchFunctionMode):
    """Answers a module's calls for random numbers from one trial's stream.

    Attributes:
        key: int64 `[]`, the trial's key; None in evaluation, where drawing a random number is an error.
        noise: the step's noise; only its purpose and epoch are used.
        constants: answers calls whose results are the same in every pass; None to call everything.
    """

    def __init__(self, key: Tensor | None, noise: Noise | None, first: int = 0, constants: Constants | None = None):
        super().__init__()
        self.key, self.noise, self.constants = key, noise, constants
        self._first = self._next = first

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        answer = _ANSWERS.get(func)
        call = func if answer is None else partial(answer, self)
        if self.constants is None:
            return call(*args, **(kwargs or {}))
        return self.constants.call(call, args, kwargs or {}, fixed=answer is None)

    def restarted(self, constants: Constants | None) -> "TrialNoise":
        """Return the same noise, from its first number on."""
        return TrialNoise(self.key, self.noise, self._first, constants)

    def draw(self, name: str, make: Callable[[Noise], Tensor]) -> Tensor:
        """Draw with a fresh `Noise`; `make` takes noise of several trials and returns a row for each."""
        if self.key is None or self.noise is None:
            raise ConfigError(f"the module calls {name} in evaluation too; call it only if self.training is true")
        if self._next - self._first == DRAWS:
            raise ConfigError(
                f"the module draws random numbers more than {DRAWS} times in half a pass; draw less often"
            )
        number, purpose, epoch = self._next, self.noise.purpose, self.noise.epoch
        self._next += 1
        drawn: Tensor = _Draw.apply(self.key, lambda keys: make(Noise(keys, purpose, epoch, number)))
        return drawn

    def uniform(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """Draw float32 numbers in [0, 1) of a shape."""
        return self.draw(name, lambda noise: noise.uniform(math.prod(shape))).view(shape)


class Watch(TorchFunctionMode):
    """Raises ConfigError when a function draws from torch's generator."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        before = torch.random.get_rng_state()
        result = func(*args, **(kwargs or {}))
        if not torch.equal(before, torch.random.get_rng_state()):
            name = getattr(func, "__name__", str(func))
            raise ConfigError(
                f"the module draws random numbers with {name}, which cannot draw from the trial's stream; use dropout, "
                "rand, rand_like or bernoulli instead, with a shape that follows from the features"
            )
        return result


class _Draw(torch.autograd.Function):
    """Draws for keys of any shape, including the axes that vmap hides."""

    @staticmethod
    def forward(keys: Tensor, draw: Callable[[Tensor], Tensor]) -> Tensor:
        return draw(keys.reshape(-1)).view(*keys.shape, -1)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, keys: Tensor, draw: Callable[[Tensor], Tensor]) -> tuple[Tensor, int]:
        drawn: Tensor = _Draw.apply(keys.movedim(in_dims[0], 0), draw)
        return drawn, 0


def _dropout(mode: TrialNoise, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    # Never in place: the input may be the features, which all trials share.
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0

    def mask(noise: Noise) -> Tensor:
        keep = noise.keep(entries, p)
        return unpack(keep.words, entries) * keep.scale

    if mode.key is None:
        raise ConfigError("the module's dropout is on in evaluation too; write dropout(x, p, training=self.training)")
    if isinstance(input, Features):
        return _drop_features(mode, input, p)
    entries = input.numel()
    return input * mode.draw("dropout", mask).view(input.shape).to(input.dtype)


def _drop_features(mode: TrialNoise, features: Features, p: float) -> Tensor:
    # Dropping a zero changes nothing: sparse features need a bit per non-zero, as in the built-in networks.
    words = mode.draw("dropout", lambda noise: noise.keep(features.matrix.nonzeros, p).words)
    return features.dropped(words, 1.0 / binary_digits(1.0 - p)[1])


def _rand(mode: TrialNoise, *size: Any, **options: Any) -> Tensor:
    size = options.pop("size", size)
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    return _cast(mode.uniform("torch.rand", shape), options)


def _rand_like(mode: TrialNoise, input: Tensor, **options: Any) -> Tensor:
    return _cast(mode.uniform("torch.rand_like", tuple(input.shape)), {"dtype": input.dtype} | options)


def _bernoulli(mode: TrialNoise, input: Tensor, p: float | None = None, **options: Any) -> Tensor:
    drawn = mode.uniform("torch.bernoulli", tuple(input.shape))
    return (drawn < (input if p is None else p)).to(input.dtype)


def _bernoulli_(mode: TrialNoise, input: Tensor, p: Any = 0.5, **options: Any) -> Tensor:
    return input.copy_(mode.uniform("torch.bernoulli", tuple(input.shape)) < p)


def _cast(drawn: Tensor, options: dict[str, Any]) -> Tensor:
    # The other options of a new tensor are about its memory and do not matter here.
    return drawn.to(options.get("device") or drawn.device, options.get("dtype") or drawn.dtype)


_ANSWERS: dict[Callable[..., Any], Callable[..., Tensor]] = {
    F.dropout: _dropout,
    torch.dropout: _dropout,
    torch.rand: _rand,
    torch.rand_like: _rand_like,
    torch.bernoulli: _bernoulli,
    torch.Tensor.bernoulli: _bernoulli,
    torch.Tensor.bernoulli_: _bernoulli_,
}
