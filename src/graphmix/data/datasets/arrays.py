"""The plain arrays of an .npz file. Nothing is unpickled."""

import io
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphmix.errors import DataError


def read_arrays(path: Path, what: str) -> dict[str, Any]:
    """Read every array of a file, by name.

    Args:
        path: the file.
        what: what it should contain, for messages, such as "a graph".

    Raises:
        DataError: the file is missing, damaged, or contains something other than plain arrays.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    return parse_arrays(content, str(path), what)


def parse_arrays(content: bytes, name: str, what: str, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """Read the arrays of an .npz file from its bytes, all or only the wanted ones; errors as for `read_arrays`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held = {member.removesuffix(".npy"): member for member in archive.namelist()}
            chosen = held if wanted is None else [array for array in wanted if array in held]
            return {
                array: np.lib.format.read_array(stream, allow_pickle=False)
                for array in chosen
                for stream in [archive.open(held[array])]
            }
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, ValueError, EOFError) as error:
        raise DataError(f"{name} cannot be read as {what}: it is not an .npz file of plain arrays") from error


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
