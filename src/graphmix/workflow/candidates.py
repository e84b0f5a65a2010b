"""Candidates: what each method predicts of held-out labels, and the same method trained on all labels."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines import propagate
from graphmix.baselines.label_propagation import MOST_STEPS
from graphmix.baselines.tabular import TABULAR
from graphmix.data import Graph, Split
from graphmix.errors import RunError
from graphmix.storage.checkpoints import HOLDING_OUT, TRAINING, open_checkpoints, remove_checkpoints
from graphmix.storage.files import read_tensors, write_tensors
from graphmix.training.checkpoint_minutes import MINUTES
from graphmix.training.checkpoints import Checkpoints
from graphmix.training.methods import METHODS
from graphmix.training.trace import OutOfTimeError, Trace, trace, train_for
from graphmix.workflow.options import BALANCED
from graphmix.workflow.plan import Candidate

# Called with how much of how much is done.
Tell = Callable[[int, int], None]

_HELD, _TRAINED = "heldout.safetensors", "weights.safetensors"
_SECONDS = "seconds"


class DivergedError(RunError):
    """The predictions of a method are not finite; others may be."""


@dataclass(frozen=True, eq=False)
class Tried:
    """What a candidate predicts of held-out labels.

    Attributes:
        candidate: the candidate.
        points: float64 `[points]`, what was tried: numbers of epochs, strengths of a penalty, or a single 0.
        nodes: int64 `[held]`, the nodes whose labels were held out, in increasing order.
        probabilities: float64 `[points, held, classes]`, rows sum to 1.
        fcn: the same by its networks without the edges, if the method trains both; else None.
        seconds: how long it took.
    """

    candidate: Candidate
    points: NDArray[np.float64]
    nodes: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    fcn: NDArray[np.float64] | None
    seconds: float


def hold_out(
    candidate: Candidate,
    graph: Graph,
    split: Split,
    *,
    folder: Path | None = None,
    device: str = "auto",
    tell: Tell = lambda done, total: None,
    deadline: float | None = None,
    checkpoint_minutes: float = MINUTES,
) -> Tried:
    """Train a candidate on part of the labels and predict the others. What a folder holds already is read from it.

    Args:
        candidate: the candidate.
        graph: the graph.
        split: the labels that each trial trains on, and as validation nodes those it holds out.
        folder: where to keep the predictions; None to keep none.
        device: where to train.
        tell: called with how much of how much is done.
        deadline: a time of `time.monotonic` at which to give up.
        checkpoint_minutes: how long networks train before their state is stored in the folder again.

    Raises:
        DivergedError: the predictions are not finite.
        OutOfTimeError: the deadline passed.
        DataError: label propagation cannot list the edges of a graph of links.
    """
    if folder is not None and (folder / _HELD).exists():
        return _read_tried(candidate, folder / _HELD, graph, split)
    started = time.perf_counter()
    checkpoints = None if folder is None else open_checkpoints(folder, HOLDING_OUT, checkpoint_minutes)
    found = _methods_trace(candidate, graph, split, device, tell, deadline, checkpoints)
    if not found.probabilities.isfinite().all():
        raise _diverged(candidate)
    tensors = {
        "points": found.points.double(),
        "nodes": found.nodes,
        "probabilities": found.probabilities,
        _SECONDS: torch.tensor([time.perf_counter() - started]),
    } | ({} if found.fcn is None else {"fcn": found.fcn})
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        write_tensors(folder / _HELD, tensors)
        remove_checkpoints(folder, HOLDING_OUT)
    return _tried(candidate, tensors)


def train(
    candidate: Candidate,
    graph: Graph,
    labeled: Tensor,
    point: float,
    *,
    folder: Path | None = None,
    device: str = "auto",
    tell: Tell = lambda done, total: None,
    checkpoint_minutes: float = MINUTES,
) -> tuple[Candidate, dict[str, Tensor]]:
    """Train a candidate on the labels of some nodes, bool `[nodes]`, at a point that held-out labels chose.

    Returns:
        The candidate, whose epochs are those it was trained for, and its weights; label propagation has none.

    Raises:
        DivergedError: the weights are not finite.
    """
    if METHODS[candidate.method].baseline:
        if candidate.method not in TABULAR:
            return candidate, {}
        make = TABULAR[candidate.method].fit
        (model,) = make(graph, labeled.numpy(), (point,), seed=candidate.config.seed, balanced=_is_balanced(candidate))
        return candidate, model.tensors()
    # The ramp-up stays where it was when the epochs were chosen.
    candidate = replace(candidate, config=replace(candidate.config, epochs=int(point)))
    if folder is not None and (folder / _TRAINED).exists():
        return candidate, read_tensors(folder / _TRAINED)
    checkpoints = None if folder is None else open_checkpoints(folder, TRAINING, checkpoint_minutes)
    weights = train_for(graph, labeled, candidate.config, device=device, tell=tell, checkpoints=checkpoints)
    if not all(weight.isfinite().all() for weight in weights.values()):
        raise _diverged(candidate)
    if folder is not None:
        write_tensors(folder / _TRAINED, weights)
        remove_checkpoints(folder, TRAINING)
    return candidate, weights


def _methods_trace(
    candidate: Candidate,
    graph: Graph,
    split: Split,
    device: str,
    tell: Tell,
    deadline: float | None,
    checkpoints: Checkpoints | None,
) -> Trace:
    method, config = candidate.method, candidate.config
    if not METHODS[method].baseline:
        return trace(graph, split, config, device=device, tell=tell, deadline=deadline, checkpoints=checkpoints)
    nodes = split.val.any(dim=0).nonzero()[:, 0]
    if method not in TABULAR:
        predicted = propagate(graph, split.train, lambda step: tell(step, MOST_STEPS))
        single = [each[nodes][None].double().numpy() for each in predicted]
        return _mean_over_trials(single, split, nodes, (0.0,))
    kind, trials = TABULAR[method], split.num_splits
    single = []
    for trial in range(trials):
        tell(trial, trials)
        if deadline is not None and time.monotonic() > deadline:
            raise OutOfTimeError("the time limit was reached")
        labeled = split.train[trial].numpy()
        models = kind.fit(graph, labeled, kind.points, seed=config.seed + trial, balanced=_is_balanced(candidate))
        single.append(np.stack([model.predict(graph, nodes.numpy()) for model in models]))
    return _mean_over_trials(single, split, nodes, kind.points)


def _mean_over_trials(
    single: list[NDArray[np.float64]], split: Split, nodes: Tensor, points: tuple[float, ...]
) -> Trace:
    """Average predictions `[points, held, classes]` of each trial over the trials that held out the node."""
    total = sum(
        torch.from_numpy(predicted) * split.val[trial, nodes][None, :, None] for trial, predicted in enumerate(single)
    )
    assert isinstance(total, Tensor)  # there is a trial
    mean = total / total.sum(dim=2, keepdim=True)
    return Trace(torch.tensor(points, dtype=torch.float64), nodes, mean.float())


def _diverged(candidate: Candidate) -> DivergedError:
    return DivergedError(f"the loss of {candidate.method} became infinite; try a lower `learning_rate`")


def _is_balanced(candidate: Candidate) -> bool:
    return candidate.config.class_weight == BALANCED


def _read_tried(candidate: Candidate, path: Path, graph: Graph, split: Split) -> Tried:
    try:
        found = _tried(candidate, read_tensors(path))
        if found.nodes.tolist() != split.val.any(dim=0).nonzero()[:, 0].tolist():
            raise ValueError("the nodes are not those held out")
        if found.probabilities.shape[2] != graph.num_classes:
            raise ValueError("the classes are not those of the graph")
        return found
    except (KeyError, IndexError, ValueError) as error:
        raise RunError(f"{path} is not what a fit wrote; delete it, and the fit makes it anew") from error


def _tried(candidate: Candidate, tensors: dict[str, Tensor]) -> Tried:
    probabilities = _rows(tensors["probabilities"])
    points, nodes = tensors["points"].double().numpy(), tensors["nodes"].long().numpy()
    if probabilities.shape[:2] != (len(points), len(nodes)) or not math.isfinite(probabilities.sum()):
        raise ValueError("the sizes do not match")
    fcn = _rows(tensors["fcn"]) if "fcn" in tensors else None
    return Tried(candidate, points, nodes, probabilities, fcn, round(float(tensors[_SECONDS][0]), 3))


def _rows(probabilities: Tensor) -> NDArray[np.float64]:
    """Return float64 probabilities; rows of float32 sum to 1 only approximately."""
    exact = probabilities.double()
    rows: NDArray[np.float64] = (exact / exact.sum(dim=-1, keepdim=True)).numpy()
    return rows
