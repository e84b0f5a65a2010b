"""Features to which every trial adds its own perturbation, and features that have been through the first weights."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from graphmix.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class Shifted:
    """X + R with a perturbation R of each trial, which need not be written out.

    Attributes:
        x: X `[nodes, features]`, shared by all trials.
        shift: from a weight W `[trials, features, width]` to R W `[trials, nodes, width]`.
    """

    x: SparseMatrix | Tensor
    shift: Callable[[Tensor], Tensor]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of X."""
        return tuple(self.x.shape)


@dataclass(frozen=True, eq=False)
class Mapped:
    """X W in place of X, for a network that reads X in one product with W.

    Attributes:
        values: X W `[trials, nodes, width]`, without dropout.
    """

    values: Tensor
