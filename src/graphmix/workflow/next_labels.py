"""Which nodes to label next: those that inform many uncertain nodes. `benchmarks/advise.py` measures the gain."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmix.data import Graph
from graphmix.errors import ConfigError, DataError
from graphmix.sparse import Chain
from graphmix.text import counted

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# How soon labels nearby are enough for a node; with less, suggestions crowd in one place. This and the weight of the
# uncertainty were chosen on Citeseer, a synthetic graph, and Cora without its validation and test nodes.
_SATURATION = 10.0
# Predictions below this confidence are called unsure in reasons.
_UNSURE = 0.7


@dataclass(frozen=True)
class Suggestion:
    """A node to label.

    Attributes:
        node: its number.
        score: how much it informs, weighted by uncertainty; decreases along a list of suggestions.
        uncertainty: entropy of its own probabilities; 0 is certain, 1 is uniform.
        informs: how many nodes it informs: the sum of its shares in what they see in two steps, where nodes that
            labels or earlier suggestions inform already count little. 1 for an isolated node.
        predicted: its most probable class.
        reason: how its label would help, and how certain its own class is.
    """

    node: int
    score: float
    uncertainty: float
    informs: float
    predicted: int
    reason: str


def next_labels(
    graph: Graph, probabilities: Floats, labeled: Mask, count: int, candidates: Mask | None = None, thing: str = "node"
) -> list[Suggestion]:
    """Choose nodes to label, one after the other: those that inform many uncertain nodes, spread over the graph.

    With S = (D^-1 (A + I))², where S_wv is the share of v in what node w sees in two steps, and u the entropy of a
    node's probabilities, node v scores

        Σ_w S_wv · (1 + u_w) / 2 · exp(-10 · Σ_l S_wl),

    where l are the labeled nodes and those chosen so far, and w all others: a node that labels inform already counts
    little. That the place in the graph should count besides the uncertainty is known (Cai, Zheng and Chang, 2017).
    Here it is the uncertainty of the informed nodes, and at most doubles their weight: asking for nodes that are
    uncertain themselves was worse than asking at random, because they are the atypical nodes of a few classes.

    Args:
        graph: the graph; its labels are not used.
        probabilities: calibrated, `[nodes, classes]`, rows sum to 1.
        labeled: bool `[nodes]`, nodes that have a label.
        count: number of nodes to suggest; fewer are returned if fewer are left.
        candidates: bool `[nodes]`, nodes that can be labeled; all without a label if None.
        thing: what reasons call a node of the graph.

    Returns:
        The best first; of equals the node with the lower number. Each counts those before it as labeled, and so does
        its reason.
    """
    _check(graph, probabilities, count)
    step = graph.structure.with_neighbours
    known, near = labeled.copy(), step(step(labeled))
    open_ = ~labeled if candidates is None else candidates & ~labeled
    strengths = graph.structure.strengths
    # A node without neighbours informs no other node.
    joined = open_ & (strengths > 0)
    open_ = joined if joined.any() else open_
    once = _propagation(graph)
    root = np.sqrt(strengths + 1.0)
    uncertainty = _entropy(probabilities)
    # Â = D^-1/2 (A + I) D^-1/2, so that S = D^-1/2 Â² D^1/2.
    informed = once(once(root * labeled)) / root
    others = ~labeled
    chosen: list[Suggestion] = []
    for _ in range(min(count, int(open_.sum()))):
        left = np.exp(-_SATURATION * informed) * others
        informs, score = (root * once(once(worth / root)) for worth in (left, left * (1 + uncertainty) / 2))
        node = int(np.where(open_, score, -np.inf).argmax())
        within = step(step(np.arange(graph.num_nodes) == node))
        known[node] = True
        reason = _reason(graph, probabilities, within & ~known, near, node, thing)
        near |= within
        predicted = int(probabilities[node].argmax())
        chosen.append(
            Suggestion(node, float(score[node]), float(uncertainty[node]), float(informs[node]), predicted, reason)
        )
        informed += once(once(root * (np.arange(graph.num_nodes) == node))) / root
        open_[node] = others[node] = False
    return chosen


def class_name(graph: Graph | None, label: int) -> str:
    """Return the name of a class, or its number if it has none."""
    return f"class {label}" if graph is None or graph.class_names is None else graph.class_names[label]


def count_neighbours(count: int) -> str:
    """Return `1 neighbour` or `3 neighbours`."""
    return "1 neighbour" if count == 1 else f"{count} neighbours"


def _reason(graph: Graph, probabilities: Floats, informed: Mask, near: Mask, node: int, thing: str) -> str:
    """Say how the label of a node would help.

    Args:
        graph: names the classes.
        probabilities: `[nodes, classes]`.
        informed: bool `[nodes]`, the nodes within two steps that have no label.
        near: bool `[nodes]`, nodes within two steps of any label.
        node: the node.
        thing: what a node is called.
    """
    count, first = int(informed.sum()), int((informed & ~near).sum())
    unsure = int((informed & _unsure(probabilities)).sum())
    own, clear = _own_class(graph, probabilities[node])
    if count:
        start = (
            f"its label informs {counted(count, thing)} within two steps that {'has' if count == 1 else 'have'} none"
        )
    else:
        start = f"its label informs no other {thing}: none within two steps lacks one"
    gains = [f"{unsure} {'is' if unsure == 1 else 'are'} unsure (below {_UNSURE:.0%})"] if unsure else []
    gains += [f"{first} {'has' if first == 1 else 'have'} no other label within two steps"] if first else []
    if gains:
        return f"{start}; of these {' and '.join(gains)}; {own}"
    alike = ", but all of these are sure and have labels within two steps" if count else ""
    return f"{start}{alike}; {own}, so it would {'only check the model' if clear else 'settle its own class'}"


def _own_class(graph: Graph, probabilities: Floats) -> tuple[str, bool]:
    """Say how certain a node's own class is by its probabilities `[classes]`, and whether that is clear."""
    likely = np.argsort(-probabilities, kind="stable")[:2].tolist()
    first, *second = (f"{_percent(probabilities[label])} {class_name(graph, label)}" for label in likely)
    if _unsure(probabilities[None])[0]:
        return f"its own class is unsure ({', '.join([first, *second])})", False
    return f"its own class seems clear ({first})", True


def _percent(share: float) -> str:
    # Rounded down: what is called unsure must not read 70%.
    return f"{np.floor(100 * share + 1e-9):.0f}%"


def _unsure(probabilities: Floats) -> Mask:
    """Which nodes are unsure, bool `[nodes]`; those without a number are."""
    unsure: Mask = ~(probabilities.max(axis=1) >= _UNSURE)
    return unsure


def _entropy(probabilities: Floats) -> Floats:
    classes = probabilities.shape[1]
    held = np.clip(np.nan_to_num(probabilities, nan=1.0 / classes), np.finfo(np.float64).tiny, 1.0)
    entropy: Floats = -(held * np.log(held)).sum(axis=1) / np.log(max(classes, 2))
    return entropy


def _propagation(graph: Graph) -> Callable[[Floats], Floats]:
    """Return a function that multiplies a vector `[nodes]` by Â; that of a dual graph is not written out."""
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
        raise ConfigError(f"`count` must be at least 1, not {count}")
