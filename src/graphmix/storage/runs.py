"""The run folder: what was asked for, what came out, and enough on the way to resume after a kill.

config.json           what was asked for, the versions, and a fingerprint of the data
parts/*.safetensors   batches of trials that are trained already, while the run is not finished
weights.safetensors   best weights, `[trials, ...]`
curves.safetensors    losses and accuracies `[trials, epochs]`; confusion and reliability of the test nodes; and each
                      trial's scores at its best epoch, as `best.*`
results.json          what `graphmix train --json` prints; written last, so its presence means that the run is finished
"""

import contextlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import RunError
from graphmix.models import Backbone
from graphmix.results.describe import describe, fingerprint, read_shares, versions
from graphmix.results.json_text import load
from graphmix.results.reader import parse
from graphmix.results.run import RunResult
from graphmix.results.writer import to_json
from graphmix.storage.files import read_tensors, tensors_under, write_json, write_tensors
from graphmix.storage.folders import (
    CONFIG,
    CURVES,
    PARTS,
    RESULTS,
    WEIGHTS,
    check_run_folder,
    first_difference,
    make_folder,
)
from graphmix.storage.lock import locked
from graphmix.training.config import ADDED, Config
from graphmix.training.devices import check_chunk, choose_device
from graphmix.training.history import History
from graphmix.training.loop import Fit, Watch, fit_batches, for_model
from graphmix.training.memory import Peak
from graphmix.training.task import Task

# What a fit has of each trial at its best epoch; `[trials]`, and `[trials, classes]` for the last.
_SCORES = ("best_epoch", "val_score", "val_accuracy", "test_accuracy", "test_f1")
_BEST = "best."


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
    results: RunResult


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
    """Train into a folder. A run that was killed resumes where it stopped, and its trials come out the same.

    Raises:
        RunError: the folder holds a finished run, another run, or anything else.
    """
    folder = Path(folder)
    check_chunk(chunk)
    config = for_model(config, model)
    peak = Peak(choose_device(device))
    task = Task.build(graph, split, config, choose_device(device))
    with _open_folder(folder, _asked(graph, split, config, model)):
        parts = [_read_part(path, config) for path in sorted((folder / PARTS).glob("trials-*.safetensors"))]
        done, before = {trial for part in parts for trial in part.trials}, len(parts)
        elapsed = max((part.seconds for part in parts), default=0.0)
        for part in fit_batches(task, config, model=model, chunk=chunk, watch=watch, skip=done, elapsed=elapsed):
            name = f"trials-{part.trials[0]:06d}-{part.trials[-1]:06d}.safetensors"
            write_tensors(folder / PARTS / name, _part_tensors(part))
            parts.append(part)
        fit = replace(Fit.join(parts), network=model)
        results = describe(fit, graph, split, task.device)
        # Only what this process trained; a resumed run may have nothing left to train.
        if len(parts) > before and (most := peak.bytes()) is not None:
            at_once = max(len(part.trials) for part in parts[before:])
            results = replace(results, peak_memory=most, trials_at_once=at_once)
        write_tensors(folder / WEIGHTS, fit.weights)
        write_tensors(folder / CURVES, _curves(fit) | {f"{_BEST}{name}": getattr(fit, name) for name in _SCORES})
        write_json(folder / RESULTS, to_json(results))
        shutil.rmtree(folder / PARTS)
    return Run(folder, fit, results)


def train_once(
    graph: Graph, split: Split, config: Config, folder: Path, *, device: str = "auto", watch: Watch | None = None
) -> Run:
    """Train into a folder, unless it holds the finished run of the same graph, split and config; then read that one.

    Raises:
        RunError: the folder holds another run, or anything else.
    """
    if not holds(folder, graph, split, config):
        return train(graph, split, config, folder, device=device, watch=watch)
    # Locked, so that the lock of a process that was killed after its last write is removed, and its parts are too.
    with locked(folder):
        shutil.rmtree(folder / PARTS, ignore_errors=True)
        return load_run(folder)


def record(folder: Path | str, results: RunResult) -> None:
    """Write results that have neither weights nor curves into a new folder.

    Raises:
        RunError: the folder holds something already.
    """
    folder = Path(folder)
    check_empty(folder)
    make_folder(folder)
    write_json(folder / RESULTS, to_json(results))


def check_empty(folder: Path) -> None:
    """Raise RunError if a folder holds anything."""
    _check_folder(folder, {})
    if folder.exists() and any(folder.iterdir()):
        raise RunError(f"{folder} holds an unfinished run; choose another `out` or delete it")


def holds(folder: Path | str, graph: Graph, split: Split, config: Config) -> bool:
    """Whether a folder holds a finished run of the same graph, split and config."""
    folder = Path(folder)
    if not (folder / RESULTS).is_file() or not (folder / CONFIG).is_file():
        return False
    return first_difference(_read_begun(folder), _asked(graph, split, config, None)) is None


def resumes(folder: Path | str, graph: Graph, split: Split, config: Config) -> bool:
    """Whether `train_once` could start or resume in a folder, or finds its run finished there."""
    if holds(folder, graph, split, config):
        return True
    try:
        _check_folder(Path(folder), _asked(graph, split, config, None))
    except RunError:
        return False
    return True


def load_run(folder: Path | str, model: Backbone | None = None) -> Run:
    """Read a finished run: networks, curves and results.

    Args:
        folder: the run folder.
        model: the custom model that was trained, if it was one; predictions need it.

    Raises:
        RunError: the folder holds no finished run, a damaged one, or one of another model.
    """
    folder = Path(folder)
    results = load(folder / RESULTS)
    try:
        config = Config.from_dict(results)
        curves, weights = read_tensors(folder / CURVES), read_tensors(folder / WEIGHTS)
        scores = tensors_under(_BEST, curves) or _rounded_scores(results)
        if scores["best_epoch"].shape != (config.trials,):
            # Before a list is made of them.
            raise ValueError(f"its scores are not those of {config.trials:,} trials")
        fit = _build_fit(config, range(config.trials), weights, scores, curves, results["seconds"])
    except (KeyError, TypeError, ValueError, RunError) as error:
        raise RunError(f"{folder} does not hold a complete run: {error}") from error
    if model is not None and model.description != results.get("network"):
        raise RunError(f"{folder} holds a run of another model than `model`")
    return Run(folder, replace(fit, network=model), parse(RunResult, results, folder / RESULTS))


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
    _check_folder(folder, asked)
    make_folder(folder / PARTS)
    with locked(folder):
        # Check again: another process may have finished between the check and the lock.
        _check_folder(folder, asked)
        if not (folder / CONFIG).exists():
            write_json(folder / CONFIG, asked | {"versions": versions()})
        yield


def _check_folder(folder: Path, asked: dict[str, Any]) -> None:
    check_run_folder(folder)
    if not (folder / CONFIG).exists():
        return
    begun = _read_begun(folder)
    different = first_difference(begun, asked)
    if different is not None:
        values = f"{different} is {begun.get(different)!r} there and {asked[different]!r} here"
        told = "with another custom model" if different == "network" else values
        raise RunError(f"{folder} holds another run ({told}); choose another `out`")
    if begun.get("versions") != versions():
        raise RunError(f"{folder} holds a run of other package versions; choose another `out` or delete it")


def _read_begun(folder: Path) -> dict[str, Any]:
    """What a run was asked for; hyperparameters that are newer than the run have their defaults."""
    return {name: getattr(Config, name) for name in ADDED} | load(folder / CONFIG)


def _curves(fit: Fit) -> dict[str, Tensor]:
    return {"confusion": fit.confusion, "reliability": fit.reliability} | vars(fit.history)


def _part_tensors(part: Fit) -> dict[str, Tensor]:
    return {
        "trials": torch.tensor(part.trials),
        "seconds": torch.tensor(part.seconds, dtype=torch.float64),
        **{name: getattr(part, name) for name in _SCORES},
        **{f"curves.{name}": curve for name, curve in _curves(part).items()},
        **{f"weights.{name}": weight for name, weight in part.weights.items()},
    }


def _read_part(path: Path, config: Config) -> Fit:
    try:
        held = read_tensors(path)
        scores = {name: held[name] for name in _SCORES}
        trials, seconds = held["trials"].tolist(), held["seconds"].item()
        weights, curves = tensors_under("weights.", held), tensors_under("curves.", held)
        return _build_fit(config, trials, weights, scores, curves, seconds)
    except (KeyError, TypeError, RunError) as error:
        raise RunError(f"{path} is damaged ({error}); delete it, and its trials are trained again") from error


def _build_fit(
    config: Config,
    trials: Iterable[int],
    weights: dict[str, Tensor],
    scores: dict[str, Tensor],
    curves: dict[str, Tensor],
    seconds: float,
) -> Fit:
    return Fit(
        config=config,
        trials=tuple(trials),
        weights=weights,
        best_epoch=scores["best_epoch"],
        val_score=scores["val_score"],
        val_accuracy=scores["val_accuracy"],
        test_accuracy=scores["test_accuracy"],
        test_f1=scores["test_f1"],
        confusion=curves["confusion"],
        reliability=curves["reliability"],
        history=History(**{field.name: curves[field.name] for field in fields(History)}),
        seconds=seconds,
    )


def _rounded_scores(results: Mapping[str, Any]) -> dict[str, Tensor]:
    """The scores of a run that was written before they were stored as tensors: percentages of four digits."""
    shares = {name: read_shares(results[name]) for name in _SCORES if name != "best_epoch"}
    return {"best_epoch": torch.tensor(results["best_epoch"])} | shares
