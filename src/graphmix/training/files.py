"""A run's files, JSON and safetensors, each written whole or not at all."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from graphmix.errors import RunError
from graphmix.files import write_whole


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON."""
    _write(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """Write tensors as safetensors."""
    _write(path, save({name: tensor.contiguous() for name, tensor in tensors.items()}))


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from error
