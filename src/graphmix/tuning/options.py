"""TuneOptions: how long a search is, and where it is kept. Does not import torch."""

import math
from dataclasses import dataclass
from pathlib import Path

from graphmix.errors import ConfigError

POINTS, TRIALS, CHECK_TRIALS = 40, 5, 10


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """Options of a search.

    Attributes:
        points: how many points there are in the end, the usual values included, by all processes together.
        trials: how many trials each has, side by side.
        check_trials: how many trials compare the best point with the usual values in the end; 0 for none.
        seed: determines the points and the trials of the comparison, which begin with this seed.
        time_limit: about how many seconds it may take; None for no limit.
        storage: a URL that Optuna takes, or the path of an SQLite file, or of a journal that ends in .log; None for
            memory.
        study: the name of the study in the storage; None for the name of the graph.
        device: where to train.
    """

    points: int = POINTS
    trials: int = TRIALS
    check_trials: int = CHECK_TRIALS
    seed: int = 0
    time_limit: float | None = None
    storage: str | Path | None = None
    study: str | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        for name, least in (("points", 1), ("trials", 1), ("check_trials", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ConfigError(f"`{name}` must be a whole number of at least {least}, not {value!r}")
        if self.time_limit is not None and not 0 < self.time_limit < math.inf:
            raise ConfigError(f"`time_limit` must be a number of seconds above 0, not {self.time_limit}")
        if self.study is not None and not self.study.strip():
            raise ConfigError("`study` must be a name")

    def study_of(self, graph: str) -> str:
        """Return the name of the study: by default that of the graph."""
        return self.study or graph
