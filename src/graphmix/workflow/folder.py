"""A model's folder: all it takes to predict, on this graph and on one that has grown. JSON and safetensors only.

config.json           what was asked for; written first
candidates/METHOD/    the run of each network that was tried
weights.safetensors   the winner's weights, `[trials, ...]`
graph.safetensors     features, edges, labels and splits
heldout.safetensors   what each method predicted of labels it had not seen
encoders.json         how columns become features
ids.json              the nodes' ids, in order
metrics.json          how good the methods are, the calibration, the times
predictions.csv       what the model predicts
model.json            what the model is, the SHA-256 of the files it needs, and its own; written last, which means done
"""

import contextlib
import hashlib
import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
from safetensors.torch import load as load_tensors
from safetensors.torch import save
from torch import Tensor

from graphmix.errors import GraphMixError, RunError
from graphmix.evaluation.heldout import HeldOut
from graphmix.files import is_leaving
from graphmix.results import formats
from graphmix.results.runs import versions
from graphmix.storage.description import read_description, write_description
from graphmix.storage.files import write_bytes, write_json
from graphmix.storage.lock import locked
from graphmix.training import Config
from graphmix.workflow.candidates import check_methods
from graphmix.workflow.model import Model
from graphmix.workflow.packing import pack_held, pack_problem, share, unpack_held, unpack_problem
from graphmix.workflow.problem import Problem

MODEL, ASKED, METRICS, PREDICTIONS = "model.json", "config.json", "metrics.json", "predictions.csv"
_TENSORS = ("weights.safetensors", "graph.safetensors", "heldout.safetensors")
_TEXTS = ("encoders.json", "ids.json")
_NEEDED = (*_TENSORS, *_TEXTS)
# What reading a file that is not as it should be can come to.
_DAMAGED = (
    AttributeError,
    GraphMixError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    safetensors.SafetensorError,
)


@dataclass(frozen=True, eq=False)
class Stored:
    """What a model's folder holds.

    Attributes:
        model: the model.
        problem: the graph it was trained on, and what made it.
        held: what each method that was tried predicted of labels it had not seen, and GraphMix's FCN as "graphmix-fcn".
        target: the target accuracy that was asked for.
        coverage: the coverage of prediction sets that was asked for.
    """

    model: Model
    problem: Problem
    held: dict[str, HeldOut]
    target: float
    coverage: float


@contextmanager
def begin(folder: Path, asked: dict[str, Any], *, resume: bool = False) -> Iterator[None]:
    """Open a folder for a fit and keep it to this process.

    Args:
        folder: new, empty or, to go on, one in which just this was begun.
        asked: what the result depends on, in values that JSON knows.
        resume: whether to go on with what is there.

    Raises:
        RunError: the folder holds something else, or another process is writing to it.
    """
    asked = json.loads(json.dumps(asked | {"versions": versions()}))
    _check_folder(folder, asked, resume)
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        _make(folder)
        with locked(folder):
            # Once more: another process may have begun between the look and the lock.
            _check_folder(folder, asked, resume)
            with _forgotten_if_nothing(folder):
                if not (folder / ASKED).exists():
                    write_json(folder / ASKED, asked)
                yield
    finally:
        for each in new:
            # Only an empty folder goes.
            with contextlib.suppress(OSError):
                each.rmdir()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be made: {error.strerror}") from error


@contextmanager
def _forgotten_if_nothing(folder: Path) -> Iterator[None]:
    """After an error, remove what was written, unless there are networks to go on with."""
    try:
        yield
    except Exception:
        if not (folder / MODEL).exists() and not any(folder.glob("candidates/**/*.safetensors")):
            shutil.rmtree(folder / "candidates", ignore_errors=True)
            for name in (ASKED, PREDICTIONS, METRICS, *_NEEDED, ".lock"):
                (folder / name).unlink(missing_ok=True)
        raise


def check_free(folder: Path, *, resume: bool = False) -> None:
    """Refuse a folder that a fit cannot go into, before anything slow is begun."""
    _check_folder(folder, None, resume)


def write_model(folder: Path, stored: Stored) -> None:
    """Write a model and what it needs; `model.json` comes last."""
    problem, model = stored.problem, stored.model
    contents = {
        "weights.safetensors": _tensor_bytes(model.weights),
        "graph.safetensors": _tensor_bytes(pack_problem(problem)),
        "heldout.safetensors": _tensor_bytes(pack_held(stored.held)),
        "encoders.json": _json_bytes(_made_by(problem)),
        "ids.json": _json_bytes({"ids": problem.ids}),
    }
    for name, content in contents.items():
        write_bytes(folder / name, content)
    described = {
        "format": formats.MODEL,
        "versions": versions(),
        "task": problem.task,
        "name": problem.graph.name,
        "method": model.method,
        "config": model.config.to_dict(),
        "classes": list(model.classes),
        "temperature": model.temperature,
        "target_accuracy": stored.target,
        "coverage": stored.coverage,
        "columns": problem.columns.to_json(),
        "split": None if problem.split is None else problem.split.name,
        "weight_scale": problem.weight_scale,
        "checksums": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
    }
    write_description(folder / MODEL, described)


def read_model(folder: Path) -> Stored:
    """Read a model back; every file it needs must be the one that was written with it.

    Raises:
        RunError: there is no model, it is of a newer version, or a file is missing, damaged or another.
    """
    described = _read_description(folder)
    contents = {name: _read_checked(folder / name, described.get("checksums")) for name in _NEEDED}
    try:
        return _stored(described, contents)
    except _DAMAGED as error:
        raise RunError(f"{folder} does not hold a whole model: {error}") from error


def _stored(described: dict[str, Any], contents: dict[str, bytes]) -> Stored:
    """Put a model together, checking every part as if it were new."""
    tensors = {name: load_tensors(contents[name]) for name in _TENSORS}
    texts = {name: json.loads(contents[name]) for name in _TEXTS}
    problem = unpack_problem(described, tensors["graph.safetensors"], texts["encoders.json"], texts["ids.json"])
    held = unpack_held(tensors["heldout.safetensors"], len(described["classes"]))
    (method,) = check_methods([described["method"]])
    model = Model(
        method,
        Config.from_dict(described["config"]),
        tuple(described["classes"]),
        tensors["weights.safetensors"],
        held[method],
        share(described, "temperature", math.inf),
    )
    model.check_weights(problem.graph.num_features)
    return Stored(model, problem, held, share(described, "target_accuracy"), share(described, "coverage"))


def _read_description(folder: Path) -> dict[str, Any]:
    path = folder / MODEL
    if not path.is_file():
        state = "holds a fit that is not done" if (folder / ASKED).is_file() else "is not a model's folder"
        raise RunError(f"{folder} {state}: it has no {MODEL}")
    return read_description(path, formats.MODEL, "a model")


def _read_checked(path: Path, checksums: Any) -> bytes:
    expected = checksums.get(path.name) if isinstance(checksums, dict) else None
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != expected:
        raise RunError(f"{path} is not the file that was written with the model: its SHA-256 differs; fit again")
    return content


def _check_folder(folder: Path, asked: dict[str, Any] | None, resume: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another --out")
    if not (folder / ASKED).exists():
        held = {path.name for path in folder.iterdir() if not is_leaving(path.name)}
        if held - {".lock"}:
            raise RunError(f"{folder} holds other files; choose another --out or an empty folder")
        return
    if not resume:
        if (folder / MODEL).exists():
            raise RunError(f"{folder} holds a finished model; choose another --out")
        raise RunError(f"{folder} holds a fit that is not done; --resume goes on with it, or choose another --out")
    if asked is None:
        return
    try:
        begun = json.loads((folder / ASKED).read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{folder / ASKED} cannot be read: {error}") from error
    different = [name for name in asked if not isinstance(begun, dict) or begun.get(name) != asked[name]]
    if different:
        raise RunError(f"{folder} holds another fit, with other {different[0]}; choose another --out")


def _made_by(problem: Problem) -> dict[str, Any]:
    made = {"encoders": problem.encoders, "link_encoders": problem.link_encoders, "structural": problem.structural}
    return {name: None if part is None else part.to_json() for name, part in made.items()}


def _tensor_bytes(tensors: dict[str, Tensor]) -> bytes:
    return bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def _json_bytes(value: Any) -> bytes:
    return (json.dumps(value, allow_nan=False) + "\n").encode()
