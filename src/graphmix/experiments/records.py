"""Records: the cells of a spec put together and written, read back, and stored one by one."""

import json
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, cast

from graphmix.errors import RunError
from graphmix.experiments.cells import Asked, Cell, names_place
from graphmix.experiments.spec import Spec
from graphmix.experiments.verdict import judge_trials
from graphmix.experiments.versions import COMPUTED, text_of
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.record import (
    NOTHING,
    Bound,
    CellResult,
    Kind,
    Metric,
    Outcome,
    Record,
    Status,
    Verdict,
)
from graphmix.results.run import RunResult
from graphmix.results.schema import ABSENT
from graphmix.results.writer import to_json
from graphmix.storage.files import write_text
from graphmix.training import Config
from graphmix.training.config import ADDED

# A status, and a sentence that says why.
Failure = tuple[Status, str]


class Store:
    """Results of cells in a folder, one file each, by key."""

    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, key: str) -> Outcome | None:
        """A cell's result, or None if it is not there yet.

        Raises:
            RunError: the file is damaged.
        """
        path = self.folder / f"{key}.json"
        if not path.exists():
            return None
        try:
            outcome = read_file(Outcome, path)
        except RunError as error:
            raise RunError(f"{error}; delete the file and its cell is computed again") from error
        if outcome.key != key:
            raise RunError(f"{path} does not hold the cell of its name; delete it and the cell is computed again")
        return outcome

    def write(self, key: str, outcome: Outcome) -> None:
        """Keep a cell's result."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / f"{key}.json", _line(outcome) + "\n")


def entry(spec: Spec, cell: Cell, outcome: Outcome | None, error: Failure | None) -> CellResult:
    """A cell in a record: what it is, what came out, and how that compares with the paper.

    Args:
        spec: the table or figure.
        cell: the cell.
        outcome: what was stored of it, if it is done.
        error: a status and a sentence, if it could not be computed.
    """
    status, sentence = error or (_status(cell, outcome), None)
    return CellResult(
        row=cell.row,
        column=cell.column,
        reading=cell.reading,
        status=status,
        error=sentence,
        paper=cell.paper,
        verdict=None if outcome is None else _verdict(spec, cell, outcome.run),
        outcome=NOTHING if outcome is None else _shown(spec, outcome),
    )


def _verdict(spec: Spec, cell: Cell, run: RunResult | None) -> Verdict | None:
    score = None if run is None else run.score(spec.metric)
    if run is None or score is None or score.mean is None or cell.paper is None or cell.short:
        return None
    splits = spec.splits if isinstance(spec.splits, int) else 1
    values = [value for value in score.values if value is not None]
    return judge_trials(values, run.split_seeds, cell.paper, splits).rounded()


def _shown(spec: Spec, outcome: Outcome) -> Outcome:
    """What a record keeps of an outcome: what another figure measured of the same networks is in that figure's."""
    details = outcome.details
    if details is not None:
        details = replace(
            details,
            embedding=details.embedding if "embedding" in spec.charts else None,
            soft_rank=details.soft_rank if "soft-rank" in spec.charts else None,
        )
    return replace(outcome, details=details, code=None if outcome.code is ABSENT else outcome.code)


def assemble(
    spec: Spec, asked: Asked, entries: Sequence[CellResult], commit: str | None, command: str | None = None
) -> Record:
    """Put a spec's cells together as a record; the command that makes it is `graphmix reproduce` unless given."""
    return Record(
        format=formats.RECORD,
        name=spec.name,
        title=spec.title,
        source=spec.source,
        about=spec.about,
        kind=cast(Kind, spec.kind),
        charts=tuple(spec.charts),
        metric=cast(Metric, spec.metric),
        trials=spec.trials,
        rows=tuple(row.name for row in spec.rows),
        columns=tuple(column.name for column in spec.columns),
        readings=tuple(spec.readings),
        command=command or _command(spec, asked, entries),
        made={"code": text_of(COMPUTED), "commit": commit},
        cells=tuple(entries),
    )


def read_cells(folder: Path, spec: Spec, *, damaged_ok: bool = False) -> dict[tuple[str, str, str | None], CellResult]:
    """The cells of a spec's record in a folder that were tried, by row, column and reading; none without a record.

    Args:
        folder: the results folder.
        spec: the table or figure.
        damaged_ok: whether a damaged record counts as none, because it is to be written again anyway.

    Raises:
        RunError: the record is damaged.
    """
    path = folder / f"{spec.name}.json"
    if not path.exists():
        return {}
    try:
        record = read_file(Record, path, formats.RECORD)
    except RunError as error:
        if damaged_ok:
            return {}
        raise RunError(f"{error}; delete the file, its cells are kept beside it") from error
    return {cell.place: cell for cell in record.cells if cell.status in ("done", "failed", "unavailable")}


def kept(spec: Spec, cell: Cell, before: CellResult) -> CellResult | None:
    """What an earlier record says of a cell, with the paper's number from today's spec; None if the cell has changed.

    Trials and seeds may differ, and for a search what it chose; no other setting. The version that the numbers were
    computed with may differ too: the cell says which one it was.
    """
    if before.status != "done":
        return entry(spec, cell, None, (before.status, before.error or ""))
    if not _same_points(cell, before.outcome.bound) or not _same_settings(spec, cell, before.outcome):
        return None
    return entry(spec, cell, before.outcome, None)


def write_record(folder: Path, record: Record) -> Path:
    """Write a record into a folder under its name."""
    path = folder / f"{record.name}.json"
    # One line for each cell keeps the file small and its differences readable.
    head = json.dumps(to_json(replace(record, cells=())), indent=1, allow_nan=False, ensure_ascii=False)
    cells = ",\n".join(f"  {_line(cell)}" for cell in record.cells)
    write_text(path, head.removesuffix("[]\n}") + f"[\n{cells}\n ]\n}}\n")
    return path


def source_commit() -> str | None:
    """The commit of the checkout this code runs from, with "-dirty" where its code is changed; None outside of one."""
    source = Path(str(files("graphmix")))
    git = ["git", "-C", str(source)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        # A package installed into a folder that happens to lie in someone's checkout is not of that commit.
        tracked = subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True, check=False)
        changed = subprocess.run([*git, "status", "--porcelain", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    if tracked.returncode != 0:
        return None
    return head.stdout.strip() + ("-dirty" if changed.stdout.strip() else "")


def _line(value: Outcome | CellResult) -> str:
    return json.dumps(to_json(value), separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _status(cell: Cell, outcome: Outcome | None) -> Status:
    if cell.method is None:
        return "quoted"
    return "to do" if outcome is None else "done"


def _same_settings(spec: Spec, cell: Cell, before: Outcome) -> bool:
    """Whether an earlier cell had today's settings, trials and seeds apart."""
    settings = _settings(before)
    if settings is None:
        # A bound from before its settings were stored: only its points can be compared.
        return True
    # A hyperparameter that was added later had its default.
    held = {name: getattr(Config, name) for name in ADDED} | settings
    free = {"trials", "seed", "splits", "measures", "grid"}
    free |= {"alpha", "gamma"} if spec.kind == "selection" else set()
    return all(held.get(name) == value for name, value in cell.definition.items() if name not in free)


def _settings(before: Outcome) -> dict[str, Any] | None:
    if before.run is not None:
        return {"dataset": before.run.dataset, "split": before.run.split, **before.run.settings}
    return None if before.bound is None else before.bound.settings


def _same_points(cell: Cell, bound: Bound | None) -> bool:
    """Whether an earlier bound was estimated for the points of a cell's grid; a cell without one has no points."""
    held = [(point.alpha, point.gamma) for point in bound.points] if bound else []
    return held == (list(product(cell.grid["alphas"], cell.grid["gammas"])) if cell.grid else [])


def _command(spec: Spec, asked: Asked, entries: Sequence[CellResult]) -> str:
    """The command that makes a record; each cell of one that was filled in parts has its own."""
    command = f"graphmix reproduce {spec.name}"
    named = [names_place(cell.place, asked.only) for cell in entries]
    done = [cell.status == "done" for cell in entries]
    if not any(named) or any(there and not names for there, names in zip(done, named, strict=True)):
        return command
    command += f" --only {shlex.quote(asked.only)}" if asked.only is not None else ""
    command += f" --trials {asked.trials}" if asked.trials else ""
    command += f" --epochs {asked.epochs}" if asked.epochs else ""
    return command + (f" --seed {asked.seed}" if asked.seed else "")
