"""Sparse features that a module takes for a dense tensor.

A module's forward pass begins with features `[nodes, features]`, most of them zeros. What it does with them first is
not guessed from its layers: it gets a tensor of the right form, without values. Dropout of that tensor draws a bit per
non-zero, and a product with a weight is a sparse product. Any other function gets the features written out.
"""

import weakref
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.sparse import SparseMatrix, dropout_matmul, matmul
from graphmix.sparse.ops import unpack
from graphmix.streams import Keep

_dense: "weakref.WeakKeyDictionary[SparseMatrix, Tensor]" = weakref.WeakKeyDictionary()


class Features(Tensor):
    """A sparse matrix, dropped out or not, in the form of a dense tensor whose values are all NaN.

    Code that reads the values without a function of torch computes NaN: `wrap` then passes dense features.

    Attributes:
        matrix: the features, shared by all trials.
        words: which non-zeros are kept, one bit each: int64 `[words]`; None for all.
        scale: factor for kept values.
        eager: whether products write the values out too, to compare with.
        written_out: for each time values were written out, by this tensor or one made from it, whether they were
            dropped-out values, which every pass has to write anew.
    """

    matrix: SparseMatrix
    words: Tensor | None
    scale: float
    eager: bool
    written_out: list[bool]

    @staticmethod
    def of(matrix: SparseMatrix, words: Tensor | None = None, scale: float = 1.0, eager: bool = False) -> "Features":
        """Make one of a matrix."""
        nothing = torch.full((), torch.nan, device=matrix.values.device)
        features = nothing.expand(matrix.shape).as_subclass(Features)
        features.matrix, features.words, features.scale = matrix, words, scale
        features.eager, features.written_out = eager, []
        return features

    def dropped(self, words: Tensor, scale: float) -> "Features":
        """Drop more non-zeros: keep those whose bit in int64 `[words]` is 1."""
        both = words if self.words is None else self.words & words
        features = Features.of(self.matrix, both, self.scale * scale, self.eager)
        features.written_out = self.written_out
        return features

    def times(self, weight: Tensor) -> Tensor:
        """Multiply with a weight `[features, width]`: `[nodes, width]`."""
        if self.eager:
            return self.dense() @ weight
        words = None if self.words is None else self.words[None, None]
        # Rows of a transposed weight lie apart in memory, which makes a product four times slower.
        return _multiply(weight.contiguous()[None], words, self.matrix, self.scale)[0, 0]

    def dense(self) -> Tensor:
        """Write all values out: `[nodes, features]`."""
        self.written_out.append(self.words is not None)
        if self.words is None:
            return write_out(self.matrix)
        written: Tensor = _WriteOut.apply(self.words, self.matrix, self.scale)
        return written

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answer for the form; multiply sparsely where it is the left factor; else go on with dense features."""
        options = kwargs or {}
        if func in _FORM:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **options)
        if func in _PRODUCTS and isinstance(args[0], Features) and len(args) > 1:
            answer = _PRODUCTS[func](*args, **options)
            if answer is not None:
                return answer
        return func(*_written_out(args), **_written_out(options))


def write_out(x: SparseMatrix | Tensor) -> Tensor:
    """Return features as a dense tensor, which is kept as long as the matrix."""
    if isinstance(x, Tensor):
        return x
    if x not in _dense:
        _dense[x] = x.to_dense()
    return _dense[x]


def _written_out(values: Any) -> Any:
    if isinstance(values, Features):
        return values.dense()
    if isinstance(values, dict):
        return {key: _written_out(value) for key, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(_written_out(value) for value in values)
    return values


def _linear(x: Features, weight: Tensor, bias: Tensor | None = None) -> Tensor | None:
    if not _fits(weight):
        return None
    product = x.times(weight.mT)
    return product if bias is None else product + bias


def _matmul(x: Features, other: Tensor) -> Tensor | None:
    return x.times(other) if _fits(other) else None


def _fits(weight: Any) -> bool:
    return (
        isinstance(weight, Tensor)
        and not isinstance(weight, Features)
        and weight.layout == torch.strided
        and weight.dim() == 2
        and weight.dtype == torch.float32
    )


_PRODUCTS: dict[Any, Callable[..., Tensor | None]] = {
    F.linear: _linear,
    torch.matmul: _matmul,
    Tensor.matmul: _matmul,
    Tensor.__matmul__: _matmul,
    torch.mm: _matmul,
    Tensor.mm: _matmul,
}
# Functions that do not read values.
_FORM = {
    Tensor.size,
    Tensor.dim,
    Tensor.numel,
    Tensor.__len__,
    Tensor.is_floating_point,
    torch.is_floating_point,
    torch.numel,
    *(
        getattr(Tensor, name).__get__
        for name in ("shape", "dtype", "device", "ndim", "layout", "requires_grad", "is_cuda", "is_sparse")
    ),
}


def _multiply(weight: Tensor, words: Tensor | None, matrix: SparseMatrix, scale: float) -> Tensor:
    """Multiply weights `[trials, features, width]`, with masks `[trials, copies, words]`: `[trials, copies, …]`."""
    if torch._C._are_functorch_transforms_active():
        hidden: Tensor = _Hidden.apply(weight, words, matrix, scale)
        return hidden
    if words is None:
        return matmul(matrix, weight)[:, None]
    product = dropout_matmul(matrix, Keep(words.flatten(0, 1), scale), weight)
    return product.view(*words.shape[:2], *product.shape[1:])


class _Hidden(torch.autograd.Function):
    """Makes axes that vmap hides into trials or copies; the product itself has its own gradient."""

    @staticmethod
    def forward(weight: Tensor, words: Tensor | None, matrix: SparseMatrix, scale: float) -> Tensor:
        # Only a frozen weight without dropout has no hidden axis. It needs no gradient.
        return _multiply(weight, words, matrix, scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, weight: Tensor, words: Tensor | None, matrix: SparseMatrix, scale: float
    ) -> tuple[Tensor, int]:
        weight_axis, words_axis = in_dims[:2]
        if words is not None and weight_axis is None:
            # Copies share a weight.
            copies = words.movedim(words_axis, 1)
            result = _multiply(weight, copies.flatten(1, 2), matrix, scale)
            return result.unflatten(1, copies.shape[1:3]), 1
        trials = weight.movedim(weight_axis, 0)
        if words is not None:
            words = words.expand(trials.shape[0], *words.shape) if words_axis is None else words.movedim(words_axis, 0)
            words = words.flatten(0, 1)
        result = _multiply(trials.flatten(0, 1), words, matrix, scale)
        return result.unflatten(0, trials.shape[:2]), 0


class _WriteOut(torch.autograd.Function):
    """Writes out what masks of any shape keep, including axes that vmap hides."""

    @staticmethod
    def forward(words: Tensor, matrix: SparseMatrix, scale: float) -> Tensor:
        lead, (rows, columns) = words.shape[:-1], matrix.shape
        kept = unpack(words.reshape(-1, words.shape[-1]), matrix.nonzeros) * (matrix.values * scale)
        written = kept.new_zeros(kept.shape[0], rows * columns).index_copy_(1, _places(matrix), kept)
        return written.view(*lead, rows, columns)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, words: Tensor, matrix: SparseMatrix, scale: float) -> tuple[Tensor, int]:
        written: Tensor = _WriteOut.apply(words.movedim(in_dims[0], 0), matrix, scale)
        return written, 0


def _places(matrix: SparseMatrix) -> Tensor:
    """Position of each non-zero among all entries: int64 `[nonzeros]`."""
    if matrix not in _positions:
        counts = matrix.crow.diff().long()
        rows = torch.arange(matrix.shape[0], device=counts.device).repeat_interleave(counts)
        _positions[matrix] = rows * matrix.shape[1] + matrix.col
    return _positions[matrix]


_positions: "weakref.WeakKeyDictionary[SparseMatrix, Tensor]" = weakref.WeakKeyDictionary()
