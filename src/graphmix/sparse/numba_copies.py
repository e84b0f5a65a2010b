"""The kernel of the target passes: five dropout masks of a trial at a time.

The masks share the trial's weights, so a row of weights is loaded once and added to five sums. With five sums, none
waits for the addition before. The five values of a node stand side by side, so that for an edge the graph's products
read five adjacent vectors.
"""

from collections.abc import Callable

import numba
import numpy as np

from graphmix.sparse.vectors import add_product, at, load, multiply, store, zeros

_ZERO, _UNIT = np.float32(0), np.float32(1)
# Row b holds the eight bits of byte b, lowest first.
_BITS = np.array([byte >> bit & 1 for byte in range(256) for bit in range(8)], np.float32)


def two_layers_of_copies(wide: int, narrow: int) -> Callable[..., None]:
    """Compute Â ReLU(Â dropout(X) W₁ + b₁) W₂ + b₂ for a multiple of five copies of each trial."""

    def two_layers_of_copies(x, masks, scale, graph, first, second, out, sizes):  # type: ignore[no-untyped-def]
        blocks, copies, features, hidden, classes = sizes
        rows = len(graph[0]) - 1
        # Whole bytes: up to seven entries more on either side of a row.
        longest = np.int64(np.max(x[0][1:] - x[0][:-1])) + 16
        factors, state = np.empty(5 * longest, np.float32), np.empty(5 * wide, np.float32)
        mapped, logits = np.empty(rows * 5 * wide, np.float32), np.empty(rows * 5 * narrow, np.float32)
        for block in range(0, blocks, 5):
            trial, own = block // copies, masks[block : block + 5]
            for row in range(rows):
                base = np.int64(at(x[0], row)) & ~7
                _set_factors(x[2], own, scale, base, at(x[0], row + 1), factors, longest)
                sums = _none(wide)
                for entry in range(at(x[0], row), at(x[0], row + 1)):
                    found = load(first[0], (trial * features + np.int64(at(x[1], entry))) * wide, wide, wide)
                    sums = _add(factors, entry - base, longest, found, sums)
                _put(mapped, row * 5 * wide, wide, wide, sums)
            for row in range(rows):
                sums = _row_sums(graph[0], graph[1], graph[2], row, mapped, wide)
                _put(state, 0, wide, wide, _plus(load(first[1], trial * wide, wide, wide), sums))
                for place in range(5 * wide):
                    # Not `max`: what is not a number stays so, as in torch.
                    state[place] = _ZERO if state[place] < _ZERO else state[place]
                sums = _none(narrow)
                for unit in range(hidden):
                    weight = load(second[0], (trial * hidden + unit) * narrow, narrow, narrow)
                    sums = _add(state, unit, wide, weight, sums)
                _put(logits, row * 5 * narrow, narrow, narrow, sums)
            for row in range(rows):
                sums = _row_sums(graph[0], graph[1], graph[2], row, logits, narrow)
                sums = _plus(load(second[1], trial * narrow, narrow, narrow), sums)
                # Lanes past the end of a row are written before the next row is, but not past the end of a copy.
                _put(out, (block * rows + row) * classes, rows * classes, (rows - row) * classes, sums)

    return two_layers_of_copies


@numba.njit(inline="always")
def _set_factors(values, masks, scale, base, end, factors, stride):  # type: ignore[no-untyped-def]
    """Write the values of entries base … end - 1, or 0 where dropped, one copy after the other; masks are bytes."""
    for entry in range(base, end, 8):
        held = load(values, entry, len(values) - entry, 8)
        held = add_product(scale, held, zeros(8))
        for copy in range(5):
            bits = load(_BITS, np.int64(at(masks, copy * masks.shape[1] + (entry >> 3))) * 8, 8, 8)
            store(factors, copy * stride + entry - base, 8, multiply(bits, held))


@numba.njit(inline="always")
def _row_sums(crow, col, values, row, dense, lanes):  # type: ignore[no-untyped-def]
    """Return a row of a matrix times each of five operands that stand side by side."""
    sums = _none(lanes)
    for entry in range(at(crow, row), at(crow, row + 1)):
        place = np.int64(at(col, entry)) * 5 * lanes
        sums = (
            add_product(at(values, entry), load(dense, place, lanes, lanes), sums[0]),
            add_product(at(values, entry), load(dense, place + lanes, lanes, lanes), sums[1]),
            add_product(at(values, entry), load(dense, place + 2 * lanes, lanes, lanes), sums[2]),
            add_product(at(values, entry), load(dense, place + 3 * lanes, lanes, lanes), sums[3]),
            add_product(at(values, entry), load(dense, place + 4 * lanes, lanes, lanes), sums[4]),
        )
    return sums


@numba.njit(inline="always")
def _none(lanes):  # type: ignore[no-untyped-def]
    return zeros(lanes), zeros(lanes), zeros(lanes), zeros(lanes), zeros(lanes)


@numba.njit(inline="always")
def _add(factors, place, stride, vector, sums):  # type: ignore[no-untyped-def]
    """Add a vector to five sums, times a factor for each."""
    return (
        add_product(at(factors, place), vector, sums[0]),
        add_product(at(factors, place + stride), vector, sums[1]),
        add_product(at(factors, place + 2 * stride), vector, sums[2]),
        add_product(at(factors, place + 3 * stride), vector, sums[3]),
        add_product(at(factors, place + 4 * stride), vector, sums[4]),
    )


@numba.njit(inline="always")
def _plus(vector, sums):  # type: ignore[no-untyped-def]
    return (
        add_product(_UNIT, vector, sums[0]),
        add_product(_UNIT, vector, sums[1]),
        add_product(_UNIT, vector, sums[2]),
        add_product(_UNIT, vector, sums[3]),
        add_product(_UNIT, vector, sums[4]),
    )


@numba.njit(inline="always")
def _put(array, place, stride, count, sums):  # type: ignore[no-untyped-def]
    """Write up to `count` lanes of five vectors, each `stride` after the one before."""
    store(array, place, count, sums[0])
    store(array, place + stride, count, sums[1])
    store(array, place + 2 * stride, count, sums[2])
    store(array, place + 3 * stride, count, sums[3])
    store(array, place + 4 * stride, count, sums[4])
