"""Advice: which nodes to label next, and which given labels to check, as tables with ids and reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.data.folds import FOLDS, fold_split
from graphmix.errors import ConfigError
from graphmix.evaluation.calibration import apply_temperature, fit_temperature
from graphmix.evaluation.heldout import HeldOut, held_out
from graphmix.notebook import html_text
from graphmix.text import counted
from graphmix.training.devices import choose_device
from graphmix.training.method import FCN
from graphmix.training.methods import METHODS, STEADY
from graphmix.workflow.candidates import hold_out
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.next_labels import Suggestion, next_labels
from graphmix.workflow.outcome import own_fcn
from graphmix.workflow.output import OutputTable
from graphmix.workflow.plan import Candidate, config_on
from graphmix.workflow.problem import Problem
from graphmix.workflow.suspects import Suspect, suspect_labels
from graphmix.workflow.trying import choose_members
from graphmix.workflow.watching import Watcher


@dataclass(frozen=True, eq=False)
class Advice:
    """What to do next about the labels.

    Attributes:
        label_next: nodes or links whose labels would help most: their ids, predicted, score,
            uncertainty, informs, reason.
        suspects: given labels that look wrong: ids, label, suggested, score, gnn_label,
            gnn_suggested, fcn_label, fcn_suggested, reason.
        notes: how far the suspicions can be believed, in sentences.
    """

    label_next: OutputTable
    suspects: OutputTable
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        parts = [html_text("Label these next", ()), self.label_next._repr_html_()]
        return "".join([*parts, html_text("Check these labels", self.notes), self.suspects._repr_html_()])


def advise(
    mixture: Mixture, problem: Problem, held: dict[str, HeldOut], count: int, *, device: str, watch: Watcher
) -> Advice:
    """Choose nodes to label next, and given labels to check.

    If the labels were not held out of a GNN and an FCN, as with a given split, GraphMix trains on folds of them first.

    Args:
        mixture: the model.
        problem: the graph and its labels.
        held: held-out predictions by name.
        count: number of rows of each table.
        device: where to train.
        watch: callbacks.
    """
    if count < 1:
        raise ConfigError(f"`count` must be at least 1, not {count}")
    choose_device(device)
    watch.stage("choosing")
    graph, names = problem.learned, problem.row_names()
    probabilities = mixture.probabilities(graph)
    unlabeled = (problem.graph.y < 0).numpy()
    thing = problem.task.removesuffix("s")
    suggestions = next_labels(graph, probabilities, problem.known.numpy(), count, unlabeled, thing)
    pair = None if problem.split is not None else held_pair(held)
    gnn, fcn = pair or _hold_out(mixture, problem, device, watch)
    suspects = contradicted(graph, probabilities, gnn, fcn, count)
    return Advice(
        OutputTable(_names(names, suggestions) | _suggestion_columns(suggestions, mixture.classes), tuple(names)),
        OutputTable(_names(names, suspects) | _suspect_columns(suspects, mixture.classes), tuple(names)),
        (_say_how_good(gnn, fcn),) if suspects else (),
    )


def contradicted(
    graph: Graph, probabilities: NDArray[np.float64], gnn: HeldOut, fcn: HeldOut, count: int
) -> list[Suspect]:
    """Return labels that look wrong by the held-out predictions of a GNN and an FCN; see `suspect_labels`.

    Args:
        graph: its labels are those to check.
        probabilities: the model's, `[nodes, classes]`, for the nodes without a label.
        gnn: held-out predictions with the edges.
        fcn: held-out predictions without.
        count: number of labels to return at most.
    """
    with_edges, without = (_with_held_out(probabilities, each) for each in (gnn, fcn))
    return suspect_labels(with_edges, without, graph.y.numpy(), gnn.nodes, count, graph)


def _say_how_good(gnn: HeldOut, fcn: HeldOut) -> str:
    """Say how often the two networks are right, so that a reader knows what their contradiction is worth."""
    gnn_right, fcn_right = (f"{100 * held.right.mean():.0f} %" for held in (gnn, fcn))
    labels = counted(len(gnn.labels), "held-out label")
    return f"of {labels} the GNN predicts {gnn_right} correctly, and the features alone {fcn_right}"


def held_pair(held: dict[str, HeldOut]) -> tuple[HeldOut, HeldOut] | None:
    """Return the held-out predictions of a GNN and an FCN: the same networks with and without edges, or else two.

    Of several GNNs the one that is right most often counts, of equals the first by name: a file keeps no order. None if
    a GNN or an FCN is missing.
    """
    gnns = [name for name in sorted(held) if _is_gnn(name)]
    both = [name for name in gnns if own_fcn(name) in held]
    if not both and (not gnns or FCN not in held):
        return None
    best = max(both or gnns, key=lambda name: held[name].right.mean())
    return held[best], held[own_fcn(best) if both else FCN]


def _is_gnn(name: str) -> bool:
    """Whether a candidate is a network that trains on the graph; its name begins with its method."""
    return any(name == each or name.startswith(f"{each}-") for each, method in METHODS.items() if method.trains_gnn)


def _hold_out(mixture: Mixture, problem: Problem, device: str, watch: Watcher) -> tuple[HeldOut, HeldOut]:
    """Train GraphMix on folds of the labels."""
    watch.stage("holding out")
    graph, old = problem.learned, mixture.config
    config = config_on(device, graph, STEADY, seed=old.seed, trials=max(FOLDS, old.trials))
    candidate, split = Candidate(STEADY, config), fold_split(graph, config.trials, config.seed)
    tried = hold_out(candidate, graph, split, device=device, tell=watch.begins(candidate.title, 0, 1))
    assert tried.fcn is not None  # GraphMix has an FCN
    chosen = choose_members([tried], graph, seed=config.seed, balanced=False)
    point = chosen.points[candidate.name]
    return (
        held_out(tried.nodes, chosen.alone[candidate.name], graph.y),
        held_out(tried.nodes, tried.fcn[point], graph.y),
    )


def _with_held_out(probabilities: NDArray[np.float64], held: HeldOut) -> NDArray[np.float64]:
    """Replace the model's probabilities `[nodes, classes]` by calibrated held-out ones where there are any."""
    replaced = probabilities.copy()
    temperature = fit_temperature(held.probabilities, held.labels)
    replaced[held.nodes] = apply_temperature(held.probabilities, temperature)
    return replaced


def _names(names: dict[str, list[Any]], found: Sequence[Suggestion | Suspect]) -> dict[str, list[Any]]:
    return {name: [ids[each.node] for each in found] for name, ids in names.items()}


def _suggestion_columns(suggestions: list[Suggestion], classes: tuple[str, ...]) -> dict[str, list[Any]]:
    return {
        "predicted": [classes[each.predicted] for each in suggestions],
        "score": [round(each.score, 6) for each in suggestions],
        "uncertainty": [round(each.uncertainty, 4) for each in suggestions],
        "informs": [round(each.informs, 4) for each in suggestions],
        "reason": [each.reason for each in suggestions],
    }


def _suspect_columns(suspects: list[Suspect], classes: tuple[str, ...]) -> dict[str, list[Any]]:
    return {
        "label": [classes[each.given] for each in suspects],
        "suggested": [classes[each.suggested] for each in suspects],
        "score": [round(each.score, 6) for each in suspects],
        "gnn_label": [round(each.gnn_given, 4) for each in suspects],
        "gnn_suggested": [round(each.gnn_suggested, 4) for each in suspects],
        "fcn_label": [round(each.fcn_given, 4) for each in suspects],
        "fcn_suggested": [round(each.fcn_suggested, 4) for each in suspects],
        "reason": [each.reason for each in suspects],
    }
