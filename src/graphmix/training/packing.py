"""Values that go from process to process: a text that says what they are, and their tensors by themselves.

Values are dataclasses and errors of this package, tensors, arrays, numbers, texts, and lists, tuples and dicts of them.
Reading one runs no code but that of these classes. What a dataclass has computed and kept besides its fields is left
behind: it is computed again where it is needed.
"""

import importlib
import json
import types
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from graphmix.errors import GraphMixError

_PACKAGE = "graphmix."
_PLAIN = (bool, int, float, str, type(None))


class Form(NamedTuple):
    """The size and the type of a tensor."""

    shape: tuple[int, ...]
    dtype: torch.dtype


def pack(value: Any) -> tuple[bytes, list[Tensor]]:
    """Return a value as bytes, and the tensors in it.

    Raises:
        TypeError: it is of a type that is not sent.
    """
    packer = _Packer()
    described = packer.describe(value)
    forms = [[list(each.shape), str(each.dtype).removeprefix("torch.")] for each in packer.tensors]
    return json.dumps([described, forms]).encode(), [each.detach().contiguous() for each in packer.tensors]


def forms_of(content: bytes) -> list[Form]:
    """Return the forms of the tensors that belong to the bytes of a value."""
    return [Form(tuple(shape), getattr(torch, dtype)) for shape, dtype in json.loads(content)[1]]


def unpack(content: bytes, tensors: Sequence[Tensor]) -> Any:
    """Return the value that `pack` was given, with these tensors."""
    return _Unpacker(tensors).build(json.loads(content)[0])


class _Packer:
    """Describes values in JSON: plain ones as they are, others as [kind, content …]."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        # Objects that were described, by their numbers; they are held, so that the numbers stay theirs.
        self._seen: dict[int, tuple[int, Any]] = {}

    def describe(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if id(value) in self._seen:
            return ["again", self._seen[id(value)][0]]
        if isinstance(value, Tensor):
            self.tensors.append(value)
            return self._noted(value, ["tensor", len(self.tensors) - 1])
        if isinstance(value, np.ndarray):
            return ["array", self.describe(torch.from_numpy(value))]
        if isinstance(value, list | tuple):
            return [type(value).__name__, [self.describe(each) for each in value]]
        if isinstance(value, dict):
            return ["dict", [[self.describe(each) for each in pair] for pair in value.items()]]
        if isinstance(value, torch.device):
            return ["device", value.type]
        return self._named(value)

    def _named(self, value: Any) -> Any:
        kind = value if isinstance(value, types.FunctionType) else type(value)
        if not kind.__module__.startswith(_PACKAGE):
            raise TypeError(f"values of type {kind.__module__}.{kind.__qualname__} are not sent to other processes")
        if kind is value:
            return ["function", kind.__module__, kind.__qualname__]
        if isinstance(value, GraphMixError):
            return ["error", kind.__module__, kind.__qualname__, str(value)]
        if not is_dataclass(value):
            raise TypeError(f"{kind.__qualname__} is not a dataclass, and is not sent to other processes")
        held = {each.name: self.describe(getattr(value, each.name)) for each in fields(value) if each.init}
        return self._noted(value, ["dataclass", kind.__module__, kind.__qualname__, held])

    def _noted(self, value: Any, described: Any) -> Any:
        self._seen[id(value)] = (len(self._seen), value)
        return described


class _Unpacker:
    """Builds values from their descriptions, in the order in which they were described."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors, self._seen = tensors, list[Any]()

    def build(self, described: Any) -> Any:
        if isinstance(described, _PLAIN):
            return described
        kind, *content = described
        if kind == "again":
            return self._seen[content[0]]
        if kind == "tensor":
            return self._noted(self._tensors[content[0]])
        if kind == "array":
            return self.build(content[0]).cpu().numpy()
        if kind == "dict":
            return {self.build(name): self.build(value) for name, value in content[0]}
        if kind in ("list", "tuple"):
            return {"list": list, "tuple": tuple}[kind](self.build(each) for each in content[0])
        if kind == "device":
            return torch.device(content[0])
        found = getattr(importlib.import_module(_own(content[0])), content[1])
        if kind == "function":
            return found
        if kind == "error":
            return found(content[2])
        return self._noted(found(**{name: self.build(value) for name, value in content[2].items()}))

    def _noted(self, value: Any) -> Any:
        self._seen.append(value)
        return value


def _own(module: str) -> str:
    if not module.startswith(_PACKAGE):
        raise ValueError(f"{module} is not a module of this package")
    return module
