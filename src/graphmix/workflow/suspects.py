"""Which given labels look wrong: those that the GNN and the FCN both contradict, and the neighbours do not support."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.workflow.next_labels import class_name, count_neighbours

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A network that finds the other class hardly more probable than the given one, by this factor, makes a weak case.
_WEAK = 1.5


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong.

    Attributes:
        node: its node.
        given: the given class.
        suggested: of the classes that both networks find more probable than `given`, the one with the largest
            probability in both together.
        gnn_given: the GNN's probability of `given`.
        gnn_suggested: the GNN's probability of `suggested`.
        fcn_given: the FCN's probability of `given`.
        fcn_suggested: the FCN's probability of `suggested`.
        score: 1 minus the larger of the two networks' probabilities of `given`.
        reason: all that in a sentence, and what the neighbours are predicted to be.
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

    Both must find the same other class more probable. If more neighbours are predicted to be of the given class than of
    that one, they speak for the label, and it is left out: `benchmarks/advise.py` finds as many wrong labels or more
    among the first ten without such nodes.

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
        The most suspect first; no label that a network or most neighbours agree with.
    """
    if count < 1:
        raise ConfigError(f"`count` must be at least 1, not {count}")
    given = labels[nodes]
    own = np.arange(len(nodes))
    gnn, fcn = gnn_probabilities[nodes], fcn_probabilities[nodes]
    likelier = (gnn > gnn[own, given][:, None]) & (fcn > fcn[own, given][:, None])
    suggested = np.where(likelier, gnn + fcn, -1.0).argmax(axis=1)
    contradicted = likelier.any(axis=1)
    predicted = gnn_probabilities.argmax(axis=1)
    # A network that never predicts a class says nothing about its labels.
    contradicted &= np.isin(given, predicted) & np.isin(given, fcn_probabilities.argmax(axis=1))
    score = np.where(contradicted, 1 - np.maximum(gnn[own, given], fcn[own, given]), -np.inf)
    found: list[Suspect] = []
    for place in np.argsort(-score, kind="stable")[: int(contradicted.sum())].tolist():
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
        beside = predicted[:0] if graph is None else predicted[graph.structure.neighbours_of(suspect.node)]
        if (beside == old).sum() <= (beside == new).sum():
            found.append(replace(suspect, reason=_reason(graph, suspect, beside)))
        if len(found) == count:
            break
    return found


def _reason(graph: Graph | None, suspect: Suspect, beside: Ints) -> str:
    """Say what speaks against a label; `beside`, int64 `[neighbours]`, is what its neighbours are predicted to be."""
    given, suggested = class_name(graph, suspect.given), class_name(graph, suspect.suggested)
    gnn = f"the GNN gives {_against(suggested, suspect.gnn_suggested, given, suspect.gnn_given)}"
    fcn = f"its features alone {_against(suggested, suspect.fcn_suggested, given, suspect.fcn_given)}"
    pairs = (suspect.gnn_suggested, suspect.gnn_given), (suspect.fcn_suggested, suspect.fcn_given)
    weak = any(more < _WEAK * less for more, less in pairs)
    networks = f"{'a weak case: ' if weak else ''}held out, {gnn}, {fcn}"
    if graph is None:
        return networks
    if not len(beside):
        return f"{networks}; it has no neighbours"
    new, old = int((beside == suspect.suggested).sum()), int((beside == suspect.given).sum())
    if not new:
        return f"{networks}; its {count_neighbours(len(beside))} {_are(len(beside))} predicted to be of other classes"
    and_old = f", {old} {given}" if old else f", none {given}"
    return f"{networks}; {new} of its {count_neighbours(len(beside))} {_are(new)} predicted {suggested}{and_old}"


def _against(suggested: str, more: float, given: str, less: float) -> str:
    # With enough digits to tell them apart.
    digits = 0 if f"{more:.0%}" != f"{less:.0%}" else 2
    return f"{suggested} {more:.{digits}%} and {given} {less:.{digits}%}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
