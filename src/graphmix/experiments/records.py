"""Records: make a record from the cells of a spec, write and read it, and store single cells."""

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
from graphmix.experiments.claims import judge_claim
from graphmix.experiments.spec import Spec, load_spec
from graphmix.experiments.verdict import judge_trials
from graphmix.experiments.versions import COMPUTED, text_of
from graphmix.results import formats
from graphmix.results.claim import Claim
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
from graphmix.results.writer import one_line, to_json
from graphmix.storage.files import write_text
from graphmix.training import Config
from graphmix.training.config import ADDED

# A status and a sentence with the reason.
Failure = tuple[Status, str]


class Store:
    """Results of cells in a folder, one file each, by key."""

    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, key: str) -> Outcome | None:
        """Return a cell's result, or None if it is not stored yet.

        Raises:
            RunError: the file is damaged.
        """
        path = self.folder / f"{key}.json"
        if not path.exists():
            return None
        try:
            outcome = read_file(Outcome, path)
        except RunError as error:
            raise RunError(f"{error}; delete the file to compute its cell again") from error
        if outcome.key != key:
            raise RunError(f"{path} contains another cell than its name says; delete it to compute the cell again")
        return outcome

    def write(self, key: str, outcome: Outcome) -> None:
        """Store a cell's result."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / f"{key}.json", one_line(outcome) + "\n")


def entry(spec: Spec, cell: Cell, outcome: Outcome | None, error: Failure | None) -> CellResult:
    """Return a cell as in a record: what it is, its result, and how it compares with the paper.

    Args:
        spec: the table or figure.
        cell: the cell.
        outcome: its stored result, if it is done.
        error: a status and the reason, if it could not be computed.
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
    """The part of an outcome that a record keeps, without what other figures measure of the same networks."""
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
    """Make a record from a spec's cells; its command is `graphmix reproduce` by default."""
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
        # With other epochs a claim is not tried as the spec says.
        claim=_unjudged(judge_claim(spec, entries), judged=asked.epochs is None),
    )


def read_cells(folder: Path, spec: Spec) -> dict[tuple[str, str, str | None], CellResult]:
    """Return the tried cells of a spec's record, by row, column and reading; empty if there is no record.

    A spec that has the cells of another one also takes those of its record.

    Args:
        folder: the results folder.
        spec: the table or figure.

    Raises:
        RunError: the record is damaged, or something else: it is not replaced.
    """
    shared = {} if not spec.cells_of else read_cells(folder, load_spec(spec.cells_of))
    path = folder / f"{spec.name}.json"
    if not path.exists():
        return shared
    try:
        record = read_file(Record, path, formats.RECORD)
    except RunError as error:
        raise RunError(
            f"{error}; move or delete the file (cells are stored separately), or choose another `out`"
        ) from error
    return shared | {cell.place: cell for cell in record.cells if cell.status in ("done", "failed", "unavailable")}


def kept(spec: Spec, cell: Cell, before: CellResult) -> CellResult | None:
    """Return an earlier record's entry for a cell, with the spec's current paper number; None if the cell has changed.

    Trials and seeds may differ, and the choice of a search, but no other setting. The numbers may be of another
    version; the entry says which one.
    """
    if before.status != "done":
        return entry(spec, cell, None, (before.status, before.error or ""))
    if not _same_points(cell, before.outcome.bound) or not _same_settings(spec, cell, before.outcome):
        return None
    return entry(spec, cell, before.outcome, None)


def write_record(folder: Path, record: Record) -> Path:
    """Write a record to a folder, in the file of its name."""
    path = folder / f"{record.name}.json"
    # One line for each cell keeps the file small and its diffs readable.
    head = json.dumps(to_json(replace(record, cells=())), indent=1, allow_nan=False, ensure_ascii=False)
    cells = ",\n".join(f"  {cell.line}" for cell in record.cells)
    write_text(path, head.removesuffix("[]\n}") + f"[\n{cells}\n ]\n}}\n")
    return path


def source_commit() -> str | None:
    """The commit of the checkout that this code runs from, with "-dirty" if its code has changed; None without one."""
    source = Path(str(files("graphmix")))
    git = ["git", "-C", str(source)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        # A package installed inside some other checkout does not belong to its commit.
        tracked = subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], capture_output=True, check=False)
        changed = subprocess.run([*git, "status", "--porcelain", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    if tracked.returncode != 0:
        return None
    return head.stdout.strip() + ("-dirty" if changed.stdout.strip() else "")


def _unjudged(claim: Claim | None, *, judged: bool) -> Claim | None:
    return claim if claim is None or judged else Claim(says=claim.says, word="undecided")


def _status(cell: Cell, outcome: Outcome | None) -> Status:
    if cell.method is None:
        return "quoted"
    return "to do" if outcome is None else "done"


def _same_settings(spec: Spec, cell: Cell, before: Outcome) -> bool:
    """Whether an earlier cell had the same settings, except for trials and seeds."""
    settings = _settings(before)
    if settings is None:
        # An old bound was stored without its settings: only its points can be compared.
        return True
    # A hyperparameter that was added later had its default.
    held = {name: getattr(Config, name) for name in ADDED} | settings
    free = {"trials", "seed", "splits", "measures", "grid"}
    if spec.kind == "selection":
        free |= {"alpha", "gamma"} if spec.search is None else set(spec.search.values)
    return all(held.get(name) == value for name, value in cell.definition.items() if name not in free)


def _settings(before: Outcome) -> dict[str, Any] | None:
    if before.run is not None:
        return {"dataset": before.run.dataset, "split": before.run.split, **before.run.settings}
    return None if before.bound is None else before.bound.settings


def _same_points(cell: Cell, bound: Bound | None) -> bool:
    """Whether an earlier bound was estimated for the points of a cell's grid, or neither has points."""
    held = [(point.alpha, point.gamma) for point in bound.points] if bound else []
    return held == (list(product(cell.grid["alphas"], cell.grid["gammas"])) if cell.grid else [])


def _command(spec: Spec, asked: Asked, entries: Sequence[CellResult]) -> str:
    """The command that makes a record. In a record that was filled in parts, each cell has its own command."""
    command = f"graphmix reproduce {spec.name}"
    named = [names_place(cell.place, asked.only) for cell in entries]
    done = [cell.status == "done" for cell in entries]
    if not any(named) or any(there and not names for there, names in zip(done, named, strict=True)):
        return command
    command += f" --only {shlex.quote(asked.only)}" if asked.only is not None else ""
    command += f" --trials {asked.trials}" if asked.trials else ""
    command += f" --epochs {asked.epochs}" if asked.epochs else ""
    return command + (f" --seed {asked.seed}" if asked.seed else "")
