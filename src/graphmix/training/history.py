"""Curves over the epochs and the best epoch so far, per trial."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(eq=False)
class Best:
    """The best epoch so far of every trial, by its score on the validation nodes alone; updated in place.

    Attributes:
        epoch: int64 `[trials]`, -1 before the first.
        score: `[trials]`, the score that epochs are selected by.
        val: `[trials]`, validation accuracy there.
        test: `[trials]`, test accuracy there.
        improved: bool `[trials]`, whether the last update moved it.
    """

    epoch: Tensor
    score: Tensor
    val: Tensor
    test: Tensor
    improved: Tensor

    def __getstate__(self) -> dict[str, Any]:
        """Pickle copies on the host: they are for another process, which may have no such device."""
        return {name: tensor.cpu() for name, tensor in vars(self).items()}

    @classmethod
    def none(cls, trials: int, device: torch.device | str = "cpu") -> "Best":
        """Return the state before the first epoch."""
        minus = torch.full((trials,), -1.0, device=device)
        return cls(minus.long(), minus, minus.clone(), minus.clone(), minus > 0)

    def update_(self, epoch: Tensor, score: Tensor, val: Tensor, test: Tensor, *, ties: str) -> None:
        """Update with one epoch's score and accuracies `[trials]`, in place; `epoch` is int64 `[1]`.

        `ties` says whether the "first" or the "last" of equally good epochs counts.
        """
        better = torch.ge if ties == "last" else torch.gt
        better(score, self.score, out=self.improved)
        for held, new in ((self.epoch, epoch), (self.score, score), (self.val, val), (self.test, test)):
            torch.where(self.improved, new, held, out=held)


@dataclass(frozen=True, eq=False)
class History:
    """Measurements of every epoch, after its update.

    Attributes:
        loss: float32 `[trials, epochs]`, the training loss of the step: the FCN's or the GNN's, depending on the coin.
        val_accuracy: float32 `[trials, epochs]`.
        test_accuracy: float32 `[trials, epochs]`, recorded for plots; never used to choose anything.
        train_loss: float32 `[trials, epochs]`, cross-entropy of the predicting network on the training nodes, dropout
            off.
        val_loss: float32 `[trials, epochs]`, the same on the validation nodes.
    """

    loss: Tensor
    val_accuracy: Tensor
    test_accuracy: Tensor
    train_loss: Tensor
    val_loss: Tensor
