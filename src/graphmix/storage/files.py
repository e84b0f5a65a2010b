"""JSON and safetensors files, written whole or not at all, and read back with one sentence for what is wrong."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmix.errors import DataError, RunError
from graphmix.files import require_plain, write_whole
from graphmix.limits import as_size

if TYPE_CHECKING:
    from torch import Tensor


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8.

    Names of files that are not UTF-8 have halves of characters, which are written as in JSON: `\\udcff`.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_tensors(path: Path, tensors: "dict[str, Tensor]") -> None:
    """Write tensors as safetensors."""
    write_bytes(path, tensor_bytes(tensors))


def tensor_bytes(tensors: "dict[str, Tensor]") -> bytes:
    """The content of a safetensors file."""
    from safetensors.torch import save

    return bytes(save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def write_bytes(path: Path, content: bytes | Iterable[bytes], like: Path | None = None) -> None:
    """Write bytes, which may come in pieces; the file has the rights of the one it replaces, which is `like` if given.

    Raises:
        RunError: the file cannot be written.
    """
    try:
        write_whole(path, content, like)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error


def read_tensors(path: Path) -> "dict[str, Tensor]":
    """Read a safetensors file.

    Raises:
        RunError: the file cannot be read, or is damaged.
    """
    return parse_tensors(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises:
        RunError: it cannot be read, is not a plain file, or is larger than the memory.
    """
    try:
        require_plain(path)
        with path.open("rb") as stream:
            _check_room(path, os.fstat(stream.fileno()).st_size)
            return stream.read()
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from error
    except DataError as error:
        raise RunError(str(error)) from error


def _check_room(path: Path, size: int) -> None:
    """Raise RunError if a file cannot fit into memory: one with holes takes no room on a disk."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", ()):
        return
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # Tensors are there twice for a moment; JSON takes some ten times its size when it is parsed.
    if size * (10 if path.suffix == ".json" else 2) > memory:
        raise RunError(
            f"{path} has {as_size(size)}, too much for the {as_size(memory)} of memory here; if less was written, it "
            "is damaged"
        )


def parse_tensors(content: bytes, path: Path) -> "dict[str, Tensor]":
    """The tensors in the content of a safetensors file; `path` is for the message.

    Raises:
        RunError: the content is damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        return load(content)
    except SafetensorError as error:
        raise RunError(f"{path} is damaged: {error}") from error


def tensors_under(prefix: str, tensors: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """Return the tensors whose names begin with a prefix, by the rest of the name."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
