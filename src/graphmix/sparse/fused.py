"""Predictions by a network of two layers in one native pass, where numba is installed."""

from torch import Tensor

from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.sparse.ops import native_ops
from graphmix.streams import Keep

Layer = tuple[Tensor, Tensor | None]

_WIDEST = 64
# The passes of a trial that the native code takes together.
PASSES = 5


def fuses(x: SparseMatrix | Tensor, graph: SparseMatrix | Chain | None, hidden: int) -> bool:
    """Whether `two_layers` takes these: sparse matrices on a CPU with numba, and no more hidden units than a vector."""
    if not isinstance(x, SparseMatrix) or not isinstance(graph, SparseMatrix) or hidden > _WIDEST:
        return False
    return native_ops(x, x.values) is not None


def two_layers(x: SparseMatrix, graph: SparseMatrix, first: Layer, second: Layer, keep: Keep | None) -> Tensor:
    """Compute Â ReLU(Â dropout(X) W₁ + b₁) W₂ + b₂ without writing out the hidden states; no gradient flows.

    Args:
        x: X `[nodes, features]`.
        graph: Â `[nodes, nodes]`.
        first: W₁ `[trials, features, hidden]` and b₁ `[trials, 1, hidden]`, or None.
        second: W₂ `[trials, hidden, classes]` and b₂ `[trials, 1, classes]`, or None.
        keep: one bit per non-zero of X, for `trials * copies` masks; None: no dropout.

    Returns:
        `[trials * copies, nodes, classes]`.
    """
    words, scale = (None, 1.0) if keep is None else (keep.words, keep.scale)
    logits: Tensor = native_ops(x, first[0]).two_layers(x, graph, (first, second), words, scale)
    return logits
