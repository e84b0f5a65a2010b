"""FitOptions: the options of a fit besides the columns and the hyperparameters."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.errors import ConfigError
from graphmix.limits import USUAL, Limits
from graphmix.models.registry import BACKBONES
from graphmix.training.checkpoint_minutes import MINUTES, check_minutes
from graphmix.training.config import AUTO
from graphmix.training.methods import fit_methods, possible_in_fits

CANDIDATES = possible_in_fits()
ACCURACY, MACRO_F1 = "accuracy", "macro-f1"
BALANCED = "balanced"


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of a fit: methods, metric, targets, files, device.

    Attributes:
        methods: the methods to try; the model is a weighted average of them.
        balanced: whether every class counts the same, however rare, in training and in the choice of the weights.
        time_limit: about how many seconds the fit may take; None for no limit.
        target_accuracy: predictions abstain where the accuracy would be lower; above 0 and below 1.
        coverage: the share of nodes whose prediction set must contain their class; above 0 and below 1.
        predictions: the file for the predictions, .csv, .tsv or .parquet; None for predictions.csv in the model's
            folder.
        force: whether the predictions may replace a file that is there.
        escape_formulas: whether cells of the predictions that a spreadsheet would run get an apostrophe before them.
        resume: whether to continue the interrupted fit in the model's folder.
        ignore_unknown: whether to leave out edges to nodes that the table of nodes lacks, instead of raising an error.
        device: where to train: "auto", "cpu", "cuda" or "cuda:1".
        limit: how large tables in files may be.
        checkpoint_minutes: how long networks train before their state is stored in the model's folder again, for
            `resume`; 0 stores every epoch. The workers of an executor store no state.
    """

    methods: tuple[str, ...] = fit_methods()
    balanced: bool = False
    target_accuracy: float = 0.9
    coverage: float = 0.9
    predictions: Path | str | None = None
    force: bool = False
    escape_formulas: bool = False
    resume: bool = False
    ignore_unknown: bool = False
    device: str = "auto"
    limit: Limits = USUAL
    time_limit: float | None = None
    checkpoint_minutes: float = MINUTES

    def __post_init__(self) -> None:
        # The class is frozen, and repeats must not be tried twice.
        object.__setattr__(self, "methods", check_methods(self.methods))
        check_shares(target_accuracy=self.target_accuracy, coverage=self.coverage)
        if self.time_limit is not None and not 0 < self.time_limit < math.inf:
            raise ConfigError(f"`time_limit` must be a number of seconds above 0, not {self.time_limit}")
        check_minutes(self.checkpoint_minutes)

    @property
    def metric(self) -> str:
        """What methods are compared by."""
        return MACRO_F1 if self.balanced else ACCURACY

    def settings(self) -> dict[str, Any]:
        """Return the hyperparameters that these options imply."""
        if not self.balanced:
            return {}
        return {"class_weight": BALANCED, "target_weight": BALANCED}

    def to_json(self) -> dict[str, Any]:
        """Return what the result depends on, as config.json has it."""
        return {
            "methods": list(self.methods),
            "metric": self.metric,
            "target": self.target_accuracy,
            "coverage": self.coverage,
        }


def check_shares(**shares: float) -> None:
    """Raise ConfigError unless every share is above 0 and below 1."""
    for name, value in shares.items():
        if not 0 < value < 1:
            raise ConfigError(f"`{name}` must be above 0 and below 1, not {value}")


def check_backbone(name: str | None) -> None:
    """Raise ConfigError unless a network exists, or is "auto" or None, which leave the choice to held-out labels."""
    if name not in (None, AUTO, *BACKBONES):
        raise ConfigError(f"`backbone` must be one of {', '.join((AUTO, *BACKBONES))}, not {name!r}")


def check_methods(methods: Sequence[str]) -> tuple[str, ...]:
    """Return the methods without repeats; a string is one method.

    Raises:
        ConfigError: a name is unknown, or there is none.
    """
    methods = (methods,) if isinstance(methods, str) else methods
    unknown = [name for name in methods if name not in CANDIDATES]
    if unknown or not methods:
        wrong = f"there is no method {unknown[0]!r}" if unknown else "at least one method is needed"
        raise ConfigError(f"{wrong}; there are {', '.join(CANDIDATES)}")
    return tuple(dict.fromkeys(methods))
