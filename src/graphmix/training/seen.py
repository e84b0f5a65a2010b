"""Seen: what a batch has predicted on its way, and whether it still improves."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Seen:
    """What a batch in a trace has predicted so far, and whether it still improves.

    Attributes:
        predicted: at each point `[1 or 2, trials, picks, classes]`.
        best: the least loss.
        since: the epoch in which it had the least loss, or from which it may wait.
    """

    predicted: list[Tensor]
    best: float = float("inf")
    since: int = 0

    @classmethod
    def restored(cls, kept: Mapping[str, Tensor]) -> "Seen":
        """Return what a checkpoint holds, or else the state before the first point."""
        if "seen.best" not in kept:
            return cls([])
        return cls(list(kept["seen.predicted"].unbind()), float(kept["seen.best"]), int(kept["seen.since"]))

    def tensors(self) -> dict[str, Tensor]:
        """Return all of it, by name, for a checkpoint."""
        if not self.predicted:
            return {}
        best, since = torch.tensor(self.best, dtype=torch.float64), torch.tensor(self.since)
        return {"seen.predicted": torch.stack(self.predicted), "seen.best": best, "seen.since": since}

    def is_enough(self, epoch: int, loss: float, waits_from: int, patience: int) -> bool:
        """Take a loss into account; whether there was no better one for `patience` epochs."""
        if loss < self.best or epoch < waits_from:
            self.best, self.since = loss, epoch
            return False
        return epoch - self.since >= patience
