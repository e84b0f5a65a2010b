"""How good a fitted model is: metrics.json. Shares are in percent, except in the survey."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from graphmix.models.registry import NETWORKS
from graphmix.results.columns import ColumnUse
from graphmix.results.details import Reliability
from graphmix.results.run import Fact
from graphmix.results.schema import Count, Key, Length, Maybe, OneOf, Positive, Rest, Shares
from graphmix.results.survey import Survey
from graphmix.training.methods import possible_in_fits

# The name of a weighted average of several candidates.
MIXTURE = "mixture"
# Up to this format a fit chose one method, with the labels it was judged on.
SINGLE_METHOD = 1
Method = Annotated[str, OneOf((MIXTURE, *possible_in_fits()))]
Backbone = Annotated[str, OneOf(tuple(NETWORKS))]
Task = Literal["nodes", "links"]
ChosenBy = Literal["accuracy", "macro-f1"]


@dataclass(frozen=True)
class Majority:
    """The most frequent class among the held-out labels, and how often predicting it always is right."""

    name: Annotated[str, Key("class")]
    accuracy: float | None


@dataclass(frozen=True)
class HeldOutCurve:
    """How well networks predict held-out labels after so many epochs."""

    epochs: tuple[Count, ...]
    loss: Annotated[tuple[float, ...], Length("epochs")]
    accuracy: Annotated[tuple[float, ...], Length("epochs")]


@dataclass(frozen=True)
class CandidateResult:
    """A method that was tried, or the mixture of several; older files lack what follows `seconds`.

    Attributes:
        behind: how many points the model is ahead, and the ends of the 95 % interval; None for the model itself.
        certain: whether that is significant; None for the model.
        backbone: its network; None if it has none, and for the mixture.
        share: its share in the mixture, in percent; None for the mixture itself, and if one method was tried alone.
        log_loss: the mean negative log-likelihood of the held-out labels.
        epochs: how many epochs its networks are trained for; None if it has none.
        curve: how its networks did on held-out labels as they trained.
    """

    method: Method
    accuracy: float
    macro_f1: float | None
    behind: tuple[float, float, float] | None
    certain: bool | None
    seconds: float
    backbone: Maybe[Backbone] = None
    share: Maybe[float] = None
    log_loss: Maybe[float] = None
    epochs: Maybe[Count] = None
    curve: Maybe[HeldOutCurve] = None


@dataclass(frozen=True)
class Calibration:
    """Confidence and accuracy before and after calibration; `after` is cross-fitted.

    Attributes:
        temperature: 1 if none was fitted.
        fitted: whether a temperature was fitted; older files do not say.
    """

    temperature: float
    before: Reliability
    after: Reliability
    fitted: Maybe[bool] = None

    @property
    def is_fitted(self) -> bool:
        """Whether a temperature was fitted; in older files, whether it is not 1."""
        return self.temperature != 1 if self.fitted is None else self.fitted


@dataclass(frozen=True)
class Conformal:
    """Prediction sets.

    Attributes:
        coverage: asked for.
        empirical: had on held-out labels; None where the labels are too few to measure it.
        mean_size: classes in a set, on average; None as `empirical`.
        threshold: None where the labels are too few, so that every set holds every class.
        sizes: how many predictions have a set of 1, 2, … classes.
    """

    coverage: float
    empirical: float | None
    mean_size: float | None
    threshold: float | None
    sizes: Annotated[tuple[Count, ...], Length("survey.class_names")]


@dataclass(frozen=True)
class AbstentionCurve:
    """What abstaining below a confidence leaves of the held-out labels, the most confident first."""

    threshold: tuple[float, ...]
    kept: Annotated[tuple[float, ...], Length("threshold")]
    accuracy: Annotated[tuple[float, ...], Length("threshold")]


@dataclass(frozen=True)
class Abstention:
    """Where predictions abstain.

    Attributes:
        target: the accuracy asked for.
        level: the confidence below which predictions abstain, in [0, 1]; 0 also where the labels are too few to choose
            a level; None where no level meets the target.
        kept: of all predictions.
        accuracy: of the held-out labels that are kept; None where the labels are too few to measure it, or none is.
        labels: how many labels that is measured on; older files do not say.
    """

    target: float
    level: float | None
    kept: float
    accuracy: float | None
    curve: AbstentionCurve
    labels: Maybe[Positive] = None


@dataclass(frozen=True)
class TestResult:
    """How the model does on given test nodes; `trials` are its members one by one, in older files its networks."""

    # pytest collects classes by this name.
    __test__ = False

    nodes: Count
    accuracy: float | None
    macro_f1: float | None
    trials: Shares
    before: Reliability
    after: Reliability


@dataclass(frozen=True, kw_only=True)
class FitMetrics:
    """What was tried, what is best, and how far to believe it.

    Attributes:
        survey: what the graph looks like.
        held: how many labels the candidates are judged on.
        chosen: "mixture", or the method that was tried alone; in older files the best method, by `chosen_by`.
        candidates: the model first, then what it was made from, the best by `chosen_by` first.
        backbone: the network of candidates that do not say theirs.
        confusion: the held-out labels by class and by predicted class; None where there are very many classes.
        predicted: how many predictions are of each class.
        test: on given test nodes, which chose nothing.
        notes: how the tables were understood.
        columns: what became of every column; older files do not say.
        failures: what could not be tried.
        seconds: by stage.
        peak_memory_gib: None where the system does not say.
    """

    format: int
    dataset: str
    survey: Survey
    judged_on: Literal["held-out folds", "validation nodes"]
    held: Positive
    trials: Positive
    epochs: Count
    backbone: Backbone
    majority: Maybe[Majority] = None
    chosen_by: ChosenBy
    chosen: Method
    candidates: tuple[CandidateResult, ...]
    calibration: Calibration
    conformal: Conformal
    abstention: Abstention
    classes: Annotated[tuple[str, ...], Length("survey.class_names")]
    predicted: Annotated[tuple[Count, ...], Length("survey.class_names")]
    confusion: Maybe[tuple[tuple[Count, ...], ...]] = None
    test: TestResult | None = None
    notes: tuple[str, ...] = ()
    columns: Maybe[tuple[ColumnUse, ...]] = None
    failures: tuple[str, ...] = ()
    seconds: dict[str, float] | None = None
    peak_memory_gib: float | None = None

    def problems(self) -> Iterator[tuple[str, str]]:
        """What is wrong with it as a whole."""
        if not self.candidates:
            yield "candidates", "is empty"
        for place, candidate in enumerate(self.candidates):
            if place == 0 and candidate.behind is not None:
                yield "candidates[0].behind", "is not null, but this is the best"
            if place > 0 and candidate.behind is None:
                yield f"candidates[{place}].behind", "is null, but this is not the best"
            if place > 0 and candidate.certain is None:
                yield f"candidates[{place}].certain", "is null, but this is not the best"
        if self.candidates[0].method != self.chosen:
            yield "chosen", f"is not {self.candidates[0].method}, the first of the candidates"
        size = len(self.classes)
        if self.confusion is not None and [len(row) for row in self.confusion] != [size] * size:
            yield "confusion", f"is not {size} by {size}, the number of classes"


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """What a page shows of model.json; `settings` is all that the other fields do not name."""

    format: int
    task: Task
    versions: dict[str, Fact]
    settings: Annotated[dict[str, Any], Rest({})]
