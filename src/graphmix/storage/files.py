"""A run's files, JSON and safetensors, each written whole or not at all."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from safetensors.torch import save
from torch import Tensor

from graphmix.errors import RunError
from graphmix.files import remove_leavings, write_whole

try:
    import fcntl
except ImportError:  # Windows: two runs into one folder are not told apart while both run
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a folder to this process; the lock file goes when all went well.

    Raises:
        RunError: another process has it, or it cannot be written.
    """
    with _locked_file(folder):
        remove_leavings(folder)
        yield
        (folder / ".lock").unlink(missing_ok=True)


def _locked_file(folder: Path) -> TextIO:
    path = folder / ".lock"
    while True:
        try:
            file = path.open("w")
        except OSError as error:
            raise RunError(f"{folder} cannot be written: {error.strerror}") from error
        if not _lock(file, folder) or _same(file, path):
            return file
        # Whoever had it removed it between our opening and our locking it: the lock is on nothing.
        file.close()


def _lock(file: TextIO, folder: Path) -> bool:
    """Lock an open file; False where there are no locks."""
    if fcntl is not None:
        try:
            # Given up by the system when the process ends, however it ends.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise RunError(f"{folder} is being written by another process; choose another --out") from error
    return fcntl is not None


def _same(file: TextIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text."""
    write_bytes(path, text.encode())


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors as safetensors."""
    write_bytes(path, save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes.

    Raises:
        RunError: they cannot be written.
    """
    try:
        write_whole(path, content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from error
