"""ManiReg, Laplacian-regularised least squares (Belkin, Niyogi and Sindhwani, 2006): labels fit, neighbours agree.

With l labeled of n nodes, L = D - A the Laplacian of the graph and k a kernel of the features, the paper minimises

    1/l Σ_labeled (y_i - f(x_i))² + γ_A ‖f‖²_k + γ_I / n² fᵀ L f,

once per class with y_i = 1 for nodes of the class and 0 for others; the class with the largest f is predicted. The
kernel is linear, as in the paper's experiments on text, so f = Xw, and with a = γ_A l and b = γ_I l / n²

    (X_lᵀ X_l + a I + b Xᵀ L X) w = X_lᵀ y.

Conjugate gradients solve this with products of sparse matrices alone. Validation accuracy chooses a and b.
"""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines.neighbour_means import adjacency, unit_rows
from graphmix.data import Graph, Split

Floats = NDArray[np.float64]

# The values of a and b to choose among, in this order: of equally good ones the first.
RIDGES = (0.01, 0.1, 1.0, 0.001)
SMOOTHINGS = (0.1, 0.01, 1.0, 0.001, 10.0)
_MOST_STEPS = 1000
# Relative to the right-hand side. Predictions no longer change below this.
_CLOSE = 1e-6


def manireg(graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None) -> Tensor:
    """Fit a linear function to the labels that is smooth along the edges; nothing is random.

    Args:
        graph: the graph; its features are scaled to rows of length 1, its edge weights are heeded.
        split: one split, or one per trial. Validation nodes choose the strengths of the penalties.
        seeds: one per trial; not used. Trials that share a split have the same result.
        watch: called before each split with its index.

    Returns:
        Probabilities `[trials, nodes, classes]`, rows sum to 1: the softmax of the scores f.
    """
    graph = graph.to("cpu")
    results = []
    for place, (train, val) in enumerate(zip(split.train.cpu().numpy(), split.val.cpu().numpy(), strict=True)):
        if watch is not None:
            watch(place)
        results.append(torch.from_numpy(_best_scores(graph, train, val)).softmax(dim=1).float())
    return torch.stack(results).expand(len(seeds), -1, -1)


def regress(graph: Graph, train: NDArray[np.bool_], ridge: float, smoothing: float) -> Floats:
    """Return the scores f of all nodes with a = ridge and b = smoothing: `[nodes, classes]`."""
    rows, laplacian = graph.derived(unit_rows), graph.derived(_laplacian)
    labeled = rows[train]
    labels = np.eye(graph.num_classes)[graph.y.numpy()[train]]

    def system(weights: Floats) -> Floats:
        smooth = rows.T @ (laplacian @ (rows @ weights))
        left: Floats = labeled.T @ (labeled @ weights) + ridge * weights + smoothing * smooth
        return left

    scores: Floats = rows @ solve(system, labeled.T @ labels)
    return scores


def solve(system: Callable[[Floats], Floats], right: Floats) -> Floats:
    """Solve a symmetric positive definite system for each column of `right` `[n, columns]` by conjugate gradients."""
    solution, residual = np.zeros_like(right), right.copy()
    direction, length = residual.copy(), _squares(residual)
    enough = _CLOSE**2 * length
    for _ in range(_MOST_STEPS):
        if (length <= enough).all():
            break
        image = system(direction)
        # A column without labels is 0 from the start, and has no direction.
        step = length / np.maximum(np.einsum("ij,ij->j", direction, image), np.finfo(np.float64).tiny)
        solution += step * direction
        residual -= step * image
        before, length = length, _squares(residual)
        direction = residual + length / np.maximum(before, np.finfo(np.float64).tiny) * direction
    return solution


def _best_scores(graph: Graph, train: NDArray[np.bool_], val: NDArray[np.bool_]) -> Floats:
    """Return the scores with the highest validation accuracy; of equal ones the first."""
    y = graph.y.numpy()
    tried = (regress(graph, train, *strengths) for strengths in product(RIDGES, SMOOTHINGS))
    return max(tried, key=lambda scores: int((scores.argmax(axis=1) == y)[val].sum()))


def _squares(columns: Floats) -> Floats:
    # Not a product of matrices, whose rounding depends on the number of threads.
    sums: Floats = np.einsum("ij,ij->j", columns, columns)
    return sums


def _laplacian(graph: Graph) -> sp.csr_array:
    joined = graph.derived(adjacency)
    return sp.csr_array(sp.diags_array(joined.sum(axis=1)) - joined)
