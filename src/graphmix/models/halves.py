"""Cut a module's forward pass in two, where a named submodule is called."""

import copy
import math
import re
import sys
import textwrap
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, fx, nn
from torch.func import functional_call

from graphmix.errors import ConfigError
from graphmix.models.noise_mode import TrialNoise, Watch
from graphmix.streams import Noise

# Both halves compute what does not depend on the features, from the same random numbers. Their draws start here.
_SHARED_DRAWS = 2**15
# Properties of a tensor that do not depend on its values.
_FORM = {"size", "shape", "dim", "ndim", "numel", "device", "dtype"}
# Code that the author of a module did not write: errors do not point to it. The first also matches torch_geometric.
_NOT_THEIRS = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
# Layers that cannot be cut inside: they look at types and values, which tracing does not have.
_LAYERS = ("torch.nn.", *(f"torch_geometric.nn.{kind}" for kind in ("aggr", "conv", "dense", "norm", "pool")))
_NAMED = 12


class Part(nn.Module):
    """A piece of a traced forward pass.

    Attributes:
        names: the name of a parameter in this part to its name in the module.
    """

    def __init__(self, root: nn.Module, graph: fx.Graph, owners: dict[int, str]):
        super().__init__()
        self.traced = fx.GraphModule(root, graph)
        self.names = {name: owners[id(value)] for name, value in self.named_parameters() if id(value) in owners}

    def forward(self, *values: Tensor) -> Any:
        """Compute the piece's results."""
        # Not through GraphModule.__call__, which writes to stderr when the module raises.
        return self.traced.forward(*values)

    def run(self, weights: dict[str, Tensor], *values: Tensor) -> Any:
        """Compute the piece's results with one trial's weights."""
        return functional_call(self, {name: weights[owner] for name, owner in self.names.items()}, values)


@dataclass
class Halves:
    """A forward pass in two halves, for one trial. All tensors that cross the cut are passed on as one tensor.

    Attributes:
        shared: computes what both halves need and no feature changes: (a tensor shaped like x, edge_index) to a tuple.
        first: (features, edge_index, *shared) to a tuple of tensors, each `[nodes, ...]`.
        second: (*these tensors, edge_index, *shared) to logits.
        features: number of features.
        shapes: the shapes of the tensors that cross the cut, without the axis of the nodes.
    """

    shared: Part
    first: Part
    second: Part
    features: int
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """Its three pieces."""
        return self.shared, self.first, self.second

    def to(self, device: torch.device) -> Self:
        """Copy to a device. A run replaces the weights for a while, so each thread needs its own copy."""
        shared, first, second = (copy.deepcopy(part).to(device) for part in self.parts)
        return replace(self, shared=shared, first=first, second=second, device=device)

    def encode(self, weights: dict[str, Tensor], x: Tensor, edge_index: Tensor, noise: TrialNoise) -> Tensor:
        """Map features `[nodes, features]` to all tensors that cross the cut, concatenated: `[nodes, width]`."""
        shared = self._share(weights, x, edge_index, noise)
        with noise:
            crossing = self.first.run(weights, x, edge_index, *shared)
        return torch.cat([value.reshape(x.shape[0], -1) for value in crossing], dim=1)

    def decode(self, weights: dict[str, Tensor], hidden: Tensor, edge_index: Tensor, noise: TrialNoise) -> Tensor:
        """Map hidden states `[nodes, width]` to logits `[nodes, classes]`."""
        crossing = hidden.split([math.prod(shape) for shape in self.shapes], dim=1)
        rows = hidden.shape[0]
        unpacked = [value.reshape(rows, *shape) for value, shape in zip(crossing, self.shapes, strict=True)]
        # The shape of the features, but one number in memory.
        form = torch.empty((), dtype=hidden.dtype, device=hidden.device).expand(rows, self.features)
        shared = self._share(weights, form, edge_index, noise)
        with noise:
            logits: Tensor = self.second.run(weights, *unpacked, edge_index, *shared)
        return logits

    def _share(
        self, weights: dict[str, Tensor], form: Tensor, edge_index: Tensor, noise: TrialNoise
    ) -> tuple[Any, ...]:
        with TrialNoise(noise.key, noise.noise, _SHARED_DRAWS):
            shared: tuple[Any, ...] = self.shared.run(weights, form, edge_index)
        return shared


def cut(module: nn.Module, mix_at: str, x: Tensor, edge_index: Tensor, noise: Noise | None) -> Halves:
    """Trace a module's forward pass, in the mode it is in, and cut it before the call of a submodule.

    Args:
        module: the module; the halves refer to its submodules.
        mix_at: the name of the submodule; it is called once.
        x: features `[nodes, features]` to find the shapes at the cut with.
        edge_index: the edges between these nodes.
        noise: the noise of one trial if the module is in training mode, else None.
    """
    root = _Root(module)
    graph = _trace(root, mix_at)
    nodes = list(graph.nodes)
    place = next(i for i, node in enumerate(nodes) if node.op == "call_module" and node.target == f"module.{mix_at}")
    features, edges = (node for node in nodes if node.op == "placeholder")
    fed = _fed_by(features, nodes)
    before, after = nodes[:place], nodes[place:]
    wanted = {node for later in after for node in later.all_input_nodes}
    crossing = [node for node in before if node in fed and node in wanted]
    free = [node for node in before if node not in fed and node is not edges]
    own = [node for node in before if node in fed and node is not features]
    owners = {id(value): name for name, value in module.named_parameters() if value.requires_grad}

    def part(inputs: list[fx.Node], body: Iterable[fx.Node], results: list[fx.Node] | None) -> Part:
        return Part(root, _copy_part(inputs, body, results), owners)

    halves = Halves(
        shared=part([features, edges], free, free),
        first=part([features, edges, *free], own, crossing),
        second=part([*crossing, edges, *free], after, None),
        features=x.shape[1],
    )
    key = None if noise is None else noise.keys[0]
    weights: dict[str, Tensor] = dict(module.named_parameters())
    with torch.no_grad():
        shared = halves._share(weights, x, edge_index, TrialNoise(key, noise))
        with TrialNoise(key, noise):
            values = halves.first.run(weights, x, edge_index, *shared)
    for node, value in zip(crossing, values, strict=True):
        _check_crossing(node, value, mix_at, x.shape[0])
    halves.shapes = [tuple(value.shape[1:]) for value in values]
    return halves


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
    usable = [name for name, times in calls.items() if times == 1 and _find_layer(module, name) is None]
    if not usable:
        raise ConfigError(
            f"the module {problem}, and it cannot be cut anywhere else; let it call a submodule exactly once"
        )
    raise ConfigError(f"the module {problem}; `mix_at` must be one of {', '.join(usable[:_NAMED])}")


def _find_layer(module: nn.Module, name: str) -> str | None:
    """The outermost layer of torch or PyG that contains a submodule, or None; for "", the module itself counts."""
    parts = name.split(".")
    for holder in (".".join(parts[:end]) for end in range(len(parts))):
        kinds = type(module.get_submodule(holder)).__mro__
        closed = kinds[0].__module__.startswith(_LAYERS) and kinds[0].__module__ != nn.Sequential.__module__
        if closed or any(kind.__name__ == "MessagePassing" for kind in kinds):
            return holder
    return None


class _Root(nn.Module):
    """Calls a module with features and edges only, so that its other arguments keep their defaults."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        return self.module(x, edge_index)


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


def _trace(root: nn.Module, mix_at: str) -> fx.Graph:
    try:
        # A random number drawn here would become a constant.
        with Watch():
            return _Tracer(mix_at).trace(root)
    except ConfigError:
        raise
    except Exception as error:
        line = _user_line("".join(traceback.format_tb(error.__traceback__)))
        reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise ConfigError(
            f"the forward pass cannot be cut at {mix_at!r}, because outside its submodules it depends on values or "
            f"sizes of tensors ({line or reason}); move that code into a submodule"
        ) from error


def _user_line(trace: str) -> str:
    """The innermost line of a stack trace that the module's author wrote: `net.py, line 7: if x.sum() > 0:`."""
    found = re.findall(r'File "(.+)", line (\d+), in .+\n +(.+)', trace)
    theirs = [entry for entry in found if not entry[0].startswith(_NOT_THEIRS)]
    if not theirs:
        return ""
    file, line, code = theirs[-1]
    return f"{Path(file).name}, line {line}: {textwrap.shorten(code, 80)}"


def _fed_by(source: fx.Node, nodes: list[fx.Node]) -> set[fx.Node]:
    """All nodes that depend on the values of a tensor, not only on its shape or type."""
    fed = {source}
    for node in nodes:
        called = node.args[1] if node.target is getattr else node.target
        if not fed.isdisjoint(node.all_input_nodes) and not (node.args[:1] == (source,) and called in _FORM):
            fed.add(node)
    return fed


def _copy_part(inputs: list[fx.Node], body: Iterable[fx.Node], results: list[fx.Node] | None) -> fx.Graph:
    """Copy nodes into a new graph. Its output is the body's output, or a tuple of results."""
    graph = fx.Graph()
    copied = {node: graph.placeholder(f"{node.name}_") for node in inputs}
    for node in body:
        copied[node] = graph.node_copy(node, copied.__getitem__)
    if results is not None:
        graph.output(tuple(copied[node] for node in results))
    graph.lint()
    return graph


def _check_crossing(node: fx.Node, value: Any, mix_at: str, nodes: int) -> None:
    if not isinstance(value, Tensor):
        found = f"of type {type(value).__name__}"
    elif not value.is_floating_point() or value.layout != torch.strided:
        kind = value.layout if value.is_floating_point() else value.dtype
        found = f"of type {str(kind).removeprefix('torch.')}"
    elif value.dim() == 0 or value.shape[0] != nodes:
        found = f"of shape {list(value.shape)} for {nodes} nodes"
    else:
        return
    line = _user_line(node.stack_trace or "")
    raise ConfigError(
        f"{node.name!r}, {found}, is computed before {mix_at!r} and used after it{f' ({line})' if line else ''}, but "
        f"only float tensors with one row per node can be mixed; compute it after {mix_at!r}, or from x.shape alone"
    )
