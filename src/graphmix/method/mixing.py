"""Manifold mixup: draw λ, pair the nodes, mix hidden states and targets (Eq. 2)."""

import math

import torch
from torch import Tensor

from graphmix.streams import Noise


def draw_lambda(alpha: float, noise: Noise, count: int) -> Tensor:
    """Draw λ ~ Beta(α, α): `[trials, count]`, in [0, 1].

    A symmetric beta variable comes from two uniforms in closed form (Devroye, "Random variate generation in one
    line of code", 1996): it is 1/2 + t / (2 √(2α + t²)) for a Student t with 2α degrees of freedom, and Bailey's polar
    method gives t. No rejection, so a trial always uses the same number of random words.

    Args:
        alpha: at least 0; 0 means no mixing, λ = 1.
        noise: the trials' random streams.
        count: how many per trial.
    """
    if alpha == 0:
        return torch.ones(noise.keys.shape[0], count, device=noise.keys.device)
    # Each λ takes two adjacent numbers, so that the i-th λ does not depend on how many are drawn.
    first, second = noise.uniform(2 * count).unflatten(1, (count, 2)).unbind(2)
    cosine = torch.cos(2 * math.pi * second)
    # 1 - U is in (0, 1], so the power is never 0/0; the clamp keeps it from underflowing for small α.
    power = (1 - first).pow(1 / alpha).clamp_min(torch.finfo(first.dtype).tiny)
    balance: Tensor = cosine * ((1 - power) / (power + (1 - power) * cosine.square())).sqrt()
    return ((1 + balance) / 2).clamp(0, 1)  # rounding may leave the interval slightly


def draw_partners(noise: Noise, count: Tensor, picks: int) -> Tensor:
    """Pair every node with a random one: a random permutation, the second expectation of Eq. 2.

    Args:
        noise: the trials' random streams.
        count: int64 `[trials or 1]`, how many of the `picks` are real; padding is paired with padding.
        picks: how many nodes a trial has, padding included.

    Returns:
        int64 `[trials, picks]`, each position once.
    """
    keys = noise.words(picks)
    padding = torch.arange(picks, device=keys.device) >= count[:, None]
    return keys.masked_fill(padding, torch.iinfo(keys.dtype).max).argsort(dim=1)


def draw_positions(noise: Noise, count: Tensor, draws: int) -> Tensor:
    """Draw positions 0 .. count - 1 with replacement: int64 `[trials, draws]` for count int64 `[trials or 1]`.

    Where count is 0 they are 0.
    """
    # 63 bits: for any count that fits a graph, the remainder is as good as uniform.
    return noise.words(draws).bitwise_and(torch.iinfo(torch.int64).max) % count.clamp_min(1)[:, None]


def mix(first: Tensor, second: Tensor, lam: Tensor) -> Tensor:
    """Interpolate: Mix_λ(a, b) = λ a + (1 - λ) b, with `[trials, nodes, width]` and λ `[trials, nodes or 1]`."""
    # lerp returns `first` exactly where λ = 1.
    return torch.lerp(second, first, lam[..., None])
