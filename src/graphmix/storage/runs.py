"""A run's folder: what was asked for, what came out, and enough on the way to go on after a kill.

config.json           what was asked for, the versions, and a fingerprint of the data
parts/*.safetensors   batches of trials already trained, while the run goes on
weights.safetensors   best weights, `[trials, ...]`
curves.safetensors    losses and accuracies, `[trials, epochs]`; test nodes by label, prediction and confidence
results.json          what `graphmix train --json` prints; written last, so its presence means finished
"""

import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError, RunError
from graphmix.files import is_leaving
from graphmix.models import Backbone
from graphmix.results.runs import describe, fingerprint, read_shares, versions
from graphmix.storage.files import locked, write_json, write_tensors
from graphmix.training.config import ADDED, Config
from graphmix.training.devices import check_chunk, choose_device
from graphmix.training.history import History
from graphmix.training.loop import Fit, Watch, fit_batches, for_model
from graphmix.training.task import Task


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        folder: where it is.
        fit: the trained networks and their curves.
        results: what `results.json` holds.
    """

    folder: Path
    fit: Fit
    results: dict[str, Any]


def train(
    graph: Graph,
    split: Split,
    config: Config,
    folder: Path | str,
    *,
    model: Backbone | None = None,
    device: str = "auto",
    chunk: int | None = None,
    watch: Watch | None = None,
) -> Run:
    """Train into a folder. A run that was killed goes on where it stopped; its trials come out the same.

    Raises:
        RunError: the folder holds a finished run, another run, or anything else.
    """
    folder = Path(folder)
    check_chunk(chunk)
    config = for_model(config, model)
    task = Task.build(graph, split, config, choose_device(device))
    asked = _asked(graph, split, config, model)
    with _open_folder(folder, asked):
        files = sorted((folder / "parts").glob("trials-*.safetensors"))
        parts = [_read_part(path, config) for path in files]
        done = {trial for part in parts for trial in part.trials}
        elapsed = max((part.seconds for part in parts), default=0.0)
        for part in fit_batches(task, config, model=model, chunk=chunk, watch=watch, skip=done, elapsed=elapsed):
            files.append(folder / "parts" / f"trials-{part.trials[0]:06d}-{part.trials[-1]:06d}.safetensors")
            write_tensors(files[-1], _to_tensors(part))
            parts.append(part)
        fit = replace(Fit.join(parts), network=model)
        results = describe(fit, graph, split, task.device)
        write_tensors(folder / "weights.safetensors", fit.weights)
        write_tensors(folder / "curves.safetensors", _curves(fit))
        write_json(folder / "results.json", results)
        shutil.rmtree(folder / "parts")
    return Run(folder, fit, results)


def record(folder: Path | str, results: dict[str, Any]) -> None:
    """Write the results of something that has neither weights nor curves into a new folder.

    Raises:
        RunError: the folder holds something already.
    """
    folder = Path(folder)
    check_empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "results.json", results)


def check_empty(folder: Path) -> None:
    """Refuse a folder that something is in: a finished run, say."""
    _check_folder(folder, {})
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} holds a run that is not done; choose another --out or delete it")


def holds(folder: Path | str, graph: Graph, split: Split, config: Config) -> bool:
    """Whether a folder holds the finished run of just this."""
    folder = Path(folder)
    if not (folder / "results.json").is_file() or not (folder / "config.json").is_file():
        return False
    begun = _read_begun(folder)
    return all(begun.get(name) == value for name, value in _asked(graph, split, config, None).items())


def resumes(folder: Path | str, graph: Graph, split: Split, config: Config) -> bool:
    """Whether `train` could go on in a folder with just this, or begin there."""
    try:
        _check_folder(Path(folder), _asked(graph, split, config, None))
    except RunError:
        return False
    return True


def load_run(folder: Path | str, model: Backbone | None = None) -> Run:
    """Read a finished run back: networks, curves and results; a network of one's own must be given again to predict."""
    folder = Path(folder)
    results = _read_json(folder / "results.json")
    try:
        config = Config.from_dict(results)
        curves = load_file(folder / "curves.safetensors")
        fit = Fit(
            config=config,
            trials=tuple(range(config.trials)),
            weights=load_file(folder / "weights.safetensors"),
            best_epoch=torch.tensor(results["best_epoch"]),
            val_score=read_shares(results["val_score"]),
            val_accuracy=read_shares(results["val_accuracy"]),
            test_accuracy=read_shares(results["test_accuracy"]),
            test_f1=read_shares(results["test_f1"]),
            confusion=curves.pop("confusion"),
            reliability=curves.pop("reliability"),
            history=History(**curves),
            seconds=results["seconds"],
            network=model,
        )
    except (OSError, KeyError, TypeError, ValueError, ConfigError, safetensors.SafetensorError) as error:
        raise RunError(f"{folder} does not hold a whole run: {error}") from error
    if model is not None and model.description != results.get("network"):
        raise RunError(f"{folder} holds a run of another network than the one given as `model`")
    return Run(folder, fit, results)


def _asked(graph: Graph, split: Split, config: Config, model: Backbone | None) -> dict[str, Any]:
    return {
        "dataset": graph.name,
        "split": split.name,
        "data": fingerprint(graph, split),
        "network": None if model is None else model.description,
        **config.to_dict(),
    }


@contextlib.contextmanager
def _open_folder(folder: Path, asked: dict[str, Any]) -> Iterator[None]:
    try:
        _check_folder(folder, asked)
        (folder / "parts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{folder} cannot be used as a run folder: {error.strerror}") from error
    with locked(folder):
        # Once more: another process may have finished between the look and the lock.
        _check_folder(folder, asked)
        if not (folder / "config.json").exists():
            write_json(folder / "config.json", asked | {"versions": versions()})
        yield


def _check_folder(folder: Path, asked: dict[str, Any]) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another --out")
    if (folder / "results.json").exists():
        raise RunError(f"{folder} holds a finished run; choose another --out or delete it")
    if not (folder / "config.json").exists():
        held = {path.name for path in folder.rglob("*") if not is_leaving(path.name)}
        if held - {".lock", "parts"}:
            raise RunError(f"{folder} holds other files; choose another --out or an empty folder")
        return
    begun = _read_begun(folder)
    different = [name for name in asked if begun.get(name) != asked[name]]
    if different:
        name = different[0]
        values = (
            f"{name} is {begun.get(name)!r} there and {asked[name]!r} here" if name != "network" else "of a network"
        )
        raise RunError(f"{folder} holds another run ({values}); choose another --out")
    if begun.get("versions") != versions():
        raise RunError(f"{folder} holds a run begun with other versions; choose another --out or delete it")


def _read_begun(folder: Path) -> dict[str, Any]:
    """What a run was asked for, hyperparameters included that it is older than."""
    return {name: getattr(Config, name) for name in ADDED} | _read_json(folder / "config.json")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read as a run's record: {error}") from error
    if not isinstance(value, dict):
        raise RunError(f"{path} cannot be read as a run's record: it is not a JSON object")
    return value


def _to_tensors(part: Fit) -> dict[str, Tensor]:
    return {
        "trials": torch.tensor(part.trials),
        "best_epoch": part.best_epoch,
        "val_score": part.val_score,
        "val_accuracy": part.val_accuracy,
        "test_accuracy": part.test_accuracy,
        "test_f1": part.test_f1,
        "seconds": torch.tensor(part.seconds, dtype=torch.float64),
        **{f"curves.{name}": curve for name, curve in _curves(part).items()},
        **{f"weights.{name}": weight for name, weight in part.weights.items()},
    }


def _curves(fit: Fit) -> dict[str, Tensor]:
    return {"confusion": fit.confusion, "reliability": fit.reliability} | vars(fit.history)


def _read_part(path: Path, config: Config) -> Fit:
    def under(prefix: str) -> dict[str, Tensor]:
        return {name.removeprefix(prefix): value for name, value in held.items() if name.startswith(prefix)}

    try:
        held = load_file(path)
        curves = under("curves.")
        return Fit(
            config=config,
            trials=tuple(held["trials"].tolist()),
            weights=under("weights."),
            best_epoch=held["best_epoch"],
            val_score=held["val_score"],
            val_accuracy=held["val_accuracy"],
            test_accuracy=held["test_accuracy"],
            test_f1=held["test_f1"],
            confusion=curves.pop("confusion"),
            reliability=curves.pop("reliability"),
            history=History(**curves),
            seconds=held["seconds"].item(),
        )
    except (OSError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise RunError(f"{path} is damaged ({error}); delete it and its trials are trained again") from error
