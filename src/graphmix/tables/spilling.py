"""Arrays that may be larger than the memory: they are kept in a file that has no name and is gone with the process."""

import errno
import math
import os
import tempfile

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.limits import as_size
from graphmix.machine import available_memory

# An array that takes a larger share of the free memory goes into a file.
_SHARE = 0.25
# What a file system says that cannot reserve room.
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def new_floats(shape: tuple[int, int]) -> NDArray[np.float32]:
    """Return float32 of a shape, not yet filled: in memory, or mapped from a file if that is much of the memory.

    The system keeps in memory what is used of the file, and writes back what does not fit. The folder is the usual one
    for temporary files (TMPDIR).

    Raises:
        DataError: the folder has no room for the file, or cannot be written.
    """
    needed = 4 * math.prod(shape)
    if needed <= _SHARE * available_memory() or not needed:
        return np.empty(shape, dtype=np.float32)
    try:
        with tempfile.TemporaryFile(prefix="graphmix-features-") as file:
            _reserve(file.fileno(), needed)
            return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)
    except OSError as error:
        folder = tempfile.tempdir or "the folder for temporary files"
        raise DataError(
            f"{folder} cannot hold a file of {as_size(needed)} for the features: {error.strerror or error}; "
            "set TMPDIR to a folder with more room"
        ) from error


def _reserve(handle: int, size: int) -> None:
    """Reserve the room of a file on the disk: a mapped file that finds none later ends the process (SIGBUS)."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
