"""Mean predictions of a two-layer GCN over K dropout passes, on CUDA, without writing every pass out three times.

Three kernels do all passes of a trial side by side. The first multiplies dropped-out features with W₁: a non-zero and
its row of W₁ are read once for all passes, and only a bit differs between them. The second propagates, applies ReLU and
W₂. The third propagates, takes the softmax and the mean over the passes. Trials are taken a few at a time, which limits
the memory. Sums have the same order whatever else is in the batch. With a `Reach` the kernels compute only the rows
that each trial's nodes depend on.
"""

from typing import NamedTuple

import torch
import triton
from torch import Tensor

from graphmix.cuda_grid import check_grid
from graphmix.sparse.matrix import SparseMatrix
from graphmix.sparse.triton_target_kernels import average_kernel, compact_kernel, hidden_kernel, map_kernel, mark_kernel

# Bytes of hidden states at a time. On an H200 more than its L2 cache holds is still faster: a few trials do not fill
# the card (docs/design/0019-faster.md).
ROOM = 2**28
# Programs per trial where rows are listed. Each takes every so many rows of the list.
_SHARE = 256
_COPIES = 16  # passes side by side in a program, also the least that a tensor core multiplies
_SCAN = 1024
# Wider networks go the ordinary way.
_MOST_WIDTH = 64
_MOST_COPIES = 64
_MOST_LANES = 128
_MOST_STATES = 2**27  # of one trial, half a gigabyte


class Layers(NamedTuple):
    """The weights of a GCN's trials: first `[trials, features, hidden]`, second `[trials, hidden, classes]`, biases."""

    first: Tensor
    second: Tensor
    first_bias: Tensor | None = None
    second_bias: Tensor | None = None


class Masks(NamedTuple):
    """Dropout masks of the features: words int64 `[trials * copies, words]`, and the factor for what is kept."""

    words: Tensor
    scale: float


class Reach(NamedTuple):
    """Rows that are computed, per trial.

    Attributes:
        inner: int32 `[trials, nodes]`, first the nodes whose hidden states are needed.
        inner_count: int32 `[trials]`, how many these are.
        outer: the same for the nodes whose features are needed.
        outer_count: the same.
    """

    inner: Tensor
    inner_count: Tensor
    outer: Tensor
    outer_count: Tensor


def fits(layers: Layers, copies: int, nodes: int) -> bool:
    """Whether the kernels serve networks of this size: positions within a trial are int32."""
    _, features, hidden = layers.first.shape
    classes = layers.second.shape[2]
    widest = triton.next_power_of_2(max(hidden, classes))
    if max(hidden, classes) > _MOST_WIDTH or copies > _MOST_COPIES:
        return False
    return features * hidden < 2**31 and nodes * copies * widest <= _MOST_STATES


def mean_predictions(
    x: SparseMatrix, propagation: SparseMatrix, layers: Layers, masks: Masks, index: Tensor, *, few: bool
) -> Tensor:
    """Average the probabilities of some nodes over the masks of their trial.

    Args:
        x: features `[nodes, features]`.
        propagation: Â `[nodes, nodes]`.
        layers: the trials' weights.
        masks: as many masks for each trial.
        index: int64 `[trials or 1, picks]`, the nodes.
        few: whether to compute only the rows that the nodes depend on. It changes the time, not the result.

    Returns:
        `[trials, picks, classes]`; rows sum to 1.
    """
    trials, nodes = layers.first.shape[0], x.shape[0]
    copies = masks.words.shape[0] // trials
    width = triton.next_power_of_2(layers.first.shape[2])
    reach = find_reach(propagation, index.expand(trials, -1)) if few else None
    out = torch.empty(trials, index.shape[1], layers.second.shape[2], device=index.device)
    step = max(1, min(trials, ROOM // max(1, 4 * nodes * copies * width)))
    with torch.cuda.device_of(out):
        for start in range(0, trials, step):
            part = slice(start, min(start + step, trials))
            listed = None if reach is None else Reach(*(each[part] for each in reach))
            chosen = Layers(*(None if each is None else each[part].contiguous() for each in layers))  # type: ignore[arg-type]
            words = masks.words[start * copies : part.stop * copies]
            mapped = _map_features(x, chosen, Masks(words, masks.scale), listed)
            logits = _propagate_and_map(propagation, mapped, chosen, listed)
            picked = index if index.shape[0] == 1 else index[part]
            _propagate_and_average(propagation, logits, chosen, picked, out[part])
    return out


def find_reach(propagation: SparseMatrix, index: Tensor) -> Reach:
    """List the nodes within one and within two hops of each trial's nodes, int64 `[trials, picks]`."""
    picks = torch.full((index.shape[0],), index.shape[1], dtype=torch.int32, device=index.device)
    inner, inner_count = _neighbours(propagation, index.to(torch.int32), picks)
    return Reach(inner, inner_count, *_neighbours(propagation, inner, inner_count))


def _neighbours(propagation: SparseMatrix, listed: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    trials, nodes = listed.shape[0], propagation.shape[0]
    flags = torch.zeros(trials, nodes, dtype=torch.int32, device=listed.device)
    listed = listed.contiguous()
    grid = (min(_SHARE, listed.shape[1]), trials)
    check_grid(*grid)
    found, size = torch.empty_like(flags), torch.empty_like(count)
    with torch.cuda.device_of(flags):
        lists = (listed, count, flags, nodes, listed.stride(0))
        mark_kernel[grid](propagation.crow, propagation.col, *lists, BLOCK=32, num_warps=1)
        compact_kernel[(trials,)](flags, found, size, nodes, BLOCK=_SCAN, num_warps=4)
    return found, size


def _map_features(x: SparseMatrix, layers: Layers, masks: Masks, reach: Reach | None) -> Tensor:
    """X W₁ of every copy: `[trials, nodes, copies, width]`, width padded to a power of two."""
    trials, _, hidden = layers.first.shape
    copies, width = masks.words.shape[0] // trials, triton.next_power_of_2(hidden)
    out = torch.empty(trials, x.shape[0], copies, width, device=layers.first.device)
    _map(x, layers.first, masks, out, reach)
    return out


def map_copies(x: SparseMatrix, weight: Tensor, masks: Masks) -> Tensor | None:
    """Multiply every dropped-out copy of a matrix with its trial's weight.

    Args:
        x: `[rows, columns]`.
        weight: `[trials, columns, width]`.
        masks: as many masks for each trial.

    Returns:
        `[trials * copies, rows, width]`, or None if the weight is too wide.
    """
    _, columns, width = weight.shape
    if width > _MOST_LANES or columns * width >= 2**31:
        return None
    out = torch.empty(masks.words.shape[0], x.shape[0], width, device=weight.device)
    if out.numel():
        with torch.cuda.device_of(out):
            _map(x, weight.contiguous(), masks, out, apart=True)
    return out


def _map(
    x: SparseMatrix, weight: Tensor, masks: Masks, out: Tensor, reach: Reach | None = None, *, apart: bool = False
) -> None:
    trials, columns, hidden = weight.shape
    copies, width = masks.words.shape[0] // trials, triton.next_power_of_2(hidden)
    lanes = max(16, width)
    grid = (x.shape[0] if reach is None else min(_SHARE, x.shape[0]), trials, triton.cdiv(copies, _COPIES))
    check_grid(*grid)
    map_kernel[grid](
        x.crow,
        x.col,
        x.values,
        masks.words,
        weight,
        out,
        *((x.col, x.col) if reach is None else (reach.outer, reach.outer_count)),
        x.shape[0],
        columns,
        hidden,
        copies,
        masks.words.stride(0),
        masks.words.shape[1],
        masks.scale,
        LISTED=reach is not None,
        APART=apart,
        COPIES=_COPIES,
        LANES=lanes,
        WIDTH=width,
        NONZEROS=_steps(x, 32, 16),
        num_warps=max(1, lanes // 32),
        num_stages=1,
    )


def _propagate_and_map(propagation: SparseMatrix, mapped: Tensor, layers: Layers, reach: Reach | None) -> Tensor:
    """ReLU(Â M + b₁) W₂ of every copy: `[trials, nodes, copies, classes]`, classes padded to a power of two."""
    trials, nodes, copies, width = mapped.shape
    classes = layers.second.shape[2]
    padded = triton.next_power_of_2(classes)
    out = torch.empty(trials, nodes, copies, padded, device=mapped.device)
    grid = (nodes if reach is None else min(_SHARE, nodes), trials, triton.cdiv(copies, _COPIES))
    check_grid(*grid)
    hidden_kernel[grid](
        propagation.crow,
        propagation.col,
        propagation.values,
        mapped,
        layers.second,
        layers.second if layers.first_bias is None else layers.first_bias,
        out,
        *((propagation.col, propagation.col) if reach is None else (reach.inner, reach.inner_count)),
        nodes,
        layers.second.shape[1],
        classes,
        copies,
        LISTED=reach is not None,
        BIASED=layers.first_bias is not None,
        COPIES=_COPIES,
        WIDTH=width,
        CLASSES=padded,
        INNER=max(16, width),
        OUTER=max(16, padded),
        NONZEROS=_steps(propagation, 8, 4),
        num_warps=max(1, _COPIES * width // 256),
        num_stages=1,
    )
    return out


def _propagate_and_average(
    propagation: SparseMatrix, logits: Tensor, layers: Layers, index: Tensor, out: Tensor
) -> None:
    """Write the mean over the copies of softmax(Â L + b₂) for some nodes: `[trials, picks, classes]`."""
    trials, nodes, copies, padded = logits.shape
    grid = (index.shape[1], trials)
    check_grid(*grid)
    average_kernel[grid](
        propagation.crow,
        propagation.col,
        propagation.values,
        logits,
        logits if layers.second_bias is None else layers.second_bias,
        index,
        out,
        nodes,
        layers.second.shape[2],
        copies,
        0 if index.shape[0] == 1 else index.stride(0),
        BIASED=layers.second_bias is not None,
        COPIES=_COPIES,
        BLOCKS=triton.cdiv(copies, _COPIES),
        CLASSES=padded,
        NONZEROS=_steps(propagation, 8, 4),
        num_warps=max(1, _COPIES * padded // 256),
    )


def _steps(matrix: SparseMatrix, most: int, least: int) -> int:
    """How many non-zeros of a row to read at a time."""
    usual: int = triton.next_power_of_2(max(1, matrix.nonzeros // max(1, matrix.shape[0])))
    return max(least, min(most, usual))
