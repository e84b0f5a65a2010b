"""A table made of run folders: what `graphmix train` and `graphmix demo` write."""

from collections.abc import Sequence
from pathlib import Path

from graphmix.errors import RunError
from graphmix.report.contents import Contents
from graphmix.results import formats
from graphmix.results.commands import rerun_command
from graphmix.results.details import Details
from graphmix.results.names import name_run
from graphmix.results.reader import read_file
from graphmix.results.record import CellResult, Metric, Outcome, Record
from graphmix.results.run import RunResult
from graphmix.results.writer import to_json
from graphmix.storage.folders import DETAILS, RESULTS
from graphmix.training.methods import report_order

# Methods from simple ones to GraphMix.
_ORDER = report_order()


def read_runs(path: Path, folders: list[Path]) -> Contents:
    """Read run folders that lie in one folder, or are it.

    Raises:
        RunError: a run is not finished, or its files are damaged.
    """
    for folder in folders:
        if not (folder / RESULTS).exists():
            raise RunError(f"{folder} holds an unfinished run; the command that started it continues it")
    found = [(folder, read_file(RunResult, folder / RESULTS)) for folder in folders]
    metrics = {_metric(run) for _, run in found}
    metric = metrics.pop() if len(metrics) == 1 else "test_accuracy"
    for folder, run in found:
        if run.score(metric) is None:
            raise RunError(f"{folder / 'results.json'}: the file has no field '{metric}'")
    found.sort(key=lambda item: (_rank(item[1]), name_run(item[1]), item[0].name))
    record = runs_record(path.resolve().name, _cells(found), metric)
    several = len(record.rows) > 3
    title = f"Runs on {record.title}" if several else f"{' and '.join(record.rows)} on {record.title}"
    return Contents(title, (record,), of_runs=True)


def runs_record(name: str, cells: Sequence[CellResult], metric: Metric) -> Record:
    """A table of runs, in the form of a record."""
    rows, columns = dict.fromkeys(cell.row for cell in cells), dict.fromkeys(cell.column for cell in cells)
    return Record(
        format=formats.RECORD,
        name=name,
        title=" and ".join(columns),
        source="",
        about="",
        kind="table",
        charts=(),
        metric=metric,
        trials=None,
        rows=tuple(rows),
        columns=tuple(columns),
        readings=(),
        command=None,
        made={},
        cells=tuple(cells),
    )


def _cells(found: list[tuple[Path, RunResult]]) -> list[CellResult]:
    names = [(name_run(run), run.dataset) for _, run in found]
    cells = []
    for (folder, run), (name, dataset) in zip(found, names, strict=True):
        # Two runs of one method, with other settings say, are named after their folders too.
        row = name if names.count((name, dataset)) == 1 else f"{name} [{folder.name}]"
        held = folder / DETAILS
        outcome = Outcome(
            command=rerun_command(to_json(run)), run=run, details=read_file(Details, held) if held.exists() else None
        )
        cells.append(CellResult(row, dataset, None, "done", outcome=outcome))
    return cells


def _metric(run: RunResult) -> Metric:
    # Where a rare class matters, as for signed links, epochs are selected by macro F1, and so are results shown.
    return "test_macro_f1" if run.settings.get("select_by") == "macro-f1" else "test_accuracy"


def _rank(run: RunResult) -> int:
    return _ORDER.index(run.method) if run.method in _ORDER else len(_ORDER)
