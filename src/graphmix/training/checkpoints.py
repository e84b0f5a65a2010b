"""Checkpoints: what batches of trials keep while they train, so that a killed run goes on where it was."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from graphmix.errors import RunError
from graphmix.training.batch import Batch
from graphmix.training.checkpoint_minutes import MINUTES

# How long a run has taken, in its checkpoints.
SECONDS = "seconds"


@dataclass(frozen=True, eq=False)
class Begun:
    """A batch that a killed run left unfinished.

    Attributes:
        trials: its trials.
        tensors: what it kept: the state of the batch, and what else its training needs.
        place: the file, for messages.
    """

    trials: tuple[int, ...]
    tensors: Mapping[str, Tensor]
    place: str


@dataclass(frozen=True, eq=False)
class Checkpoints:
    """Where batches keep their state.

    Attributes:
        write: keeps the tensors of a batch, given its trials; called from several threads, one per batch.
        begun: what a killed run left.
        seconds: how long to train between two writes.
    """

    write: Callable[[Sequence[int], dict[str, Tensor]], None]
    begun: Sequence[Begun] = ()
    seconds: float = 60 * MINUTES

    def divide(self, todo: Sequence[int], size: int) -> list[list[int]]:
        """Divide trials into batches: those that were begun as they were, then the others, `size` at a time."""
        begun = [list(each.trials) for each in self.begun if set(each.trials) <= set(todo)]
        there = {trial for batch in begun for trial in batch}
        return begun + divide([trial for trial in todo if trial not in there], size)

    def of(self, trials: Sequence[int]) -> "Keeper":
        """Return the keeper of a batch."""
        begun = next((each for each in self.begun if each.trials == tuple(trials)), None)
        return Keeper(tuple(trials), begun, self)


@dataclass(eq=False)
class Keeper:
    """Keeps the state of one batch now and then, and restores it.

    Attributes:
        trials: the trials of the batch.
        begun: what a killed run left of it; None for a new one.
        owner: where it is kept; None to keep nothing.
    """

    trials: tuple[int, ...]
    begun: Begun | None = None
    owner: Checkpoints | None = None
    _since: float = field(default_factory=time.monotonic)

    def restore(self, batch: Batch) -> Mapping[str, Tensor]:
        """Continue a batch where it was killed, if it was; return what else was kept.

        Raises:
            RunError: what was kept is not of this batch.
        """
        if self.begun is None:
            return {}
        try:
            batch.restore(self.begun.tensors)
        except ValueError as error:
            raise RunError(f"{self.begun.place} does not fit this run ({error}); delete it, and run again") from error
        return self.begun.tensors

    def after_epoch(self, batch: Batch, more: Callable[[], dict[str, Tensor]] = dict) -> None:
        """Keep the state of a batch, and more, if it is time."""
        if self.owner is None or time.monotonic() - self._since < self.owner.seconds:
            return
        tensors = {name: tensor.detach().cpu() for name, tensor in (batch.state() | more()).items()}
        self.owner.write(self.trials, tensors | {"trials": torch.tensor(self.trials)})
        self._since = time.monotonic()


class Stopwatch:
    """Counts the seconds of a run, with those before it was interrupted."""

    def __init__(self, elapsed: float = 0.0) -> None:
        self._started = time.perf_counter() - elapsed

    def seconds(self) -> float:
        """Return how many seconds the run has taken."""
        return time.perf_counter() - self._started

    def tensors(self) -> dict[str, Tensor]:
        """Return them as a checkpoint holds them."""
        return {SECONDS: torch.tensor(self.seconds(), dtype=torch.float64)}


def divide(trials: Sequence[int], size: int) -> list[list[int]]:
    """Divide trials into batches of `size`; the last may be smaller."""
    return [list(trials[start : start + size]) for start in range(0, len(trials), size)]
