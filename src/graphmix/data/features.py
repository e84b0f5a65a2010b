"""Node features, sparse or dense: binarised or normalised."""

import numpy as np
import torch
from torch import Tensor

from graphmix.sparse import SparseMatrix

Features = SparseMatrix | Tensor


def row_normalise(x: Features) -> Features:
    """Scale every row so that its absolute values sum to 1; a row of zeros stays zero.

    For non-negative features, such as a bag of words, that is the plain row sum.

    Args:
        x: float32 `[nodes, features]`.

    Returns:
        float32 `[nodes, features]`, of the same kind and on the same device.
    """
    if isinstance(x, Tensor):
        sums = x.abs().sum(dim=1, keepdim=True, dtype=torch.float64)
        return (x / sums.masked_fill(sums == 0, 1)).to(x.dtype)
    values = x.values.cpu().double().numpy()
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.crow.cpu().numpy()))
    totals = np.bincount(rows, weights=np.abs(values), minlength=x.shape[0])
    totals[totals == 0] = 1.0
    scaled = torch.from_numpy(values / totals[rows]).to(x.values)
    return SparseMatrix(x.crow, x.col, scaled, x.shape)


def binarise(x: Features) -> Features:
    """Set every non-zero to 1.

    Args:
        x: float32 `[nodes, features]`.

    Returns:
        float32 `[nodes, features]`, of the same kind and on the same device.
    """
    if isinstance(x, Tensor):
        return (x != 0).to(x.dtype)
    return SparseMatrix(x.crow, x.col, (x.values != 0).to(x.values.dtype), x.shape)
