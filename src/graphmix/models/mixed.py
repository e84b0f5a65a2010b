"""Features that are mixed in pairs, each trial's own pairs."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from graphmix.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class Mixed:
    """Mix_λ of rows of X, which need not be written out: Mix_λ(x, x') W = Mix_λ(x W, x' W).

    Attributes:
        x: X `[nodes, features]`, shared by all trials; dropout gives every row its own mask before it is mixed.
        mix: from X W `[trials, nodes, width]` to its mixed rows `[trials, picks, width]`.
    """

    x: SparseMatrix | Tensor
    mix: Callable[[Tensor], Tensor]
