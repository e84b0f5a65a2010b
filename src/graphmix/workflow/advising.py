"""Advice from a model's folder: which nodes to label next, and which labels to look at again."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphmix.data.folds import FOLDS, fold_split
from graphmix.evaluation.calibration import apply_temperature, fit_temperature
from graphmix.evaluation.heldout import HeldOut
from graphmix.training.loop import Watch
from graphmix.workflow.advice import Suggestion, Suspect, next_labels, suspect_labels
from graphmix.workflow.candidates import FCN, GRAPHMIX, SUPERVISED, Candidate, try_method
from graphmix.workflow.folder import Stored

OWN_FCN = f"{GRAPHMIX}-fcn"


def suggest(stored: Stored, count: int) -> list[Suggestion]:
    """Choose unlabeled nodes whose labels would help most, the best first."""
    graph = stored.problem.learned
    known, unlabeled = stored.problem.known.numpy(), (stored.problem.graph.y < 0).numpy()
    return next_labels(graph, stored.model.probabilities(graph), known, count, unlabeled)


def suspect(
    stored: Stored, count: int, *, device: str = "auto", watch: Callable[[str], Watch | None] = lambda method: None
) -> list[Suspect]:
    """Find given labels that the GNN and the FCN both contradict, neither having seen them; the most suspect first.

    Labels that a split was given for were held out of no network; GraphMix is then trained on folds of them first.

    Args:
        stored: the model.
        count: how many labels to name at most.
        device: where to train, if that is needed.
        watch: called with "graphmix" before training, gives what watches its epochs.
    """
    gnn, fcn = _held_out(stored, device, watch)
    graph = stored.problem.learned
    labels = graph.y.numpy()
    return suspect_labels(_everywhere(stored, gnn), _everywhere(stored, fcn), labels, gnn.nodes, count, graph)


def needs_training(stored: Stored) -> bool:
    """Whether labels must be cut into folds and trained on before they can be doubted."""
    return stored.problem.split is not None or _pair(stored.held) is None


def _held_out(stored: Stored, device: str, watch: Callable[[str], Watch | None]) -> tuple[HeldOut, HeldOut]:
    pair = None if stored.problem.split is not None else _pair(stored.held)
    if pair is not None:
        return pair
    graph = stored.problem.learned
    config = replace(stored.model.config, trials=max(FOLDS, stored.model.config.trials))
    split = fold_split(graph, config.trials, config.seed)
    tried: Candidate = try_method(GRAPHMIX, graph, split, config, device=device, watch=watch(GRAPHMIX))
    assert tried.fcn_held is not None  # GraphMix has one
    return tried.held, tried.fcn_held


def _pair(held: dict[str, HeldOut]) -> tuple[HeldOut, HeldOut] | None:
    """What the GNN and the FCN held out: GraphMix's two, or two trained apart; None if not both were tried."""
    for gnn, fcn in ((GRAPHMIX, OWN_FCN), (SUPERVISED, FCN)):
        if gnn in held and fcn in held:
            return held[gnn], held[fcn]
    return None


def _everywhere(stored: Stored, held: HeldOut) -> NDArray[np.float64]:
    """Calibrated probabilities `[nodes, classes]`: a network's own where it held nodes out, elsewhere the model's."""
    probabilities = stored.model.probabilities(stored.problem.learned)
    temperature = fit_temperature(held.probabilities, held.labels)
    probabilities[held.nodes] = apply_temperature(held.probabilities, temperature)
    return probabilities
