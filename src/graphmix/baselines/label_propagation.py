"""Label propagation: labels spread along edges; features are not used and nothing is trained."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.sparse import SparseMatrix, matmul

MOST_STEPS = 1000
# So many products of an entry and a probability are computed at most for each split, about two minutes of a core for
# the five folds of a fit; but some steps always. On graphs of up to 200,000 edges that is more than `MOST_STEPS` steps
# of ten classes take. Other splits do not count: a split's result must not depend on how many there are (but all stop
# together, so it moves by rounding).
_MOST_WORK, _FEWEST_STEPS = 2**32, 20
_CLOSE = 1e-5
# How many probabilities are moved at a time.
_ENTRIES = 2**20


def label_propagation(
    graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None
) -> Tensor:
    """Spread the training labels with `propagate`; nothing is random.

    Args:
        graph: the graph; only its edges and training labels are used.
        split: one split, or one per trial.
        seeds: one per trial; not used.
        watch: not used, because all trials run at once.

    Returns:
        Probabilities `[trials, nodes, classes]`, rows sum to 1.
    """
    return propagate(graph, split.train).expand(len(seeds), -1, -1)


@torch.no_grad()
def propagate(graph: Graph, known: Tensor, watch: Callable[[int], None] | None = None) -> Tensor:
    """Give every unlabeled node the weighted mean of its neighbours' class probabilities, until nothing changes.

    On very large graphs there are fewer steps: labels then reach as many hops as there are steps.

    The result is the harmonic function of Zhu, Ghahramani and Lafferty (2003), with their class mass normalisation:
    without it one class would take over the graph where labels are few. Nodes that no label reaches get the labels'
    frequencies.

    Args:
        graph: the graph.
        known: bool `[splits, nodes]`, the nodes whose labels are used.
        watch: called with the number of steps done, of at most `MOST_STEPS`.

    Returns:
        Probabilities `[splits, nodes, classes]`, rows sum to 1.
    """
    graph, known = graph.to("cpu"), known.cpu()
    classes = F.one_hot(graph.y.clamp_min(0), graph.num_classes).float()
    labels = classes * known[..., None]  # [splits, nodes, classes]
    frequencies = labels.sum(dim=1, keepdim=True) / known.sum(dim=1)[:, None, None]
    spread = harmonic(graph.derived(mean_of_neighbours), labels, known[..., None], watch)
    return normalise_mass(spread, spread.sum(dim=1, keepdim=True), frequencies)


def normalise_mass(spread: Tensor, mass: Tensor, frequencies: Tensor) -> Tensor:
    """Give each class, over all nodes, the same share as among the labels: `[splits, nodes, classes]`, rows sum to 1.

    Args:
        spread: `[splits, nodes, classes]`, what `harmonic` returns.
        mass: `[splits, 1, classes]`, its sum over all nodes.
        frequencies: `[splits, 1, classes]`, the shares of the classes among the labels.
    """
    spread = spread * frequencies / mass.clamp_min(torch.finfo(spread.dtype).tiny)
    total = spread.sum(dim=2, keepdim=True)
    return torch.where(total > 0, spread / total, frequencies)


def harmonic(walk: SparseMatrix, labels: Tensor, train: Tensor, watch: Callable[[int], None] | None = None) -> Tensor:
    """Average over neighbours until nothing changes.

    Args:
        walk: `[nodes, nodes]`, the mean of a node's neighbours.
        labels: `[splits, nodes, classes]`, one-hot for training nodes, else 0.
        train: bool `[splits, nodes, 1]`.
        watch: called with the number of steps done.

    Returns:
        `[splits, nodes, classes]`; a node that no label reaches stays 0.
    """
    splits, nodes, classes = labels.shape
    if splits * nodes > _ENTRIES:
        # Not even one class stays in the cache. So every entry of the matrix is read once for all splits and classes.
        beside = labels.transpose(0, 1).flatten(1)[None]
        known = train.expand_as(labels).transpose(0, 1).flatten(1)[None]
        (spread,) = _averaged(walk, [beside], known, classes, watch)
        return spread[0].view(nodes, splits, classes).transpose(0, 1).contiguous()
    # Classes do not depend on each other, and a few at a time stay in the cache.
    width = max(1, _ENTRIES // max(1, splits * nodes))
    given = [part.contiguous() for part in labels.split(width, dim=2)]
    return torch.cat(_averaged(walk, given, train, classes, watch), dim=2)


def _averaged(
    walk: SparseMatrix, given: list[Tensor], train: Tensor, classes: int, watch: Callable[[int], None] | None
) -> list[Tensor]:
    """Average parts of the labels, `[splits, nodes, width]` each, until none changes."""
    held = given
    for step in range(steps_for(walk, classes)):
        moved = [torch.where(train, part, matmul(walk, old)) for part, old in zip(given, held, strict=True)]
        change = max(float((new - old).abs().max()) for new, old in zip(moved, held, strict=True))
        held = moved
        if watch is not None:
            watch(step + 1)
        if change < _CLOSE:
            break
    return held


def steps_for(walk: SparseMatrix, classes: int) -> int:
    """Return how many steps there are at most, given how many classes there are."""
    return min(MOST_STEPS, max(_FEWEST_STEPS, _MOST_WORK // max(1, walk.nonzeros * classes)))


def mean_of_neighbours(graph: Graph) -> SparseMatrix:
    """Return the mean over neighbours, weighted by the edges: `[nodes, nodes]`."""
    row, col = graph.edge_index.cpu().numpy()
    weights = np.ones(len(row)) if graph.edge_weights is None else graph.edge_weights.double().cpu().numpy()
    degree = np.bincount(row, weights, minlength=graph.num_nodes)
    return SparseMatrix.from_scipy(sp.csr_array((weights / degree[row], (row, col)), shape=(graph.num_nodes,) * 2))
