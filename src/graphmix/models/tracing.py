"""Trace a module's forward pass, and say where it can be cut or why it cannot."""

import math
import re
import sys
import textwrap
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, fx, nn

from graphmix.errors import ConfigError
from graphmix.models.noise_mode import Watch

# Code that the author of a module did not write: errors do not point to it. The first also matches torch_geometric.
_NOT_THEIRS = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
# Layers that cannot be cut inside: they look at types and values, which tracing does not have.
_LAYERS = ("torch.nn.", *(f"torch_geometric.nn.{kind}" for kind in ("aggr", "conv", "dense", "norm", "pool")))
NAMED = 12
# The arguments by which modules of PyG take weights of edges, the usual one first.
WEIGHT_NAMES = ("edge_weight", COLUMN := "edge_attr")


def check_place(module: nn.Module, mix_at: str, calls: Counter[str]) -> None:
    """Raise ConfigError unless the module can be cut at a name; the message lists names that work.

    Args:
        module: the module.
        mix_at: the name of a submodule.
        calls: how often each submodule is called, in the order of their first calls.
    """
    known = mix_at in dict(module.named_modules()) and mix_at != ""
    if (layer := _find_layer(module, mix_at if known else "")) is not None:
        kind = type(module.get_submodule(layer)).__name__
        if layer == "":
            raise ConfigError(
                f"the module is a single layer ({kind}), which cannot be cut; wrap a module that calls it"
            )
        raise ConfigError(
            f"`mix_at` names {mix_at!r}, a part of the layer {layer!r} ({kind}), which cannot be cut; name the layer "
            f"that contains it, {layer!r}"
        )
    if calls[mix_at] == 1:
        return
    problem = f"never calls {mix_at!r}" if known else f"has no submodule {mix_at!r}"
    if calls[mix_at] > 1:
        problem = f"calls {mix_at!r} {calls[mix_at]} times"
    usable = find_places(module, calls)
    if not usable:
        raise ConfigError(
            f"the module {problem}, and it cannot be cut anywhere else; let it call a submodule exactly once"
        )
    raise ConfigError(f"the module {problem}; `mix_at` must be one of {', '.join(usable[:NAMED])}")


def find_places(module: nn.Module, calls: Counter[str]) -> list[str]:
    """Return the names at which a module can be cut, in the order of their calls."""
    return [name for name, times in calls.items() if times == 1 and _find_layer(module, name) is None]


def _find_layer(module: nn.Module, name: str) -> str | None:
    """The outermost layer of torch or PyG that contains a submodule, or None; for "", the module itself counts."""
    parts = name.split(".")
    for holder in (".".join(parts[:end]) for end in range(len(parts))):
        kinds = type(module.get_submodule(holder)).__mro__
        closed = kinds[0].__module__.startswith(_LAYERS) and kinds[0].__module__ != nn.Sequential.__module__
        if closed or any(kind.__name__ == "MessagePassing" for kind in kinds):
            return holder
    return None


class Root(nn.Module):
    """Calls a module with features and edges only, so that its other arguments keep their defaults."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        """Call the module."""
        return self.module(x, edge_index)


class WeightedRoot(nn.Module):
    """Calls a module with features, edges and the edges' weights: `[entries]`, or `[entries, 1]` as `edge_attr`."""

    def __init__(self, module: nn.Module, name: str):
        super().__init__()
        self.module, self.name = module, name

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Any:
        """Call the module."""
        return self.module(x, edge_index, **{self.name: edge_weight[:, None] if self.name == COLUMN else edge_weight})


class _Tracer(fx.Tracer):
    """Traces only modules that contain the one to cut at; all other code may be untraceable."""

    def __init__(self, mix_at: str):
        # PyG's utils look at values, which tracing does not have. If they are not imported, no module uses them.
        utils = sys.modules.get("torch_geometric.utils")
        super().__init__(autowrap_modules=(math,) if utils is None else (math, utils))  # type: ignore[arg-type]
        self._path = f"module.{mix_at}"
        self.record_stack_traces = True

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return not self._path.startswith(f"{module_qualified_name}.")


def trace(root: nn.Module, mix_at: str) -> fx.Graph:
    """Trace the forward pass of a `Root`; only modules that contain the submodule to cut at are looked into."""
    try:
        # A random number drawn here would become a constant.
        with Watch():
            return _Tracer(mix_at).trace(root)
    except ConfigError:
        raise
    except Exception as error:
        line = user_line("".join(traceback.format_tb(error.__traceback__)))
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise ConfigError(
            f"the forward pass cannot be cut at {mix_at!r}, because outside its submodules it depends on values or "
            f"sizes of tensors ({line or reason}); move that code into a submodule"
        ) from error


def user_line(trace: str) -> str:
    """The innermost line of a stack trace that the module's author wrote: `net.py, line 7: if x.sum() > 0:`."""
    found = re.findall(r'File "(.+)", line (\d+), in .+\n +(.+)', trace)
    theirs = [entry for entry in found if not entry[0].startswith(_NOT_THEIRS)]
    if not theirs:
        return ""
    file, line, code = theirs[-1]
    return f"{Path(file).name}, line {line}: {textwrap.shorten(code, 80)}"
