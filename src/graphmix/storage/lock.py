"""One process at a time in a folder."""

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from graphmix.errors import RunError
from graphmix.files import remove_temporary_files

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = ".lock"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder, and remove temporary files that a killed write left in it.

    The operating system gives the lock up when the process ends, however it ends.

    Raises:
        RunError: another process holds the lock, or the folder cannot be written.
    """
    lock = _acquire(folder)
    try:
        remove_temporary_files(folder)
        yield
    finally:
        if lock is not None:
            # Still locked: a process that opened the file before this notices that it is gone, and opens it again.
            with contextlib.suppress(PermissionError):  # Windows does not remove an open file
                (folder / LOCK).unlink(missing_ok=True)
            lock.release()


def may_lock(folder: Path) -> bool:
    """Whether a folder has no lock, or one that may be ours: an empty plain file.

    Locking opens the file for writing and removes it afterwards; it may be a link, a pipe, or another program's.
    """
    lock = folder / LOCK
    try:
        status = lock.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and not status.st_size


def _acquire(folder: Path) -> "BaseFileLock | None":
    """Lock the folder, or return None where filelock is missing: a source tree without its dependencies."""
    try:
        from filelock import FileLock, Timeout
    except ImportError:
        return None
    lock = FileLock(folder / LOCK)
    if not may_lock(folder):
        raise RunError(f"{folder / LOCK} is not a lock of graphmix; delete it, or choose another folder")
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise RunError(f"another process is writing to {folder}; choose another folder") from error
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}") from error
    return lock
