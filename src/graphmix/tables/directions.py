"""What becomes of the directions of edges, of loops and of repeats, in a graph that has none of them."""

import numpy as np
from numpy.typing import NDArray

from graphmix.text import counted

_LOOP = -1


def direction_notes(pairs: NDArray[np.int32], nodes: int, *, weighted: bool = False) -> list[str]:
    """Say what happens to edges `[2, kept]` in a graph without directions, loops and repeated edges.

    Args:
        pairs: both ends of each edge.
        nodes: the number of nodes.
        weighted: whether edges have weights; those of a repeated edge are added.
    """
    keys = pairs.min(axis=0).astype(np.int64)
    keys *= nodes
    keys += pairs.max(axis=0)
    keys *= 2
    # The last bit is the direction, so the two directions of an edge are neighbours once sorted.
    keys += pairs[0] > pairs[1]
    keys[pairs[0] == pairs[1]] = _LOOP
    keys.sort()
    loops = int(np.searchsorted(keys, 0))
    keys = keys[loops:]
    ways = _count_different(keys)
    repeats = len(keys) - ways
    keys >>= 1
    edges = _count_different(keys)
    # An edge has one direction or two.
    single = 2 * edges - ways
    notes = [f"{counted(loops, 'edge')} from a node to itself dropped"] if loops else []
    added = ", weights added" if weighted else ""
    notes += [f"{counted(repeats, 'repeated edge')} merged{added}"] if repeats else []
    notes += [f"{counted(single, 'edge')} without a reverse, used in both directions"] if single else []
    return notes


def _count_different(increasing: NDArray[np.int64]) -> int:
    return int(np.count_nonzero(increasing[1:] != increasing[:-1])) + (len(increasing) > 0)
