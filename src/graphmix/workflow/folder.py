"""The folder of a model, and of a fit in progress. It holds JSON, safetensors and CSV, never code.

config.json           what was requested; written first
candidates/NAME/      what each candidate predicted of held-out labels, and its weights if it is in the mixture
weights.safetensors   what the members of the mixture learned; the weights of networks are `[trials, ...]`
graph.safetensors     features, edges, labels and splits
heldout.safetensors   each candidate's predictions of labels it did not train on
encoders.json         how columns become features
ids.json              the ids of the nodes, in order
metrics.json          how good the methods are, the calibration, the times
predictions.csv       what the model predicts
model.json            what the model is, its parts with their SHA-256, and its own SHA-256; written last

A model has its parts and model.json. What a fit adds is not needed to predict.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphmix.errors import RunError
from graphmix.results.describe import versions
from graphmix.results.json_text import load
from graphmix.storage.files import write_json
from graphmix.storage.folders import (
    CONFIG,
    METRICS,
    MODEL,
    PREDICTIONS,
    RESULTS,
    WEIGHTS,
    check_can_be_made,
    check_no_links,
    check_no_other_files,
    making_folder,
)
from graphmix.storage.lock import locked
from graphmix.text import name_for_screen
from graphmix.training.config import ADDED, Config
from graphmix.workflow.options import BALANCED

TENSORS = (WEIGHTS, "graph.safetensors", "heldout.safetensors")
TEXTS = ("encoders.json", "ids.json")
NEEDED = (*TENSORS, *TEXTS)
CANDIDATES = "candidates"
_PLAN, _VERSIONS = "plan", "versions"
# What a fit was asked for, as the user calls it. The plan is last: it follows from all the others.
_CALLED = {
    "tables": "other tables",
    "columns": "other columns",
    "wishes": "other options",
    _PLAN: "other methods or hyperparameters",
}
# Parameters that config.json calls otherwise.
_PARAMETERS = {"target": "target_accuracy", "metric": BALANCED}


@contextmanager
def begin(
    folder: Path, asked: dict[str, Any], *, resume: bool = False, noted: dict[str, Any] | None = None
) -> Iterator[None]:
    """Open a folder for a fit, and lock it.

    Args:
        folder: new, empty or, with `resume`, one where the same fit was begun.
        asked: what the result depends on, as JSON values.
        resume: whether to continue what is there.
        noted: what else to write down when the fit begins, as JSON values; a fit that continues may differ in it.

    Raises:
        RunError: the folder holds something else, or another process writes to it.
    """
    asked = json.loads(json.dumps(asked | {_VERSIONS: versions()}))
    check_folder(folder, asked, resume=resume)
    with making_folder(folder), locked(folder):
        # Once more: another process may have begun since the first check.
        check_folder(folder, asked, resume=resume)
        with _removed_unless_trained(folder):
            if not (folder / CONFIG).exists():
                write_json(folder / CONFIG, asked | (noted or {}))
            yield


@contextmanager
def _removed_unless_trained(folder: Path) -> Iterator[None]:
    """After an error, remove what was written, unless there are networks to continue with."""
    try:
        yield
    except Exception:
        if not (folder / MODEL).exists() and not any(folder.glob(f"{CANDIDATES}/**/*.safetensors")):
            shutil.rmtree(folder / CANDIDATES, ignore_errors=True)
            for name in (CONFIG, PREDICTIONS, METRICS, *NEEDED):
                (folder / name).unlink(missing_ok=True)
        raise


def check_folder(folder: Path, asked: dict[str, Any] | None = None, *, resume: bool = False) -> None:
    """Check whether a fit can use a folder.

    Args:
        folder: the folder.
        asked: what the result depends on; None if that is not known yet.
        resume: whether to continue what is there.

    Raises:
        RunError: the folder holds something else.
    """
    check_no_links(folder)
    if not (folder / CONFIG).exists():
        check_no_other_files(folder)
        check_can_be_made(folder)
        return
    if (folder / RESULTS).exists():
        raise RunError(f"{folder} holds a run, not a fit; choose another `out`")
    if not resume:
        if (folder / MODEL).exists():
            raise RunError(f"{folder} holds a finished model; choose another `out`")
        raise RunError(f"{folder} holds an unfinished fit; use `resume` to continue it, or choose another `out`")
    if asked is None:
        return
    begun = _read_begun(folder)
    _check_versions(folder, begun.get(_VERSIONS), asked[_VERSIONS])
    different = _difference(begun, asked)
    if different is not None:
        raise RunError(f"{folder} holds another fit, with {different}; choose another `out`")


def _difference(begun: dict[str, Any], asked: dict[str, Any]) -> str | None:
    """Say what differs, as the user calls it; None if nothing does."""
    for group in (*_CALLED, *asked):
        old, new = begun.get(group), asked.get(group)
        if group not in asked or old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            # Another build may leave out what is null.
            name = next((each for each in (new | old) if new.get(each) != old.get(each)), None)
            if name is None:
                continue
            return f"another `{_PARAMETERS.get(name, name)}`"
        return _CALLED.get(group, f"other {group}")
    return None


def _read_begun(folder: Path) -> dict[str, Any]:
    """What a fit was asked for; hyperparameters that are newer than the fit have their defaults."""
    begun = load(folder / CONFIG)
    plan = begun.get(_PLAN)
    if not isinstance(plan, list) or not all(isinstance(each, dict) for each in plan):
        return begun
    added = {name: getattr(Config, name) for name in ADDED}
    filled = [
        each | {"config": added | each["config"]} if isinstance(each.get("config"), dict) else each for each in plan
    ]
    return begun | {_PLAN: filled}


def _check_versions(folder: Path, begun: Any, here: dict[str, str]) -> None:
    """Raise RunError if a fit was begun with other versions, whose numbers would not be the same."""
    begun = begun if isinstance(begun, dict) else {}
    for package, version in here.items():
        if begun.get(package) != version:
            there = name_for_screen(f"{package} {begun.get(package, 'of another version')}")
            raise RunError(
                f"{folder} holds a fit that was begun with {there}, and this is {package} {version}; continue it with "
                "the same versions, or choose another `out`"
            )
