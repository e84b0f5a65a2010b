"""Folders that older versions of `GraphMixClassifier.save` wrote: classifier.json and one file of tensors."""

import hashlib
import re
from pathlib import Path
from typing import Any

from torch import Tensor

from graphmix.errors import RunError
from graphmix.storage.description import read_description
from graphmix.storage.files import parse_tensors
from graphmix.workflow.columns import Columns

DESCRIPTION = "classifier.json"
_FORMAT = 1
_TENSORS = re.compile(r"tensors-[0-9a-f]{16}\.safetensors")
_ESTIMATOR = ("parameters", "classes", "type_of_classes", "feature_names")


def owns(name: str) -> bool:
    """Whether a file name is one of such a folder's."""
    return name == DESCRIPTION or _TENSORS.fullmatch(name) is not None


def remove(folder: Path) -> None:
    """Remove the files of such a folder, once a model is written beside them."""
    for path in list(folder.iterdir()):
        if owns(path.name):
            path.unlink()


def describe(folder: Path) -> dict[str, Any]:
    """Read what such a folder holds, in the form of a model.json."""
    old = read_description(folder / DESCRIPTION, _FORMAT, "a classifier")
    classes = old.get("classes")
    return old | {
        "task": "nodes",
        "name": "the graph",
        "classes": [str(label) for label in classes] if isinstance(classes, list) else classes,
        "columns": Columns().to_json(),
        "split": None,
        "weight_scale": None,
        "target_accuracy": 0.9,
        "coverage": 0.9,
        "estimator": {name: old.get(name) for name in _ESTIMATOR},
    }


def read(folder: Path, described: dict[str, Any]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read the parts of a model by name: tensors, and JSON values.

    Raises:
        RunError: the file of tensors is missing or another.
    """
    digest = str(described.get("tensors"))
    path = folder / f"tensors-{digest[:16]}.safetensors"
    # The name comes from a file that anybody may have written: it must not lead out of the folder.
    if not _TENSORS.fullmatch(path.name):
        raise RunError(f"{folder / DESCRIPTION} has no SHA-256 of the tensors; fit and save again")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise RunError(f"{path} is not the file that was written with the classifier: its SHA-256 differs")
    tensors = parse_tensors(content, path)
    parts = {
        part: _under(tensors, name) for part, name in (("weights", "weights"), ("graph", "graph"), ("held", "held"))
    }
    # The only held-out predictions there were called "held".
    held = {name.replace("held.", f"{described['method']}."): tensor for name, tensor in parts.pop("held").items()}
    ids = [str(node) for node in range(len(parts["graph"]["y"]))]
    return parts | {"heldout": held}, {"encoders": {"encoders": None, "structural": None}, "ids": {"ids": ids}}


def _under(tensors: dict[str, Tensor], owner: str) -> dict[str, Tensor]:
    names = (name for name in tensors if name.startswith(f"{owner}."))
    return {name.removeprefix(f"{owner}."): tensors[name] for name in names}
