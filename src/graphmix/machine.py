"""Memory: how much this process may still take, how much it took, and which errors mean that it ran out."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# macOS and Windows do not report it; a modest guess.
_GUESS = 2**32
# What such errors say: torch on the CPU, torch on CUDA, C++, Python, pyarrow.
_WORDS = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "ALLOC_FAILED",
    "bad_alloc",
    "Cannot allocate memory",
    "can't start new thread",
    "Failed to launch worker thread",
)
_CGROUPS = Path("/sys/fs/cgroup")


def available_memory() -> int:
    """Return the bytes that this process can still take: the machine's, its container's, or its own, the least."""
    return max(0, min([_physical(), *_of_groups(), *_of_limit()]))


def peak_memory() -> float | None:
    """Return the most memory this process has used so far, in GiB; None on Windows, where it is not known."""
    if sys.platform == "win32":
        return None
    import resource

    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 3)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of any library says that there was not enough memory."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    # torch says so with a RuntimeError, or a subclass of it, and so does Python for a thread that finds no room.
    said = isinstance(error, RuntimeError) or type(error).__module__.startswith("pyarrow")
    return said and any(words in str(error) for words in _WORDS)


def _physical() -> int:
    """The machine's available memory; memory that only caches files counts, because it is given back."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    if "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", ()):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return _GUESS


def _of_groups() -> Iterator[int]:
    """What each control group that this process is in leaves of its limit, in either version of the kernel's files."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, kinds, path = [*line.split(":", 2), "", ""][:3]
        if kinds == "":
            root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            root, names = _CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        inside = Path(path.lstrip("/"))
        for folder in (inside, *inside.parents):
            left = _left(root / folder, *names)
            if left is not None:
                yield left


def _left(folder: Path, most: str, used: str, cached: str) -> int | None:
    """What one group leaves of its limit; None if it has none, or is not visible from inside a container."""
    limit, taken = (next(_lines(folder / name), "") for name in (most, used))
    if not (limit.isdecimal() and taken.isdecimal()):
        return None
    files = next((line.split()[1] for line in _lines(folder / "memory.stat") if line.startswith(f"{cached} ")), "0")
    return int(limit) - int(taken) + int(files)


def _of_limit() -> Iterator[int]:
    """What a limit on the process's own address space (ulimit -v) leaves."""
    if sys.platform == "win32":
        return
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    taken = next(_lines(Path("/proc/self/statm")), "").split()
    if most != resource.RLIM_INFINITY and taken:
        yield most - int(taken[0]) * resource.getpagesize()


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file of the kernel; none if it does not exist or may not be read."""
    try:
        text = path.read_text()
    except OSError:
        return
    yield from text.splitlines()
