"""The contract of sparse products over the trial axis, and its plain-torch backend.

Every product here takes one constant matrix and a dense operand per trial. With plain torch a product is one
`embedding_bag` over the block-diagonal tiling of the matrix: a bag is a row, its members are the columns of the
row's non-zeros, its weights their values. That kernel sums a row's non-zeros in order, whatever runs beside it, so
a trial's result does not depend on the batch, and it beats torch's CSR product on narrow operands (see
docs/design/0002-sparse-products.md). On the CPU `numba_ops` implements the same contract if numba is installed, and on
CUDA `triton_ops` if Triton is.
"""

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.native import native
from graphmix.sparse.matrix import Chain, SparseMatrix
from graphmix.streams import WORD_BITS, Keep

try:
    from graphmix.sparse import triton_dense, triton_ops, triton_rows
except ImportError:  # Triton ships with CUDA builds of torch only
    triton_dense = triton_ops = triton_rows = None  # type: ignore[assignment]


# From this many entries on, native kernels are worth the time that loading them takes, and a first time compiling them.
_MANY = 2**13
# Up to so many columns of a result the native dense product is faster than torch's, which works in blocks.
_NARROW = 16
# Memory of a new tensor on the CPU begins at a multiple of so many bytes.
_ALIGNMENT = 64


def matmul(matrix: SparseMatrix | Chain | Tensor, dense: Tensor) -> Tensor:
    """Multiply one matrix, shared by all trials, with each trial's operand.

    Args:
        matrix: `[rows, columns]`, sparse, a chain of sparse ones, or dense; constant, no gradient flows into it.
        dense: `[trials, columns, width]`.

    Returns:
        `[trials, rows, width]`.
    """
    if isinstance(matrix, Tensor):
        return product(matrix, dense)
    if isinstance(matrix, Chain):
        for factor in reversed(matrix.factors):
            dense = matmul(factor, dense)
        return dense
    result: Tensor = _MatMul.apply(dense, matrix)
    return result


def dropout_matmul(matrix: SparseMatrix | Tensor, keep: Keep, dense: Tensor) -> Tensor:
    """Multiply each trial's dropped-out copy of a matrix with the trial's operand: `dropout(matrix) @ dense`.

    Dropping a zero changes nothing, so a sparse matrix only needs bits for its non-zeros.

    Args:
        matrix: `[rows, columns]`, sparse or dense; constant, no gradient flows into it.
        keep: one bit per non-zero of a sparse matrix, or per entry of a dense one, for `trials * copies` masks. The
            masks of a trial follow one another.
        dense: `[trials, columns, width]`.

    Returns:
        `[trials * copies, rows, width]`.
    """
    if isinstance(matrix, Tensor):
        return per_trial(dropout(matrix.expand(keep.words.shape[0], -1, -1), keep), dense)
    result: Tensor = _DropoutMatMul.apply(dense, matrix, keep.words, keep.scale)
    return result


def per_trial(values: Tensor, weight: Tensor) -> Tensor:
    """Multiply values of trials' copies with the trials' weights.

    Args:
        values: `[trials * copies, nodes, columns]`.
        weight: `[trials, columns, width]`.

    Returns:
        `[trials * copies, nodes, width]`.
    """
    if values[0].numel() >= _MANY and weight.shape[2] <= _NARROW and _numba_ops(values) is not None:
        result: Tensor = _PerTrial.apply(values, weight)
        return result
    trials, columns, width = weight.shape
    copies = values.shape[0] // trials
    if not values.is_cuda:
        # Not stacked: how many copies there are at once may depend on the batch, and rounding on the number of rows.
        return product(values, weight if copies == 1 else weight.repeat_interleave(copies, dim=0))
    stacked = values.reshape(trials, copies * values.shape[1], columns)
    return product(stacked, weight).view(values.shape[0], values.shape[1], width)


def product(values: Tensor, weight: Tensor) -> Tensor:
    """Multiply each trial's values with its weight, so that a trial's sums do not depend on the batch.

    Args:
        values: `[trials, rows, columns]`, or `[rows, columns]` for all trials.
        weight: `[trials, columns, width]`.

    Returns:
        `[trials, rows, width]`.
    """
    result: Tensor = _Product.apply(values, weight)
    return result


def dropout(dense: Tensor, keep: Keep) -> Tensor:
    """Drop entries of each trial's dense tensor `[trials, ...]` and rescale the rest."""
    if _use_triton(dense):
        result: Tensor = _Dropout.apply(dense, keep.words, keep.scale)
        return result
    entries = dense[0].numel()
    return dense * (unpack(keep.words, entries) * keep.scale).view(dense.shape)


def unpack(words: Tensor, entries: int) -> Tensor:
    """Spread packed bits out as numbers: int64 `[trials, words]` to float32 `[trials, entries]` of 0 and 1."""
    return _spread(words)[:, :entries]


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, words: Tensor, scale: float) -> Tensor:
        ctx.scale = scale
        ctx.save_for_backward(words)
        return triton_rows.dropout(dense, words, scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (words,) = ctx.saved_tensors
        return triton_rows.dropout(grad, words, ctx.scale), None, None


class _MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return _product(matrix, dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _transposed(ctx.matrix, grad), None


class _PerTrial(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(values, weight)
        result: Tensor = _numba_ops(values).per_trial(values, weight)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        values, weight = ctx.saved_tensors
        to_values = to_weight = None
        if ctx.needs_input_grad[0]:
            stacked = grad.reshape(weight.shape[0], -1, weight.shape[2])
            to_values = _each(stacked, weight.mT).view(values.shape)
        if ctx.needs_input_grad[1]:
            to_weight = _numba_ops(grad).per_trial_weights(values, grad, weight.shape)
        return to_values, to_weight


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(values, weight)
        return _each(values, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None]:
        values, weight = ctx.saved_tensors
        to_values = to_weight = None
        if ctx.needs_input_grad[0]:
            to_values = _each(grad, weight.mT)
            to_values = to_values if values.dim() == grad.dim() else to_values.sum(dim=0)
        if ctx.needs_input_grad[1]:
            shared = values.expand(grad.shape[0], -1, -1)
            to_weight = triton_dense.weight_gradient(shared, grad) if _use_triton(grad) else _each(values.mT, grad)
        return to_values, to_weight


class _DropoutMatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix, words: Tensor, scale: float) -> Tensor:
        ctx.matrix, ctx.scale, ctx.trials = matrix, scale, dense.shape[0]
        ctx.save_for_backward(words)
        if _use_triton(dense):
            return triton_ops.dropped_product(matrix, dense, words, scale)
        if (fast := native_ops(matrix, dense)) is not None:
            out: Tensor = fast.product(matrix, dense, words, scale)
            return out
        return _bag(matrix, unpack(words, matrix.nonzeros) * (matrix.values * scale), dense)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        (words,) = ctx.saved_tensors
        back = _dropout_transposed(ctx.matrix, words, ctx.scale, grad)
        # A trial's copies share its weights: their gradients are summed.
        return back.unflatten(0, (ctx.trials, -1)).sum(dim=1), None, None, None


def _each(values: Tensor, weight: Tensor) -> Tensor:
    """Multiply each trial's `[rows, columns]`, or one for all trials, with its `[columns, width]`, as if it were alone.

    MKL rounds differently if a call has several products, and on some processors if an operand lies elsewhere in
    memory. So on the CPU every product is a call of its own, with operands that lie as a new tensor does. What all
    trials share lies where it lies, and may be larger than memory.
    """
    trials, shared = weight.shape[0], values.dim() == 2
    if values.is_cuda:
        expanded = values.expand(trials, -1, -1)
        return triton_dense.multiply(expanded, weight) if _use_triton(values) else expanded @ weight
    out = values.new_empty(trials, values.shape[-2], weight.shape[2])
    for trial, place in enumerate(out):
        left, right = values if shared else _as_new(values[trial]), _as_new(weight[trial])
        if _aligned(place):
            torch.mm(left, right, out=place)
        else:
            place.copy_(torch.mm(left, right))
    return out


def _as_new(operand: Tensor) -> Tensor:
    return operand if _aligned(operand) and (operand.is_contiguous() or operand.mT.is_contiguous()) else operand.clone()


def _aligned(operand: Tensor) -> bool:
    return operand.data_ptr() % _ALIGNMENT == 0


def _product(matrix: SparseMatrix, dense: Tensor) -> Tensor:
    if _use_triton(dense):
        return triton_ops.product(matrix, dense)
    if (fast := native_ops(matrix, dense)) is not None:
        out: Tensor = fast.product(matrix, dense)
        return out
    return _bag(matrix, matrix.tiled(dense.shape[0]).values.view(dense.shape[0], matrix.nonzeros), dense)


def _transposed(matrix: SparseMatrix, grad: Tensor) -> Tensor:
    fast = native_ops(matrix, grad)
    if fast is not None and matrix.shape[1] < matrix.shape[0]:
        out: Tensor = fast.transposed_product(matrix, grad)
        return out
    return _product(matrix.transposed, grad)


def _dropout_transposed(matrix: SparseMatrix, words: Tensor, scale: float, grad: Tensor) -> Tensor:
    if _use_triton(grad):
        return triton_ops.product(matrix.transposed, grad, words, scale, matrix.origin)
    if (fast := native_ops(matrix, grad)) is not None:
        out: Tensor = fast.transposed_product(matrix, grad, words, scale)
        return out
    bits = _spread(words)
    blocks, padded = bits.shape
    start = torch.arange(blocks, dtype=torch.int32, device=bits.device)[:, None] * padded
    kept = bits.view(-1).index_select(0, (start + matrix.origin).view(-1)).view(blocks, matrix.nonzeros)
    return _bag(matrix.transposed, kept * (matrix.transposed.values * scale), grad)


def _bag(matrix: SparseMatrix, values: Tensor, dense: Tensor) -> Tensor:
    """Multiply with values `[trials * copies, nonzeros]` in place of the matrix's own."""
    trials, columns, width = dense.shape
    blocks = values.shape[0]
    crow, col, _ = matrix.tiled(trials, blocks // trials)
    # Detached: `backward` computes the gradient, and torch would otherwise prepare its own.
    # Contiguous: a view with other strides, which one trial alone may have, would be summed in another way.
    operand = dense.detach().reshape(trials * columns, width).contiguous()
    # F.embedding_bag calls torch.embedding_bag after checks that take as long as the product.
    summed = torch.embedding_bag(
        operand, col, crow, mode=_SUM, per_sample_weights=values.reshape(-1), include_last_offset=True
    )[0]
    return summed.view(blocks, matrix.shape[0], width)


def _spread(words: Tensor) -> Tensor:
    # A byte at a time through a table small enough for the L1 cache: 8 entries per look-up.
    spread = F.embedding(words.contiguous().view(torch.uint8).int(), _byte_table(words.device))
    return spread.view(words.shape[0], words.shape[1] * WORD_BITS)


def has_kernels() -> bool:
    """Whether the CUDA kernels of `triton_ops` are available."""
    return triton_ops is not None


def native_ops(matrix: SparseMatrix, dense: Tensor) -> Any:
    """Return `numba_ops` if it is available, takes this operand, and is worth loading for this matrix; else None."""
    return _numba_ops(dense) if matrix.nonzeros >= _MANY else None


def _numba_ops(dense: Tensor) -> Any:
    fits = dense.device.type == "cpu" and dense.dtype == torch.float32
    return native("graphmix.sparse.numba_ops") if fits else None


def _use_triton(dense: Tensor) -> bool:
    return has_kernels() and dense.is_cuda


@functools.lru_cache
def _byte_table(device: torch.device) -> Tensor:
    # Row b holds the eight bits of byte b, lowest first: words are little-endian on every device torch supports.
    return torch.tensor([[float(byte >> bit & 1) for bit in range(8)] for byte in range(256)], device=device)


_SUM = 0
