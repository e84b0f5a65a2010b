"""What a report shows, checked and in plain values. The fields are those of docs/design/0012-results-files.md."""

from dataclasses import dataclass, field
from typing import Any

from graphmix.workflow.survey import Survey


@dataclass(frozen=True)
class Curve:
    """A quantity over the epochs: its mean over the trials, and the 10th and 90th percentiles."""

    mean: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]


@dataclass(frozen=True)
class Curves:
    """Quantities by name, over the same epochs."""

    epochs: tuple[int, ...]
    quantities: dict[str, Curve]


@dataclass(frozen=True)
class Reliability:
    """Bins of the confidence: how many nodes, how sure, how often right; ece is in percent."""

    count: tuple[int, ...]
    confidence: tuple[float | None, ...]
    accuracy: tuple[float | None, ...]
    ece: float | None


@dataclass(frozen=True)
class Embedding:
    """A picture of hidden states: one entry per drawn node."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    node: tuple[int, ...]
    label: tuple[int, ...]
    predicted: tuple[int, ...]
    confidence: tuple[float, ...]
    role: tuple[str, ...]
    nodes: int


@dataclass(frozen=True)
class Details:
    """What the pictures of a run need; None where a run has no such thing."""

    classes: tuple[str, ...]
    curves: Curves | None = None
    confusion: tuple[tuple[int, ...], ...] | None = None
    reliability: Reliability | None = None
    embedding: Embedding | None = None
    soft_rank: tuple[tuple[float | None, ...], ...] | None = None


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        name: what the paper calls its method.
        scores: the metric in percent, one per trial; None where a trial has none.
        diverged: the trials that failed.
        settings: all that its results say.
    """

    name: str
    dataset: str
    trials: int
    scores: tuple[float | None, ...]
    mean: float | None
    std: float | None
    diverged: tuple[int, ...]
    seconds: float | None
    device: str
    versions: dict[str, str]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Paper:
    """A number of the paper, in percent."""

    mean: float
    std: float | None
    n: int | None


@dataclass(frozen=True)
class Verdict:
    """How ours compares: the difference is ours minus the paper's, in points."""

    word: str
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    n: int | None


@dataclass(frozen=True)
class Choice:
    """A point of the grid of α and γ."""

    alpha: float
    gamma: float


@dataclass(frozen=True)
class GridPoint:
    """How good a point of the grid is on the validation nodes, in percent."""

    choice: Choice
    mean: float | None
    std: float | None
    trials: int | None


@dataclass(frozen=True)
class BoundPoint:
    """The FCN's loss at a point of the grid, V, and the theorem's right-hand side by λ."""

    choice: Choice
    loss: float
    loss_std: float | None
    excess: float
    bound: dict[str, float]


@dataclass(frozen=True)
class Bound:
    """What the theorem says of one dataset; `constants` are its other numbers by name."""

    threshold: float
    rademacher: float | None
    rademacher_std: float | None
    constants: dict[str, float]
    points: tuple[BoundPoint, ...]


@dataclass(frozen=True)
class Cell:
    """One number of a table, and what it was made of."""

    row: str
    column: str
    reading: str | None
    status: str
    error: str | None = None
    paper: Paper | None = None
    verdict: Verdict | None = None
    command: str | None = None
    commit: str | None = None
    run: Run | None = None
    details: Details | None = None
    grid: tuple[GridPoint, ...] = ()
    chosen: Choice | None = None
    paper_chosen: Choice | None = None
    bound: Bound | None = None


@dataclass(frozen=True)
class Record:
    """What one experiment gave; `kind` "runs" is a run folder or several, which have no paper beside them."""

    name: str
    title: str
    source: str
    about: str
    kind: str
    metric: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    readings: tuple[str, ...]
    cells: tuple[Cell, ...]
    charts: tuple[str, ...] = ()
    trials: int | None = None
    command: str | None = None
    made: dict[str, str] = field(default_factory=dict)

    def label(self, cell: Cell) -> str:
        """What to call a cell among those of its column: its row, and its reading where there are several."""
        return f"{cell.row} · {cell.reading}" if cell.reading and len(self.readings) > 1 else cell.row


@dataclass(frozen=True)
class Candidate:
    """A method that was tried on a graph of one's own; scores in percent.

    Attributes:
        behind: points that the best is ahead of it, and the 95 % interval's ends; None for the best.
        certain: whether that is more than noise; None for the best.
    """

    method: str
    name: str
    accuracy: float
    macro_f1: float | None
    behind: tuple[float, float, float] | None
    certain: bool | None
    seconds: float


@dataclass(frozen=True)
class Sets:
    """Prediction sets: the coverage asked for and had on held-out labels, in percent, and the sizes of all sets.

    `threshold` is None where labels are too few for the promise, so that every set holds every class.
    """

    coverage: float
    empirical: float | None
    mean_size: float | None
    threshold: float | None
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Abstention:
    """Where predictions abstain, in percent but for `level`, a confidence, None where none meets the target.

    `kept` is of all predictions, `accuracy` of held-out labels; so are the curve's, the surest labels first.
    """

    target: float
    level: float | None
    kept: float
    accuracy: float | None
    curve_threshold: tuple[float, ...]
    curve_kept: tuple[float, ...]
    curve_accuracy: tuple[float, ...]


@dataclass(frozen=True)
class Tested:
    """How the model does on test nodes that were given, in percent; `trials` are its networks one by one."""

    nodes: int
    accuracy: float | None
    macro_f1: float | None
    trials: tuple[float | None, ...]
    before: Reliability
    after: Reliability


@dataclass(frozen=True)
class Fitted:
    """A model that was fitted to tables, as metrics.json and model.json say.

    Attributes:
        headline: which method to use and whether it is more than noise.
        task: what is classified, "nodes" or "links".
        judged_on: "held-out folds" or "validation nodes"; `held` is how many labels that is.
        metric: what the best was chosen by, "accuracy" or "macro-f1".
        candidates: the best first.
        before: how confidence and accuracy went together before calibration, and `after` it.
        predicted: how many nodes of each class there are among the predictions.
        seconds: by stage.
        memory: the most that was held, in GiB.
        settings: all that model.json says of how it was made.
        folder: where it is, as it was asked for.
        files: those of the model's folder that are there.
    """

    headline: str
    dataset: str
    task: str
    survey: Survey
    judged_on: str
    held: int
    trials: int
    epochs: int
    backbone: str
    metric: str
    candidates: tuple[Candidate, ...]
    temperature: float
    before: Reliability
    after: Reliability
    sets: Sets
    abstention: Abstention
    classes: tuple[str, ...]
    predicted: tuple[int, ...]
    test: Tested | None
    notes: tuple[str, ...]
    failures: tuple[str, ...]
    seconds: dict[str, float]
    memory: float | None
    versions: dict[str, str]
    settings: dict[str, Any]
    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """All that a report shows: records of experiments, one record of kind "runs", or a model and its networks' runs."""

    title: str
    records: tuple[Record, ...]
    fitted: Fitted | None = None
