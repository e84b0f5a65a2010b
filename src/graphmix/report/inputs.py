"""From a path to what a report shows: the folder of a model, run, search or demo, a record, or a folder of records."""

import re
from pathlib import Path
from typing import NoReturn

from graphmix.errors import RunError
from graphmix.experiments.spec import names
from graphmix.report.contents import Contents
from graphmix.report.fitted import read_fitted
from graphmix.report.runs import read_runs
from graphmix.report.tuned_page import read_tuned
from graphmix.results import formats
from graphmix.results.json_text import load
from graphmix.results.reader import read_file
from graphmix.results.record import KINDS, Record
from graphmix.storage.folders import CELLS, CONFIG, MODEL, RESULTS, TUNED, WORK
from graphmix.storage.found import REPORTABLE, describe_place, is_of_fit, owner, require_there


def read(path: Path) -> Contents:
    """Read and check what is at a path.

    Args:
        path: a model's folder, a run's, a search's, a folder of run folders (a demo's), a record `SPEC.json`, or a
            folder of records.

    Raises:
        RunError: nothing is there, or it is damaged, half-written, of a newer format, or not ours.
    """
    try:
        require_there(path)
        if not path.is_dir():
            _require_record(path)
            record = read_file(Record, path, formats.RECORD)
            return Contents(record.title, (record,))
        if (path / MODEL).exists():
            return read_fitted(path)
        if (path / TUNED).exists():
            return read_tuned(path)
        if (path / RESULTS).exists():
            return read_runs(path, [path])
        if (path / CONFIG).exists():
            _refuse_unfinished(path)
        files = sorted(path.glob("*.json"))
        folders = sorted(folder for folder in path.iterdir() if _is_run(folder))
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    if files:
        records = _read_records(files)
        return Contents(records[0].title if len(records) == 1 else "The paper’s experiments, run again", records)
    if folders:
        return read_runs(path, folders)
    raise RunError(f"{path} holds no results; give {REPORTABLE}")


def _require_record(path: Path) -> None:
    """Raise RunError for a file that is surely something else than a record, even a damaged one."""
    if path.suffix.lower() != ".json" or owner(path):
        raise RunError(f"{path} is not a record of graphmix reproduce: {describe_place(path)}")


def _refuse_unfinished(path: Path) -> NoReturn:
    if is_of_fit(load(path / CONFIG)):
        raise RunError(
            f"{path} holds an unfinished fit: it has no {MODEL} yet; the same graphmix fit with `resume` continues it"
        )
    raise RunError(f"{path} holds an unfinished run: it has no {RESULTS} yet")


def _is_run(folder: Path) -> bool:
    marks = (folder / RESULTS, folder / CONFIG)
    finished_fit = (folder / MODEL).exists()
    return (
        folder.name not in (CELLS, WORK)
        and folder.is_dir()
        and not finished_fit
        and any(mark.exists() for mark in marks)
    )


def _read_records(files: list[Path]) -> tuple[Record, ...]:
    records = [read_file(Record, file, formats.RECORD) for file in files]
    # As in the paper; other records come after those.
    order = {name: place for place, name in enumerate(names())}

    def place(record: Record) -> tuple[int, int, list[tuple[int, str]], str]:
        return order.get(record.name, len(order)), KINDS.index(record.kind), _natural(record.source), record.name

    return tuple(sorted(records, key=place))


def _natural(text: str) -> list[tuple[int, str]]:
    # "Table 10" comes after "Table 9".
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", text)]
