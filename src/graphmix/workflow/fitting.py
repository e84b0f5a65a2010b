"""Fit: from a problem to a model in a folder."""

import hashlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.results.fit import FitMetrics
from graphmix.results.survey import Survey
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.training import Config
from graphmix.training.devices import check_memory, choose_device, free_memory
from graphmix.training.loop import Watch
from graphmix.workflow.candidates import GRAPHMIX, Candidate, check_weights, try_methods
from graphmix.workflow.folder import METRICS, PREDICTIONS, Stored, begin, write_model
from graphmix.workflow.metrics import describe
from graphmix.workflow.model import Model
from graphmix.workflow.options import Wishes
from graphmix.workflow.predictions import check_ending, tabulate, write_predictions
from graphmix.workflow.problem import LINKS, Problem
from graphmix.workflow.ranking import rank


@dataclass(frozen=True, eq=False)
class Fitted:
    """A finished fit.

    Attributes:
        stored: the model and what belongs to it.
        metrics: what metrics.json holds.
        failures: a sentence for each method that could not be tried.
    """

    stored: Stored
    metrics: FitMetrics
    failures: tuple[str, ...]


@dataclass
class Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _since: float = 0.0

    def begin(self, stage: str) -> None:
        """Begin a stage, and end the one before."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._since
        self._stage, self._since = stage, now


def fit_problem(
    problem: Problem,
    survey: Survey,
    config: Config,
    wishes: Wishes,
    folder: Path,
    *,
    predictions: Path | None = None,
    asked: dict[str, Any] | None = None,
    resume: bool = False,
    device: str = "auto",
    clock: Clock | None = None,
    watch: Callable[[str], Watch | None] = lambda method: None,
) -> Fitted:
    """Try the methods, choose one, calibrate it, and write the model and its predictions into a folder.

    Args:
        problem: the graph.
        survey: what it looks like.
        config: the hyperparameters of the networks, and the seed of the folds if no split was given.
        wishes: what to try and what to aim at.
        folder: where the model goes; new or empty, or one where just this was begun if `resume`.
        predictions: where the predictions go; `predictions.csv` in the folder when not given.
        asked: what else the result depends on: checksums of the tables, say.
        resume: whether to go on with what is in the folder.
        device: where to train.
        clock: takes the seconds of each stage.
        watch: called with a method's name as it begins, gives what watches its epochs.

    Raises:
        RunError: the folder cannot be used, or no method gave predictions.
    """
    clock = clock or Clock()
    path = predictions or folder / PREDICTIONS
    check_ending(path)
    graph, split = problem.graph, problem.splits(config.trials, config.seed)
    # Refused before the folder is touched.
    check_weights(wishes.methods, graph, config)
    _check_room(graph, config)
    check_memory(graph, config, choose_device(device))
    wanted = {"config": config.to_dict(), "wishes": vars(wishes), "columns": problem.columns.to_json(), **(asked or {})}
    clock.begin("training")
    with begin(folder, wanted, resume=resume):
        candidates, failures = try_methods(
            wishes.methods, graph, split, config, folder / "candidates", device=device, watch=watch
        )
        clock.begin("writing")
        placings = rank(candidates, graph.num_classes, wishes.metric)
        (winner,) = (candidate for candidate in candidates if candidate.method == placings[0].method)
        classes = class_names(problem)
        model = Model.from_candidate(winner, config, classes)
        decisions = model.decide(model.probabilities(problem.learned), wishes.target, wishes.coverage)
        stored = Stored(model, problem, _held(candidates), wishes.target, wishes.coverage)
        write_predictions(path, tabulate(name_rows(problem), decisions, classes, labels_of(problem)))
        metrics = describe(model, placings, candidates, decisions, survey, problem, split, wishes)
        clock.begin("")
        metrics = replace(
            metrics,
            notes=tuple(problem.notes),
            failures=tuple(failures),
            seconds={name: round(value, 3) for name, value in clock.seconds.items()},
            peak_memory_gib=peak_memory(),
        )
        write_json(folder / METRICS, to_json(metrics))
        write_model(folder, stored)
    return Fitted(stored, metrics, tuple(failures))


def name_rows(problem: Problem) -> dict[str, list[str]]:
    """The columns that name what is classified: ids, or both ends of links."""
    if problem.task != LINKS:
        return {"id": problem.ids}
    ends = problem.graph.structure.tensors[0].tolist()
    return {name: [problem.ids[user] for user in end] for name, end in zip(("source", "target"), ends, strict=True)}


def class_names(problem: Problem) -> tuple[str, ...]:
    """The classes by name, or by number where they have none."""
    graph = problem.graph
    return graph.class_names or tuple(map(str, range(graph.num_classes)))


def labels_of(problem: Problem) -> list[str | None]:
    """The given labels by name, None where there is none."""
    names = class_names(problem)
    return [None if label < 0 else names[label] for label in problem.graph.y.tolist()]


def checksum(path: Path) -> str:
    """The SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def peak_memory() -> float | None:
    """The most memory this process has held so far, in GiB; None on Windows, which does not say."""
    if sys.platform == "win32":
        return None
    import resource

    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 3)


def _check_room(graph: Graph, config: Config) -> None:
    """Refuse a graph with so many classes that the probabilities of its nodes do not fit into memory.

    For each of a node's classes there are about four float32 numbers to a trial, and five float64 ones to a decision.
    """
    needed = graph.num_nodes * graph.num_classes * (4 * 4 * config.trials + 5 * 8)
    free = free_memory(torch.device("cpu"))
    if needed > free:
        raise ConfigError(
            f"the probabilities of {graph.num_nodes:,} nodes for {graph.num_classes:,} classes need about "
            f"{needed / 2**30:,.0f} GiB in {config.trials} trials, and {free / 2**30:,.0f} are free; pool rare classes "
            "or lower --trials"
        )


def _held(candidates: list[Candidate]) -> dict[str, Any]:
    held = {candidate.method: candidate.held for candidate in candidates}
    for candidate in candidates:
        if candidate.fcn_held is not None:
            held[f"{GRAPHMIX}-fcn"] = candidate.fcn_held
    return held
