"""A classifier's folder: what it learned and the graph it learned it on.

tensors-*.safetensors  weights, graph and held-out predictions; its name begins with its SHA-256
classifier.json        what the classifier is, and that SHA-256; written last, so that it always names a whole file
"""

import hashlib
import re
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors
from safetensors.torch import save
from torch import Tensor

from graphmix.data import Graph
from graphmix.errors import GraphMixError, RunError
from graphmix.files import is_leaving
from graphmix.results import formats
from graphmix.results.runs import versions
from graphmix.storage.description import read_description, write_description
from graphmix.storage.files import write_bytes
from graphmix.storage.graphs import pack_graph, unpack_graph
from graphmix.training import Config
from graphmix.workflow.candidates import check_methods
from graphmix.workflow.model import Model
from graphmix.workflow.packing import pack_held, unpack_held

DESCRIPTION = "classifier.json"
_TENSORS = re.compile(r"tensors-[0-9a-f]{16}\.safetensors")
_HELD = "held"

Estimator = TypeVar("Estimator")


def write_classifier(
    folder: Path,
    parameters: dict[str, Any],
    model: Model,
    graph: Graph,
    classes: NDArray[Any],
    feature_names: NDArray[Any] | None,
) -> None:
    """Write a fitted classifier; one that is there is replaced, and stays whole until the new one is.

    Args:
        folder: new, empty, or of a classifier.
        parameters: those of the estimator.
        model: the networks.
        graph: what they were trained on.
        classes: `[classes]`.
        feature_names: `[features]`, where known.

    Raises:
        RunError: the folder holds something else, or cannot be written.
    """
    tensors = {
        **{f"weights.{name}": weight for name, weight in model.weights.items()},
        **{f"graph.{name}": tensor for name, tensor in pack_graph(graph).items()},
        **{f"held.{name}": tensor for name, tensor in pack_held({_HELD: model.held}).items()},
    }
    content = bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))
    digest = hashlib.sha256(content).hexdigest()
    described = {
        "format": formats.CLASSIFIER,
        "versions": versions(),
        "parameters": {name: _plain(name, value, model.config) for name, value in parameters.items()},
        "method": model.method,
        "config": model.config.to_dict(),
        "classes": classes.tolist(),
        "type_of_classes": "U" if classes.dtype.kind == "U" else classes.dtype.str,
        "feature_names": None if feature_names is None else [str(name) for name in feature_names],
        "temperature": model.temperature,
        "tensors": digest,
    }
    was_there = folder.exists()
    _open(folder)
    path = folder / _name(digest)
    was_same = path.exists()
    try:
        write_bytes(path, content)
        write_description(folder / DESCRIPTION, described)
    except RunError:
        if not was_same:
            path.unlink(missing_ok=True)
        if not was_there:
            folder.rmdir()
        raise
    for old in folder.iterdir():
        if _TENSORS.fullmatch(old.name) and old != path:
            old.unlink(missing_ok=True)


def read_classifier(folder: Path, kind: type[Estimator]) -> Estimator:
    """Read a classifier back, checking all of it as if it were new.

    Raises:
        RunError: there is none, it is of a newer version, or it is damaged or not what was written.
    """
    described = _read_description(folder)
    tensors = _read_tensors(folder, described.get("tensors"))
    try:
        classes = _read_classes(described["classes"], described["type_of_classes"])
        held = unpack_held(_part(tensors, "held"), len(classes))[_HELD]
        names = tuple(str(label) for label in classes)
        (method,) = check_methods((described["method"],))
        config, temperature = Config.from_dict(described["config"]), float(described["temperature"])
        if not 0 < temperature < np.inf:
            raise ValueError(f"a temperature of {temperature} is none")
        model = Model(method, config, names, _part(tensors, "weights"), held, temperature)
        graph = unpack_graph(_part(tensors, "graph"), names, "the graph")
        model.check_weights(graph.num_features)
        classifier: Any = kind(**described["parameters"])
        classifier._become(model, graph, classes)
        if described["feature_names"] is not None:
            classifier.feature_names_in_ = np.array([str(name) for name in described["feature_names"]], dtype=object)
        return classifier  # type: ignore[no-any-return]
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError, GraphMixError) as error:
        raise RunError(f"{folder} does not hold a whole classifier: {error}") from error


def _open(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = {path.name for path in folder.iterdir() if not is_leaving(path.name)}
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}") from error
    other = sorted(name for name in held if name != DESCRIPTION and not _TENSORS.fullmatch(name))
    if other:
        raise RunError(f"{folder} holds other files, {other[0]} say; choose another or an empty folder")


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / DESCRIPTION
    if not path.is_file():
        raise RunError(f"{folder} is not a classifier's folder: it has no {DESCRIPTION}")
    return read_description(path, formats.CLASSIFIER, "a classifier")


def _read_tensors(folder: Path, digest: Any) -> dict[str, Tensor]:
    path = folder / _name(str(digest))
    # The name comes from a file that anybody may have written: it must not lead elsewhere.
    if not _TENSORS.fullmatch(path.name):
        raise RunError(f"{folder / DESCRIPTION} has no SHA-256 of the tensors; fit and save again")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise RunError(f"{path} is not the file that was written with the classifier: its SHA-256 differs")
    try:
        return load_tensors(content)
    except safetensors.SafetensorError as error:
        raise RunError(f"{path} is damaged: {error}") from error


def _name(digest: str) -> str:
    return f"tensors-{digest[:16]}.safetensors"


def _part(tensors: dict[str, Tensor], owner: str) -> dict[str, Tensor]:
    names = (name for name in tensors if name.startswith(f"{owner}."))
    return {name.removeprefix(f"{owner}."): tensors[name] for name in names}


def _plain(name: str, value: Any, config: Config) -> Any:
    """A parameter as JSON knows it; of a stream of random numbers the seed that was drawn from it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if name == "random_state":
        return config.seed
    raise RunError(f"the parameter {name} cannot be saved: it is {type(value).__name__}")


def _read_classes(values: Any, kind: Any) -> NDArray[Any]:
    dtype = np.dtype(str(kind))
    # Strings are as wide as they are, not as wide as a file says: that may be more than there is memory.
    if dtype.kind not in "biufU" or (dtype.kind == "U" and dtype.itemsize):
        raise ValueError(f"classes are not of type {kind!r}")
    classes = np.array(values, dtype=dtype)
    if classes.ndim != 1 or len(classes) < 2:
        raise ValueError("the classes are none")
    if classes.tolist() != values or not np.array_equal(np.unique(classes), classes):
        raise ValueError("the classes are not what was written")
    return classes
