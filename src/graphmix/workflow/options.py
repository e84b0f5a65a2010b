"""What a fit shall come to, besides the hyperparameters."""

from dataclasses import dataclass

from graphmix.errors import ConfigError
from graphmix.workflow.candidates import CANDIDATES, check_methods
from graphmix.workflow.ranking import ACCURACY, MACRO_F1


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a fit shall come to, besides the hyperparameters.

    Attributes:
        methods: what to try.
        metric: what the best is chosen by, "accuracy" or "macro-f1".
        target: the accuracy of predictions that are not abstained from.
        coverage: how often prediction sets shall hold the right class.
    """

    methods: tuple[str, ...] = CANDIDATES
    metric: str = ACCURACY
    target: float = 0.9
    coverage: float = 0.9

    def __post_init__(self) -> None:
        check_methods(self.methods)
        if self.metric not in (ACCURACY, MACRO_F1):
            raise ConfigError(f"the best is chosen by {ACCURACY} or {MACRO_F1}, not {self.metric!r}")
        for name, value in (("target accuracy", self.target), ("coverage", self.coverage)):
            if not 0 < value < 1:
                raise ConfigError(f"the {name} must lie between 0 and 1, not {value}")
