"""The kernels of `triton_targets`."""

import triton
import triton.language as tl


@triton.jit
def mark_kernel(crow, col, listed, count, flags, nodes, listed_stride, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    """Set the flags of all neighbours of the listed nodes."""
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
def compact_kernel(flags, found, size, nodes, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    """List the nodes whose flag is set, in order."""
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
def map_kernel(  # type: ignore[no-untyped-def]
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
    APART: tl.constexpr,  # noqa: N803
    COPIES: tl.constexpr,  # noqa: N803
    LANES: tl.constexpr,  # noqa: N803
    WIDTH: tl.constexpr,  # noqa: N803
    NONZEROS: tl.constexpr,  # noqa: N803
):
    """Multiply a row's dropped-out features with W₁, for 16 copies at a time.

    The copies of a node follow one another, each padded to WIDTH; or, with APART, every copy has all its nodes.
    """
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
        if APART:
            at = ((trial * copies + copy) * nodes + row)[:, None] * hidden + lane[None, :]
            tl.store(out + at, total, mask=real & (lane < hidden)[None, :])
        else:
            at = ((trial * nodes + row) * copies + copy)[:, None] * WIDTH + lane[None, :]
            tl.store(out + at, total, mask=real & (lane < WIDTH)[None, :])


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
        found = tl.load(
            source + (column[:, None] * stride + lane[None, :]), mask=live[:, None] & inside[None, :], other=0.0
        )
        total += tl.sum(found * value[:, None], axis=0)
    return total


@triton.jit
def hidden_kernel(  # type: ignore[no-untyped-def]
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
    """Propagate, apply ReLU, multiply with W₂."""
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
        total = _gather(crow, col, values, source, row, place_in_node, inside, COPIES * INNER, copies * WIDTH, NONZEROS)
        state = tl.maximum(tl.reshape(total, [COPIES, INNER]) + added[None, :], 0.0)
        logits = tl.dot(state, matrix, input_precision="tf32x3")
        goal = ((trial * nodes + row) * copies + copy)[:, None] * CLASSES + column[None, :]
        tl.store(out + goal, logits, mask=(copy < copies)[:, None] & (column < CLASSES)[None, :])


@triton.jit
def average_kernel(  # type: ignore[no-untyped-def]
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
    """Propagate, take the softmax and its mean over the copies."""
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
