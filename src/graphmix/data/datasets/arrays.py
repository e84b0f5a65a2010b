"""The plain arrays of an .npz file. Nothing is unpickled, and only the arrays that are wanted are read."""

import io
import os
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from graphmix.data.datasets.npy import check_member, read_array
from graphmix.errors import DataError
from graphmix.files import require_plain
from graphmix.limits import USUAL, Limits, check_count, check_unpacked, how_to_raise

# The two records at the end of an archive, the second for large ones. Each has a mark, and at these places, with so
# many bytes, the number of members and the size of the directory. Behind them are 20 bytes and a comment at the most.
_ENDS = ((b"PK\5\6", (10, 2), (12, 4)), (b"PK\6\6", (32, 8), (40, 8)))
_END_BYTES = 2**16 + 100
# What the first record says of members if only the second knows their number.
_ELSEWHERE = 0xFFFF
# An entry of the directory has a name, and hardly more.
_ENTRY_BYTES = 1024


def read_arrays(path: Path, what: str, wanted: Collection[str], limit: Limits = USUAL) -> dict[str, Any]:
    """Read arrays of a file, by name; those that are not in it are left out.

    Args:
        path: the file.
        what: what it should contain, for messages, such as "a graph".
        wanted: the names of the arrays to read.
        limit: how many arrays the file may have, and how many bytes these may unpack to.

    Raises:
        DataError: the file is missing, damaged, too large, or a wanted array is not a plain one.
    """
    try:
        require_plain(path)
        with path.open("rb") as file:
            return _read(file, str(path), what, wanted, limit)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def parse_arrays(
    content: bytes, name: str, what: str, wanted: Collection[str], limit: Limits = USUAL
) -> dict[str, Any]:
    """Read arrays of an .npz file from its bytes; otherwise like `read_arrays`."""
    return _read(io.BytesIO(content), name, what, wanted, limit)


def _read(file: IO[bytes], name: str, what: str, wanted: Collection[str], limit: Limits) -> dict[str, Any]:
    try:
        on_disk = _check_directory(file, name, limit)
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            check_count(len(members), limit.members, "members", name)
            chosen = _choose(members, wanted, name)
            check_unpacked(sum(member.file_size for member in chosen.values()), on_disk, limit, name)
            arrays = {}
            for array, member in chosen.items():
                check_member(member)
                with archive.open(member) as stream:
                    arrays[array] = read_array(stream, member.file_size)
            return arrays
    except DataError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError, EOFError) as error:
        raise DataError(f"{name} cannot be read as {what}: it is not an .npz file of plain arrays") from error


def _check_directory(file: IO[bytes], name: str, limit: Limits) -> int:
    """Check that the directory of an archive is not too large to be read, and return the size of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES))
    tail = file.read()
    for mark, *counts in _ENDS:
        place = tail.rfind(mark)
        if place < 0:
            continue
        entries, length = (int.from_bytes(tail[place + at : place + at + width], "little") for at, width in counts)
        if entries == _ELSEWHERE:
            continue
        check_count(entries, limit.members, "members", name)
        if length > limit.members * _ENTRY_BYTES:
            raise DataError(
                f"{name} has a directory of {length:,} bytes, which is too large for the limit of {limit.members:,} "
                f"members; {how_to_raise('members', -(-length // _ENTRY_BYTES))}"
            )
    file.seek(0)
    return size


def _choose(members: list[zipfile.ZipInfo], wanted: Collection[str], name: str) -> dict[str, zipfile.ZipInfo]:
    """Return the members that hold the wanted arrays, by array.

    Raises:
        DataError: there are two of the same array.
    """
    chosen: dict[str, zipfile.ZipInfo] = {}
    for member in members:
        array = member.filename.removesuffix(".npy")
        if array in chosen:
            raise DataError(f"{name} has two arrays called {array!r}; write it again")
        if array in wanted:
            chosen[array] = member
    return chosen


def csr_names(prefix: str) -> tuple[str, str, str, str]:
    """Return the names of the four arrays of a sparse matrix."""
    return f"{prefix}_data", f"{prefix}_indices", f"{prefix}_indptr", f"{prefix}_shape"


def as_csr(arrays: Mapping[str, Any], prefix: str, what: str) -> sp.csr_array:
    """Build a sparse matrix from its arrays; `what` describes it in messages.

    Raises:
        DataError: the arrays are not a CSR matrix.
    """
    data, indices, indptr, shape = (arrays[name] for name in csr_names(prefix))
    try:
        matrix = sp.csr_array((data.astype(np.float64), indices, indptr), shape=tuple(shape))
        matrix.check_format()
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{what} are not a CSR matrix: {error}") from error
    return matrix
