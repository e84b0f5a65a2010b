"""What `graphmix tune` found: every point, the best one, and the best against the defaults with fresh seeds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean, stdev
from typing import Any, Literal

from graphmix.results.schema import Count, Maybe, Positive, Shares

DONE, STOPPED, FAILED = "done", "stopped", "failed"


@dataclass(frozen=True)
class Point:
    """A point of a search; scores in percent.

    Attributes:
        number: its place among the points.
        state: "done"; "stopped", because others were better at the same epoch; or "failed".
        settings: the hyperparameters that it sets.
        score: the mean validation score of its trials; of a stopped point, how far it got; None if it failed.
        std: the standard deviation over the trials; None with fewer than two.
        values: `[trials]`, the score of each; empty unless it is done.
        reached: `[steps]`, the mean of the best scores so far after each tenth of the epochs.
        seconds: how long it took.
        start: whether it has the usual values, where the search starts.
        error: why it failed.
        device: what computed it: "cpu", or "cuda" with the card's name; None if it failed, and in older files.
    """

    number: Count
    state: Literal["done", "stopped", "failed"]
    settings: dict[str, Any]
    score: float | None
    std: float | None = None
    values: tuple[float, ...] = ()
    reached: tuple[float, ...] = ()
    seconds: float | None = None
    start: bool = False
    error: str | None = None
    device: Maybe[str] = None


@dataclass(frozen=True)
class Comparison:
    """The best point against the usual values, both trained with seeds that no choice depended on; in percent.

    Attributes:
        best: `[trials]`, the validation scores of the best point.
        usual: `[trials]`, those of the usual values; trial i has the same seed and split in both.
        difference: the mean of the differences.
        low: the lower end of its 95 % interval; None with fewer than two trials.
        high: the upper end.
    """

    best: tuple[float, ...]
    usual: tuple[float, ...]
    difference: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class TuneResult:
    """A search.

    Attributes:
        format: of the file.
        dataset: the name of the graph.
        split: how its nodes are split.
        task: "nodes" or "links".
        of_tables: whether the graph was read from a person's tables, not a dataset.
        metric: what points are judged by: "accuracy" or "macro-f1".
        method: what is trained.
        trials: trials of a point.
        asked: how many points were asked for.
        settings: hyperparameters that are the same at every point, because they were given.
        space: the values that are tried, by hyperparameter.
        points: what was tried, in order.
        best: the number of the best point; None while none is done.
        importances: how much of the scores each hyperparameter explains; shares that sum to 1. Empty with few points.
        checked: the best point against the usual values; None if they are the same, or it was not done.
        check_error: why that comparison failed; None if it did not, and in older files.
        study: the name of the study.
        storage: where the study is, without a password.
        versions: of the programs.
    """

    format: Positive
    dataset: str
    split: str
    task: str
    of_tables: bool
    metric: str
    method: str
    trials: Positive
    asked: Positive
    settings: dict[str, Any]
    space: dict[str, Any]
    points: tuple[Point, ...]
    best: Count | None
    importances: dict[str, float] = field(default_factory=dict)
    checked: Comparison | None = None
    check_error: Maybe[str] = None
    study: str = ""
    storage: str = ""
    versions: dict[str, Any] = field(default_factory=dict)

    @property
    def best_point(self) -> Point | None:
        """The best point; None while none is done."""
        return None if self.best is None else next(point for point in self.points if point.number == self.best)

    @property
    def devices(self) -> tuple[str, ...]:
        """What computed the points, each device once."""
        return devices_of(self.points)

    @property
    def start(self) -> Point | None:
        """The point with the usual values; None if it is not done."""
        return next((point for point in self.points if point.start and point.state == DONE), None)

    @property
    def best_settings(self) -> dict[str, Any]:
        """The hyperparameters of the best point, and those that were given: what a config file holds."""
        best = self.best_point
        return {"method": self.method} | self.settings | ({} if best is None else best.settings)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the place and the text of what the types cannot say."""
        done = {point.number for point in self.points if point.state == DONE}
        if self.best is not None and self.best not in done:
            yield ".best", "is not the number of a point that is done"
        for place, point in enumerate(self.points):
            if point.state == DONE and point.score is None:
                yield f".points[{place}].score", "is missing"


def best_of(points: tuple[Point, ...]) -> int | None:
    """Return the number of the point with the best mean validation score, the first of several; None without any."""
    done = [point for point in points if point.state == DONE and point.score is not None]
    return max(done, key=lambda point: (point.score or 0.0, -point.number)).number if done else None


def devices_of(points: tuple[Point, ...]) -> tuple[str, ...]:
    """Return what computed points, each device once, in the order of the points."""
    return tuple(dict.fromkeys(point.device for point in points if point.device is not None))


def compare(best: tuple[float, ...], usual: tuple[float, ...]) -> Comparison:
    """Compare two lists of scores, trial by trial, by Student's t for pairs.

    Example:
        >>> found = compare((72.0, 74.0, 73.0), (71.0, 72.0, 72.0))
        >>> round(found.difference, 2), round(found.low, 2), round(found.high, 2)
        (1.33, -0.1, 2.77)
    """
    differences = [one - other for one, other in zip(best, usual, strict=True)]
    mean = fmean(differences)
    if len(differences) < 2:
        return Comparison(best, usual, round(mean, 4), None, None)
    from scipy.stats import t

    reach = float(t.ppf(0.975, len(differences) - 1)) * stdev(differences) / len(differences) ** 0.5
    return Comparison(best, usual, round(mean, 4), round(mean - reach, 4), round(mean + reach, 4))


def mean_of(values: Shares) -> float:
    """The mean of scores."""
    return fmean(value for value in values if value is not None)
