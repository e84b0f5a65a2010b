"""Use any PyTorch module that classifies nodes as a Backbone.

Example:
    >>> from torch_geometric.nn import GraphSAGE                                   # doctest: +SKIP
    >>> model = wrap(GraphSAGE(3703, 16, 2, 6, dropout=0.5), mix_at="convs.1")     # doctest: +SKIP
"""

import copy
import hashlib
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.func import vmap

from graphmix.errors import ConfigError
from graphmix.models import probe, tries
from graphmix.models.backbone import Backbone, GraphLike
from graphmix.models.features import Features, write_out
from graphmix.models.halves import Edges
from graphmix.models.initial import find_unset, reset, trainable
from graphmix.models.network import Network, build
from graphmix.models.noise_mode import DRAWS, TrialNoise
from graphmix.sparse import SparseMatrix
from graphmix.streams import Noise, Purpose, Streams

# One call may hold this many dropped-out features of all trials, a gigabyte. More are split into several calls.
_AT_ONCE = 2**28
# Initial weights come from torch's generator, which all threads share, and tracing patches torch for all threads.
_ONE_THREAD = threading.RLock()

Half = Callable[[dict[str, Tensor], Tensor, Edges, TrialNoise], Tensor]


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        network = self.network
        count = f"{self.trials} trial{'' if self.trials == 1 else 's'}"
        sizes = f"{network.features} features, {network.classes} classes, {count}"
        said = "".join(f"; {topic}: {text}" for topic, text in network.notes.items())
        return f"Wrapped({type(network.module).__name__} mixed at {network.mix_at!r}: {sizes}{said})"

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
        return replace(self.drawn(streams), batched=self._batches(streams.keys.device))

    def drawn(self, streams: Streams) -> Self:
        """Draw initial weights for every trial; trials run one after the other."""
        device = streams.keys.device
        with _ONE_THREAD:
            seeds = streams.at(Purpose.WEIGHTS).words(1)[:, 0].tolist()
            drawn = [reset(self.network.module, seed) for seed in seeds]
            network = self.network.to(device)
        weights = {name: torch.stack([each[name] for each in drawn]).to(device).requires_grad_() for name in drawn[0]}
        return replace(self, weights=weights, network=network, batched=False)

    def _batches(self, device: torch.device) -> bool:
        # On a CPU a call of vmap takes as long as the calls it replaces; on CUDA it starts fewer kernels.
        if device.type == "cpu":
            return False
        reasons = self.network.not_batched
        with _ONE_THREAD:
            if device.type not in reasons:
                reasons[device.type] = reason = tries.why_not_batched(self, device)
                self.notes["trials"] = f"one after the other ({reason})" if reason else "all in one call"
        return not reasons[device.type]

    @property
    def notes(self) -> dict[str, str]:
        """How the module is run; `print` shows it."""
        return self.network.notes

    @property
    def stays_sparse(self) -> bool:
        """Whether sparse features are never written out for a trial."""
        return self.network.sparse and not self.network.writes_out

    @property
    def heeds_weights(self) -> bool:
        """Whether the module takes the weights of edges."""
        return self.network.weighted is not None

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
        network = self.network
        if x.shape[1] != network.features:
            raise ConfigError(f"the wrapped module is made for {network.features} features, but x has {x.shape[1]}")
        values = Features.of(x) if isinstance(x, SparseMatrix) and network.sparse else write_out(x)
        rows = self.trials if noise is None else noise.keys.shape[0]
        halves, edges = network.halves(noise, values.device, graph)
        return self._run(halves.encode, values, rows, edges, noise)

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Run the module from the cut on: `[trials, nodes, classes]`. On the null graph, any rows can be nodes."""
        halves, edges = self.network.halves(noise, hidden.device, graph)
        return self._run(halves.decode, hidden, hidden.shape[0], edges, noise)

    def _run(self, half: Half, values: Tensor, rows: int, edges: Edges, noise: Noise | None) -> Tensor:
        """Run half a network on values `[nodes, …]`, shared, or `[rows, nodes, …]`; rows are the trials' copies."""
        first = 0 if noise is None else noise._draws

        def one(weights: dict[str, Tensor], key: Tensor | None, own: Tensor | None) -> Tensor:
            return half(weights, values if own is None else own, edges, TrialNoise(key, noise, first))

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
            own = None if values.dim() == 2 else values[row]
            results.append(one(weights, None if keys is None else keys[row], own))
        return torch.stack(results)

    def _run_batched(self, one: Callable[..., Tensor], keys: Tensor | None, values: Tensor, rows: int) -> Tensor:
        copies = rows // self.trials
        own = None if values.dim() == 2 else values.unflatten(0, (self.trials, copies))
        by_row = (None if keys is None else 0, None if own is None else 0)
        # Two levels: a trial's copies share its weights.
        keys = None if keys is None else keys.view(self.trials, copies)
        if by_row == (None, None):
            return vmap(one, (0, None, None))(self.weights, keys, own)
        inner = vmap(one, (None, *by_row))
        run = vmap(inner, (0, *by_row), chunk_size=max(1, _AT_ONCE // max(1, copies * self._entries(values))))
        return run(self.weights, keys, own).flatten(0, 1)

    def _entries(self, values: Tensor) -> int:
        """Numbers that a trial writes out of its features or hidden states."""
        if isinstance(values, Features) and self.stays_sparse:
            return values.matrix.nonzeros
        return values.shape[-2] * values.shape[-1]


def wrap(module: nn.Module, mix_at: str | None = None, *, features: int | None = None) -> Wrapped:
    """Turn a module with `forward(x, edge_index) -> logits [nodes, classes]` into a backbone.

    The null graph is an empty edge_index, on which the module must be node-wise. Mixup happens where the named
    submodule is called: its input is mixed, and everything else that later code uses. Initial weights are drawn for
    each trial, so pretrained weights are lost, except frozen ones (`requires_grad=False`). The weights of a graph's
    edges are passed on if `forward` takes them as `edge_weight`, or as `edge_attr` of one column.

    Args:
        module: any module, from PyTorch Geometric or not; it is copied and never changed. Its `reset_parameters`, or
            those of its submodules, draw initial weights; a warning names weights that none of them sets.
        mix_at: the name of a submodule that is called once, as in `module.named_modules()`.
        features: number of features it takes; default: found by trying.

    Raises:
        ConfigError: GraphMix cannot train the module; the message names the part at fault and says why.
    """
    probe.check_kind(module)
    if mix_at is not None and not isinstance(mix_at, str):
        raise ConfigError(f"`mix_at` must be the name of a submodule, not a {type(mix_at).__name__}")
    # The checks must not change the state of the caller's generator.
    with _ONE_THREAD, torch.random.fork_rng(devices=[]):
        module = copy.deepcopy(module).cpu()
        network = build(module, mix_at, features)
        wrapped = Wrapped(_weights_of(module), network=network)
        if not wrapped.weights:
            raise ConfigError("the module has no weights to train")
        tries.check_whole(wrapped)
        _try_sparse(wrapped)
        unset = find_unset(module)
    if unset:
        warnings.warn(unset, stacklevel=2)
    return wrapped


def _weights_of(module: nn.Module) -> dict[str, Tensor]:
    return {name: value[None].requires_grad_() for name, value in trainable(module).items()}


def _try_sparse(wrapped: Wrapped) -> None:
    network = wrapped.network
    network.sparse = True
    reason = tries.why_not_sparse(wrapped)
    network.sparse = not reason
    if reason:
        network.notes["sparse features"] = f"written out ({reason})"
