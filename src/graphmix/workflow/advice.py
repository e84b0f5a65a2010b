"""What a person with a little time should do: label these nodes next, and look at these labels again.

Both start from calibrated probabilities. `benchmarks/advise.py` measures what the advice is worth.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.errors import ConfigError, DataError
from graphmix.sparse import Chain

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

# How soon a node has been told enough by labels near it; with less, advice heaps labels on one place. This and the
# weight of uncertainty were chosen on Citeseer, a synthetic graph, and Cora without its validation and test nodes.
_SATURATION = 10.0
# A prediction that reasons call unsure.
_UNSURE = 0.7


@dataclass(frozen=True)
class Suggestion:
    """A node to label.

    Attributes:
        node: its number.
        score: what it informs, weighed by how uncertain that is; falls along a list of suggestions.
        uncertainty: entropy of its own probabilities, 0 for sure and 1 for all classes alike.
        informs: how many nodes it informs: the shares of what they see in two steps that come from it, added up, those
            counting little that labels or earlier suggestions inform already. An isolated node's is 1.
        predicted: its most probable class.
        reason: all that in a sentence.
    """

    node: int
    score: float
    uncertainty: float
    informs: float
    predicted: int
    reason: str


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong.

    Attributes:
        node: its node.
        given: the class it says.
        suggested: the class that both networks together find most probable.
        gnn_given: the GNN's probability of `given`.
        gnn_suggested: the GNN's probability of `suggested`.
        fcn_given: likewise the FCN's.
        fcn_suggested: likewise the FCN's.
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


def next_labels(
    graph: Graph, probabilities: Floats, labeled: Mask, count: int, candidates: Mask | None = None
) -> list[Suggestion]:
    """Choose nodes to label, one after the other: those that inform many uncertain nodes, spread over the graph.

    With S = (D^-1 (A + I))², of what node w sees in two steps the share S_wv that comes from v, and u the entropy of a
    node's probabilities, node v scores

        Σ_w S_wv · (1 + u_w) / 2 · exp(-10 · Σ_l S_wl),

    l the labeled nodes and those chosen so far, w all others: a node that labels have told much counts little. That
    a node's place in the graph should count beside uncertainty is known (Cai, Zheng and Chang, 2017). Here it is the
    uncertainty of those it informs, and at most doubles their weight: to ask for nodes that are uncertain themselves
    was worse than to ask at random, as they are the odd ones of a few classes.

    Args:
        graph: the graph; labels are not read.
        probabilities: `[nodes, classes]`, calibrated, rows sum to 1.
        labeled: bool `[nodes]`, nodes that have a label.
        count: how many nodes to suggest; fewer come where fewer are left.
        candidates: bool `[nodes]`, nodes that can be labeled; all that have no label when not given.

    Returns:
        The best first; of equals the node with the lower number.
    """
    _check(graph, probabilities, count)
    open_ = ~labeled if candidates is None else candidates & ~labeled
    # A node without neighbours informs nobody else.
    joined = open_ & (graph.structure.strengths > 0)
    open_ = joined if joined.any() else open_
    once = _propagation(graph)
    root = np.sqrt(graph.structure.strengths + 1.0)
    uncertainty = _entropy(probabilities)
    # Â = D^-1/2 (A + I) D^-1/2, so that S = D^-1/2 Â² D^1/2.
    told = once(once(root * labeled)) / root
    others = ~labeled
    chosen: list[Suggestion] = []
    for _ in range(min(count, int(open_.sum()))):
        left = np.exp(-_SATURATION * told) * others
        informs, score = (root * once(once(worth / root)) for worth in (left, left * (1 + uncertainty) / 2))
        node = int(np.where(open_, score, -np.inf).argmax())
        reason = _label_reason(graph, probabilities, labeled, node)
        predicted = int(probabilities[node].argmax())
        chosen.append(
            Suggestion(node, float(score[node]), float(uncertainty[node]), float(informs[node]), predicted, reason)
        )
        told += once(once(root * (np.arange(graph.num_nodes) == node))) / root
        open_[node] = others[node] = False
    return chosen


def suspect_labels(
    gnn_probabilities: Floats,
    fcn_probabilities: Floats,
    labels: Ints,
    nodes: Ints,
    count: int,
    graph: Graph | None = None,
) -> list[Suspect]:
    """Find labels that the GNN and the FCN both contradict, neither having trained on the node.

    That a label is improbable under models that have not seen it is how confident learning finds errors (Northcutt,
    Jiang and Chuang, 2021). Two networks, one that sees the neighbours and one that does not, must agree that it is
    not the most probable class: a node whose neighbours alone are odd is not an error.

    Args:
        gnn_probabilities: `[nodes, classes]`, held out at least at `nodes`.
        fcn_probabilities: `[nodes, classes]`, likewise.
        labels: int64 `[nodes]`, as given.
        nodes: int64 `[suspected]`, the nodes whose labels to look at.
        count: how many labels to name at most.
        graph: names the classes and lets the reasons tell of neighbours.

    Returns:
        The most suspect first; none that either network agrees with.
    """
    if count < 1:
        raise ConfigError(f"the number of labels to name must be at least 1, not {count}")
    given = labels[nodes]
    own = np.arange(len(nodes))
    gnn, fcn = gnn_probabilities[nodes], fcn_probabilities[nodes]
    contradicted = (gnn.argmax(axis=1) != given) & (fcn.argmax(axis=1) != given)
    # Of a class that it never predicts, a network can say nothing about the labels.
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


def _label_reason(graph: Graph, probabilities: Floats, labeled: Mask, node: int) -> str:
    likely = np.argsort(-probabilities[node], kind="stable")[:2].tolist()
    said = ", ".join(f"{probabilities[node, label]:.0%} {_name(graph, label)}" for label in likely)
    beside = graph.structure.neighbours_of(node)
    if not len(beside):
        return f"{said}; it has no neighbours"
    own = np.arange(graph.num_nodes) == node
    reached = graph.structure.with_neighbours(graph.structure.with_neighbours(own)) & ~labeled & ~own
    unsure = int((probabilities[reached].max(axis=1) < _UNSURE).sum())
    unknown = f"{int((~labeled[beside]).sum())} of its {_neighbours(len(beside))} have no label"
    return (
        f"{said}; {unknown}, nor do {int(reached.sum())} nodes within two steps, {unsure} of them below {_UNSURE:.0%}"
    )


def _neighbour_reason(graph: Graph | None, predicted: Ints, suspect: Suspect) -> str:
    if graph is None:
        return ""
    beside = graph.structure.neighbours_of(suspect.node)
    if not len(beside):
        return "it has no neighbours; "
    alike = int((predicted[beside] == suspect.suggested).sum())
    verb = "is" if alike == 1 else "are"
    return f"{alike} of its {_neighbours(len(beside))} {verb} predicted {_name(graph, suspect.suggested)}; "


def _network_reason(graph: Graph | None, suspect: Suspect) -> str:
    given, suggested = _name(graph, suspect.given), _name(graph, suspect.suggested)
    gnn = f"the GNN gives {suggested} {suspect.gnn_suggested:.0%} and {given} {suspect.gnn_given:.0%}"
    fcn = f"its features alone {suggested} {suspect.fcn_suggested:.0%} and {given} {suspect.fcn_given:.0%}"
    return f"held out, {gnn}, {fcn}"


def _name(graph: Graph | None, label: int) -> str:
    return f"class {label}" if graph is None or graph.class_names is None else graph.class_names[label]


def _neighbours(count: int) -> str:
    return "1 neighbour" if count == 1 else f"{count} neighbours"


def _entropy(probabilities: Floats) -> Floats:
    classes = probabilities.shape[1]
    held = np.clip(np.nan_to_num(probabilities, nan=1.0 / classes), np.finfo(np.float64).tiny, 1.0)
    entropy: Floats = -(held * np.log(held)).sum(axis=1) / np.log(max(classes, 2))
    return entropy


def _propagation(graph: Graph) -> Callable[[Floats], Floats]:
    """Â times a vector `[nodes]`; a dual graph's is not written out."""
    matrix = graph.propagation
    if matrix is None:
        return lambda values: values
    factors = matrix.factors if isinstance(matrix, Chain) else (matrix,)
    written = [factor.to_scipy().astype(np.float64) for factor in reversed(factors)]

    def once(values: Floats) -> Floats:
        for factor in written:
            values = factor @ values
        return values

    return once


def _check(graph: Graph, probabilities: Floats, count: int) -> None:
    if probabilities.shape != (graph.num_nodes, graph.num_classes):
        expected = f"[{graph.num_nodes}, {graph.num_classes}]"
        raise DataError(f"probabilities must be {expected} for this graph, but they are {list(probabilities.shape)}")
    if count < 1:
        raise ConfigError(f"the number of nodes to suggest must be at least 1, not {count}")
