"""The folder of a candidate on a worker: its files go there with the job, and come back with the result."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphmix.storage.files import read_bytes, write_bytes

# The files of a folder: name to content.
Files = dict[str, bytes]


def read_files(folder: Path | None) -> Files | None:
    """Return the files of a folder, none if it does not exist; None for no folder."""
    if folder is None:
        return None
    return {path.name: read_bytes(path) for path in sorted(folder.glob("*")) if path.is_file()}


def keep_files(files: Files, folder: Path) -> None:
    """Write files into a folder."""
    if files:
        folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        write_bytes(folder / name, content)


@contextmanager
def own_folder(where: Path | Files | None) -> Iterator[tuple[Path | None, Files]]:
    """Give a job its folder, and what it has written there by the end.

    Args:
        where: the folder, in the process that keeps it; or the files of it, elsewhere; or None for no folder.

    Yields:
        The folder, and a dictionary that holds its new files at the end; empty if the folder stays where it is.
    """
    written: Files = {}
    if where is None or isinstance(where, Path):
        yield where, written
        return
    with tempfile.TemporaryDirectory(prefix="graphmix-") as name:
        folder = Path(name)
        keep_files(where, folder)
        yield folder, written
        written |= {name: content for name, content in (read_files(folder) or {}).items() if name not in where}
