"""From a path to what a report shows: a model's folder, a run's, a demo's, a record, or a folder of records."""

import re
from pathlib import Path
from typing import NoReturn

from graphmix.errors import RunError
from graphmix.experiments.spec import names
from graphmix.report.contents import Cell, Contents, Record, Run
from graphmix.report.fitted import MODEL, read_fitted
from graphmix.report.parsing import KINDS, parse_details, parse_record, parse_run
from graphmix.report.values import Value, load
from graphmix.results.commands import rerun_command
from graphmix.training.methods import report_order

# What `graphmix reproduce` keeps beside its records.
_WORKING = ("cells", "work")
# Methods from simple ones to GraphMix.
_ORDER = report_order()


def read(path: Path) -> Contents:
    """Read and check what is at a path.

    Args:
        path: a model's folder, a run's, a folder of run folders (a demo's), a record `SPEC.json`, or a folder of
            records.

    Raises:
        RunError: there is nothing, or it is damaged, half-written, of a newer format, or not ours.
    """
    try:
        if not path.exists():
            raise RunError(
                f"{path} does not exist; give a model's or a run's folder, or the results of graphmix reproduce"
            )
        if path.is_file():
            record = parse_record(load(path))
            return Contents(record.title, (record,))
        if (path / MODEL).exists():
            return read_fitted(path)
        if (path / "results.json").exists():
            return _read_runs(path, [path])
        if (path / "config.json").exists():
            _refuse_unfinished(path)
        files = sorted(path.glob("*.json"))
        folders = sorted(folder for folder in path.iterdir() if _is_run(folder))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    if files:
        records = _read_records(files)
        return Contents(records[0].title if len(records) == 1 else "The paper’s experiments, run again", records)
    if folders:
        return _read_runs(path, folders)
    raise RunError(f"{path} holds no results; give a model's or a run's folder, or the results of graphmix reproduce")


def _refuse_unfinished(path: Path) -> NoReturn:
    # Only a fit is told what to try.
    if "wishes" in load(path / "config.json").raw:
        goes_on = "the same graphmix fit with --resume goes on with it"
        raise RunError(f"{path} holds a fit that is not done: it has no {MODEL} yet; {goes_on}")
    raise RunError(f"{path} holds a run that is not done: it has no results.json yet")


def _is_run(folder: Path) -> bool:
    marks = (folder / "results.json", folder / "config.json")
    finished_fit = (folder / MODEL).exists()
    return folder.name not in _WORKING and folder.is_dir() and not finished_fit and any(mark.exists() for mark in marks)


def _read_records(files: list[Path]) -> tuple[Record, ...]:
    records = [parse_record(load(file)) for file in files]
    # As in the paper; what is none of it comes after that.
    order = {name: place for place, name in enumerate(names())}

    def place(record: Record) -> tuple[int, int, list[tuple[int, str]], str]:
        return order.get(record.name, len(order)), KINDS.index(record.kind), _natural(record.source), record.name

    return tuple(sorted(records, key=place))


def _natural(text: str) -> list[tuple[int, str]]:
    # "Table 10" comes after "Table 9".
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", text)]


def _read_runs(path: Path, folders: list[Path]) -> Contents:
    for folder in folders:
        if not (folder / "results.json").exists():
            raise RunError(f"{folder} holds a run that is not done; the command that began it goes on with it")
    values = [load(folder / "results.json") for folder in folders]
    metrics = {_metric(value) for value in values}
    metric = metrics.pop() if len(metrics) == 1 else "test_accuracy"
    found = [(folder, parse_run(value, metric)) for folder, value in zip(folders, values, strict=True)]
    found.sort(key=lambda item: (_rank(item[1]), item[1].name, item[0].name))
    cells = _name_cells(found)
    record = Record(
        name=path.resolve().name,
        title=" and ".join(dict.fromkeys(cell.column for cell in cells)),
        source="",
        about="",
        kind="runs",
        metric=metric,
        rows=tuple(dict.fromkeys(cell.row for cell in cells)),
        columns=tuple(dict.fromkeys(cell.column for cell in cells)),
        readings=(),
        cells=tuple(cells),
    )
    return Contents(_title(record), (record,))


def _name_cells(found: list[tuple[Path, Run]]) -> list[Cell]:
    names = [(run.name, run.dataset) for _, run in found]
    cells = []
    for folder, run in found:
        # Two runs of one method, with other settings say, are told apart by their folders.
        row = run.name if names.count((run.name, run.dataset)) == 1 else f"{run.name} [{folder.name}]"
        details = folder / "details.json"
        cells.append(
            Cell(
                row=row,
                column=run.dataset,
                reading=None,
                status="done",
                command=rerun_command(run.settings),
                run=run,
                details=parse_details(load(details)) if details.exists() else None,
            )
        )
    return cells


def _title(record: Record) -> str:
    return f"{' and '.join(record.rows)} on {record.title}" if len(record.rows) <= 3 else f"Runs on {record.title}"


def _metric(value: Value) -> str:
    # Where a rare class matters, as among signed links, epochs are selected by macro F1 and so are results read.
    return "test_macro_f1" if value.raw.get("select_by") == "macro-f1" else "test_accuracy"


def _rank(run: Run) -> int:
    method = run.settings["method"]
    return _ORDER.index(method) if method in _ORDER else len(_ORDER)
