"""The kernels of `numba_ops`, which numba compiles on first use and keeps in its cache.

Every array but the dropout bits is flat. Sums are taken in the order of the entries, whatever else is in the batch. A
kernel releases Python's lock and starts no threads: batches of trials run side by side (docs/design/0005).
"""

from collections.abc import Callable
from functools import cache

import numba
import numpy as np

from graphmix.native import Kernel
from graphmix.sparse.vectors import add_product, at, load, lowest_bit, store, zeros

LEAST = 8  # the lanes of the smallest vector
_ALL, _NONE, _ONE = np.uint64(2**64 - 1), np.uint64(0), np.uint64(1)
_ZERO, _UNIT = np.float32(0), np.float32(1)

Build = Callable[..., Callable[..., None]]


@cache
def compiled(build: Build, *constants: int) -> Kernel:
    """Return a kernel for some constants, mostly how many lanes its vectors have and whether the last is partial.

    The constants are all that a kernel takes from the function around it: by them numba finds it in its cache.
    """
    return Kernel(build(*constants))


# Of a partial vector only some lanes belong to the row. The end of an array cuts off those that are past it. Elsewhere
# they belong to the next row: they are read and not used, or written before the next row is.


def gather(lanes: int, partial: bool) -> Callable[..., None]:
    """Multiply a matrix with the operand of each block."""

    def gather(crow, col, values, dense, out, sizes):  # type: ignore[no-untyped-def]
        blocks, columns, width, first = sizes
        rows = len(crow) - 1
        for block in range(blocks):
            begin = block * columns * width + first
            for row in range(rows):
                total = row_sum(crow, col, values, row, dense, begin, width, lanes, partial)
                store_row(out, (block * rows + row) * width + first, total, lanes, partial)

    return gather


def gather_kept(lanes: int, partial: bool) -> Callable[..., None]:
    """Multiply each block's dropped-out copy of a matrix with the operand of the block's trial."""

    def gather_kept(crow, col, values, words, scale, dense, out, sizes):  # type: ignore[no-untyped-def]
        blocks, copies, columns, width, first = sizes
        rows = len(crow) - 1
        for block in range(blocks):
            begin = block // copies * columns * width + first
            own = words[block]
            for row in range(rows):
                total = _kept_sum(crow, col, values, own, scale, row, dense, begin, width, lanes, partial)
                store_row(out, (block * rows + row) * width + first, total, lanes, partial)

    return gather_kept


def scatter(lanes: int, partial: bool) -> Callable[..., None]:
    """Multiply the transpose of a matrix with the operand of each block."""

    def scatter(crow, col, values, grad, out, sizes):  # type: ignore[no-untyped-def]
        blocks, columns, width, wide, first = sizes
        rows = len(crow) - 1
        for block in range(blocks):
            begin = block * columns * wide + first
            for row in range(rows):
                own = load_row(grad, (block * rows + row) * width + first, lanes, partial)
                for entry in range(at(crow, row), at(crow, row + 1)):
                    place = begin + np.int64(at(col, entry)) * wide
                    store(out, place, lanes, add_product(at(values, entry), own, load(out, place, lanes, lanes)))

    return scatter


def scatter_kept(lanes: int, partial: bool) -> Callable[..., None]:
    """Multiply the transpose of each block's dropped-out copy of a matrix with the operand of the block."""

    def scatter_kept(crow, col, values, words, scale, grad, out, sizes):  # type: ignore[no-untyped-def]
        blocks, columns, width, wide, first = sizes
        rows = len(crow) - 1
        for block in range(blocks):
            begin, own_words = block * columns * wide + first, words[block]
            for row in range(rows):
                start, end = at(crow, row), at(crow, row + 1)
                own = load_row(grad, (block * rows + row) * width + first, lanes, partial)
                for word in range(start >> 6, (end + 63) >> 6):
                    bits = _bits_within(at(own_words, word), word << 6, start, end)
                    while bits != _NONE:
                        entry = (word << 6) + lowest_bit(bits)
                        bits &= bits - _ONE
                        place = begin + np.int64(at(col, entry)) * wide
                        found = load(out, place, lanes, lanes)
                        store(out, place, lanes, add_product(at(values, entry) * scale, own, found))

    return scatter_kept


def small_product(lanes: int, partial: bool) -> Callable[..., None]:
    """Multiply each trial's rows with its weights, which are whole vectors."""

    def small_product(values, weight, out, sizes):  # type: ignore[no-untyped-def]
        trials, rows, columns, width, wide, first = sizes
        for trial in range(trials):
            begin = trial * columns * wide + first
            # Four rows at a time: a sum waits for the one before it, so four are under way together.
            for row in range(trial * rows, (trial + 1) * rows, 4):
                last = (trial + 1) * rows - 1
                second, third, fourth = min(row + 1, last), min(row + 2, last), min(row + 3, last)
                sums = zeros(lanes), zeros(lanes), zeros(lanes), zeros(lanes)
                for column in range(columns):
                    found = load(weight, begin + column * wide, lanes, lanes)
                    sums = (
                        add_product(at(values, row * columns + column), found, sums[0]),
                        add_product(at(values, second * columns + column), found, sums[1]),
                        add_product(at(values, third * columns + column), found, sums[2]),
                        add_product(at(values, fourth * columns + column), found, sums[3]),
                    )
                store_row(out, row * width + first, sums[0], lanes, partial)
                store_row(out, second * width + first, sums[1], lanes, partial)
                store_row(out, third * width + first, sums[2], lanes, partial)
                store_row(out, fourth * width + first, sums[3], lanes, partial)

    return small_product


def outer_sum(lanes: int, partial: bool) -> Callable[..., None]:
    """Multiply the transpose of each trial's rows with other rows of the trial; the result is whole vectors."""

    def outer_sum(values, grad, out, sizes):  # type: ignore[no-untyped-def]
        trials, rows, columns, width, wide, first = sizes
        for trial in range(trials):
            for column in range(0, columns, 4):
                last = columns - 1
                second, third, fourth = min(column + 1, last), min(column + 2, last), min(column + 3, last)
                sums = zeros(lanes), zeros(lanes), zeros(lanes), zeros(lanes)
                for row in range(trial * rows, (trial + 1) * rows):
                    found = load_row(grad, row * width + first, lanes, partial)
                    sums = (
                        add_product(at(values, row * columns + column), found, sums[0]),
                        add_product(at(values, row * columns + second), found, sums[1]),
                        add_product(at(values, row * columns + third), found, sums[2]),
                        add_product(at(values, row * columns + fourth), found, sums[3]),
                    )
                begin = trial * columns * wide + first
                store(out, begin + column * wide, lanes, sums[0])
                store(out, begin + second * wide, lanes, sums[1])
                store(out, begin + third * wide, lanes, sums[2])
                store(out, begin + fourth * wide, lanes, sums[3])

    return outer_sum


def second_layer(wide: int, narrow: int, partial: bool) -> Callable[..., None]:
    """Compute Â ReLU(Â M + b₁) W₂ + b₂ for each block, with nothing but the result written out.

    A row of M is one vector of `wide` lanes; one of W₂ has `narrow` lanes.
    """

    def second_layer(crow, col, values, mapped, biases, weight, out, sizes):  # type: ignore[no-untyped-def]
        blocks, copies, hidden, classes = sizes
        rows = len(crow) - 1
        state, logits = np.empty(wide, np.float32), np.empty(rows * narrow, np.float32)
        for block in range(blocks):
            trial = block // copies
            for row in range(rows):
                total = row_sum(crow, col, values, row, mapped, block * rows * wide, wide, wide, False)
                store(state, 0, wide, add_product(_UNIT, load(biases[0], trial * wide, wide, wide), total))
                total = zeros(narrow)
                for unit in range(hidden):
                    found = load(weight, (trial * hidden + unit) * narrow, narrow, narrow)
                    # Not `max`: what is not a number stays so, as in torch.
                    total = add_product(_ZERO if at(state, unit) < _ZERO else at(state, unit), found, total)
                store(logits, row * narrow, narrow, total)
            for row in range(rows):
                total = row_sum(crow, col, values, row, logits, 0, narrow, narrow, False)
                total = add_product(_UNIT, load(biases[1], trial * narrow, narrow, narrow), total)
                store_row(out, (block * rows + row) * classes, total, narrow, partial)

    return second_layer


@numba.njit(inline="always")
def row_sum(crow, col, values, row, dense, begin, width, lanes, partial):  # type: ignore[no-untyped-def]
    """Return a row times an operand whose rows of `width` start at `begin`."""
    total = zeros(lanes)
    for entry in range(at(crow, row), at(crow, row + 1)):
        found = load_row(dense, begin + np.int64(at(col, entry)) * width, lanes, partial)
        total = add_product(at(values, entry), found, total)
    return total


@numba.njit(inline="always")
def _kept_sum(crow, col, values, words, scale, row, dense, begin, width, lanes, partial):  # type: ignore[no-untyped-def]
    """Return a row, dropped out by a block's words, times an operand whose rows of `width` start at `begin`."""
    start, end = at(crow, row), at(crow, row + 1)
    total = zeros(lanes)
    for word in range(start >> 6, (end + 63) >> 6):
        bits = _bits_within(at(words, word), word << 6, start, end)
        while bits != _NONE:
            entry = (word << 6) + lowest_bit(bits)
            bits &= bits - _ONE
            found = load_row(dense, begin + np.int64(at(col, entry)) * width, lanes, partial)
            total = add_product(at(values, entry) * scale, found, total)
    return total


@numba.njit(inline="always")
def _bits_within(bits, base, start, end):  # type: ignore[no-untyped-def]
    """Keep the bits of entries start … end - 1 in the word that begins at entry `base`."""
    if base < start:
        bits &= _ALL << np.uint64(start - base)
    if base + 64 > end:
        bits &= _ALL >> np.uint64(base + 64 - end)
    return bits


@numba.njit(inline="always")
def load_row(array, start, lanes, partial):  # type: ignore[no-untyped-def]
    """Return a vector of an operand; a partial one may reach past the end of the array."""
    return load(array, start, len(array) - start if partial else lanes, lanes)


@numba.njit(inline="always")
def store_row(array, start, vector, lanes, partial):  # type: ignore[no-untyped-def]
    """Write a vector of a result; a partial one may reach past the end of the array."""
    store(array, start, len(array) - start if partial else lanes, vector)
