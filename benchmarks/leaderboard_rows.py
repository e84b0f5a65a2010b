"""The cells of the leaderboard from the files in results/: for leaderboard_page.py and leaderboard_picture.py.

A cell is taken from any record with a run of the same settings. The paper's tables train some of the same cells, so
these need not be trained twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from graphmix.experiments.cells import Asked, Cell, plan
from graphmix.experiments.quotes import quoted
from graphmix.experiments.records import entry, kept
from graphmix.experiments.spec import Spec, load_spec, names
from graphmix.experiments.versions import text_of
from graphmix.results.record import CellResult, Quoted, Record
from graphmix.results.run import RunResult
from results_page import read_records

# What a split is called on the page, by spec.
SPLITS = {"leaderboard": "public", "leaderboard-random": "random"}
TRIALS = 100
# Commits whose cells were trained on a CPU that other programs used at the same time, and on a GPU beside such a CPU.
BESIDE_OTHERS = (
    "51bc413",
    "fdef659",
    "0bd1c66",
    "2df4aebf64a7",
    "f088c3f05488",
    "3681b1a",
    "35ba361",
    "15677f8",
)
GPU_BESIDE_OTHERS = ("2df4aebf64a7",)


@dataclass(frozen=True)
class Place:
    """A method on a dataset and a kind of split: our number, if there is one, beside the paper's.

    Attributes:
        split: a value of `SPLITS`.
        result: the cell, with the paper's number and the verdict.
        incomparable: whether its seconds cannot be compared with the others', because it was trained with older code,
            or on a machine that other programs used too.
    """

    split: str
    result: CellResult
    incomparable: bool = False

    @property
    def mean(self) -> float | None:
        """The mean test accuracy in percent; None if it was not run."""
        score = self.result.score("test_accuracy")
        return None if score is None else score.mean

    @property
    def seconds(self) -> float | None:
        """Seconds for `TRIALS` trials; scaled if there are more or fewer."""
        run = self.result.run
        return None if run is None or run.seconds is None else run.seconds * TRIALS / run.trials

    @property
    def scaled(self) -> bool:
        """Whether it has another number of trials."""
        return self.result.run is not None and self.result.run.trials != TRIALS

    @property
    def on_cpu(self) -> bool:
        """Whether it ran on a CPU."""
        return self.result.run is not None and (self.result.run.device or "").startswith("cpu")


def read_places() -> list[Place]:
    """Every method on every dataset and kind of split, from the committed records."""
    records = read_records(*SPLITS, *(name for name in names() if name not in SPLITS))
    return places(records)


def places(records: Iterable[Record]) -> list[Place]:
    """The places of the leaderboard, by kind of split, method and dataset.

    Args:
        records: where two have the same cell, and the same number of trials, the first counts.
    """
    done = [cell for record in records for cell in record.cells if cell.run is not None]
    return [_place(spec, cell, done) for spec in map(load_spec, SPLITS) for cell in plan(spec, Asked())]


def best_first(found: Iterable[Place]) -> list[Place]:
    """Sort by the mean; cells that were not run come last."""
    return sorted(found, key=lambda place: (place.mean is None, -(place.mean or 0.0)))


def best_cell(spec: Spec, cell: Cell, done: Iterable[CellResult], *, timed: bool) -> CellResult:
    """A cell of a spec with a run of the same settings out of `done`, all of which have one; else without.

    Of several runs it has the one with the most trials, or if its seconds are shown (`timed`) one by current code.
    """
    code = text_of(cell.versions)
    fitting = [own for own in (kept(spec, cell, each) for each in done if _same(cell, each)) if own is not None]
    if not fitting:
        return entry(spec, cell, None, None)

    def rank(found: CellResult) -> tuple[int, int]:
        current, trials = int(found.outcome.code == code), found.run.trials
        return (current, trials) if timed else (trials, current)

    return max(fitting, key=rank)


def _place(spec: Spec, cell: Cell, done: list[CellResult]) -> Place:
    best = best_cell(spec, replace(cell, paper=_paper(cell)), done, timed=True)
    if best.run is None:
        return Place(SPLITS[spec.name], best)
    older = best.outcome.code != text_of(cell.versions)
    place = Place(SPLITS[spec.name], best, older)
    crowded = best.outcome.commit in (BESIDE_OTHERS if place.on_cpu else GPU_BESIDE_OTHERS)
    return replace(place, incomparable=older or crowded)


def _same(cell: Cell, other: CellResult) -> bool:
    """Whether a run may be the same cell; a search has other seeds, and so other trials."""
    run = other.run
    return (run.dataset, run.split, run.settings.get("seed", 0)) == (cell.dataset, cell.split, cell.config.seed)


def _paper(cell: Cell) -> Quoted | None:
    """The paper's accuracy for a cell; None if it has none."""
    own = {"method": cell.method, "backbone": None if cell.baseline else cell.config.backbone}
    run = RunResult(dataset=cell.dataset, split=cell.split, settings=cell.config.to_dict() | own, versions={})
    number, metric = quoted(run) or (None, None)
    return number if metric == "test_accuracy" else None
