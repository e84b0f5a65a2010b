"""A study in an Optuna storage: points that are claimed, told and, after a kill, claimed again.

Several processes may share a study. Each claims one point at a time, and the storage gives a point to one of them. A
process that computes a point says every few seconds that it is alive. A point whose process is gone is claimed again
with the same values, so that a killed search ends as one that was not.
"""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmix.distribution import importing
from graphmix.errors import RunError
from graphmix.results.tuned import Point
from graphmix.storage.folders import first_difference
from graphmix.tuning.liveness import is_gone, this_process
from graphmix.tuning.sampling import start_params, suggest, usual_sampler
from graphmix.tuning.scoring import STEPS, Score
from graphmix.tuning.space import MakeConfig, Space
from graphmix.tuning.storages import open_storage, reporting
from graphmix.tuning.trials import (
    ENOUGH,
    ERROR,
    SCORE,
    SETTINGS,
    START,
    WORKER,
    importances_of,
    is_lost,
    point_of,
    score_of,
)

if TYPE_CHECKING:
    import optuna

# A process that computes a point says so this often, in seconds.
_BEAT = 10.0
# How long a process may take to begin the study that it made, and how often others look, in seconds.
_MAKING, _LOOK = 5.0, 0.1
_ASKED, _CHECKED = "asked", "checked"
# What may differ in what was asked, as the user calls it.
_CALLED = {
    "dataset": "another graph",
    "trials": "another number of `trials`",
    "seed": "another `seed`",
    "settings": "other hyperparameters",
    "space": "another `space`",
    "split": "another `split`",
    "data": "other features, edges, labels or splits",
}


@dataclass(frozen=True)
class Claim:
    """A point that this process computes.

    Attributes:
        number: of the trial in the study.
        settings: the hyperparameters that it sets.
        bars: `[steps]`, what it must reach; empty while few points are done.
        trial: Optuna's.
    """

    number: int
    settings: dict[str, Any]
    bars: tuple[float, ...]
    trial: "optuna.Trial"


class Study:
    """A study, opened or made.

    Args:
        storage: a URL as Optuna takes it, a path, or None for one in memory.
        name: of the study.
        asked: what the scores depend on, as JSON values; a study that exists must have been asked the same.
        space: what is tried.
        make: makes the config of a point.
        fixed: the settings that all points have.
        seed: determines what is tried.

    Raises:
        RunError: Optuna is not installed, the storage cannot be used, or the study is another one.
    """

    def __init__(
        self,
        storage: str | Path | None,
        name: str,
        *,
        asked: Mapping[str, Any],
        space: Space,
        make: MakeConfig,
        fixed: Mapping[str, Any],
        seed: int,
    ) -> None:
        with importing("a search of hyperparameters", "tune"):
            import optuna
        self._space, self._make, self._fixed = space, make, fixed
        self._states = optuna.trial.TrialState
        self.name, self._lock = name, threading.Lock()
        self._open: dict[int, Claim] = {}
        held, self.place = open_storage(storage)
        with self._reported():
            sampler, pruner = usual_sampler(seed), optuna.pruners.NopPruner()
            try:
                self._study = optuna.create_study(
                    study_name=name, storage=held, sampler=sampler, pruner=pruner, direction="maximize"
                )
            except optuna.exceptions.DuplicatedStudyError:
                self._study = optuna.load_study(study_name=name, storage=held, sampler=sampler, pruner=pruner)
                self._wait_for_maker()
            # As it will be read again: JSON has no tuples.
            self._begin(json.loads(json.dumps(dict(asked))))

    def _wait_for_maker(self) -> None:
        """Wait until whoever made the study has written where it starts, unless that process was killed before."""
        waited = 0.0
        while waited < _MAKING and (_ASKED not in self._study.user_attrs or not self._trials()):
            if self._trials() and _ASKED not in self._study.user_attrs:
                raise RunError(f"the study {self.name!r} in {self.place} is not one of graphmix tune; choose another")
            time.sleep(_LOOK)
            waited += _LOOK

    def _begin(self, asked: dict[str, Any]) -> None:
        """Write down what is asked and where the search starts, or check that it is the same."""
        begun = self._study.user_attrs.get(_ASKED)
        if begun is None:
            self._study.set_user_attr(_ASKED, asked)
        elif (different := first_difference(begun, asked)) is not None:
            raise RunError(
                f"the study {self.name!r} in {self.place} was begun with {_CALLED.get(different, different)}; choose "
                "another `study` or `storage`"
            )
        if not self._trials():
            self._start_over({}, start=True)

    def claim(self, points: int) -> Claim | None:
        """Claim the next point; None if so many are done or claimed already."""
        # The sampler is one for all threads of a process.
        with self._lock, self._reported():
            self._recover()
            if self.claimed() >= points:
                return None
            trial = self._study.ask()
            trial.set_user_attr(WORKER, this_process())
            earlier = [each for each in self._trials() if each.number < trial.number and not is_lost(each)]
            waiting = sum(each.state == self._states.WAITING for each in earlier)
            if len(earlier) - waiting >= points:
                # Another process claimed the last one at the same moment.
                self._study.tell(trial, state=self._states.FAIL)
                return None
            start = bool(trial.user_attrs.get(START))
            settings = suggest(trial, self._space, self._make, self._fixed, start=start)
            trial.set_user_attr(SETTINGS, settings)
            claim = Claim(trial.number, settings, self._bars(), trial)
            self._open[trial.number] = claim
            return claim

    def settle(self, claim: Claim, found: Score) -> None:
        """Store the score of a point."""
        with self._ending(claim):
            claim.trial.set_user_attr(SCORE, asdict(found))
            # By this Optuna knows how good a stopped point is. A storage may take long to write more of them.
            claim.trial.report(found.reached[-1], len(found.reached))
            if found.stopped:
                self._study.tell(claim.trial, state=self._states.PRUNED)
            else:
                self._study.tell(claim.trial, found.mean)

    def refuse(self, claim: Claim, reason: str) -> None:
        """Store why a point cannot be computed; it counts as tried."""
        with self._ending(claim):
            claim.trial.set_user_attr(ERROR, reason)
            self._study.tell(claim.trial, state=self._states.FAIL)

    def give_back(self, claim: Claim) -> None:
        """Let a point that was not finished be claimed again."""
        with self._ending(claim):
            self._study.tell(claim.trial, state=self._states.FAIL)
            self._start_over(dict(claim.trial.params), start=bool(claim.trial.user_attrs.get(START)))

    @contextlib.contextmanager
    def _ending(self, claim: Claim) -> Iterator[None]:
        self._open.pop(claim.number, None)
        with self._reported(), self._unless_taken():
            yield

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        """Say every few seconds that this process computes the points it has claimed; give back those left at the end.

        Ctrl-C and errors end it too.
        """
        done = threading.Event()
        thread = threading.Thread(target=self._beat, args=(done,), name="graphmix-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            for claim in list(self._open.values()):
                self.give_back(claim)

    def _beat(self, done: threading.Event) -> None:
        while not done.wait(_BEAT):
            for claim in list(self._open.values()):
                # A storage that cannot be reached for a moment may be there again at the end.
                with contextlib.suppress(RunError), self._reported(), self._unless_taken():
                    claim.trial.set_user_attr(WORKER, this_process())

    def claimed(self) -> int:
        """How many points are done, stopped, failed or being computed."""
        waiting = self._states.WAITING
        return sum(not is_lost(trial) and trial.state != waiting for trial in self._trials())

    @property
    def running(self) -> int:
        """How many points other processes compute."""
        with self._reported():
            return sum(trial.state == self._states.RUNNING for trial in self._trials())

    def points(self) -> tuple[Point, ...]:
        """Return all points that were tried, in order."""
        with self._reported():
            kept = [trial for trial in self._trials() if not is_lost(trial)]
        try:
            return tuple(point_of(number, trial) for number, trial in enumerate(kept) if trial.state.is_finished())
        except (KeyError, TypeError, ValueError) as error:
            raise RunError(f"the study {self.name!r} in {self.place} has points that graphmix did not write") from error

    def importances(self) -> dict[str, float]:
        """Return how much of the scores each hyperparameter explains, the largest first; empty with few points."""
        with self._reported():
            return importances_of(self._study)

    def checked(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return what `keep_checked` stored with the same key; None without any."""
        with self._reported():
            held = self._study.user_attrs.get(_CHECKED)
        return held["found"] if held is not None and held["key"] == dict(key) else None

    def keep_checked(self, key: Mapping[str, Any], found: dict[str, Any]) -> None:
        """Store how the best point does with fresh seeds, so that a search that goes on does not train it again."""
        with self._reported():
            self._study.set_user_attr(_CHECKED, {"key": dict(key), "found": found})

    def _trials(self) -> "list[optuna.trial.FrozenTrial]":
        return self._study.get_trials(deepcopy=False)

    def _recover(self) -> None:
        """Let points be claimed again whose process is gone."""
        for trial in self._trials():
            if trial.state == self._states.RUNNING and is_gone(trial.user_attrs.get(WORKER), trial.datetime_start):
                with self._unless_taken():
                    self._study.tell(trial.number, state=self._states.FAIL)
                    self._start_over(dict(trial.params), start=bool(trial.user_attrs.get(START)))

    def _start_over(self, params: dict[str, Any], *, start: bool) -> None:
        params = start_params(self._space, self._make, self._fixed) if start else params
        self._study.enqueue_trial(params, user_attrs={START: True} if start else None)

    @contextlib.contextmanager
    def _unless_taken(self) -> Iterator[None]:
        """Pass over a point that another process has told already, because it took this one for gone."""
        import optuna

        try:
            yield
        except (optuna.exceptions.UpdateFinishedTrialError, ValueError) as error:
            if "finished" not in str(error) and not isinstance(error, optuna.exceptions.UpdateFinishedTrialError):
                raise

    def _bars(self) -> tuple[float, ...]:
        """The median of what all points had reached after each tenth of the epochs; empty while few are done.

        A stopped point counts with what it had when it was stopped. Without these the bars would rise with every point
        that passes them, until hardly any does.
        """
        import numpy as np

        held = self._trials()
        if sum(each.state == self._states.COMPLETE for each in held) < ENOUGH:
            return ()
        curves = [score_of(each).reached for each in held]
        whole = [(*curve, *curve[-1:] * (STEPS - len(curve))) for curve in curves if curve]
        return tuple(np.median(whole, axis=0).tolist())

    def _reported(self) -> contextlib.AbstractContextManager[None]:
        return reporting(self.place)
