"""Mean predictions of a two-layer GCN over K dropout passes, on CUDA, without writing every pass out three times.

Three kernels do all passes of a trial side by side. The first multiplies dropped-out features with W₁: a non-zero and
its row of W₁ are read once for all passes, and only a bit differs between them. The second propagates, applies ReLU and
W₂. The third propagates, takes the softmax and the mean over the passes. Trials are taken a few at a time, so that what
one kernel writes is still in the L2 cache when the next one reads it. Sums have the same order whatever else is in the
batch. With a `Reach` the kernels compute only the rows that each trial's nodes depend on.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from graphmix.cuda_grid import check_grid
from graphmix.sparse.matrix import SparseMatrix

# Bytes of hidden states at a time: what fits into the L2 cache of a large GPU, next to the operands.
ROOM = 2**25
# Programs per trial where rows are listed. Each takes every so many rows of the list.
_SHARE = 256
_COPIES = 16  # passes side by side in a program, also the least that a tensor core multiplies
_SCAN = 1024
# Wider networks go the ordinary way.
_MOST_WIDTH = 64
_MOST_COPIES = 64
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
        _mark_kernel[grid](propagation.crow, propagation.col, listed, count, flags, nodes, listed.stride(0), BLOCK=32, num_warps=1)
        _compact_kernel[(trials,)](flags, found, size, nodes, BLOCK=_SCAN, num_warps=4)
    return found, size


def _map_features(x: SparseMatrix, layers: Layers, masks: Masks, reach: Reach | None) -> Tensor:
    """X W₁ of every copy: `[trials, nodes, copies, width]`, width padded to a power of two."""
    trials, columns, hidden = layers.first.shape
    copies, width = masks.words.shape[0] // trials, triton.next_power_of_2(hidden)
    lanes = max(16, width)
    out = torch.empty(trials, x.shape[0], copies, width, device=layers.first.device)
    grid = (x.shape[0] if reach is None else min(_SHARE, x.shape[0]), trials, triton.cdiv(copies, _COPIES))
    check_grid(*grid)
    _map_kernel[grid](
        x.crow,
        x.col,
        x.values,
        masks.words,
        layers.first,
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
        COPIES=_COPIES,
        LANES=lanes,
        WIDTH=width,
        NONZEROS=_steps(x, 32, 16),
        num_warps=1,
        num_stages=1,
    )
    return out


def _propagate_and_map(propagation: SparseMatrix, mapped: Tensor, layers: Layers, reach: Reach | None) -> Tensor:
    """ReLU(Â M + b₁) W₂ of every copy: `[trials, nodes, copies, classes]`, classes padded to a power of two."""
    trials, nodes, copies, width = mapped.shape
    classes = layers.second.shape[2]
    padded = triton.next_power_of_2(classes)
    out = torch.empty(trials, nodes, copies, padded, device=mapped.device)
    grid = (nodes if reach is None else min(_SHARE, nodes), trials, triton.cdiv(copies, _COPIES))
    check_grid(*grid)
    _hidden_kernel[grid](
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
    _average_kernel[grid](
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
    return max(least, min(most, triton.next_power_of_2(max(1, matrix.nonzeros // max(1, matrix.shape[0])))))


@triton.jit
def _mark_kernel(crow, col, listed, count, flags, nodes, listed_stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    trial = tl.program_id(1).to(tl.int64)
    for place in range(tl.program_id(0), tl.load(count + trial), tl.num_programs(0)):
        row = tl.load(listed + trial * listed_stride + place)
        end = tl.load(crow + row + 1)
        for first in range(tl.load(crow + row), end, BLOCK):
            entry = first + tl.arange(0, BLOCK)
            column = tl.load(col + entry, mask=entry < end, other=0)
            # Several programs may write here, all of them the same.
            tl.store(flags + trial * nodes + column, tl.full([BLOCK], 1, tl.int32), mask=entry < end)


@triton.jit
def _compact_kernel(flags, found, size, nodes, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    start = tl.program_id(0).to(tl.int64) * nodes
    filled = 0
    for first in range(0, nodes, BLOCK):
        node = first + tl.arange(0, BLOCK)
        flag = tl.load(flags + start + node, mask=node < nodes, other=0)
        place = filled + tl.cumsum(flag, 0) - 1
        tl.store(found + start + place, node, mask=flag == 1)
        filled += tl.sum(flag, 0)
    tl.store(size + tl.program_id(0), filled)


@triton.jit
def _split(values):  # type: ignore[no-untyped-def]
    # The leading 11 bits, which a tensor core multiplies exactly, and the rest.
    high = (values.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
    return high, values - high


@triton.jit(do_not_specialize=["words_count"])
def _map_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    values,
    words,
    weight,
    out,
    listed,
    count,
    nodes,
    columns,
    hidden,
    copies,
    words_stride,
    words_count,
    scale,
    LISTED: tl.constexpr,  # noqa: N803
    COPIES: tl.constexpr,  # noqa: N803
    LANES: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
):
    trial = tl.program_id(1).to(tl.int64)
    copy = tl.program_id(2) * COPIES + tl.arange(0, COPIES)
    lane = tl.arange(0, LANES)
    place_in_step = tl.arange(0, NONZEROS)
    own_words = words + (trial * copies + copy) * words_stride
    operand = weight + trial * columns * hidden
    which = tl.arange(0, 2)
    real = (copy < copies)[:, None]
    last = nodes
    if LISTED:
        last = tl.load(count + trial)
    for place in range(tl.program_id(0), last, tl.num_programs(0)):
        row = place
        if LISTED:
            row = tl.load(listed + trial * nodes + place)
        total = tl.zeros([COPIES, LANES], dtype=tl.float32)
        end = tl.load(crow + row + 1)
        for first in range(tl.load(crow + row), end, NONZEROS):
            entry = first + place_in_step
            live = entry < end
            column = tl.load(col + entry, mask=live, other=0)
            value = tl.load(values + entry, mask=live, other=0.0) * scale
            there = operand + (column[:, None] * hidden + lane[None, :])
            found = tl.load(there, mask=live[:, None] & (lane < hidden)[None, :], other=0.0) * value[:, None]
            # The bits of this step, from the one or two words that hold them. After the last word there are no
            # non-zeros, so that any bits will do.
            word, shift = first >> 6, first & 63
            pair = tl.load(own_words[:, None] + tl.minimum(word + which, words_count - 1)[None, :], mask=real, other=0)
            pair = pair.to(tl.uint64, bitcast=True)
            window = tl.where(which[None, :] == 0, pair >> shift, (pair << 1) << (63 - shift))
            window = tl.sum(window.to(tl.uint32), axis=1)
            kept = ((window[:, None] >> place_in_step.to(tl.uint32)[None, :]) & 1).to(tl.float32)
            # A bit is exact in any precision. Three parts of the other factor, 11 bits each, are exact too.
            leading, rest = _split(found)
            middle, rest = _split(rest)
            total = tl.dot(kept, leading, total, input_precision="tf32")
            total = tl.dot(kept, middle, total, input_precision="tf32")
            total = tl.dot(kept, rest, total, input_precision="tf32")
        at = ((trial * nodes + row) * copies + copy)[:, None] * WIDTH + lane[None, :]
        tl.store(out + at, total, mask=(copy < copies)[:, None] & (lane < WIDTH)[None, :])


@triton.jit
def _gather(crow, col, values, source, row, lane, inside, COLUMN: tl.constexpr, stride, NONZEROS: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    # The row's non-zeros times what `source` holds at their columns, `stride` values each; summed.
    total = tl.zeros([COLUMN], dtype=tl.float32)
    end = tl.load(crow + row + 1)
    for first in range(tl.load(crow + row), end, NONZEROS):
        entry = first + tl.arange(0, NONZEROS)
        live = entry < end
        column = tl.load(col + entry, mask=live, other=0)
        value = tl.load(values + entry, mask=live, other=0.0)
        found = tl.load(source + (column[:, None] * stride + lane[None, :]), mask=live[:, None] & inside[None, :], other=0.0)
        total += tl.sum(found * value[:, None], axis=0)
    return total


@triton.jit
def _hidden_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    values,
    mapped,
    weight,
    bias,
    out,
    listed,
    count,
    nodes,
    hidden,
    classes,
    copies,
    LISTED: tl.constexpr,  # noqa: N803
    BIASED: tl.constexpr,  # noqa: N803
    COPIES: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    CLASSES: tl.constexpr,  # noqa: N803
    INNER: tl.constexpr,  # noqa: N803
    OUTER: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
):
    trial = tl.program_id(1).to(tl.int64)
    start = tl.program_id(2) * COPIES
    copy = start + tl.arange(0, COPIES)
    lane = tl.arange(0, COPIES * INNER)
    unit = lane % INNER
    place_in_node = (start + lane // INNER) * WIDTH + unit
    inside = (start + lane // INNER < copies) & (unit < WIDTH)
    row_of_weight = tl.arange(0, INNER)
    column = tl.arange(0, OUTER)
    known = (row_of_weight < hidden)[:, None] & (column < classes)[None, :]
    at = trial * hidden * classes + row_of_weight[:, None] * classes + column[None, :]
    matrix = tl.load(weight + at, mask=known, other=0.0)
    added = tl.zeros([INNER], dtype=tl.float32)
    if BIASED:
        added = tl.load(bias + trial * hidden + row_of_weight, mask=row_of_weight < hidden, other=0.0)
    last = nodes
    if LISTED:
        last = tl.load(count + trial)
    for place in range(tl.program_id(0), last, tl.num_programs(0)):
        row = place
        if LISTED:
            row = tl.load(listed + trial * nodes + place)
        source = mapped + trial * nodes * copies * WIDTH
        total = _gather(
            crow, col, values, source, row, place_in_node, inside, COPIES * INNER, copies * WIDTH, NONZEROS
        )
        state = tl.maximum(tl.reshape(total, [COPIES, INNER]) + added[None, :], 0.0)
        logits = tl.dot(state, matrix, input_precision="tf32x3")
        goal = ((trial * nodes + row) * copies + copy)[:, None] * CLASSES + column[None, :]
        tl.store(out + goal, logits, mask=(copy < copies)[:, None] & (column < CLASSES)[None, :])


@triton.jit
def _average_kernel(  # type: ignore[no-untyped-def]
    crow,
    col,
    values,
    logits,
    bias,
    index,
    out,
    nodes,
    classes,
    copies,
    index_stride,
    BIASED: tl.constexpr,  # noqa: N803
    COPIES: tl.constexpr,  # noqa: N803
    BLOCKS: tl.constexpr,  # noqa: N803
    CLASSES: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
):
    pick, trial = tl.program_id(0), tl.program_id(1).to(tl.int64)
    row = tl.load(index + trial * index_stride + pick)
    lane = tl.arange(0, COPIES * CLASSES)
    column = tl.arange(0, CLASSES)
    added = tl.zeros([CLASSES], dtype=tl.float32)
    if BIASED:
        added = tl.load(bias + trial * classes + column, mask=column < classes, other=0.0)
    mean = tl.zeros([CLASSES], dtype=tl.float32)
    source = logits + trial * nodes * copies * CLASSES
    for block in range(BLOCKS):
        at = block * COPIES * CLASSES + lane
        inside = at < copies * CLASSES
        total = _gather(crow, col, values, source, row, at, inside, COPIES * CLASSES, copies * CLASSES, NONZEROS)
        own = tl.reshape(total, [COPIES, CLASSES]) + added[None, :]
        own = tl.where((column < classes)[None, :], own, float("-inf"))
        power = tl.exp(own - tl.max(own, axis=1)[:, None])
        share = power / tl.sum(power, axis=1)[:, None]
        real = block * COPIES + tl.arange(0, COPIES) < copies
        mean += tl.sum(tl.where(real[:, None], share, 0.0), axis=0)
    place = (trial * tl.num_programs(0) + pick) * classes + column
    tl.store(out + place, mean / copies, mask=column < classes)
