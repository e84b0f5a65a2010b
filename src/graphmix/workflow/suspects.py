"""Which given labels look wrong: those that the GNN and the FCN both contradict."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.workflow.next_labels import class_name, count_neighbours

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong.

    Attributes:
        node: its node.
        given: the given class.
        suggested: the class with the largest probability in both networks together.
        gnn_given: the GNN's probability of `given`.
        gnn_suggested: the GNN's probability of `suggested`.
        fcn_given: the FCN's probability of `given`.
        fcn_suggested: the FCN's probability of `suggested`.
        score: 1 minus the larger of the two networks' probabilities of `given`.
        reason: all that in a sentence.
    """

    node: int
    given: int
    suggested: int
    gnn_given: float
    gnn_suggested: float
    fcn_given: float
    fcn_suggested: float
    score: float
    reason: str


def suspect_labels(
    gnn_probabilities: Floats,
    fcn_probabilities: Floats,
    labels: Ints,
    nodes: Ints,
    count: int,
    graph: Graph | None = None,
) -> list[Suspect]:
    """Find labels that the GNN and the FCN both contradict; neither may have trained on the node.

    Confident learning finds errors by labels that are improbable under models that have not seen them (Northcutt,
    Jiang and Chuang, 2021). Here two networks must agree, one that sees the neighbours and one that does not: if only
    the neighbours of a node are unusual, its label is not an error.

    Args:
        gnn_probabilities: `[nodes, classes]`, held out at least at `nodes`.
        fcn_probabilities: `[nodes, classes]`, held out at least at `nodes`.
        labels: int64 `[nodes]`, as given.
        nodes: int64 `[checked]`, the nodes whose labels to check.
        count: number of labels to return at most.
        graph: names the classes, and lets the reasons mention neighbours.

    Returns:
        The most suspect first; no label that either network agrees with.
    """
    if count < 1:
        raise ConfigError(f"`count` must be at least 1, not {count}")
    given = labels[nodes]
    own = np.arange(len(nodes))
    gnn, fcn = gnn_probabilities[nodes], fcn_probabilities[nodes]
    contradicted = (gnn.argmax(axis=1) != given) & (fcn.argmax(axis=1) != given)
    # A network that never predicts a class says nothing about its labels.
    contradicted &= np.isin(given, gnn_probabilities.argmax(axis=1))
    score = np.where(contradicted, 1 - np.maximum(gnn[own, given], fcn[own, given]), -np.inf)
    together = gnn + fcn
    together[own, given] = -1.0
    suggested = together.argmax(axis=1)
    predicted = gnn_probabilities.argmax(axis=1)
    order = np.argsort(-score, kind="stable")[: min(count, int(contradicted.sum()))]
    found = []
    for place in order.tolist():
        old, new = int(given[place]), int(suggested[place])
        suspect = Suspect(
            node=int(nodes[place]),
            given=old,
            suggested=new,
            gnn_given=float(gnn[place, old]),
            gnn_suggested=float(gnn[place, new]),
            fcn_given=float(fcn[place, old]),
            fcn_suggested=float(fcn[place, new]),
            score=float(score[place]),
            reason="",
        )
        reason = _neighbour_reason(graph, predicted, suspect) + _network_reason(graph, suspect)
        found.append(replace(suspect, reason=reason))
    return found


def _neighbour_reason(graph: Graph | None, predicted: Ints, suspect: Suspect) -> str:
    if graph is None:
        return ""
    beside = graph.structure.neighbours_of(suspect.node)
    if not len(beside):
        return "it has no neighbours; "
    alike = int((predicted[beside] == suspect.suggested).sum())
    verb = "is" if alike == 1 else "are"
    return f"{alike} of its {count_neighbours(len(beside))} {verb} predicted {class_name(graph, suspect.suggested)}; "


def _network_reason(graph: Graph | None, suspect: Suspect) -> str:
    given, suggested = class_name(graph, suspect.given), class_name(graph, suspect.suggested)
    gnn = f"the GNN gives {suggested} {suspect.gnn_suggested:.0%} and {given} {suspect.gnn_given:.0%}"
    fcn = f"its features alone {suggested} {suspect.fcn_suggested:.0%} and {given} {suspect.fcn_given:.0%}"
    return f"held out, {gnn}, {fcn}"
