"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that nobody ever sees half of it, and a failure or Ctrl-C leaves what was there before.

    Raises:
        OSError: it cannot be written.
    """
    # A temporary file in the same folder, so that the final rename cannot cross file systems.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.chmod(0o666 & ~_umask())  # temporary files are private; this one is not to stay so
        part.replace(path)
    finally:
        # Gone already if all went well.
        part.unlink(missing_ok=True)


def remove_leavings(folder: Path) -> None:
    """Remove what writes that were killed left in a folder; nobody else may be writing there."""
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)


def is_leaving(name: str) -> bool:
    """Whether a file's name is that of a write that was killed."""
    return name.startswith(".") and name.endswith(".part")


def _umask() -> int:
    # There is no way to read it but to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
