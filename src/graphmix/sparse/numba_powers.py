"""The kernel of sums of powers of a matrix: every power of one operand before the next operand.

Some columns of an operand and what is computed of them stay in the cache for all powers. A power is added to the sum,
and compared with another operand, as soon as a row of it is known.
"""

from collections.abc import Callable

import numpy as np

from graphmix.sparse.numba_kernels import load_row, row_sum, store_row
from graphmix.sparse.vectors import add_product, load, multiply, store, zeros

_UNIT = np.float32(1)
# So many rows of an inner product are added up in one float32.
ROWS = 1024


def powers(lanes: int, partial: bool, compared: bool) -> Callable[..., None]:
    """Compute Σₖ γₖ Mᵏ Z for each block and, if `compared`, the inner products of every Mᵏ Z with another operand."""

    def powers(crow, col, values, weights, dense, other, out, products, sizes):  # type: ignore[no-untyped-def]
        blocks, count, width, wide, first = sizes
        rows = len(crow) - 1
        parts = (rows + ROWS - 1) // ROWS
        total, power, following = (
            np.empty(rows * lanes, np.float32),
            np.empty(rows * lanes, np.float32),
            np.empty(rows * lanes, np.float32),
        )
        for block in range(blocks):
            for hop in range(count):
                weight = load(weights, (block * count + hop) * wide + first, lanes, lanes)
                for part in range(parts):
                    agreed = zeros(lanes)
                    for row in range(part * ROWS, min(rows, (part + 1) * ROWS)):
                        place = (block * rows + row) * width + first
                        if hop == 0:
                            found, summed = load_row(dense, place, lanes, partial), zeros(lanes)
                        else:
                            found = row_sum(crow, col, values, row, power, 0, lanes, lanes, False)
                            summed = load(total, row * lanes, lanes, lanes)
                        summed = add_product(_UNIT, multiply(weight, found), summed)
                        store(following, row * lanes, lanes, found)
                        store(total, row * lanes, lanes, summed)
                        if compared:
                            against = load_row(other, place, lanes, partial)
                            agreed = add_product(_UNIT, multiply(against, found), agreed)
                    if compared:
                        store(products, ((block * count + hop) * parts + part) * wide + first, lanes, agreed)
                power, following = following, power
            for row in range(rows):
                place = (block * rows + row) * width + first
                store_row(out, place, load(total, row * lanes, lanes, lanes), lanes, partial)

    return powers
