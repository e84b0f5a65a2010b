"""The run folder: what was asked for, what came out, and enough on the way to resume after a kill.

config.json           what was asked for, the versions, and a fingerprint of the data
parts/*.safetensors   while the run is not finished: batches of trials that are trained already (trials-*), and where
                      others are (running-*)
weights.safetensors   best weights, `[trials, ...]`
curves.safetensors    losses and accuracies `[trials, epochs]`; confusion and reliability of the test nodes; and each
                      trial's scores at its best epoch, as `best.*`
results.json          what `graphmix train --json` prints; written last, so its presence means that the run is finished
"""

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graphmix.data import Graph, Split
from graphmix.errors import RunError
from graphmix.executors import LOCAL, Executor
from graphmix.models import Backbone
from graphmix.notebook import html_facts
from graphmix.results.describe import describe, fingerprint, versions
from graphmix.results.json_text import load
from graphmix.results.reader import parse
from graphmix.results.run import RunResult
from graphmix.results.writer import to_json
from graphmix.storage.checkpoints import RUNNING, open_checkpoints, remove_checkpoints
from graphmix.storage.files import read_tensors, tensors_under, write_json, write_tensors
from graphmix.storage.fits import BEST, SCORES, build_fit, curves_of, part_tensors, read_part, rounded_scores
from graphmix.storage.folders import (
    CONFIG,
    CURVES,
    PARTS,
    RESULTS,
    WEIGHTS,
    check_run_folder,
    first_difference,
    make_folder,
    making_folder,
)
from graphmix.storage.lock import locked
from graphmix.storage.where import prepare
from graphmix.training.checkpoint_minutes import MINUTES, check_minutes
from graphmix.training.checkpoints import SECONDS
from graphmix.training.config import ADDED, Config
from graphmix.training.devices import check_chunk, choose_device
from graphmix.training.division import for_team
from graphmix.training.loop import Fit, Watch, for_model
from graphmix.training.memory import Peak


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
    results: RunResult = field(repr=False)

    def _repr_html_(self) -> str:
        return html_facts(f"Run on {self.results.dataset}", [("folder", self.folder)]) + self.fit._repr_html_()


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
    executor: Executor = LOCAL,
    checkpoint_minutes: float = MINUTES,
) -> Run:
    """Train into a folder. A run that was killed resumes where it stopped, and its trials come out the same.

    Args:
        graph: the graph.
        split: training, validation and test nodes, shared or one set per trial.
        config: the hyperparameters.
        folder: new, empty, or of the same run if it was killed.
        model: a custom model instead of the config's backbone.
        device: "auto", "cpu", "cuda" or "cuda:1".
        chunk: how many trials to train at once; default: chosen from the device and its free memory.
        watch: called after every epoch; on the CPU from several threads, one per batch in training.
        executor: where batches of trials train, from `graphmix.executors.open_executor`; in this process by default.
        checkpoint_minutes: how long a batch of trials trains before its state is stored again; 0 stores every epoch.
            The workers of an executor store no state.

    Raises:
        ConfigError: an argument is invalid.
        RunError: the folder holds a finished run, another run, or anything else.
    """
    folder = Path(folder)
    check_chunk(chunk)
    check_minutes(checkpoint_minutes)
    config = for_team(for_model(config, model))
    # The memory of other processes is not measured.
    peak = Peak(choose_device(device if executor.here else "cpu"))
    train_batches, place = prepare(graph, split, config, executor.device(device), executor)
    with _open_folder(folder, _asked(graph, split, config, model)):
        parts = [read_part(path, config) for path in sorted((folder / PARTS).glob("trials-*.safetensors"))]
        before = len(parts)
        resumed = _resumed(folder / PARTS, parts, checkpoint_minutes if executor.here else None)
        for part in train_batches(model=model, chunk=chunk, watch=watch, **resumed):
            name = f"trials-{part.trials[0]:06d}-{part.trials[-1]:06d}.safetensors"
            write_tensors(folder / PARTS / name, part_tensors(part))
            remove_checkpoints(folder / PARTS, RUNNING, part.trials)
            parts.append(part)
        fit = replace(Fit.join(parts), network=model)
        results = describe(fit, graph, split, place)
        # Only what this process trained; a resumed run may have nothing left to train.
        if len(parts) > before and (most := peak.bytes()) is not None:
            at_once = max(len(part.trials) for part in parts[before:])
            results = replace(results, peak_memory=most, trials_at_once=at_once)
        write_tensors(folder / WEIGHTS, fit.weights)
        write_tensors(folder / CURVES, curves_of(fit) | {f"{BEST}{name}": getattr(fit, name) for name in SCORES})
        write_json(folder / RESULTS, to_json(results))
        shutil.rmtree(folder / PARTS)
    return Run(folder, fit, results)


def _resumed(folder: Path, parts: Sequence[Fit], minutes: float | None) -> dict[str, Any]:
    """What a run has already, as `fit_batches` takes it: trials that are done, and checkpoints of others, if any."""
    done = {trial for part in parts for trial in part.trials}
    spent = [part.seconds for part in parts]
    if minutes is None:
        return {"skip": done, "elapsed": max(spent, default=0.0)}
    checkpoints = open_checkpoints(folder, RUNNING, minutes, skip=done)
    spent += [float(each.tensors[SECONDS]) for each in checkpoints.begun if SECONDS in each.tensors]
    return {"skip": done, "elapsed": max(spent, default=0.0), "checkpoints": checkpoints}


def train_once(
    graph: Graph,
    split: Split,
    config: Config,
    folder: Path,
    *,
    device: str = "auto",
    watch: Watch | None = None,
    executor: Executor = LOCAL,
    checkpoint_minutes: float = MINUTES,
) -> Run:
    """Train into a folder, unless it holds the finished run of the same graph, split and config; then read that one.

    Raises:
        RunError: the folder holds another run, or anything else.
    """
    if not holds(folder, graph, split, for_team(config)):
        training: dict[str, Any] = {"executor": executor, "checkpoint_minutes": checkpoint_minutes}
        return train(graph, split, config, folder, device=device, watch=watch, **training)
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
    if (folder / CONFIG).exists() and not (folder / RESULTS).exists():
        raise RunError(f"the run in {folder} is not finished; train with the same arguments to finish it")
    results = load(folder / RESULTS)
    try:
        config = Config.from_dict(results)
        curves, weights = read_tensors(folder / CURVES), read_tensors(folder / WEIGHTS)
        scores = tensors_under(BEST, curves) or rounded_scores(results)
        if scores["best_epoch"].shape != (config.trials,):
            # Before a list is made of them.
            raise ValueError(f"its scores are not those of {config.trials:,} trials")
        fit = build_fit(config, range(config.trials), weights, scores, curves, results["seconds"])
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
    with making_folder(folder), locked(folder):
        # Check again: another process may have finished between the check and the lock.
        _check_folder(folder, asked)
        with _removed_unless_trained(folder):
            make_folder(folder / PARTS)
            if not (folder / CONFIG).exists():
                write_json(folder / CONFIG, asked | {"versions": versions()})
            yield


@contextlib.contextmanager
def _removed_unless_trained(folder: Path) -> Iterator[None]:
    """After an error, such as a method that cannot train the network, remove what was written before any training."""
    try:
        yield
    except Exception:
        # A finished run has no parts any more.
        if not (folder / RESULTS).exists() and not any((folder / PARTS).glob("*.safetensors")):
            shutil.rmtree(folder / PARTS, ignore_errors=True)
            for name in (WEIGHTS, CURVES, CONFIG):
                (folder / name).unlink(missing_ok=True)
        raise


# Fingerprints and descriptions say nothing to a reader.
_OTHER = {"network": "with another custom model", "data": "with other features, edges, labels or masks"}


def _check_folder(folder: Path, asked: dict[str, Any]) -> None:
    check_run_folder(folder)
    if not (folder / CONFIG).exists():
        return
    begun = _read_begun(folder)
    different = first_difference(begun, asked)
    if different is not None:
        values = f"{different} is {begun.get(different)!r} there and {asked[different]!r} here"
        told = _OTHER.get(different, values)
        raise RunError(f"{folder} holds another run ({told}); choose another `out`")
    if begun.get("versions") != versions():
        raise RunError(f"{folder} holds a run of other package versions; choose another `out` or delete it")


def _read_begun(folder: Path) -> dict[str, Any]:
    """What a run was asked for; hyperparameters that are newer than the run have their defaults."""
    return {name: getattr(Config, name) for name in ADDED} | load(folder / CONFIG)
