"""A search: points are claimed, trained and told until there are enough, and the best is compared with the defaults."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from graphmix.data import Graph, Split, make_split
from graphmix.data.split_names import REDRAWN
from graphmix.errors import ConfigError, DataError, RunError
from graphmix.executors import LOCAL, Executor, Job, WorkerLostError
from graphmix.executors.executor import say_nothing
from graphmix.results import formats
from graphmix.results.describe import device_name, fingerprint, versions
from graphmix.results.tuned import Comparison, TuneResult, best_of, compare, devices_of
from graphmix.training.config import Config
from graphmix.training.loop import Watch
from graphmix.training.trace import OutOfTimeError
from graphmix.tuning.options import TuneOptions
from graphmix.tuning.sampling import usual_point
from graphmix.tuning.scoring import Score, score
from graphmix.tuning.space import SEARCH_SEEDS, MakeConfig, Space, check_space, space_values
from graphmix.tuning.study import Claim, Study
from graphmix.tuning.watching import TuneWatcher
from graphmix.workflow.room import device_of

# What makes a point fail, and not the search.
REFUSED = (ConfigError, DataError, WorkerLostError)


@dataclass(frozen=True, eq=False)
class Target:
    """What a search is about.

    Attributes:
        graph: the graph.
        splits: makes the split of so many trials from a seed; a given split is the same for every seed.
        make: makes the config of settings.
        task: "nodes" or "links".
        of_tables: whether the graph was read from a person's tables.
    """

    graph: Graph
    splits: Callable[[int, int], Split]
    make: MakeConfig
    task: str = "nodes"
    of_tables: bool = False


def search(
    target: Target,
    space: Space,
    fixed: Mapping[str, Any],
    options: TuneOptions,
    *,
    watch: TuneWatcher | None = None,
    executor: Executor = LOCAL,
) -> TuneResult:
    """Try points of a space, judge them by validation nodes alone, and compare the best with the usual values.

    Args:
        target: the graph, its splits and its configs.
        space: what is tried.
        fixed: hyperparameters that are the same at every point; None is not given.
        options: how many points, trials and seconds; where the study is.
        watch: callbacks.
        executor: each point is a job of it.

    Raises:
        ConfigError: an option is invalid, or the space has no effect or varies what is fixed.
        RunError: Optuna is not installed, the storage cannot be used, or no point could be computed.
    """
    held = Search(target, space, fixed, options, watch=watch, executor=executor)
    held.try_points()
    return held.result()


class Search:
    """A search whose study is open; arguments and errors are those of `search`."""

    def __init__(
        self,
        target: Target,
        space: Space,
        fixed: Mapping[str, Any],
        options: TuneOptions,
        *,
        watch: TuneWatcher | None = None,
        executor: Executor = LOCAL,
    ) -> None:
        fixed = {name: value for name, value in fixed.items() if value is not None}
        check_space(space, target.make, fixed)
        self._target, self._space, self._fixed = target, space, fixed
        self._options, self._watch, self._executor = options, watch or TuneWatcher(), executor
        place = device_of(options.device, executor)  # checks it, before there is a study
        self._hardware = device_name(place) if executor.here else None
        self._device = executor.device(options.device)
        limit = options.time_limit
        self._deadline = None if limit is None else time.monotonic() + limit
        self._usual = target.make(**fixed)
        # Seeds and splits that the run of the choice does not have.
        self._split = target.splits(options.trials, options.seed + SEARCH_SEEDS)
        self._split.require_validation()
        self._shared = executor.share(_together, target.graph, self._split)
        self._study = Study(
            options.storage,
            options.study_of(target.graph.name),
            asked=self._asked(),
            space=space,
            make=target.make,
            fixed=fixed,
            seed=options.seed,
        )

    def _asked(self) -> dict[str, Any]:
        graph, split = self._target.graph, self._split
        # The first that differs is named, so the splits, which follow from the trials and the seed, are last.
        return {
            "dataset": graph.name,
            "trials": self._options.trials,
            "seed": self._options.seed,
            "settings": self._fixed,
            "space": space_values(self._space),
            "split": split.name,
            "data": fingerprint(graph, replace(split, test=split.test & False)),
        }

    def try_points(self) -> None:
        """Compute points until there are enough, or the time is over."""
        claims: list[Claim] = []
        with self._study.at_work():
            for place, found in self._computed(self._jobs(claims)):
                self._end(claims[place], found)

    def _computed(self, jobs: Iterable[Job[Score]]) -> Iterator[tuple[int, Score | Exception]]:
        """Yield the place and the score or error of each point as it ends; points are claimed when there is room."""
        with closing(self._executor.finished(jobs)) as finished:
            for done in finished:
                yield done.place, done.get() if done.error is None else done.error

    def _jobs(self, claims: list[Claim]) -> Iterator[Job[Score]]:
        """Claim points, one when another is wanted; those that no config allows are refused at once."""
        options = self._options
        seeds = {"trials": options.trials, "seed": options.seed + SEARCH_SEEDS}
        while not self._is_late() and (claim := self._study.claim(options.points)) is not None:
            try:
                config = self._target.make(**{**self._fixed, **claim.settings, **seeds})
            except ConfigError as error:
                self._end(claim, error)
                continue
            claims.append(claim)
            tell = self._watch.begins(claim.settings, config, self._study.claimed(), options.points)
            yield self._job(self._shared, config, claim.bars, tell)

    def _end(self, claim: Claim, found: Score | Exception) -> None:
        if isinstance(found, OutOfTimeError):
            self._study.give_back(claim)
            return
        if isinstance(found, REFUSED):
            self._study.refuse(claim, str(found))
        elif isinstance(found, Score):
            self._study.settle(claim, found)
        else:
            raise found
        self._tell(claim)

    def _tell(self, claim: Claim) -> None:
        points = self._study.points()
        best = best_of(points)
        ended = [point for point in points if point.settings == claim.settings]
        if ended:
            self._watch.ended(ended[-1], None if best is None else next(each for each in points if each.number == best))

    def _job(self, shared: Any, config: Config, bars: tuple[float, ...], tell: Watch | None) -> Job[Score]:
        left = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        arguments = (shared, config, bars, self._device, left)
        return Job(_score_shared, arguments, "a point", self._device, tell or say_nothing)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    @property
    def running(self) -> int:
        """How many points of the study other processes compute."""
        return self._study.running

    @property
    def other_devices(self) -> tuple[str, ...]:
        """What else than this process's device computed points of the study; empty if workers elsewhere compute."""
        devices = () if self._hardware is None else devices_of(self._study.points())
        return tuple(device for device in devices if device != self._hardware)

    def result(self) -> TuneResult:
        """Return what is known so far, with the last comparison if all points are there."""
        points, options = self._study.points(), self._options
        best = best_of(points)
        if best is None and points and not self._study.running:
            raise RunError(f"no point could be computed; the first failed: {points[0].error or 'it was stopped'}")
        graph, config = self._target.graph, self._usual
        found = TuneResult(
            format=formats.TUNED,
            dataset=graph.name,
            split=self._split.name,
            task=self._target.task,
            of_tables=self._target.of_tables,
            metric="macro-f1" if config.select_by == "macro-f1" else "accuracy",
            method=config.method,
            trials=options.trials,
            asked=options.points,
            settings=self._fixed,
            space=space_values(self._space),
            points=points,
            best=best,
            importances=self._study.importances(),
            study=self._study.name,
            storage=self._study.place,
            versions=dict(versions()),
        )
        complete = len(points) >= options.points and not self._study.running
        if not complete:
            return found
        try:
            return replace(found, checked=self._check_best(found))
        except REFUSED as error:
            # The points are worth keeping; another call compares again.
            return replace(found, check_error=str(error))

    def _check_best(self, found: TuneResult) -> Comparison | None:
        """Train the best point and the usual values with fresh seeds; None if they are the same or there is no time."""
        best, trials = found.best_point, self._options.check_trials
        usual = usual_point(self._space, self._target.make, self._fixed)
        if best is None or best.settings == usual or not trials:
            return None
        key = {"settings": best.settings, "trials": trials}
        held = self._study.checked(key)
        if held is None:
            scores = dict(self._computed([self._fresh(each, trials) for each in (best.settings, usual)]))
            values = [_values(scores[place]) for place in range(2)]
            if not all(values):
                return None
            held = {"best": list(values[0]), "usual": list(values[1])}
            self._study.keep_checked(key, held)
        return compare(tuple(held["best"]), tuple(held["usual"]))

    def _fresh(self, settings: Mapping[str, Any], trials: int) -> Job[Score]:
        """Return a point with seeds that no choice depended on, and with other splits of the same labels."""
        seed, graph = self._options.seed, self._target.graph
        config = self._target.make(**{**self._fixed, **settings, "trials": trials, "seed": seed})
        split = self._target.splits(trials, seed)
        if split.num_splits == 1:
            split = make_split(REDRAWN, graph, range(seed, seed + trials), public=split)
        shared = self._executor.share(_together, graph, split)
        return self._job(shared, config, (), self._watch.begins(settings, config, 0, 2))


def _values(found: Score | Exception) -> tuple[float, ...]:
    """Return the scores of trials, none if there was no time; raise any other error."""
    if isinstance(found, OutOfTimeError):
        return ()
    if isinstance(found, Exception):
        raise found
    return found.values


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _score_shared(
    shared: tuple[Graph, Split],
    config: Config,
    bars: tuple[float, ...],
    device: str,
    seconds: float | None,
    *,
    tell: Watch,
) -> Score:
    return score(*shared, config, bars, device, seconds, tell=tell)
