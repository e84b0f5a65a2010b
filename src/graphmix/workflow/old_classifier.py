"""Folders that older versions of `GraphMixClassifier.save` wrote: classifier.json and one file of tensors."""

import re
from pathlib import Path
from typing import Any

from torch import Tensor

from graphmix.storage.description import read_description
from graphmix.storage.files import parse_tensors, tensors_under
from graphmix.storage.folders import CLASSIFIER
from graphmix.storage.parts import read_parts
from graphmix.workflow.columns import Columns
from graphmix.workflow.options import FitOptions

_FORMAT = 1
_TENSORS = re.compile(r"tensors-[0-9a-f]{16}\.safetensors")
_ESTIMATOR = ("parameters", "classes", "type_of_classes", "feature_names")


def owns(name: str) -> bool:
    """Whether a file name is one of such a folder's."""
    return name == CLASSIFIER or _TENSORS.fullmatch(name) is not None


def remove(folder: Path) -> None:
    """Remove the files of such a folder, once a model is written beside them."""
    for path in list(folder.iterdir()):
        if owns(path.name):
            path.unlink()


def describe(folder: Path) -> dict[str, Any]:
    """Read what such a folder holds, in the form of a model.json."""
    old = read_description(folder / CLASSIFIER, _FORMAT, "a classifier")
    classes = old.get("classes")
    return old | {
        "task": "nodes",
        "name": "the graph",
        "classes": [str(label) for label in classes] if isinstance(classes, list) else classes,
        "columns": Columns().to_json(),
        "split": None,
        "weight_scale": None,
        "target_accuracy": FitOptions.target_accuracy,
        "coverage": FitOptions.coverage,
        "estimator": {name: old.get(name) for name in _ESTIMATOR},
    }


def read(folder: Path, described: dict[str, Any]) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read the parts of a model by name: tensors, and JSON values.

    Raises:
        RunError: the file of tensors is missing or another.
    """
    digest = str(described.get("tensors"))
    parts = {"tensors": {"file": f"tensors-{digest[:16]}.safetensors", "sha256": digest}}
    (content,) = read_parts(folder, parts, ["tensors.safetensors"]).values()
    tensors = parse_tensors(content, folder / parts["tensors"]["file"])
    weights, graph, held = (tensors_under(f"{part}.", tensors) for part in ("weights", "graph", "held"))
    # The only held-out predictions there were called "held".
    held = {name.replace("held.", f"{described['method']}."): tensor for name, tensor in held.items()}
    ids = [str(node) for node in range(len(graph["y"]))]
    texts = {"encoders": {"encoders": None, "structural": None}, "ids": {"ids": ids}}
    return {"weights": weights, "graph": graph, "heldout": held}, texts
