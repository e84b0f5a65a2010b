"""Predictions over many dropout masks by kernels that fuse a GCN's layers, where there are such kernels."""

from collections.abc import Sequence

from torch import Tensor

from graphmix.sparse import ops
from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.streams import Noise

try:
    from graphmix.sparse import triton_targets
except ImportError:  # Triton ships with CUDA builds of torch only
    triton_targets = None  # type: ignore[assignment]

# Rows are listed per trial if the nodes are fewer than this share of all: listing takes time too, and with more nodes
# nearly all rows are needed.
_FEW = 0.08


def mean_predictions(
    x: SparseMatrix | Tensor,
    propagation: SparseMatrix | Chain | None,
    weights: Sequence[Tensor | None],
    noise: Noise,
    rate: float,
    index: Tensor,
) -> Tensor | None:
    """Average a GCN's probabilities over the masks of each trial.

    Args:
        x: features `[nodes, features]`.
        propagation: Â `[nodes, nodes]`.
        weights: first `[trials, features, hidden]`, second `[trials, hidden, classes]`, and their biases or None.
        noise: `trials * copies` streams.
        rate: the dropout rate of the features.
        index: int64 `[trials or 1, picks]`, the nodes.

    Returns:
        `[trials, picks, classes]`, or None if the kernels do not serve this case: then nothing was drawn.
    """
    if not (ops.has_kernels() and index.is_cuda):
        return None
    if not isinstance(x, SparseMatrix) or not isinstance(propagation, SparseMatrix):
        return None
    layers = triton_targets.Layers(*weights)  # type: ignore[arg-type]
    if not triton_targets.fits(layers, noise.keys.shape[0] // layers.first.shape[0], x.shape[0]):
        return None
    keep = noise.keep(x.nonzeros, rate)
    few = index.shape[1] < _FEW * x.shape[0]
    masks = triton_targets.Masks(keep.words, keep.scale)
    return triton_targets.mean_predictions(x, propagation, layers, masks, index, few=few)
