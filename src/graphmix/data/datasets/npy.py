"""One array of an .npz file: its header is not evaluated, and what the file says of its size is checked."""

import re
import zipfile
from dataclasses import dataclass
from math import prod
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from graphmix.limits import DEFLATE_MOST

_MAGIC = b"\x93NUMPY"
# numpy reads no longer ones either, unless it is told to trust the file.
_LONGEST_HEADER = 10_000
_HEADER = re.compile(
    rb"""\s*\{\s*'descr'\s*:\s*'([<>|=]?[biufUS][0-9]{1,9})'\s*,"""
    rb"""\s*'fortran_order'\s*:\s*(True|False)\s*,"""
    rb"""\s*'shape'\s*:\s*\(([^()]*)\)\s*,?\s*\}\s*"""
)
# Python 2 wrote an L after large numbers.
_LENGTH = re.compile(rb"\s*([0-9]{1,18})L?\s*")
_LAST_LETTER = 0x10FFFF
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
_MOST_AXES = 8
_PIECE = 2**20


@dataclass(frozen=True)
class Header:
    """What an array says of itself.

    Attributes:
        kind: the type of its numbers or texts.
        shape: its shape.
        columns_first: whether the first index varies fastest.
        length: the bytes of the header.
    """

    kind: np.dtype[Any]
    shape: tuple[int, ...]
    columns_first: bool
    length: int

    @property
    def size(self) -> int:
        """The bytes of header and content together."""
        return self.length + prod(self.shape) * self.kind.itemsize


def check_member(member: zipfile.ZipInfo) -> None:
    """Raise ValueError if a member of an archive is stored as numpy never does, or cannot be as large as it says."""
    if member.compress_type not in _METHODS or member.flag_bits & _ENCRYPTED:
        raise ValueError(f"{member.filename} is encrypted, or compressed in an unusual way")
    if member.file_size > DEFLATE_MOST * member.compress_size:
        raise ValueError(f"{member.filename} cannot unpack to {member.file_size} bytes")


def read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array from a stream of `size` bytes; memory is taken only after the header agrees with the size.

    Raises:
        ValueError: it is not a plain array of numbers or texts, or has another size.
        EOFError: the stream ends early.
    """
    header = read_header(stream)
    if header.size != size:
        raise ValueError(f"the array needs {header.size} bytes and has {size}")
    content = np.empty(header.size - header.length, np.uint8)
    for start in range(0, len(content), _PIECE):
        room = content[start : start + _PIECE]
        piece = stream.read(len(room))
        if len(piece) < len(room):
            raise EOFError("the array ends early")
        room[:] = np.frombuffer(piece, np.uint8)
    return _checked(content.view(header.kind)).reshape(header.shape, order="F" if header.columns_first else "C")


def read_header(stream: IO[bytes]) -> Header:
    """Read the header of an array.

    Raises:
        ValueError: it is not that of a plain array of numbers or texts.
    """
    begin = stream.read(len(_MAGIC) + 4)
    version, length = begin[len(_MAGIC) : len(_MAGIC) + 2], begin[len(_MAGIC) + 2 :]
    if not begin.startswith(_MAGIC) or version not in (b"\1\0", b"\2\0") or len(length) < 2:
        raise ValueError("it is not an array of numpy")
    if version == b"\2\0":
        length += stream.read(2)
    count = int.from_bytes(length, "little")
    if count > _LONGEST_HEADER:
        raise ValueError(f"the header has {count} bytes")
    found = _HEADER.fullmatch(stream.read(count))
    if found is None:
        raise ValueError("it is not a plain array of numbers or texts")
    try:
        kind = np.dtype(found[1].decode())
    except TypeError as error:
        raise ValueError(str(error)) from error
    if not kind.itemsize:
        raise ValueError("its entries have no size")
    return Header(kind, _shape(found[3]), found[2] == b"True", len(_MAGIC) + 2 + len(length) + count)


def _shape(text: bytes) -> tuple[int, ...]:
    parts = text.split(b",") if text.strip() else []
    if parts and not parts[-1].strip():
        parts.pop()
    found = [_LENGTH.fullmatch(part) for part in parts[: _MOST_AXES + 1]]
    lengths = tuple(int(each[1]) for each in found if each is not None)
    if len(lengths) != len(parts) or len(parts) > _MOST_AXES:
        raise ValueError("its shape is invalid")
    return lengths


def _checked(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the machine's byte order, which torch needs, with values that its type can have."""
    if array.dtype.kind == "b":
        truths: NDArray[np.bool_] = array.view(np.uint8) != 0
        return truths
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "U" and array.size and array.view(np.uint32).max() > _LAST_LETTER:
        raise ValueError("it has letters that do not exist")
    return array
