"""What a process is given: variables that other packages trust, the current folder, and how memory is freed."""

import ctypes
import os
from pathlib import Path

from graphmix.errors import RunError

_SIZES = ("COLUMNS", "LINES", "TERMINAL_WIDTH")
# Nothing can be laid out in less, and no screen is wider.
_LEAST, _MOST = 10, 10_000

# Numbers from malloc.h, with bytes: how much freed memory at the end of a heap is kept, by how much the heap grows, and
# from which size on a block lies outside it, so that it is always given back.
_OPTIONS = ((-1, 2**28), (-2, 2**24), (-3, 2**25))


def keep_freed_memory() -> None:
    """Keep memory that a training step frees for the next step.

    By default the C library of most Linux systems gives it back at once, and the kernel clears every page anew. Other
    C libraries are left as they are, and so is this one if a variable such as MALLOC_TRIM_THRESHOLD_ is set, or if
    the process's address space is limited (ulimit -v), where memory that is kept counts as taken.
    """
    if any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return
    for option, size in _OPTIONS:
        mallopt(option, size)


def forget_odd_sizes() -> None:
    """Unset sizes of the screen that are not valid, before the packages that read them are imported."""
    for name in _SIZES:
        value = os.environ.get(name, "")
        if value and not (value.isascii() and value.isdecimal() and _LEAST <= int(value[:9]) <= _MOST):
            del os.environ[name]


def require_current_folder() -> None:
    """Raise RunError if the current folder was deleted: relative paths lead nowhere, and torch's libraries abort."""
    try:
        Path.cwd()
    except OSError as error:
        raise RunError("the current folder does not exist any more; change to another one") from error
