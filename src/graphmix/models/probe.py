"""Check on a few nodes that GraphMix can train a module.

The module is run on small graphs, and the inputs and outputs of every submodule are recorded in order. If two runs that
should agree do not, the first tensor that differs shows which submodule is the cause.
"""

import collections
import contextlib
import copy
import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from graphmix.errors import ConfigError
from graphmix.models.noise_mode import TrialNoise, Watch
from graphmix.streams import Noise, Purpose, Streams

NODES = 7
_MIDDLE = NODES // 2
# PyG's layers have their sum over neighbours as a submodule; the name of the layer is clearer.
_INNER = ".aggr_module"
_ANY_SIZE = "the module must take any number of nodes and edges"


@dataclass(frozen=True)
class Event:
    """The start or the end of a submodule's forward pass.

    Attributes:
        name: the submodule's name.
        left: True at the end, with the results; False at the start, with the arguments.
        values: the floating-point tensors among the results or arguments.
        caller: the submodule that calls it; "" for the module itself.
    """

    name: str
    left: bool
    values: list[Tensor]
    caller: str


def probe_features(features: int) -> Tensor:
    """Features to try a module with: `[NODES, features]`."""
    return torch.randn(NODES, features, generator=torch.Generator().manual_seed(0))


def ring() -> Tensor:
    """A ring of nodes: both directions, int64 `[2, 2 * NODES]`."""
    nodes = torch.arange(NODES)
    around = torch.stack([nodes, nodes.roll(-1)])
    return torch.cat([around, around.flip(0)], dim=1)


def no_edges() -> Tensor:
    """The null graph: int64 `[2, 0]`."""
    return ring()[:, :0]


def probe_noise(trials: int = 1) -> Noise:
    """Noise to try a module with."""
    return Streams.from_seeds(range(trials)).at(Purpose.FCN_DROPOUT)


def check_kind(module: Any) -> None:
    """Raise ConfigError unless this is a plain float32 module with `forward(x, edge_index)`; nothing is run."""
    if not isinstance(module, nn.Module):
        raise ConfigError(f"only a torch.nn.Module can be wrapped, not a {type(module).__name__}")
    for part in module.modules():
        if isinstance(part, torch.jit.ScriptModule) or hasattr(part, "_orig_mod"):
            raise ConfigError("a module compiled by torch.jit or torch.compile cannot be cut; wrap the original module")
    for name, weight in module.named_parameters():
        if weight.dtype in (torch.float64, torch.float16, torch.bfloat16):
            kind = str(weight.dtype).removeprefix("torch.")
            raise ConfigError(
                f"the module's weight {name!r} is of type {kind}, not float32; call .float() on the module"
            )
    signature = inspect.signature(module.forward)
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise ConfigError(
            f"the module's forward takes ({', '.join(signature.parameters)}), but it is called with (x, edge_index); "
            "let it take these two, and give all others a default"
        ) from error


def find_features(module: nn.Module) -> int:
    """Find the number of features a module takes, by trying the sizes of its layers and weights."""
    if _open_sizes(module):
        raise ConfigError("the module has layers without a size yet; pass wrap(..., features=)")
    candidates = list(dict.fromkeys(_candidates(module)))
    if not candidates:
        raise ConfigError("the number of features cannot be found from the module; pass wrap(..., features=)")
    for features in candidates:
        with contextlib.suppress(ConfigError):
            _record_fresh(module.eval(), probe_features(features), ring())
            return features
    # The size of the first layer is the most likely one, so its error is the most useful.
    likely = candidates[0]
    remedy = f"{_ANY_SIZE}; if it does not take {likely} features, pass wrap(..., features=)"
    _record_fresh(module.eval(), probe_features(likely), ring(), remedy)
    return likely


def try_features(module: nn.Module, features: int) -> int:
    """Run a module on a given number of features. This also sets the sizes of lazy layers."""
    if not isinstance(features, int) or features < 1:
        raise ConfigError(f"`features` must be a whole number of at least 1, not {features!r}")
    x, remedy = probe_features(features), f"features={features} may be wrong, and {_ANY_SIZE}"
    if _open_sizes(module):
        try:
            with torch.no_grad():
                module.eval()(x, ring())
        except Exception as error:
            raise _explain(module, "", x, ring(), error, remedy) from error
        if unused := _open_sizes(module):
            raise ConfigError(f"{unused[0]!r} still has no size after a forward pass; give it a size or remove it")
    _record_fresh(module.eval(), x, ring(), remedy)
    return features


def _open_sizes(module: nn.Module) -> list[str]:
    return [name for name, weight in module.named_parameters() if isinstance(weight, nn.UninitializedParameter)]


def _candidates(module: nn.Module) -> Iterator[int]:
    for part in module.modules():
        for name in ("in_channels", "in_features"):
            value = getattr(part, name, None)
            if isinstance(value, int) and value > 0:
                yield value
    for weight in module.parameters():
        yield from weight.shape


def check_module(module: nn.Module, features: int) -> int:
    """Return the number of classes. Raise ConfigError unless it classifies nodes and is node-wise on the null graph."""
    module, x = copy.deepcopy(module), probe_features(features)
    for training in (False, True):
        logits = _record_fresh(module.train(training), x, ring())[-1].values
        if len(logits) != 1 or logits[0].dim() != 2 or logits[0].shape[0] != NODES:
            shapes = ", ".join(str(list(value.shape)) for value in logits) or "nothing"
            raise ConfigError(f"the module returns {shapes} for {NODES} nodes, not logits [nodes, classes]")
        # Log-probabilities are as good as logits: both give the same softmax.
        if bool((logits[0] >= 0).all()) and close(logits[0].sum(1), torch.ones(NODES)):
            raise ConfigError("the module returns probabilities; return logits instead, without the last softmax")
        _check_null_graph(module, x)
    return logits[0].shape[1]


def count_calls(module: nn.Module, features: int) -> collections.Counter[str]:
    """Count how often a module, in its current mode, calls each of its submodules."""
    events = _record_fresh(module, probe_features(features), ring())
    return collections.Counter(event.name for event in events if event.name and not event.left)


def _check_null_graph(module: nn.Module, x: Tensor) -> None:
    fresh = _record_fresh(module, x, no_edges())
    bad = _first(fresh, lambda value: not bool(value.isfinite().all()))
    if bad is not None:
        raise ConfigError(f"{_blame(module, bad)} returns values that are not finite on a graph without edges")
    # A copy that has run on a graph: what it caches must not affect its results on another graph.
    warm = copy.deepcopy(module)
    _record(warm, x, ring())
    differs = _first_difference(fresh, _record(warm, x, no_edges()), lambda value: value)
    if differs is not None:
        raise ConfigError(
            f"{_blame(module, differs)} returns other results on a graph without edges after a run on one with edges; "
            f"{_remedy(module, differs)}"
        )
    others = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
    others[_MIDDLE] = x[_MIDDLE]
    changed = _record_fresh(module, others, no_edges())
    mixes = _first_difference(fresh, changed, lambda value: value[_MIDDLE] if value.shape[:1] == (NODES,) else value)
    if mixes is not None:
        raise ConfigError(
            f"{_blame(module, mixes)} lets a node's result depend on other nodes even without edges"
            f"{' in training' if module.training else ''}; {_remedy(module, mixes)}"
        )
    if not module.training:
        picks = torch.tensor([_MIDDLE, 0, _MIDDLE, 1])
        picked = _record_fresh(module, x[picks], no_edges())[-1].values[0]
        if not close(picked, fresh[-1].values[0][picks]):
            raise ConfigError("the module's result for a node depends on the node's position; use only its features")


def _record_fresh(module: nn.Module, x: Tensor, edge_index: Tensor, remedy: str = _ANY_SIZE) -> list[Event]:
    """Record a run of a copy, so that the module itself does not change."""
    return _record(copy.deepcopy(module), x, edge_index, remedy)


def _record(module: nn.Module, x: Tensor, edge_index: Tensor, remedy: str = _ANY_SIZE) -> list[Event]:
    """Run a module in its current mode and record the inputs and outputs of every submodule."""
    events: list[Event] = []
    open_calls: list[str] = []
    before, hooks = x._version, []

    def enter(name: str, values: Any) -> None:
        events.append(Event(name, False, _floats(values), open_calls[-1] if open_calls else ""))
        open_calls.append(name)

    def leave(name: str, values: Any) -> None:
        open_calls.pop()
        events.append(Event(name, True, _floats(values), open_calls[-1] if open_calls else ""))

    for name, part in module.named_modules():
        if not name.endswith(_INNER):
            hooks.append(
                part.register_forward_pre_hook(lambda _, a, k, name=name: enter(name, (a, k)), with_kwargs=True)
            )
            hooks.append(part.register_forward_hook(lambda _, a, out, name=name: leave(name, out)))
    noise = probe_noise() if module.training else None
    try:
        with torch.no_grad(), Watch(), TrialNoise(None if noise is None else noise.keys[0], noise):
            module(x, edge_index)
    except ConfigError:
        raise
    except Exception as error:
        raise _explain(module, open_calls[-1] if open_calls else "", x, edge_index, error, remedy) from error
    finally:
        for hook in hooks:
            hook.remove()
    if x._version != before:
        raise ConfigError("the module changes its features in place, but all trials share them; let it work on a copy")
    return events


def _explain(module: nn.Module, name: str, x: Tensor, edge_index: Tensor, error: Exception, remedy: str) -> ConfigError:
    """Say in one sentence where a run failed. The remedy is added only if the error is about sizes."""
    reason = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
    named = re.search("size|shape|dimension|features", reason, re.IGNORECASE)
    sizes = named or isinstance(error, AssertionError | IndexError)
    return ConfigError(
        f"{_describe(module, name)} fails on {len(x)} nodes with {x.shape[1]} features and {edge_index.shape[1]} edges "
        f"({reason}){f'; {remedy}' if sizes else ''}"
    )


def _floats(values: Any) -> list[Tensor]:
    tensors = (value for value in tree_leaves(values) if isinstance(value, Tensor))
    # Cloned, because the module may change them later; dense, because few functions take sparse tensors.
    return [value.detach().clone().to_dense() for value in tensors if value.is_floating_point()]


def _first(events: Iterable[Event], holds: Callable[[Tensor], bool]) -> Event | None:
    return next((event for event in events if any(map(holds, event.values))), None)


def _first_difference(one: list[Event], two: list[Event], part: Callable[[Tensor], Tensor]) -> Event | None:
    """The first event whose tensors, or a part of them, differ; None if the final results are equal."""

    def same(mine: Event, other: Event) -> bool:
        pairs = list(zip(mine.values, other.values, strict=False))
        return len(mine.values) == len(other.values) and all(close(part(a), part(b)) for a, b in pairs)

    if len(one) == len(two) and same(one[-1], two[-1]):
        return None
    return next((mine for mine, other in zip(one, two, strict=False) if not same(mine, other)), one[-1])


def close(one: Tensor, two: Tensor) -> bool:
    """Whether two tensors differ only by rounding: by at most a ten-thousandth of the largest value."""
    if one.shape != two.shape:
        return False
    largest = float(one.detach().abs().max()) if one.numel() else 0.0
    return math.isfinite(largest) and torch.allclose(one, two, rtol=0, atol=1e-4 * largest + 1e-6)


def _blame(module: nn.Module, event: Event) -> str:
    if event.left or event.caller:
        return _describe(module, _culprit(event))
    return f"code in the forward pass before {_describe(module, event.name)}"


def _culprit(event: Event) -> str:
    # The caller is the cause of wrong arguments.
    return event.name if event.left else event.caller


def _describe(module: nn.Module, name: str) -> str:
    kind = type(module.get_submodule(name)).__name__
    return f"the submodule {name!r} ({kind})" if name else f"the forward pass of {kind}"


def _remedy(module: nn.Module, event: Event) -> str:
    part = module.get_submodule(_culprit(event))
    if getattr(part, "cached", False):
        return "pass it cached=False"
    if "Norm" in type(part).__name__:
        return "use torch.nn.LayerNorm, which works on one node at a time"
    if any("Aggregation" in base.__name__ or "Pooling" in base.__name__ for base in type(part).__mro__):
        return "remove the pooling"
    return "make it work on one node at a time"
