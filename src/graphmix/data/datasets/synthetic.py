"""A random graph like a citation network, of any size: homophilous communities and sparse bags of words.

Classes have equal sizes. Each word of a node is drawn from the vocabulary of its class with probability `topic`, and
otherwise from one shared by all, with Zipf's frequencies in both. So the features say a little about the class, and
the neighbours say more.

Example:
    >>> synthetic(nodes=200, classes=3, features=50)[1]
    Split('synthetic': 1 x 60 / 46 / 94 of 200 nodes)
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix

VALIDATION_NODES = 500
TEST_NODES = 1000


def synthetic(
    nodes: int = 1000,
    classes: int = 4,
    features: int = 500,
    degree: float = 5.0,
    homophily: float = 0.8,
    words: int = 20,
    topic: float = 0.12,
    labels_per_class: int = 20,
    seed: int = 0,
) -> tuple[Graph, Split]:
    """Make a graph and a split like the public ones; equal arguments give equal graphs on every machine.

    Args:
        nodes: number of nodes.
        classes: number of classes.
        features: number of words in the vocabulary.
        degree: average number of neighbours, before repeated edges are merged.
        homophily: share of edges between nodes of one class.
        words: number of words a node draws; repeated words count once.
        topic: share of words drawn from the vocabulary of the class.
        labels_per_class: training nodes in each class.
        seed: seed of all random choices.

    Returns:
        The graph, with sparse row-normalised features `[nodes, features]`, and one split of it: the training
        nodes, 500 validation nodes or a third of the rest, and 1,000 test nodes or what is left.

    Raises:
        DataError: an argument is out of range.
    """
    if seed < 0:
        raise DataError(f"`seed` of a synthetic graph must be at least 0, not {seed}")
    _check_counts(nodes, classes, features, words, labels_per_class)
    _check_rates(nodes, degree, homophily, topic)
    rng = np.random.Generator(np.random.PCG64(seed))
    y = rng.permutation(np.arange(nodes) % classes)
    edges = _draw_edges(rng, y, classes, round(nodes * degree / 2), homophily)
    x = _draw_words(rng, y, classes, features, words, topic)
    graph = Graph.build(SparseMatrix.from_scipy(x), edges, y, classes, name="synthetic")
    return graph, _draw_split(rng, y, classes, labels_per_class)


def _draw_edges(
    rng: np.random.Generator, y: NDArray[np.int64], classes: int, edges: int, homophily: float
) -> NDArray[np.int64]:
    """Draw node pairs `[2, edges]`, each joining one class with probability `homophily`."""
    by_class = np.argsort(y, kind="stable")
    count = np.bincount(y, minlength=classes)
    start = np.cumsum(count) - count
    # Positions in `by_class`, where the nodes of a class are adjacent: a partner is a position inside or outside.
    source = rng.integers(len(y), size=edges)
    own = y[by_class[source]]
    same = rng.random(edges) < homophily
    within = rng.integers(count[own] - 1)
    # Skip the node itself within its class, and the whole class outside it.
    within += start[own] + (start[own] + within >= source)
    outside = rng.integers(len(y) - count[own])
    outside += count[own] * (outside >= start[own])
    pairs: NDArray[np.int64] = by_class[np.stack([source, np.where(same, within, outside)])]
    return pairs


def _draw_words(
    rng: np.random.Generator, y: NDArray[np.int64], classes: int, features: int, words: int, topic: float
) -> sp.csr_array:
    """Draw bags of words: 0/1 `[nodes, features]`."""
    frequency = 1.0 / np.arange(1, features + 1)
    cumulative = np.cumsum(frequency)
    # One vocabulary per class, the shared one last: the same words in different orders of frequency.
    vocabularies = np.stack([rng.permutation(features) for _ in range(classes + 1)]).astype(np.int32)
    rank = np.searchsorted(cumulative, rng.random((len(y), words)) * cumulative[-1], side="right")
    owner = np.where(rng.random((len(y), words)) < topic, y[:, None], classes)
    drawn = np.sort(vocabularies[owner, np.minimum(rank, features - 1)], axis=1)
    fresh = np.ones(drawn.shape, dtype=np.bool_)
    fresh[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    starts = np.concatenate([[0], np.cumsum(fresh.sum(axis=1))])
    column = drawn[fresh]
    return sp.csr_array((np.ones(len(column), dtype=np.float32), column, starts), shape=(len(y), features))


def _draw_split(rng: np.random.Generator, y: NDArray[np.int64], classes: int, labels_per_class: int) -> Split:
    order = rng.permutation(len(y))
    # A node's position within its class, in random order, decides whether it is a training node.
    by_class = order[np.argsort(y[order], kind="stable")]
    count = np.bincount(y, minlength=classes)
    turn = np.empty(len(y), dtype=np.int64)
    turn[by_class] = np.arange(len(y)) - np.repeat(np.cumsum(count) - count, count)
    rest = order[turn[order] >= labels_per_class]
    val_nodes = min(VALIDATION_NODES, max(len(rest) // 3, 1))
    val, test = np.zeros((2, len(y)), dtype=np.bool_)
    val[rest[:val_nodes]] = True
    test[rest[val_nodes : val_nodes + TEST_NODES]] = True
    return Split.build(turn < labels_per_class, val, test, name="synthetic")


def _check_counts(nodes: int, classes: int, features: int, words: int, labels_per_class: int) -> None:
    if classes < 2:
        raise DataError(f"`classes` of a synthetic graph must be at least 2, not {classes}")
    for name, value in (("features", features), ("words", words), ("labels_per_class", labels_per_class)):
        if value < 1:
            raise DataError(f"`{name}` of a synthetic graph must be at least 1, not {value}")
    # One node more than the labels in each class, so that some are left for validation.
    least = classes * (labels_per_class + 1)
    if nodes < least:
        raise DataError(
            f"{nodes} nodes are too few for {labels_per_class} labels in each of {classes} classes: "
            f"at least {least} are needed"
        )


def _check_rates(nodes: int, degree: float, homophily: float, topic: float) -> None:
    if not 0 <= degree < nodes:
        raise DataError(f"`degree` of a synthetic graph must be at least 0 and below its {nodes} nodes, not {degree}")
    for name, value in (("homophily", homophily), ("topic", topic)):
        if not 0 <= value <= 1:
            raise DataError(f"`{name}` of a synthetic graph must be from 0 to 1, not {value}")
