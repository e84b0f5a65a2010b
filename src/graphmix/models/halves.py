"""Cut a module's forward pass in two, where a named submodule is called."""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, fx, nn
from torch.func import functional_call

from graphmix.errors import ConfigError
from graphmix.models.constants import ChangedError, Constants
from graphmix.models.noise_mode import TrialNoise
from graphmix.models.tracing import Root, WeightedRoot, trace, user_line
from graphmix.streams import Noise

# Both halves compute what does not depend on the features, from the same random numbers. Their draws start here.
_SHARED_DRAWS = 2**15
# Properties of a tensor that do not depend on its values.
_FORM = {"size", "shape", "dim", "ndim", "numel", "device", "dtype"}
# Constants are kept for this many graphs, halves and numbers of rows.
_KEPT = 16

Weights = dict[str, Tensor]
# The edge_index `[2, entries]`, and where the module takes them the weights of its entries.
Edges = tuple[Tensor, ...]


class Part(nn.Module):
    """A piece of a traced forward pass.

    Attributes:
        names: the name of a parameter in this part to its name in the module.
        empty: whether it computes nothing.
    """

    def __init__(self, root: nn.Module, graph: fx.Graph, owners: dict[int, str]):
        super().__init__()
        self.traced = fx.GraphModule(root, graph)
        self.empty = all(node.op in ("placeholder", "output") for node in graph.nodes)
        named = self.named_parameters(remove_duplicate=False)
        self.names = {name: owners[id(value)] for name, value in named if id(value) in owners}

    def forward(self, *values: Tensor) -> Any:
        """Compute the piece's results."""
        # Not through GraphModule.__call__, which writes to stderr when the module raises.
        return self.traced.forward(*values)

    def run(self, weights: dict[str, Tensor], *values: Tensor) -> Any:
        """Compute the piece's results with one trial's weights."""
        own = {name: weights[owner] for name, owner in self.names.items()}
        # A weight under two names is listed under both.
        return functional_call(self, own, values, tie_weights=False)


@dataclass
class Halves:
    """A forward pass in two halves, for one trial. All tensors that cross the cut are passed on as one tensor.

    Attributes:
        shared: computes what both halves need and no feature changes: (a tensor shaped like x, *edges) to a tuple.
        first: (features, *edges, *shared) to a tuple of tensors, each `[nodes, ...]`.
        second: (*these tensors, *edges, *shared) to logits.
        features: number of features.
        shapes: the shapes of the tensors that cross the cut, without the axis of the nodes.
        device: where its weights and buffers are.
        rewritten: for each half, which of its constants it writes into, found in any of its passes; see `Constants`.
    """

    shared: Part
    first: Part
    second: Part
    features: int
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    rewritten: dict[str, set[int]] = field(default_factory=dict, repr=False)
    _kept: dict[tuple[Any, ...], Constants] = field(default_factory=dict, init=False, repr=False)

    @property
    def parts(self) -> tuple[Part, Part, Part]:
        """Its three pieces."""
        return self.shared, self.first, self.second

    def to(self, device: torch.device) -> Self:
        """Copy to a device. A run replaces the weights for a while, so each thread needs its own copy."""
        shared, first, second = (copy.deepcopy(part).to(device) for part in self.parts)
        rewritten = {half: set(numbers) for half, numbers in self.rewritten.items()}
        return replace(self, shared=shared, first=first, second=second, device=device, rewritten=rewritten)

    def encode(self, weights: Weights, x: Tensor, edges: Edges, noise: TrialNoise) -> Tensor:
        """Map features `[nodes, features]` to all tensors that cross the cut, concatenated: `[nodes, width]`."""
        return self._run(partial(self._encode, weights, x, edges), ("encode", x.shape[0], edges), noise)

    def _encode(self, weights: Weights, x: Tensor, edges: Edges, noise: TrialNoise) -> Tensor:
        shared = self._share(weights, x, edges, noise)
        with noise:
            crossing = self.first.run(weights, x, *edges, *shared)
        return torch.cat([value.reshape(x.shape[0], -1) for value in crossing], dim=1)

    def decode(self, weights: Weights, hidden: Tensor, edges: Edges, noise: TrialNoise) -> Tensor:
        """Map hidden states `[nodes, width]` to logits `[nodes, classes]`."""
        place = ("decode", hidden.shape[0], edges)
        return self._run(partial(self._decode, weights, hidden, edges), place, noise)

    def _decode(self, weights: Weights, hidden: Tensor, edges: Edges, noise: TrialNoise) -> Tensor:
        crossing = hidden.split([math.prod(shape) for shape in self.shapes], dim=1)
        rows = hidden.shape[0]
        unpacked = [value.reshape(rows, *shape) for value, shape in zip(crossing, self.shapes, strict=True)]
        # The shape of the features, but one number in memory.
        form = torch.empty((), dtype=hidden.dtype, device=hidden.device).expand(rows, self.features)
        shared = self._share(weights, form, edges, noise)
        with noise:
            logits: Tensor = self.second.run(weights, *unpacked, *edges, *shared)
        return logits

    def _run(self, half: Callable[[TrialNoise], Tensor], place: tuple[str, int, Edges], noise: TrialNoise) -> Tensor:
        """Run a half with the constants of its earlier passes on these edges."""
        constants = self._constants(*place)
        if constants is None or not constants.usable:
            return half(noise)
        try:
            constants.start()
            result = half(noise.restarted(constants))
            constants.finish()
        except ChangedError:
            constants.give_up()
            return half(noise)
        return result

    def _constants(self, half: str, rows: int, edges: Edges) -> Constants | None:
        place = (half, rows, *map(id, edges))
        if edges[0].is_cuda and torch.cuda.is_current_stream_capturing():
            # What is recorded in a capture lies in the graph's memory, without values.
            kept = self._kept.get(place)
            return kept if kept is not None and kept.complete else None
        if torch.is_inference_mode_enabled():
            # Inference tensors do not tell when they are changed.
            return None
        if place not in self._kept:
            if len(self._kept) == _KEPT:
                self._kept.clear()
            self._kept[place] = Constants(edges, self.rewritten.setdefault(half, set()))
        return self._kept[place]

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a file holds: all but the constants, which belong to tensors of this process."""
        return vars(self) | {"_kept": {}}

    def _share(self, weights: Weights, form: Tensor, edges: Edges, noise: TrialNoise) -> tuple[Any, ...]:
        if self.shared.empty:
            return ()
        with TrialNoise(noise.key, noise.noise, _SHARED_DRAWS, noise.constants):
            shared: tuple[Any, ...] = self.shared.run(weights, form, *edges)
        return shared


def cut(
    module: nn.Module, mix_at: str, x: Tensor, edges: Edges, noise: Noise | None, weight_name: str | None = None
) -> Halves:
    """Trace a module's forward pass, in the mode it is in, and cut it before the call of a submodule.

    Args:
        module: the module; the halves refer to its submodules.
        mix_at: the name of the submodule; it is called once.
        x: features `[nodes, features]` to find the shapes at the cut with.
        edges: the edges between these nodes, with weights if the module is to take them.
        noise: the noise of one trial if the module is in training mode, else None.
        weight_name: the argument of the module that takes the weights.
    """
    root = Root(module) if weight_name is None else WeightedRoot(module, weight_name)
    graph = trace(root, mix_at)
    nodes = list(graph.nodes)
    place = next(i for i, node in enumerate(nodes) if node.op == "call_module" and node.target == f"module.{mix_at}")
    features, *given = (node for node in nodes if node.op == "placeholder")
    fed = _fed_by(features, nodes)
    before, after = nodes[:place], nodes[place:]
    wanted = {node for later in after for node in later.all_input_nodes}
    crossing = [node for node in before if node in fed and node in wanted]
    free = [node for node in before if node not in fed and node not in given]
    own = [node for node in before if node in fed and node is not features]
    owners = {id(value): name for name, value in module.named_parameters() if value.requires_grad}

    def part(inputs: list[fx.Node], body: Iterable[fx.Node], results: list[fx.Node] | None) -> Part:
        return Part(root, _copy_part(inputs, body, results), owners)

    halves = Halves(
        shared=part([features, *given], free, free),
        first=part([features, *given, *free], own, crossing),
        second=part([*crossing, *given, *free], after, None),
        features=x.shape[1],
    )
    halves.shapes = _measure(module, halves, (x, edges), noise, (crossing, mix_at))
    return halves


def _measure(
    module: nn.Module,
    halves: Halves,
    given: tuple[Tensor, Edges],
    noise: Noise | None,
    names: tuple[list[fx.Node], str],
) -> list[tuple[int, ...]]:
    """Run the first half and return the shapes of what crosses the cut, which is checked."""
    (x, edges), (crossing, mix_at) = given, names
    key = None if noise is None else noise.keys[0]
    weights: dict[str, Tensor] = dict(module.named_parameters())
    with torch.no_grad():
        shared = halves._share(weights, x, edges, TrialNoise(key, noise))
        with TrialNoise(key, noise):
            values = halves.first.run(weights, x, *edges, *shared)
    for node, value in zip(crossing, values, strict=True):
        _check_crossing(node, value, mix_at, x.shape[0])
    return [tuple(value.shape[1:]) for value in values]


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
    line = user_line(node.stack_trace or "")
    raise ConfigError(
        f"{node.name!r}, {found}, is computed before {mix_at!r} and used after it{f' ({line})' if line else ''}, but "
        f"only float tensors with one row per node can be mixed; compute it after {mix_at!r}, or from x.shape alone"
    )
