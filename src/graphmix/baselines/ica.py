"""Iterative classification (Lu and Getoor, 2003): a node's class from its features and its neighbours' classes.

Two logistic regressions are fitted to the labeled nodes, with C the same in both:

    local        P(y_i | x_i)
    relational   P(y_i | x_i, z_i),  z_i = Σ_j A_ij onehot(ŷ_j)  or  the same divided by Σ_j A_ij

where ŷ_j is the label of node j, or else what the local one predicts ("count" and "prop" of Sen et al., 2008). Then the
unlabeled nodes, in a random order, are given the class that the relational one predicts from their neighbours' current
classes, ten times over. This is how Kipf and Welling (2017) ran it. Validation accuracy chooses C and the form of z.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.linear import of_all_classes
from graphmix.baselines.neighbour_means import adjacency, unit_rows
from graphmix.data import Graph, Split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SWEEPS = 10
# The forms of z and the values of C to choose among, in this order: of equally good ones the first.
SHARES = (True, False)
STRENGTHS = (1.0, 10.0, 100.0, 0.1, 0.01)
# The order of nodes by which they are chosen, the same for every trial.
_CHOOSING_SEED = 0


def ica(graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None) -> Tensor:
    """Classify nodes by their features and their neighbours' classes, again and again.

    Args:
        graph: the graph; its features are scaled to rows of length 1, its edge weights are heeded.
        split: one split, or one per trial. Validation nodes choose the regressions.
        seeds: the seed of each trial's order of nodes.
        watch: called before each trial with its index.

    Returns:
        Probabilities `[trials, nodes, classes]` by the relational regression at a node's last visit, rows sum to 1.
    """
    graph = graph.to("cpu")
    train, val = split.train.cpu().numpy(), split.val.cpu().numpy()
    chosen: dict[int, Classifier] = {}
    results = []
    for trial, seed in enumerate(seeds):
        if watch is not None:
            watch(trial)
        place = trial % len(train)
        if place not in chosen:
            chosen[place] = _best(graph, train[place], val[place])
        results.append(chosen[place].classify(visits(graph, seed)))
    return torch.from_numpy(np.stack(results)).softmax(dim=2).float()


@dataclass(frozen=True, eq=False)
class Classifier:
    """The two regressions of a split, fitted.

    Attributes:
        train: bool `[nodes]`, the nodes whose labels are known.
        first: int64 `[nodes]`, their labels, and the local regression's predictions of the others.
        own: `[nodes, classes]`, the relational regression's scores from the features alone, with its intercepts.
        linked: `[classes, classes]`, what a neighbour of each class adds to the scores.
        sums: `[nodes, nodes]`, whose product with one-hot classes is z.
    """

    train: Bools
    first: Ints
    own: Floats
    linked: Floats
    sums: sp.csr_array

    @classmethod
    def fit(cls, graph: Graph, train: Bools, strength: float, shares: bool) -> "Classifier":
        """Fit both regressions with C = strength; z holds shares of the neighbours, or counts."""
        rows, sums = graph.derived(unit_rows), graph.derived(_shares if shares else adjacency)
        y, classes = graph.y.numpy()[train], graph.num_classes
        weights, intercepts = regression(rows[train], y, classes, strength)
        first = (rows @ weights + intercepts).argmax(axis=1)
        first[train] = y
        linked = sp.csr_array(sums[train] @ np.eye(classes)[first])
        weights, intercepts = regression(sp.hstack([rows[train], linked], format="csr"), y, classes, strength)
        width = rows.shape[1]
        return cls(train, first, rows @ weights[:width] + intercepts, weights[width:], sums)

    def classify(self, groups: Sequence[Ints]) -> Floats:
        """Visit the nodes, group after group, `SWEEPS` times: the last scores of each node, `[nodes, classes]`."""
        kinds = np.eye(self.own.shape[1])
        current, scores = kinds[self.first], self.own.copy()
        sums = [self.sums[nodes] for nodes in groups]
        for _ in range(SWEEPS):
            before = current.copy()
            for nodes, own in zip(groups, sums, strict=True):
                scores[nodes] = self.own[nodes] + (own @ current) @ self.linked
                free = nodes[~self.train[nodes]]
                current[free] = kinds[scores[free].argmax(axis=1)]
            if (current == before).all():
                break
        return scores


def visits(graph: Graph, seed: int) -> list[Ints]:
    """Return groups of nodes that may be visited at once, as if each node were visited by itself in a random order.

    A node's group comes right after the groups of its neighbours that are before it in the order. So it sees the new
    classes of the neighbours before it, and the old classes of those after it.
    """
    joined = graph.derived(adjacency)
    level = np.full(graph.num_nodes, -1)
    for node in np.random.Generator(np.random.PCG64(seed)).permutation(graph.num_nodes):
        around = joined.indices[joined.indptr[node] : joined.indptr[node + 1]]
        level[node] = level[around].max(initial=-1) + 1
    order = np.argsort(level, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(level[order])) + 1)


def regression(rows: sp.csr_array, y: Ints, classes: int, strength: float) -> tuple[Floats, Floats]:
    """Fit scikit-learn's LogisticRegression with C = strength.

    Returns:
        Weights `[width, classes]` and intercepts `[classes]`; of a class without labels 0 and so low that it is never
        the largest.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    weights, intercepts = np.zeros((rows.shape[1], classes)), np.full(classes, -1e3)
    known = np.unique(y)
    if len(known) == 1:
        intercepts[known] = 0.0
        return weights, intercepts
    # One thread: sums of several would be rounded by their number.
    with threadpool_limits(1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(C=strength, max_iter=1000).fit(rows, y)
    weights[:, known], intercepts[known] = of_all_classes(fitted.coef_.T, fitted)
    return weights, intercepts


def _best(graph: Graph, train: Bools, val: Bools) -> Classifier:
    """Return the classifier with the highest validation accuracy in one order of the nodes; of equal ones the first."""
    y, groups = graph.y.numpy(), visits(graph, _CHOOSING_SEED)

    def right(classifier: Classifier) -> int:
        return int((classifier.classify(groups).argmax(axis=1) == y)[val].sum())

    return max(_classifiers(graph, train), key=right)


def _classifiers(graph: Graph, train: Bools) -> Iterator[Classifier]:
    for shares, strength in product(SHARES, STRENGTHS):
        yield Classifier.fit(graph, train, strength, shares)


def _shares(graph: Graph) -> sp.csr_array:
    joined = graph.derived(adjacency)
    total = joined.sum(axis=1)
    return sp.csr_array(sp.diags_array(1 / np.where(total > 0, total, 1)) @ joined)
