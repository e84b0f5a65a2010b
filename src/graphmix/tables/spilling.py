"""Arrays that may be larger than the memory: they are kept in a file that has no name and is gone with the process."""

import math
import tempfile

import numpy as np
from numpy.typing import NDArray

from graphmix.machine import available_memory

# An array that takes a larger share of the free memory goes into a file.
_SHARE = 0.25


def new_floats(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return float32 of a shape, not yet filled: in memory, or mapped from a file if that is much of the memory.

    The system keeps in memory what is used of the file, and writes back what does not fit. The folder is the usual one
    for temporary files (TMPDIR).
    """
    needed = 4 * math.prod(shape)
    if needed <= _SHARE * available_memory() or not needed:
        return np.empty(shape, dtype=np.float32)
    with tempfile.TemporaryFile(prefix="graphmix-features-") as file:
        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)
