"""What a spec gave, as a file: docs/design/0012-results-files.md."""

import json
import shlex
import subprocess
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.experiments.cells import Asked, Cell, names_place
from graphmix.experiments.spec import Spec
from graphmix.experiments.verdict import judge_trials
from graphmix.experiments.versions import COMPUTED, text_of
from graphmix.storage.files import write_text
from graphmix.training import Config
from graphmix.training.config import ADDED

FORMAT = 1
# What of a stored cell its entry has a place for already.
_OWN = ("key", "command", "code", "commit")


class Store:
    """Results of cells in a folder, each in a file of its own, by key."""

    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, key: str) -> dict[str, Any] | None:
        """A cell's result, or None where there is none yet.

        Raises:
            RunError: the file is damaged.
        """
        path = self.folder / f"{key}.json"
        try:
            outcome = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunError(f"{path} is damaged ({error}); delete it and its cell is computed again") from error
        if not isinstance(outcome, dict) or outcome.get("key") != key:
            raise RunError(f"{path} does not hold the cell of its name; delete it and the cell is computed again")
        return outcome

    def write(self, key: str, outcome: dict[str, Any]) -> None:
        """Keep a cell's result."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.folder / f"{key}.json", _line(outcome) + "\n")


def entry(spec: Spec, cell: Cell, outcome: dict[str, Any] | None, error: tuple[str, str] | None) -> dict[str, Any]:
    """A cell in a record: what it is, what came out, and how that compares with the paper.

    Args:
        spec: the table or figure.
        cell: the cell.
        outcome: what was stored of it, if it is done.
        error: a status and a sentence, if it could not be.
    """
    status, sentence = error or (_status(cell, outcome), None)
    metric = spec.metric
    run = (outcome or {}).get("run")
    verdict = None
    if run is not None and cell.paper is not None and not cell.short and run[f"{metric}_mean"] is not None:
        splits = spec.splits if isinstance(spec.splits, int) else 1
        verdict = judge_trials(run[metric], run["split_seeds"], cell.paper, splits).to_dict()
    held = {name: value for name, value in (outcome or {}).items() if name not in _OWN}
    if held.get("details") is not None:
        held["details"] = {name: value for name, value in held["details"].items() if _shown(spec, name)}
    return {
        "row": cell.row,
        "column": cell.column,
        "reading": cell.reading,
        "status": status,
        "error": sentence,
        "paper": None if cell.paper is None else cell.paper._asdict(),
        "verdict": verdict,
        "key": outcome["key"] if outcome else None,
        "command": outcome["command"] if outcome else None,
        "code": outcome.get("code") if outcome else None,
        "commit": outcome["commit"] if outcome else None,
        **{"run": None, "details": None},
        **held,
    }


def assemble(
    spec: Spec, asked: Asked, entries: list[dict[str, Any]], commit: str | None, command: str | None = None
) -> dict[str, Any]:
    """Put a spec's cells together as a record; the command that makes it is `graphmix reproduce` unless given."""
    return {
        "format": FORMAT,
        "name": spec.name,
        "title": spec.title,
        "source": spec.source,
        "about": spec.about,
        "kind": spec.kind,
        "charts": list(spec.charts),
        "metric": spec.metric,
        "trials": spec.trials,
        "rows": [row.name for row in spec.rows],
        "columns": [column.name for column in spec.columns],
        "readings": list(spec.readings),
        "command": command or _command(spec, asked, entries),
        "made": {"code": text_of(COMPUTED), "commit": commit},
        "cells": entries,
    }


def read_cells(
    folder: Path, spec: Spec, *, damaged_ok: bool = False
) -> dict[tuple[str, str, str | None], dict[str, Any]]:
    """The cells of a spec's record in a folder that were tried, by row, column and reading; none without a record.

    Args:
        folder: the results folder.
        spec: the table or figure.
        damaged_ok: whether a damaged record counts as none, since it is to be written anew anyway.

    Raises:
        RunError: the record is damaged.
    """
    path = folder / f"{spec.name}.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        tried = [cell for cell in record["cells"] if cell["status"] in ("done", "failed", "unavailable")]
        return {(cell["row"], cell["column"], cell["reading"]): cell for cell in tried}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        if damaged_ok:
            return {}
        raise RunError(f"{path} is damaged ({error}); delete it, its cells are kept beside it") from error


def kept(spec: Spec, cell: Cell, before: dict[str, Any]) -> dict[str, Any] | None:
    """What an earlier record says of a cell, with the paper's number from today's spec; None if the cell has changed.

    Trials and seeds may differ, and for a search what it chose; no other setting. The version that the numbers were
    computed with may differ too: the cell says which one it was.
    """
    if before["status"] != "done":
        return entry(spec, cell, None, (before["status"], before["error"]))
    if not _same_points(cell, before.get("bound")) or not _same_settings(spec, cell, before):
        return None
    own = ("row", "column", "reading", "status", "error", "paper", "verdict")
    outcome = {name: value for name, value in before.items() if name not in own}
    return entry(spec, cell, {"key": None, "command": None, "code": None, "commit": None} | outcome, None)


def write_record(folder: Path, record: dict[str, Any]) -> Path:
    """Write a record into a folder under its name."""
    path = folder / f"{record['name']}.json"
    # A line for each cell: small, and differences can be read.
    head = json.dumps(record | {"cells": []}, indent=1, allow_nan=False, ensure_ascii=False)
    cells = ",\n".join(f"  {_line(cell)}" for cell in record["cells"])
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


def _shown(spec: Spec, detail: str) -> bool:
    """Whether a record keeps a detail: what another figure measured of the same networks is that figure's."""
    return detail not in ("embedding", "soft_rank") or detail.replace("_", "-") in spec.charts


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def _status(cell: Cell, outcome: dict[str, Any] | None) -> str:
    if cell.method is None:
        return "quoted"
    return "to do" if outcome is None else "done"


def _same_settings(spec: Spec, cell: Cell, before: dict[str, Any]) -> bool:
    """Whether an earlier cell had today's settings, trials and seeds apart."""
    settings = before["run"] if before["run"] is not None else before["bound"].get("settings")
    if settings is None:
        # A bound from before its settings were written down: its points are all there is to compare.
        return True
    # What a hyperparameter did before there was one.
    held = {name: getattr(Config, name) for name in ADDED} | settings
    free = {"trials", "seed", "splits", "measures", "grid"}
    free |= {"alpha", "gamma"} if spec.kind == "selection" else set()
    return all(held.get(name) == value for name, value in cell.definition.items() if name not in free)


def _same_points(cell: Cell, bound: dict[str, Any] | None) -> bool:
    """Whether an earlier bound was estimated for the points of a cell's grid; a cell without one has no points."""
    held = [(point["alpha"], point["gamma"]) for point in bound["points"]] if bound else []
    return held == (list(product(cell.grid["alphas"], cell.grid["gammas"])) if cell.grid else [])


def _command(spec: Spec, asked: Asked, entries: list[dict[str, Any]]) -> str:
    """The command that makes a record; each cell of one that was filled in parts has its own."""
    command = f"graphmix reproduce {spec.name}"
    named = [names_place((cell["row"], cell["column"], cell["reading"]), asked.only) for cell in entries]
    done = [cell["status"] == "done" for cell in entries]
    if not any(named) or any(there and not names for there, names in zip(done, named, strict=True)):
        return command
    command += f" --only {shlex.quote(asked.only)}" if asked.only is not None else ""
    command += f" --trials {asked.trials}" if asked.trials else ""
    command += f" --epochs {asked.epochs}" if asked.epochs else ""
    return command + (f" --seed {asked.seed}" if asked.seed else "")
