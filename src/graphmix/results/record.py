"""What a table or figure of the paper gave: SPEC.json, its cells, and the files of single cells."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from graphmix.results.claim import Claim
from graphmix.results.details import Details
from graphmix.results.run import Fact, RunResult, Score
from graphmix.results.schema import ABSENT, Absent, Count, Flat, Key, Length, Maybe, Shares
from graphmix.results.writer import one_line

Kind = Literal["table", "figure", "selection", "bound"]
Status = Literal["done", "failed", "unavailable", "quoted", "to do"]
Word = Literal["reproduced", "higher", "lower", "undecided"]
Metric = Literal["test_accuracy", "test_macro_f1", "test_rarest_f1"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# The source of a record or spec that repeats nothing of the paper.
NOT_IN_PAPER = "Not in the paper"


@dataclass(frozen=True)
class Quoted:
    """A number of the paper: mean and standard deviation in percent over n trials; None for what it does not say."""

    mean: float
    std: float | None = None
    n: Count | None = None


@dataclass(frozen=True)
class Verdict:
    """How a cell compares with the paper.

    Attributes:
        word: "higher" or "lower" where the difference is above half a point and significant at the 5 % level;
            "reproduced" where it is significant but smaller, or not significant and its interval is within the
            paper's own standard deviation; "undecided" where our trials are too few or too spread to say.
        difference: ours minus the paper's, in points.
        interval: its 95 % confidence interval.
        p: of no difference.
        n: how many independent numbers of ours there are: trials, or splits where trials share them.
    """

    word: Word
    difference: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    n: Count | None = None

    def rounded(self) -> "Verdict":
        """The verdict with as many digits as a file keeps."""
        ends = None if self.interval is None else (round(self.interval[0], 4), round(self.interval[1], 4))
        return replace(
            self,
            difference=None if self.difference is None else round(self.difference, 4),
            interval=ends,
            p=None if self.p is None else float(f"{self.p:.3g}"),
        )


@dataclass(frozen=True)
class Choice:
    """A point of the grid of α and γ, or of another search: then `settings` are what it set, by name."""

    alpha: float
    gamma: float
    settings: Maybe[dict[str, Any]] = None


@dataclass(frozen=True)
class GridPoint:
    """Validation scores at a point, in percent.

    Attributes:
        settings: what a search set at this point, by name; None in a grid of α and γ.
        val_score_mean: what points are compared by: what epochs are selected by, or accuracy if that is the loss.
    """

    alpha: float
    gamma: float
    settings: Maybe[dict[str, Any]] = None
    trials: Maybe[Count] = None
    val_score_mean: Maybe[float] = None
    val_accuracy_mean: float | None = None
    val_accuracy_std: float | None = None
    val_accuracy: Maybe[Annotated[Shares, Length("trials")]] = None


@dataclass(frozen=True)
class Selection:
    """A search: every point that was tried, our choice, and the paper's where it names one.

    Attributes:
        finalists: the best points, tried again on other splits of the same labels; the choice is one of these.
    """

    grid: tuple[GridPoint, ...]
    chosen: Choice | None = None
    paper_chosen: Choice | None = None
    finalists: Maybe[tuple[GridPoint, ...]] = None


@dataclass(frozen=True)
class Estimate:
    """A number estimated once per trial: mean, standard deviation and each trial's."""

    mean: float
    std: float | None
    trials: tuple[float, ...]


@dataclass(frozen=True)
class BoundPoint:
    """The FCN's loss at a point of the grid, V = loss - threshold, and the bound's right-hand side by λ."""

    alpha: float
    gamma: float
    fcn_loss: Estimate
    excess: Annotated[float, Key("V")]
    bound: dict[str, float]


@dataclass(frozen=True)
class Bound:
    """The terms of the theorem on one dataset (docs/theorem.md).

    Attributes:
        m: labeled nodes.
        unlabeled: the other nodes.
        grid: how many points the grid has.
        delta: δ, the probability with which the bound may fail.
        c: the largest loss of a node.
        concentration: c √(ln(|Γ|/δ) / 2m).
        threshold: four times that.
        settings: what it was computed with; missing in older files, like what follows.
    """

    m: Count
    unlabeled: Count
    grid: Count
    delta: float
    c: float
    concentration: float
    threshold: float
    rademacher: Estimate
    points: tuple[BoundPoint, ...]
    settings: Maybe[dict[str, Any]] = None
    seconds: Maybe[float] = None
    device: Maybe[str] = None
    versions: Maybe[dict[str, Fact]] = None


@dataclass(frozen=True)
class Outcome:
    """What computing a cell gave, as it is stored by its key.

    Attributes:
        key: names the definition of the cell: cells of different tables that ask for the same share it.
        command: trains this cell alone.
        code: versions of the numbers; a hash of the code in older files.
        commit: of the code that computed it.
    """

    key: str | None = None
    command: str | None = None
    code: str | Absent | None = ABSENT
    commit: str | None = None
    run: RunResult | None = None
    details: Details | None = None
    selection: Annotated[Selection | None, Flat()] = None
    bound: Maybe[Bound] = None


NOTHING = Outcome(code=None)


@dataclass(frozen=True)
class CellResult:
    """One number of a table: what came of it, beside the paper's.

    Attributes:
        reading: None for a quoted number or a baseline.
        error: one sentence for a cell that could not be computed.
    """

    row: str
    column: str
    reading: str | None
    status: Status
    error: str | None = None
    paper: Quoted | None = None
    verdict: Verdict | None = None
    outcome: Annotated[Outcome, Flat()] = NOTHING

    @property
    def place(self) -> tuple[str, str, str | None]:
        """Row, column and reading."""
        return self.row, self.column, self.reading

    @property
    def run(self) -> RunResult | None:
        """Its run, if it has one."""
        return self.outcome.run

    @property
    def details(self) -> Details | None:
        """What its pictures need."""
        return self.outcome.details

    @cached_property
    def line(self) -> str:
        """One line of JSON. Made once: a record is written again after each of its cells."""
        return one_line(self)

    def score(self, metric: str) -> Score | None:
        """A measure of its run; None without a run or where it was not taken."""
        return None if self.run is None else self.run.score(metric)


@dataclass(frozen=True)
class Record:
    """What one table or figure gave.

    Attributes:
        source: where it is in the paper, or `NOT_IN_PAPER`.
        charts: what a figure shows.
        trials: the paper's number; a cell's own is in its run.
        command: makes this record again.
        made: versions of the numbers, and the commit.
        claim: the claim that it is about, if any; it then repeats no number of the paper.
        cells: in the order of rows, columns, readings.
    """

    format: int
    name: str
    title: str
    source: str
    about: str
    kind: Kind
    charts: tuple[str, ...]
    metric: Metric
    trials: Count | None
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    readings: tuple[str, ...]
    command: str | None
    made: dict[str, Fact]
    # Before the cells, which come last in a file.
    claim: Maybe[Claim] = field(default=None, kw_only=True)
    cells: tuple[CellResult, ...]

    @property
    def of_paper(self) -> bool:
        """Whether it is a table or figure of the paper; if not, it counts in no tally of the paper's cells."""
        return self.source != NOT_IN_PAPER and self.claim is None

    def label(self, cell: CellResult) -> str:
        """What to call a cell among those of its column: its row, and its reading where there are several."""
        return f"{cell.row} · {cell.reading}" if cell.reading and len(self.readings) > 1 else cell.row

    def problems(self) -> Iterator[tuple[str, str]]:
        """What is wrong with it as a whole: a cell without its number, or in no place or in a taken one."""
        if not self.cells:
            yield "cells", "is empty"
        seen = set()
        for number, cell in enumerate(self.cells):
            for place, problem in self._cell_problems(cell):
                yield f"cells[{number}]{place}", problem
            if cell.place in seen:
                yield f"cells[{number}]", "is in the same row, column and reading as another cell"
            seen.add(cell.place)

    def _cell_problems(self, cell: CellResult) -> Iterator[tuple[str, str]]:
        needed = "bound" if self.kind == "bound" else "run"
        if cell.status == "done" and getattr(cell.outcome, needed) is None:
            yield "", f"is done but has no '{needed}'"
        if cell.run is not None and cell.score(self.metric) is None:
            yield ".run", f"has no field '{self.metric}'"
        if cell.row not in self.rows or cell.column not in self.columns:
            yield "", "is in none of the record's rows and columns"
        if cell.reading is not None and cell.reading not in self.readings:
            yield ".reading", "is not one of the record's readings"
