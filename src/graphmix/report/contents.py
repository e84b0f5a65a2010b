"""What a report shows."""

from dataclasses import dataclass

from graphmix.results.fit import FitMetrics, ModelFile
from graphmix.results.record import Record
from graphmix.results.tuned import TuneResult


@dataclass(frozen=True)
class ModelFolder:
    """What a page shows of a model's folder.

    Attributes:
        metrics: what metrics.json holds.
        model: what model.json says of how it was made.
        folder: where it is, as it was asked for.
        files: those of the model's files that are there.
    """

    metrics: FitMetrics
    model: ModelFile
    folder: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """All that a report shows.

    Attributes:
        title: of the page.
        records: of experiments; or one table made of run folders.
        fitted: a fitted model, whose networks' runs are the table.
        of_runs: whether the records are a table of run folders, which has no paper beside it.
        tuned: a search and where it is, as it was asked for.
    """

    title: str
    records: tuple[Record, ...]
    fitted: ModelFolder | None = None
    of_runs: bool = False
    tuned: tuple[TuneResult, str] | None = None
