"""How good a point of a search is: its trials, trained side by side, judged by their validation nodes alone."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import torch
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.results.describe import device_name
from graphmix.training.config import LAST, Config
from graphmix.training.devices import choose_device, fitting, trials_at_once
from graphmix.training.loop import Progress, Watch, fit
from graphmix.training.trace import OutOfTimeError

# A point tells how good it is after each of these parts of its epochs.
STEPS = 10
# Before this many of them no point is stopped: predicted targets are only just coming in.
_PATIENT_STEPS = 4
# Scores of the validation accuracy itself: the score of the loss says little of how many predictions are right.
_BY_ACCURACY = ("loss", LAST)


@dataclass(frozen=True)
class Score:
    """How good a point is; all numbers but the seconds in percent.

    Attributes:
        values: `[trials]`, the validation score of each trial at its best epoch; empty if the point was stopped.
        reached: `[steps]`, the mean of the best scores so far after each tenth of the epochs, of the trials that train
            first where not all train at once; shorter if the point was stopped.
        seconds: how long it took.
        device: what computed it: "cpu", or "cuda" with the card's name.
    """

    values: tuple[float, ...]
    reached: tuple[float, ...]
    seconds: float
    device: str | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was stopped, because others were better at the same epoch."""
        return not self.values

    @property
    def mean(self) -> float:
        """The mean over the trials; of a stopped point, how far it got."""
        return round(fmean(self.values or self.reached[-1:]), 4)

    @property
    def std(self) -> float | None:
        """The standard deviation over the trials; None with fewer than two."""
        return round(stdev(self.values), 4) if len(self.values) > 1 else None


class _Stopped(Exception):  # noqa: N818 - not an error
    """The point is worse than others at the same epoch."""


def score(
    graph: Graph,
    split: Split,
    config: Config,
    bars: Sequence[float] = (),
    device: str = "auto",
    seconds: float | None = None,
    *,
    tell: Watch | None = None,
) -> Score:
    """Train all trials of a config and return their validation scores. Test nodes are left out, whatever the split has.

    The result depends on the arguments alone, and these can be pickled: it can be computed anywhere.

    Args:
        graph: the graph.
        split: training and validation nodes, shared or one set per trial.
        config: the hyperparameters; in mini-batches if the whole graph does not fit into memory.
        bars: `[steps]`, what the best scores so far must reach after each tenth of the epochs, or the point is stopped;
            empty for no such limit.
        device: where to train.
        seconds: after how many seconds to give up; None for never.
        tell: called after every epoch, on the CPU from several threads.

    Raises:
        OutOfTimeError: it took longer.
    """
    started, chosen = time.perf_counter(), choose_device(device)
    config = fitting(graph, config, chosen)
    chunk = trials_at_once(graph, config, chosen)
    workers = torch.get_num_threads() if chosen.type == "cpu" else 1
    deadline = None if seconds is None else time.monotonic() + seconds
    steps = _Steps(config, min(chunk * workers, config.trials), bars, deadline, tell)
    hidden = replace(split, test=torch.zeros_like(split.test))
    try:
        trained = fit(graph, hidden, config, device=device, chunk=chunk, watch=steps.watch)
    except _Stopped:
        values: tuple[float, ...] = ()
    else:
        values = _percent(trained.val_accuracy if config.select_by in _BY_ACCURACY else trained.val_score)
    return Score(values, tuple(steps.reached), round(time.perf_counter() - started, 3), device_name(chosen))


def _percent(shares: Tensor) -> tuple[float, ...]:
    # Before a trial's first best epoch its score is below 0.
    return tuple(round(100 * share, 4) if share > 0 else 0.0 for share in shares.double().tolist())


class _Steps:
    """Collects what the trials that train first have reached after each tenth, and compares it with the bars.

    Batches of trials come here from several threads, at their own speed. A tenth counts when all of them have done it,
    so the outcome does not depend on which is faster.
    """

    def __init__(
        self, config: Config, first: int, bars: Sequence[float], deadline: float | None, tell: Watch | None
    ) -> None:
        self._config, self._first, self._bars, self._deadline, self._told = config, first, bars, deadline, tell
        self._ends = [-(-config.epochs * step // STEPS) for step in range(1, STEPS + 1)]
        self._seen: list[dict[int, tuple[float, ...]]] = [{} for _ in self._ends]
        self._lock = threading.Lock()
        self.reached: list[float] = []

    def watch(self, step: Progress) -> None:
        """Note an epoch of a batch; raises `_Stopped` if the point is worse than others."""
        if self._told is not None:
            self._told(step)
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTimeError("the time limit was reached")
        if step.first >= self._first or step.epoch not in self._ends:
            return
        best = step.best.val if self._config.select_by in _BY_ACCURACY else step.best.score
        scores = _percent(best)
        with self._lock:
            for place in (place for place, end in enumerate(self._ends) if end == step.epoch):
                self._seen[place][step.first] = scores
            self._advance()

    def _advance(self) -> None:
        while len(self.reached) < STEPS:
            place = len(self.reached)
            together = [score for scores in self._seen[place].values() for score in scores]
            if len(together) < self._first:
                return
            self.reached.append(round(fmean(sorted(together)), 4))
            # After the last there is nothing left to save.
            judged = _PATIENT_STEPS <= place < min(len(self._bars), STEPS - 1)
            if judged and self.reached[-1] < self._bars[place]:
                raise _Stopped
