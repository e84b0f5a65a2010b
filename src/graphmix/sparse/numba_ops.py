"""The contract of `ops` on the CPU in native code.

One pass over a matrix's non-zeros does what the plain-torch backend does in five: it reads 64 dropout bits at a time
and visits only the non-zeros that are kept. A row's sum stays in registers and is taken in the order of the non-zeros,
as `embedding_bag` does, so the sparse products are the same to the last bit (docs/design/0019-faster.md).
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from graphmix.sparse.matrix import SparseMatrix
from graphmix.sparse.numba_copies import two_layers_of_copies
from graphmix.sparse.numba_kernels import (
    LEAST,
    Build,
    compiled,
    gather,
    gather_kept,
    outer_sum,
    scatter,
    scatter_kept,
    second_layer,
    small_product,
)
from graphmix.sparse.numba_powers import ROWS, powers

# The lanes of the vectors, and so the columns of an operand that one pass over the non-zeros serves.
_LANES = (32, 16, LEAST)
# Whatever torch's defaults are.
_KIND: dict[str, Any] = {"dtype": torch.float32, "device": "cpu"}
# From this many nodes on, sums of powers take narrower vectors, which need less memory.
_LARGE = 2**20
_TOGETHER = 5  # the masks of a trial that go through two layers together

Layer = tuple[Tensor, Tensor | None]


def product(matrix: SparseMatrix, dense: Tensor, words: Tensor | None = None, scale: float = 1.0) -> Tensor:
    """Multiply a matrix, with dropout if `words` is given, with each trial's operand.

    Args:
        matrix: `[rows, columns]`.
        dense: float32 `[trials, columns, width]`.
        words: int64 `[trials * copies, words]`, one bit per non-zero: kept or dropped.
        scale: factor for kept non-zeros.

    Returns:
        `[trials * copies, rows, width]`.
    """
    trials, columns, width = dense.shape
    assert columns == matrix.shape[1]  # kernels do not check where they read
    blocks = trials if words is None else words.shape[0]
    out = torch.empty(blocks, matrix.shape[0], width, **_KIND)
    operand, result = _flat(dense), _flat(out)
    # Lanes past the end of a row are written too, so the vector that has some comes before those of the next row.
    for first, lanes in reversed(_vectors(width)):
        if words is None:
            sizes: tuple[int, ...] = (blocks, columns, width, first)
            _kernel(gather, lanes, width)(*matrix.arrays, operand, result, sizes)
        else:
            sizes = (blocks, blocks // trials, columns, width, first)
            kept = _bits(words), np.float32(scale)
            _kernel(gather_kept, lanes, width)(*matrix.arrays, *kept, operand, result, sizes)
    return out


def transposed_product(matrix: SparseMatrix, grad: Tensor, words: Tensor | None = None, scale: float = 1.0) -> Tensor:
    """Multiply the transpose, with dropout if `words` is given, with each copy's operand.

    The matrix is read row by row, as in `product`, and the sums are those of its columns, in the order of the rows.
    Features have fewer columns than rows, so the sums stay in the cache, and the operand is read in order.

    Args:
        matrix: `[rows, columns]`.
        grad: float32 `[blocks, rows, width]`.
        words: int64 `[blocks, words]`, one bit per non-zero of the matrix: kept or dropped.
        scale: factor for kept non-zeros.

    Returns:
        `[blocks, columns, width]`.
    """
    blocks, rows, width = grad.shape
    assert rows == matrix.shape[0]
    out = torch.zeros(blocks, matrix.shape[1], _wide(width), **_KIND)
    operand, result = _flat(grad), _flat(out)
    for first, lanes in _vectors(width):
        sizes = (blocks, matrix.shape[1], width, out.shape[2], first)
        if words is None:
            _kernel(scatter, lanes, width)(*matrix.arrays, operand, result, sizes)
        else:
            kept = _bits(words), np.float32(scale)
            _kernel(scatter_kept, lanes, width)(*matrix.arrays, *kept, operand, result, sizes)
    return _narrow(out, width)


def per_trial(values: Tensor, weight: Tensor) -> Tensor:
    """Multiply values `[trials * copies, rows, columns]` with weights `[trials, columns, width]`."""
    width = weight.shape[2]
    out = torch.empty(*values.shape[:2], width, **_KIND)
    padded = weight.detach().new_zeros(*weight.shape[:2], _wide(width))
    padded[..., :width] = weight.detach()
    _small(small_product, (_flat(values), _flat(padded), _flat(out)), values.shape, weight.shape)
    return out


def per_trial_weights(values: Tensor, grad: Tensor, shape: torch.Size) -> Tensor:
    """Return the gradient of the weights in `per_trial`, of this shape, from that of its result."""
    out = torch.empty(*shape[:2], _wide(shape[2]), **_KIND)
    _small(outer_sum, (_flat(values), _flat(grad), _flat(out)), values.shape, shape)
    return _narrow(out, shape[2])


def two_layers(
    x: SparseMatrix, graph: SparseMatrix, layers: tuple[Layer, Layer], words: Tensor | None, scale: float = 1.0
) -> Tensor:
    """Compute Â ReLU(Â dropout(X) W₁ + b₁) W₂ + b₂: `[trials * copies, nodes, classes]`.

    Args:
        x: X `[nodes, features]`.
        graph: Â `[nodes, nodes]`.
        layers: W `[trials, in, out]` and b `[trials, 1, out]` or None, of both layers.
        words: int64 `[trials * copies, words]`, one bit per non-zero of X; None: no dropout.
        scale: factor for kept non-zeros.
    """
    (first, _), (second, _) = layers
    trials, features, hidden = first.shape
    classes, copies = second.shape[2], 1 if words is None else words.shape[0] // trials
    wide, narrow = vector_of(hidden), vector_of(classes)
    weights = _whole(layers[0], wide), _whole(layers[1], narrow)
    out = torch.empty(trials * copies, x.shape[0], classes, **_KIND)
    if words is not None and copies % _TOGETHER == 0:
        masks = words.contiguous().view(torch.uint8).numpy(), np.float32(scale)
        parts = tuple((_flat(weight), _flat(bias)) for weight, bias in weights)
        sizes: tuple[int, ...] = (trials * copies, copies, features, hidden, classes)
        compiled(two_layers_of_copies, wide, narrow)(x.arrays, *masks, graph.arrays, *parts, _flat(out), sizes)
        return out
    mapped = product(x, weights[0][0], words, scale)
    biases, sizes = (_flat(weights[0][1]), _flat(weights[1][1])), (trials * copies, copies, hidden, classes)
    compiled(second_layer, wide, narrow, classes != narrow)(
        *graph.arrays, _flat(mapped), biases, _flat(weights[1][0]), _flat(out), sizes
    )
    return out


def sum_of_powers(
    matrix: SparseMatrix, weights: Tensor, dense: Tensor, other: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Compute Σₖ γₖ Mᵏ Z and, if another operand is given, its inner product with every Mᵏ Z.

    Args:
        matrix: M `[nodes, nodes]`.
        weights: γ `[trials, powers]`.
        dense: Z, float32 `[trials, nodes, width]`.
        other: `[trials, nodes, width]`.

    Returns:
        `[trials, nodes, width]` and `[trials, powers]`.
    """
    trials, nodes, own = dense.shape
    assert matrix.shape == (nodes, nodes)
    assert weights.shape[1] > 0
    widest = _LANES[0] if nodes < _LARGE else _LANES[1]
    # Trials with narrow operands stand side by side, so that an entry of the matrix is read for many of them at once.
    blocks, width = (1, trials * own) if own < widest else (trials, own)
    factors = weights.new_zeros(blocks, weights.shape[1], width + -width % widest)
    spread = weights.detach().T[None, ..., None] if blocks == 1 else weights.detach()[..., None, None]
    factors[..., :width] = spread.expand(blocks, -1, trials // blocks, own).flatten(2)
    out = torch.empty(blocks, nodes, width, **_KIND)
    parts = 0 if other is None else -(-nodes // ROWS)
    products = torch.empty(*factors.shape[:2], parts, factors.shape[2], **_KIND)
    operand, against = _flat(_beside(dense, blocks)), _flat(out if other is None else _beside(other, blocks))
    arrays = *matrix.arrays, _flat(factors), operand, against, _flat(out), _flat(products)
    for first in reversed(range(0, width, widest)):
        # The rest of a row is one vector: its lanes past the end cost less than another pass over the matrix.
        lanes = min(widest, vector_of(width - first))
        sizes = (blocks, weights.shape[1], width, factors.shape[2], first)
        compiled(powers, lanes, width - first < lanes, other is not None)(*arrays, sizes)
    result = out if blocks == trials else out[0].view(nodes, trials, own).transpose(0, 1).contiguous()
    if other is None:
        return result, None
    summed = products[..., :width].double().sum(dim=2).view(blocks, -1, trials // blocks, own).sum(dim=3)
    return result, summed.transpose(1, 2).reshape(trials, -1).float()


def vector_of(width: int) -> int:
    """Return the lanes of the smallest vector that holds a row; at most 64, for `two_layers`."""
    return max(LEAST, 1 << (width - 1).bit_length())


def _beside(dense: Tensor, blocks: int) -> Tensor:
    """`[trials, rows, width]` as it is, or, for one block, as `[1, rows, trials * width]`."""
    return dense if len(dense) == blocks else dense.transpose(0, 1).flatten(1)[None]


def _whole(layer: Layer, lanes: int) -> tuple[Tensor, Tensor]:
    """Return the weight and the bias of a layer, zeros for None, with one vector as a row."""
    weight, bias = layer
    missing = lanes - weight.shape[2]
    if bias is None:
        bias = weight.new_zeros(weight.shape[0], 1, weight.shape[2])
    return pad(weight.detach(), (0, missing)), pad(bias.detach(), (0, missing))


def _small(build: Build, arrays: tuple[Any, ...], values: torch.Size, weight: torch.Size) -> None:
    width = weight[2]
    for first, lanes in reversed(_vectors(width)):
        sizes = (weight[0], values[0] // weight[0] * values[1], values[2], width, _wide(width), first)
        _kernel(build, lanes, width)(*arrays, sizes)


def _vectors(width: int) -> list[tuple[int, int]]:
    """Divide a row into vectors: (first column, lanes) of each. Only the last may reach past the end."""
    vectors, first = [], 0
    while first < width:
        lanes = next((lanes for lanes in _LANES if lanes <= width - first), LEAST)
        vectors.append((first, lanes))
        first += lanes
    return vectors


def _wide(width: int) -> int:
    """Return the width of a row that consists of whole vectors."""
    return width + -width % LEAST


def _narrow(out: Tensor, width: int) -> Tensor:
    return out if out.shape[2] == width else out[..., :width].contiguous()


def _kernel(build: Build, lanes: int, width: int) -> Any:
    return compiled(build, lanes, width % LEAST != 0)


def _flat(dense: Tensor) -> Any:
    assert dense.dtype == torch.float32  # kernels read memory as it is
    return dense.detach().contiguous().view(-1).numpy()


def _bits(words: Tensor) -> Any:
    return words.contiguous().numpy().view(np.uint64)
