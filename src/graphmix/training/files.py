"""Files that are written whole or not at all."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from graphmix.errors import RunError


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, atomically."""
    text = json.dumps(value, indent=1, allow_nan=False) + "\n"
    _write(path, text.encode())


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write tensors as safetensors, atomically."""
    content = save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata)
    _write(path, content)


def _write(path: Path, content: bytes) -> None:
    temporary = None
    try:
        # A temporary file in the same folder, so that the final rename cannot cross file systems.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise RunError(f"{path} cannot be written: {error.strerror}") from error
        raise
