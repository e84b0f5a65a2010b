"""Use any PyTorch module that classifies nodes as a Backbone.

Example:
    >>> from torch_geometric.nn import GraphSAGE                                   # doctest: +SKIP
    >>> model = wrap(GraphSAGE(3703, 16, 2, 6, dropout=0.5), mix_at="convs.1")     # doctest: +SKIP
"""

import copy
import hashlib
import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from torch.func import vmap

from graphmix.errors import ConfigError
from graphmix.models import probe
from graphmix.models.backbone import Backbone, GraphLike
from graphmix.models.halves import Halves, check_place, cut
from graphmix.models.noise_mode import DRAWS, TrialNoise
from graphmix.sparse import SparseMatrix
from graphmix.streams import Noise, Purpose, Streams

# One call may hold this many dropped-out features of all trials, a gigabyte. More are split into several calls.
_AT_ONCE = 2**28
# Initial weights come from torch's generator, which all threads share, and tracing patches torch for all threads.
_ONE_THREAD = threading.RLock()

_dense: "weakref.WeakKeyDictionary[SparseMatrix, Tensor]" = weakref.WeakKeyDictionary()

Half = Callable[[dict[str, Tensor], Tensor, Tensor, TrialNoise], Tensor]


@dataclass(eq=False)
class Network:
    """A module cut in two; every trial has its own weights.

    Attributes:
        module: the module, a copy of the caller's.
        mix_at: the name of the submodule before which it is cut.
        features: how many features it takes.
        classes: how many classes it predicts.
        training: its halves with dropout on.
        evaluation: its halves with dropout off.
        vectorises: whether `torch.func.vmap` can run it for all trials in one call.
    """

    module: nn.Module
    mix_at: str
    features: int
    classes: int
    training: Halves
    evaluation: Halves
    vectorises: bool = False
    _copies: dict[torch.device, "Network"] = field(default_factory=dict, init=False)

    def to(self, device: torch.device) -> "Network":
        """Copy to a device; each network is used by one thread only."""
        return replace(self, training=self.training.to(device), evaluation=self.evaluation.to(device))

    def halves(self, noise: Noise | None, device: torch.device) -> Halves:
        """The halves for training, or without noise for evaluation, copied to the device if they are on another."""
        network = self
        if device != self.training.device:
            network = self._copies.setdefault(device, self._copies.get(device) or self.to(device))
        return network.evaluation if noise is None else network.training


@dataclass(frozen=True, eq=False)
class Wrapped(Backbone):
    """A module as a backbone: `wrap` makes one, with the module's own weights as its only trial.

    The hidden state is everything that crosses the cut: the input of the submodule, and whatever else the second half
    needs of the first, for example a skip connection. Dropout is the module's own; the dropout fields are not used.

    Attributes:
        network: the module, cut in two.
        batched: whether all trials run in one call of `torch.func.vmap`, or one after the other.
    """

    network: Network = field(kw_only=True, repr=False)
    batched: bool = field(default=False, kw_only=True)

    def create(  # type: ignore[override]  # The template is an object here, not a class.
        self, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any
    ) -> Self:
        """Reset a copy of the module for every trial; `sizes` must match it, the other arguments are not used."""
        features, _, classes = sizes
        network = self.network
        for what, own, wanted in (("features", network.features, features), ("classes", network.classes, classes)):
            if own != wanted:
                raise ConfigError(
                    f"the wrapped module is made for {own} {what}, but the graph has {wanted}; make them equal"
                )
        device = streams.keys.device
        with _ONE_THREAD:
            drawn = [_reset(network.module, seed) for seed in streams.at(Purpose.WEIGHTS).words(1)[:, 0].tolist()]
            network = network.to(device)
        weights = {name: torch.stack([each[name] for each in drawn]).to(device).requires_grad_() for name in drawn[0]}
        # On a CPU a call of vmap takes as long as the calls it replaces; on CUDA it starts fewer kernels.
        batched = network.vectorises and device.type == "cuda"
        return replace(self, weights=weights, network=network, batched=batched)

    @property
    def features(self) -> int:
        """How many features it takes."""
        return self.network.features

    @property
    def description(self) -> str:
        """The module as torch prints it, where it is cut, and a hash of the details that are not printed."""
        network = self.network
        digest = hashlib.sha256()
        for part in (half for halves in (network.training, network.evaluation) for half in halves.parts):
            # The calls in the forward pass with their numbers, such as the rate of F.dropout.
            digest.update(part.traced.code.encode())
        for name, module in network.module.named_modules():
            plain = {key: value for key, value in vars(module).items() if isinstance(value, int | float | str)}
            digest.update(f"{name} {type(module).__qualname__} {sorted(plain.items())}".encode())
        for name, value in network.module.state_dict().items():
            digest.update(f"{name} {tuple(value.shape)}".encode())
        return f"{network.module!r}, mixed at {network.mix_at!r} ({digest.hexdigest()[:16]})"

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Run the module up to the cut: `[trials, nodes, width]`, all that crosses the cut, concatenated."""
        dense = _densify(x)
        if dense.shape[1] != self.network.features:
            raise ConfigError(
                f"the wrapped module is made for {self.network.features} features, but x has {dense.shape[1]}"
            )
        rows = self.trials if noise is None else noise.keys.shape[0]
        return self._run(self.network.halves(noise, dense.device).encode, dense, rows, graph, noise)

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Run the module from the cut on: `[trials, nodes, classes]`. On the null graph, any rows can be nodes."""
        return self._run(self.network.halves(noise, hidden.device).decode, hidden, hidden.shape[0], graph, noise)

    def _run(self, half: Half, values: Tensor, rows: int, graph: GraphLike, noise: Noise | None) -> Tensor:
        """Run half a network on values `[nodes, …]`, shared, or `[rows, nodes, …]`; rows are the trials' copies."""
        first = 0 if noise is None else noise._draws
        edge_index = graph.edge_index

        def one(weights: dict[str, Tensor], key: Tensor | None, own: Tensor) -> Tensor:
            return half(weights, own, edge_index, TrialNoise(key, noise, first))

        keys = None if noise is None else noise.keys
        run = self._run_batched if self.batched else self._run_looped
        result = run(one, keys, values, rows)
        if noise is not None:
            noise._draws = first + DRAWS
        return result

    def _run_looped(self, one: Callable[..., Tensor], keys: Tensor | None, values: Tensor, rows: int) -> Tensor:
        # Unbound, not indexed: the gradient is then one stack instead of a sum of mostly zeros.
        parts = {name: weight.unbind(0) for name, weight in self.weights.items()}
        copies = rows // self.trials
        results = []
        for row in range(rows):
            weights = {name: part[row // copies] for name, part in parts.items()}
            own = values if values.dim() == 2 else values[row]
            results.append(one(weights, None if keys is None else keys[row], own))
        return torch.stack(results)

    def _run_batched(self, one: Callable[..., Tensor], keys: Tensor | None, values: Tensor, rows: int) -> Tensor:
        copies = rows // self.trials
        by_row = (None if keys is None else 0, None if values.dim() == 2 else 0)
        # Two levels: a trial's copies share its weights.
        keys = None if keys is None else keys.view(self.trials, copies)
        values = values if values.dim() == 2 else values.unflatten(0, (self.trials, copies))
        if by_row == (None, None):
            return vmap(one, (0, None, None))(self.weights, keys, values)
        inner = vmap(one, (None, *by_row))
        largest = copies * values.shape[-2] * values.shape[-1]
        run = vmap(inner, (0, *by_row), chunk_size=max(1, _AT_ONCE // max(1, largest)))
        return run(self.weights, keys, values).flatten(0, 1)


def wrap(module: nn.Module, mix_at: str, *, features: int | None = None) -> Wrapped:
    """Turn a module with `forward(x, edge_index) -> logits [nodes, classes]` into a backbone.

    The null graph is an empty edge_index, on which the module must be node-wise. Mixup happens where the named
    submodule is called: its input is mixed, and everything else that later code uses. Initial weights are drawn for
    each trial, so pretrained weights are lost, except frozen ones (`requires_grad=False`).

    Args:
        module: any module, from PyTorch Geometric or not; it is copied and never changed. Its `reset_parameters`, or
            those of its submodules, draw initial weights; a warning names weights that none of them sets.
        mix_at: the name of a submodule that is called once, as in `module.named_modules()`.
        features: number of features it takes; default: found by trying.

    Raises:
        ConfigError: GraphMix cannot train the module; the message names the part at fault and says why.
    """
    probe.check_kind(module)
    if not isinstance(mix_at, str):
        raise ConfigError(f"`mix_at` must be the name of a submodule, not a {type(mix_at).__name__}")
    # The checks must not change the state of the caller's generator.
    with _ONE_THREAD, torch.random.fork_rng(devices=[]):
        module = copy.deepcopy(module).cpu()
        features = probe.find_features(module) if features is None else probe.try_features(module, features)
        classes = probe.check_module(module, features)
        for mode in (False, True):
            check_place(module, mix_at, probe.count_calls(module.train(mode), features))
        x, edges = probe.probe_features(features), probe.ring()
        training = cut(copy.deepcopy(module).train(), mix_at, x, edges, probe.probe_noise())
        evaluation = cut(copy.deepcopy(module).eval(), mix_at, x, edges, None)
        network = Network(module, mix_at, features, classes, training, evaluation)
        weights = {name: value[None].requires_grad_() for name, value in _trainable(module).items()}
        if not weights:
            raise ConfigError("the module has no weights to train")
        wrapped = Wrapped(weights, network=network)
        _check_whole(wrapped)
        network.vectorises = _vectorises(wrapped)
        unset = _find_unset(module)
    if unset:
        warnings.warn(unset, stacklevel=2)
    return wrapped


@dataclass(frozen=True)
class _Edges:
    """The part of a graph that modules see."""

    edge_index: Tensor


def _check_whole(wrapped: Wrapped) -> None:
    """Raise ConfigError unless the two halves together compute what the module computes."""
    x = probe.probe_features(wrapped.network.features)
    for edge_index in (probe.ring(), probe.no_edges()):
        with torch.no_grad():
            whole = copy.deepcopy(wrapped.network.module).eval()(x, edge_index)
            halves = wrapped(x, cast(GraphLike, _Edges(edge_index)))[0]
        if not probe.close(whole, halves):
            raise ConfigError(
                f"cut at {wrapped.network.mix_at!r}, the module gives other results than as a whole; its forward "
                "pass must be a fixed sequence of operations on its arguments"
            )


def _vectorises(wrapped: Wrapped) -> bool:
    """Whether vmap gives the same results and gradients as running trials one after the other."""
    network, streams = wrapped.network, Streams.from_seeds(range(2))
    looped = wrapped.create(streams, (network.features, 0, network.classes))
    x = probe.probe_features(network.features)
    results = []
    try:
        for model in (looped, replace(looped, batched=True)):
            for edge_index in (probe.ring(), probe.no_edges()):
                graph = cast(GraphLike, _Edges(edge_index))
                with warnings.catch_warnings():
                    # vmap warns if it loops internally, which is not faster than the loop here.
                    warnings.simplefilter("error")
                    noisy = model(x, graph, streams.copies(0, 2).at(Purpose.TARGET_DROPOUT))
                    quiet = model(x, graph)
                gradients = torch.autograd.grad(noisy.sum() + quiet.sum(), list(model.parameters()), allow_unused=True)
                results.append([noisy, quiet, *(torch.zeros(()) if grad is None else grad for grad in gradients)])
    except (RuntimeError, ValueError, TypeError, NotImplementedError, UserWarning):
        # Not every operation supports vmap, and a module may look at values. The loop works for all of them.
        return False
    pairs = zip(results[0] + results[1], results[2] + results[3], strict=True)
    return all(probe.close(one, two) for one, two in pairs)


def _reset(module: nn.Module, seed: int) -> dict[str, Tensor]:
    """Draw initial weights; weights that nothing resets keep their values."""
    fresh = copy.deepcopy(module)
    parts = [fresh] if hasattr(fresh, "reset_parameters") else fresh.modules()
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        for part in parts:
            if callable(reset := getattr(part, "reset_parameters", None)):
                try:
                    reset()
                except Exception as error:
                    kind = type(part).__name__
                    raise ConfigError(f"the reset_parameters() of {kind} fails ({error}); correct it") from error
    return _trainable(fresh)


def _find_unset(module: nn.Module) -> str:
    """Return a warning that names weights which a reset does not change; "" if there are none."""
    marked = copy.deepcopy(module)
    with torch.no_grad():
        for weight in filter(lambda weight: weight.requires_grad, marked.parameters()):
            # Weights computed from it are NaN too.
            weight.fill_(torch.nan)
    names = [repr(name) for name, weight in _reset(marked, 0).items() if bool(weight.isnan().all())]
    if not names:
        return ""
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    by, remedy = "any reset_parameters()", "give the module one"
    if hasattr(module, "reset_parameters"):
        by, remedy = "the module's reset_parameters()", "let it set all weights"
    verb = "is" if len(names) == 1 else "are"
    return f"{listed} {verb} not set by {by}, so every trial starts from the same values; {remedy}"


def _trainable(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.named_parameters() if value.requires_grad}


def _densify(x: SparseMatrix | Tensor) -> Tensor:
    if isinstance(x, Tensor):
        return x
    if x not in _dense:
        _dense[x] = x.to_dense()
    return _dense[x]
