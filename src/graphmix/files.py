"""Files: which may be read, which may be written, and writes that happen whole or not at all."""

import contextlib
import errno
import glob
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from graphmix.errors import ConfigError, DataError

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}

# How the names of our temporary files end: those of other programs are never removed.
_PART = ".graphmix.part"
# A file that must not exist yet; Windows would change line ends without the last.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
# Windows has no such locks, and does not rename an open file.
_LOCKS = os.name == "posix"


def other_kind(path: Path) -> str | None:
    """What a path leads to if that is not a plain file: "a pipe", "a device", "a folder"; None if plain or missing."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:  # a name with a NUL, which no system allows
        raise OSError(errno.EINVAL, "it is not a name of a file", str(path)) from error
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "not a plain file")


def require_plain(path: Path) -> None:
    """Raise DataError if a path leads to anything but a plain file; a missing file passes.

    Files are read more than once, and reading a pipe or a device may never end.

    Raises:
        DataError: it is a pipe, a device, a socket or a folder.
        OSError: the path cannot be looked at.
    """
    if kind := other_kind(path):
        raise DataError(f"{path} is {kind}; only plain files are read, so copy it into a file first")


def check_output(
    path: Path,
    *,
    inputs: Iterable[Path | None] = (),
    force: bool = False,
    parameter: str = "out",
    later: Path | None = None,
) -> None:
    """Check, before anything slow begins, that a file may be written.

    Args:
        path: the file; links are followed.
        inputs: what the same command reads; missing ones do not matter.
        force: whether an existing file may be replaced.
        parameter: the parameter that names the file, for messages.
        later: a folder that will have been made by then.

    Raises:
        ConfigError: the file is one of the inputs, exists without `force`, is not a plain file, or its folder is
            missing or cannot be written.
    """
    try:
        _check_output(path, [each for each in inputs if each is not None], force, parameter, later)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; choose another `{parameter}`") from error


def _check_output(path: Path, inputs: list[Path], force: bool, parameter: str, later: Path | None) -> None:
    check_not_read(path, inputs, parameter)
    if kind := other_kind(path):
        raise ConfigError(f"{path} is {kind}, which is never replaced; choose another `{parameter}`")
    if path.exists() and not force:
        raise ConfigError(f"{path} exists already; choose another `{parameter}`, or use `force` to replace it")
    parent = _real(path).parent
    if later is not None and parent == _real(later) and not parent.exists():
        return
    if not parent.is_dir():
        raise ConfigError(f"{path}: the folder {path.parent} does not exist; make it, or choose another `{parameter}`")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ConfigError(f"{path}: the folder {path.parent} cannot be written; choose another `{parameter}`")


def check_not_read(path: Path, inputs: Iterable[Path], parameter: str) -> None:
    """Raise ConfigError if a file to write is one of the files that are read, also by another name or a link."""
    if any(_is_same(path, each) for each in inputs):
        raise ConfigError(f"{path} is also read by this command; choose another `{parameter}`")


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except (OSError, ValueError):  # one of them is missing
        return _real(path) == _real(other)


def _real(path: Path) -> Path:
    # Path.resolve raises RuntimeError for links that lead in a circle; looking at the file then says so.
    return Path(os.path.realpath(path))


def write_whole(path: Path, content: bytes | Iterable[bytes], like: Path | None = None) -> None:
    """Write a file atomically: nobody ever sees half of it, and a failure or Ctrl-C leaves the old file.

    A link stays a link: the file that it leads to is replaced. The new file has the rights of the old one, or of `like`
    if that is what it replaces. The content may come in pieces.

    Raises:
        OSError: the file cannot be written, or is a pipe, a device or the like, which is never replaced.
    """
    path = _real(path)
    if kind := other_kind(path):
        raise OSError(errno.EEXIST, f"it is {kind}, which is never replaced", str(path))
    # A temporary file in the same folder, so that the final rename cannot cross file systems. Its name is not longer
    # than a system allows where that of the file is not.
    prefix = f".{path.name[:40]}."
    _remove_abandoned(path.parent, prefix)
    handle, part = _make_held(path.parent, prefix, _rights(like or path))
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(stream.fileno())
            if _LOCKS:
                # Still locked: once it is closed, another writer may take it for abandoned.
                part.replace(path)
        if not _LOCKS:
            part.replace(path)
    finally:
        # Already renamed if the write succeeded.
        part.unlink(missing_ok=True)


def _rights(path: Path) -> int | None:
    """Who may read and write a file, as bits; None if it does not exist."""
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except FileNotFoundError:
        return None


def _make_held(folder: Path, prefix: str, rights: int | None) -> tuple[int, Path]:
    """Make a temporary file, locked until it is closed: whoever can lock it knows that nobody writes to it.

    Without `rights` it has the usual ones.
    """
    while True:
        part = folder / f"{prefix}{os.urandom(8).hex()}{_PART}"
        # Not mkstemp, whose files are private: the system gives this one the usual rights, by the umask.
        handle = os.open(part, _NEW, 0o666 if rights is None else rights)
        _lock(handle, wait=True)
        # Another process may have taken it for abandoned before it was locked.
        if os.fstat(handle).st_nlink:
            if rights is not None and os.name == "posix":
                # The umask may have taken some away. A file system without rights refuses.
                with contextlib.suppress(OSError):
                    os.fchmod(handle, rights)
            return handle, part
        os.close(handle)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove the temporary files that killed writes of the same file have left."""
    for part in folder.glob(f"{glob.escape(prefix)}*{_PART}"):
        # Somebody else may remove it first, or own it.
        with contextlib.suppress(OSError, DataError):
            require_plain(part)
            _remove_unless_held(part)


def _remove_unless_held(part: Path) -> None:
    with part.open("rb") as stream:
        if _lock(stream.fileno(), wait=False):
            part.unlink()


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file; False if another process has locked it, or if the system has no such locks."""
    if not _LOCKS:
        return False
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # taken, or a file system without locks
        return False
    return True


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files of killed writes from a folder. No other process may be writing there."""
    for part in folder.glob(f".*{_PART}"):
        part.unlink(missing_ok=True)


def is_temporary(name: str) -> bool:
    """Whether a file with this name is a temporary file of `write_whole`."""
    return name.startswith(".") and name.endswith(_PART)
