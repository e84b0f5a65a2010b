"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: nobody ever sees half of it, and a failure or Ctrl-C leaves the old file.

    Raises:
        OSError: the file cannot be written.
    """
    # A temporary file in the same folder, so that the final rename cannot cross file systems.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.chmod(0o666 & ~_umask())  # mkstemp makes private files; this one gets the usual rights
        part.replace(path)
    finally:
        # Already renamed if the write succeeded.
        part.unlink(missing_ok=True)


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files of killed writes from a folder. No other process may be writing there."""
    for part in folder.glob(".*.part"):
        part.unlink(missing_ok=True)


def is_temporary(name: str) -> bool:
    """Whether a file with this name is a temporary file of `write_whole`."""
    return name.startswith(".") and name.endswith(".part")


def _umask() -> int:
    # The only way to read the mask is to set it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
