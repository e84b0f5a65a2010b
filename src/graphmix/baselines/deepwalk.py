"""DeepWalk (Perozzi, Al-Rfou and Skiena, 2014): nodes that random walks meet together get similar vectors.

The skip-gram objective is solved in closed form. Its optimum factorises the pointwise mutual information of a node and
the nodes around it on a walk (Levy and Goldberg, 2014). So pairs on the walks are counted, the counts become positive
pointwise mutual information, and a truncated singular value decomposition factorises that matrix. A logistic regression
on the training nodes' vectors then classifies.
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import DataError

WALKS_PER_NODE = 20
WALK_LENGTH = 40
# As in the DeepWalk paper.
WINDOW = 10
DIMENSIONS = 128


def deepwalk(graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None) -> Tensor:
    """Embed the nodes by random walks and classify the embeddings; features are not used.

    Args:
        graph: the graph; only its edges and training labels are used.
        split: one split, or one per trial.
        seeds: the seed of each trial's walks.
        watch: called before each trial, which takes seconds, with the trial's index.

    Returns:
        Probabilities `[trials, nodes, classes]`, rows sum to 1.
    """
    if graph.edge_weights is not None:
        raise DataError("DeepWalk does not use edge weights; leave the weights out")
    y, train = graph.y.cpu().numpy(), split.train.cpu().numpy()
    edges = graph.edge_index.cpu().numpy()
    results = []
    for trial, seed in enumerate(seeds):
        if watch is not None:
            watch(trial)
        embedding = embed(edges, graph.num_nodes, seed)
        results.append(classify(embedding, y, train[trial % len(train)], graph.num_classes))
    return torch.from_numpy(np.stack(results)).float()


def embed(edges: NDArray[np.int64], nodes: int, seed: int) -> NDArray[np.float64]:
    """Give every node a vector: `[nodes, dimensions]` from edges `[2, entries]` sorted by their first row."""
    if edges.shape[1] == 0:
        raise DataError("DeepWalk needs edges to walk along, but the graph has none")
    rng = np.random.Generator(np.random.PCG64(seed))
    counts = _count_pairs(_walk(rng, edges, nodes), nodes)
    dimensions = min(DIMENSIONS, nodes - 1)
    # A given start vector: by default scipy draws one from the global generator.
    left, strength, _ = sp.linalg.svds(
        _positive_information(counts), k=dimensions, v0=rng.standard_normal(nodes), return_singular_vectors="u"
    )
    embedding: NDArray[np.float64] = left * np.sqrt(strength)
    return embedding


def classify(
    embedding: NDArray[np.float64], y: NDArray[np.int64], train: NDArray[np.bool_], classes: int
) -> NDArray[np.float64]:
    """Fit a logistic regression to the training nodes: probabilities `[nodes, classes]`."""
    from sklearn.linear_model import LogisticRegression

    known = np.unique(y[train])
    probabilities = np.zeros((len(y), classes))
    if len(known) == 1:
        probabilities[:, known] = 1.0
        return probabilities
    scaled = embedding / embedding[train].std()
    fitted = LogisticRegression(max_iter=1000).fit(scaled[train], y[train])
    probabilities[:, known] = fitted.predict_proba(scaled)
    return probabilities


def _walk(rng: np.random.Generator, edges: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """Walk from every node several times: nodes `[length, walks]`; without neighbours a walk stays in place."""
    degree = np.bincount(edges[0], minlength=nodes)
    start = np.cumsum(degree) - degree
    # One extra entry: a node without neighbours looks it up and does not use it.
    neighbours = np.append(edges[1], 0)
    steps = [np.tile(np.arange(nodes), WALKS_PER_NODE)]
    for _ in range(WALK_LENGTH - 1):
        here = steps[-1]
        chosen = start[here] + rng.integers(np.maximum(degree[here], 1))
        steps.append(np.where(degree[here] > 0, neighbours[chosen], here))
    return np.stack(steps)


def _count_pairs(walks: NDArray[np.int64], nodes: int) -> sp.csr_array:
    """Count how often two nodes are within a window on a walk, in either order: `[nodes, nodes]`."""
    counts = sp.csr_array((nodes, nodes))
    for distance in range(1, WINDOW + 1):
        first, second = walks[:-distance].ravel(), walks[distance:].ravel()
        counts = counts + sp.coo_array((np.ones(len(first)), (first, second)), shape=(nodes, nodes)).tocsr()
    return counts + counts.T.tocsr()


def _positive_information(counts: sp.csr_array) -> sp.csr_array:
    """max(0, log(P(i, j) / (P(i) P(j)))) of every pair that was seen: `[nodes, nodes]`."""
    pairs = counts.tocoo()
    total = pairs.data.sum()
    share = counts.sum(axis=1) / total
    information = np.log(pairs.data / total / (share[pairs.row] * share[pairs.col]))
    return sp.csr_array((np.maximum(information, 0), (pairs.row, pairs.col)), shape=counts.shape)
