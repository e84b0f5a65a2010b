"""The folder of a saved model: its files read, and opened for another save."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from graphmix.errors import RunError
from graphmix.results import formats
from graphmix.results.fit import FitMetrics
from graphmix.results.reader import read_file
from graphmix.storage.description import is_description, read_description
from graphmix.storage.files import parse_tensors
from graphmix.storage.folders import (
    CLASSIFIER,
    LABELS,
    METRICS,
    MODEL,
    PAGE,
    PREDICTIONS,
    check_no_links,
    check_no_other_files,
    make_folder,
)
from graphmix.storage.found import describe_place, is_model
from graphmix.storage.lock import LOCK
from graphmix.storage.parts import PARTS, is_part, read_parts
from graphmix.workflow import old_classifier
from graphmix.workflow.folder import NEEDED, TENSORS, TEXTS


def read_metrics(path: Path) -> FitMetrics | RunError | None:
    """Read metrics.json if it is there; predictions do not need it, so an error is kept until somebody asks."""
    try:
        return read_file(FitMetrics, path, formats.METRICS) if path.exists() else None
    except RunError as error:
        return error


def describe_folder(folder: Path) -> dict[str, Any]:
    """Read model.json.

    Raises:
        RunError: there is no model, or it was written by a newer version.
    """
    if not is_model(folder):
        raise RunError(f"{folder} is not a model's folder: {describe_place(folder)}")
    return read_description(folder / MODEL, formats.MODEL, "a model")


def read_contents(folder: Path, described: dict[str, Any]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read the parts of a model by name: tensors, and JSON values."""
    parts = described.get(PARTS)
    if described["format"] == 1:
        # Files had fixed names, and only their checksums were stored.
        sums = described.get("checksums")
        known = sums if isinstance(sums, dict) else {}
        parts = {Path(name).stem: {"file": name, "sha256": known.get(name)} for name in NEEDED}
    contents = read_parts(folder, parts, NEEDED)
    tensors = {Path(name).stem: parse_tensors(contents[name], folder / name) for name in TENSORS}
    return tensors, {Path(name).stem: json.loads(contents[name]) for name in TEXTS}


def open_folder(folder: Path) -> None:
    """Make a folder to save into, unless it holds other files than those of a saved model.

    A report and predictions that were written beside the model stay as they are.
    """
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    ours = is_description(folder / MODEL) or is_description(folder / CLASSIFIER)
    own = [name for name in names if is_part(name, NEEDED) or old_classifier.owns(name)]
    # Other programs call files so too. They are ours beside a description, or beside the lock of a killed save.
    allowed = (MODEL, METRICS, PAGE, PREDICTIONS, *own) if ours else own if LOCK in names else ()
    check_no_other_files(folder, (*allowed, LABELS), "folder")
    check_no_links(folder)
    make_folder(folder)


@contextmanager
def parts_removed_unless_described(folder: Path) -> Iterator[None]:
    """After an error, Ctrl-C too, remove the parts that were written, unless there is a description.

    Without one they would look like somebody else's to the next save. The folder is locked: another process may be
    saving there otherwise.
    """
    try:
        yield
    except BaseException:
        if not (folder / MODEL).exists():
            for path in list(folder.iterdir()):
                if is_part(path.name, NEEDED):
                    path.unlink()
        raise


def json_bytes(value: Any) -> bytes:
    """Return a JSON value as the bytes of a file."""
    return (json.dumps(value, allow_nan=False) + "\n").encode()
