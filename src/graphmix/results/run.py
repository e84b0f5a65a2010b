"""What came out of a run: results.json."""

from dataclasses import dataclass
from typing import Annotated, Any

from graphmix.results.schema import (
    ABSENT,
    Absent,
    Count,
    Key,
    Length,
    Maybe,
    Positive,
    Prefixed,
    Range,
    Rest,
    Shares,
)

# Versions and commits are texts; a number or a null in such a place does no harm.
Fact = str | float | None


@dataclass(frozen=True)
class Score:
    """A measure in percent: one value per trial, their mean and standard deviation; None where it is not defined."""

    values: Annotated[Shares, Key(""), Length("trials")]
    mean: Annotated[float | None, Key("_mean")]
    std: Annotated[float | None, Key("_std")] = None


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """A finished run: what was trained, on what, and how good it is.

    Attributes:
        dataset: the graph's name.
        split: the split's name.
        split_seeds: one per trial, of its split; None for a split that was not drawn.
        split_sizes: training, validation and test nodes of the first split.
        data: a hash of the graph and the split.
        network: what a custom model is; None for a network that `settings` name.
        settings: the method and its hyperparameters by name. A baseline has few.
        test_accuracy: on the test nodes, as are test_macro_f1 and test_rarest_f1.
        val_accuracy: on the validation nodes.
        rarest_class: the class that `test_rarest_f1` is about.
        test_f1: trials by classes.
        val_score: what epochs were selected by, one per trial.
        best_epoch: the selected epoch, one per trial.
        diverged: the trials whose loss became infinite.
        threads: of the CPU; None on a GPU.
        peak_memory: the most bytes that tensors took at once on a GPU; None on a CPU.
        trials_at_once: how many trials they belonged to; None on a CPU.
        versions: of the programs that computed it.

    What a baseline or an older file does not have is None, or ABSENT where None means something.
    """

    dataset: str
    split: Maybe[str] = None
    split_seeds: tuple[int, ...] | None = None
    split_sizes: Maybe[tuple[Count, ...]] = None
    data: Maybe[str] = None
    network: str | Absent | None = ABSENT
    settings: Annotated[
        dict[str, Any], Rest({"method": str, "backbone": str | None, "trials": Positive, "predictor": str | None})
    ]
    test_accuracy: Annotated[Score | None, Prefixed()] = None
    test_macro_f1: Annotated[Score | None, Prefixed()] = None
    test_rarest_f1: Annotated[Score | None, Prefixed()] = None
    val_accuracy: Annotated[Score | None, Prefixed()] = None
    rarest_class: Maybe[str | int] = None
    test_f1: Maybe[Annotated[tuple[Shares, ...], Length("trials")]] = None
    val_score: Maybe[Annotated[Shares, Length("trials")]] = None
    best_epoch: Maybe[Annotated[tuple[Count, ...], Length("trials")]] = None
    diverged: Maybe[tuple[Annotated[int, Range(0, "trials")], ...]] = None
    seconds: Maybe[float] = None
    device: Maybe[str] = None
    threads: int | Absent | None = ABSENT
    peak_memory: Maybe[Count] = None
    trials_at_once: Maybe[Positive] = None
    versions: dict[str, Fact]

    @property
    def method(self) -> str:
        """What was trained, by its key."""
        return str(self.settings["method"])

    @property
    def backbone(self) -> str | None:
        """The network, by its key; None for a baseline."""
        return self.settings.get("backbone")

    @property
    def trials(self) -> int:
        """How many times it was trained."""
        return int(self.settings["trials"])

    @property
    def failed(self) -> tuple[int, ...]:
        """The trials whose loss became infinite, each once."""
        return tuple(dict.fromkeys(self.diverged or ()))

    def score(self, metric: str) -> Score | None:
        """A measure by its name in the file; None where it was not taken."""
        found: Score | None = getattr(self, metric)
        return found
