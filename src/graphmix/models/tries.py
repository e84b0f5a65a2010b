"""What a wrapped module can do, found out by trying both ways on a few nodes and comparing."""

import contextlib
import copy
import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from graphmix.errors import ConfigError
from graphmix.models import probe
from graphmix.models.backbone import GraphLike
from graphmix.models.features import Features
from graphmix.models.tracing import WEIGHT_NAMES, Root, WeightedRoot
from graphmix.sparse import SparseMatrix
from graphmix.streams import Purpose, Streams

if TYPE_CHECKING:
    from graphmix.models.wrapped import Wrapped

# A module may do anything: whatever it raises, the other way remains.
_FAILURES = (RuntimeError, ValueError, TypeError, NotImplementedError, AttributeError, IndexError, Warning)
_WRITTEN = ("multiplied as they are", "written out once for all trials", "written out after dropout")


@dataclass(frozen=True)
class Edges:
    """The part of a graph that modules see."""

    edge_index: Tensor
    edge_weights: Tensor | None = None


def check_whole(wrapped: "Wrapped") -> None:
    """Raise ConfigError unless the two halves together compute what the module computes."""
    network = wrapped.network
    x = probe.probe_features(network.features)
    for edges in _graphs(wrapped, torch.device("cpu")):
        module = copy.deepcopy(network.module).eval()
        with torch.no_grad():
            if edges.edge_weights is None:
                whole = Root(module)(x, edges.edge_index)
            else:
                whole = WeightedRoot(module, network.weight_name or "")(x, edges.edge_index, edges.edge_weights)
            halves = wrapped(x, cast(GraphLike, edges))[0]
        if not probe.close(whole, halves):
            raise ConfigError(
                f"cut at {network.mix_at!r}, the module gives other results than as a whole; its forward "
                "pass must be a fixed sequence of operations on its arguments"
            )


def find_weight_name(module: nn.Module, features: int) -> str | None:
    """Return the argument by which a module takes weights of edges; None if they do not change its results."""
    takes = inspect.signature(module.forward).parameters
    x, edges, weights = probe.probe_features(features), probe.ring(), ring_weights()
    for name in WEIGHT_NAMES:
        if name in takes:
            with torch.no_grad(), contextlib.suppress(*_FAILURES, AssertionError):
                results = [WeightedRoot(copy.deepcopy(module).eval(), name)(x, edges, w) for w in (weights, weights**2)]
                if all(isinstance(result, Tensor) for result in results) and not probe.close(*results):
                    return name
    return None


def why_not_sparse(wrapped: "Wrapped") -> str:
    """Return why sparse features would give other results or gradients than dense ones; "" if they would not."""
    matrix = _sparse_features(wrapped.network.features)
    streams, results = Streams.from_seeds(range(2)), []
    model = wrapped.drawn(streams)
    try:
        # Products with eager features are dense, with the same random bits.
        for x in (Features.of(matrix, eager=True), Features.of(matrix)):
            results.append([*_passes(model, x, streams), *_quiet(model, x)])
            wrapped.network.writes_out = any(x.written_out)
            wrapped.notes["sparse features"] = _WRITTEN[bool(x.written_out) + any(x.written_out)]
        # Evaluation has no random bits: there, it must be as with features that are a plain tensor.
        results[0][-2:] = _quiet(model, matrix.to_dense())
    except _FAILURES as error:
        return _reason(error)
    return "" if all(map(probe.close, *results)) else "its results differ from those of dense features"


def why_not_batched(wrapped: "Wrapped", device: torch.device) -> str:
    """Return why vmap does not give the same results and gradients as trials one after the other; "" if it does."""
    streams, results = Streams.from_seeds(range(2), device), []
    looped = wrapped.drawn(streams)
    x = probe.probe_features(wrapped.network.features).to(device)
    given: list[SparseMatrix | Tensor] = (
        [x, _sparse_features(wrapped.network.features).to(device)] if wrapped.network.sparse else [x]
    )
    try:
        for model in (looped, replace(looped, batched=True)):
            with warnings.catch_warnings():
                # vmap warns if it loops internally, which is not faster than the loop here.
                warnings.filterwarnings("error", message=".*batching rule")
                results.append([value for x in given for value in _passes(model, x, streams)])
    except _FAILURES as error:
        # Not every operation supports vmap, and a module may look at values. The loop works for all of them.
        return _reason(error)
    return "" if all(map(probe.close, *results)) else "its results differ from those of single trials"


def _passes(model: "Wrapped", x: SparseMatrix | Tensor, streams: Streams) -> Iterator[Tensor]:
    """Results and gradients with and without dropout, on a graph and on the null graph."""
    for edges in _graphs(model, streams.keys.device):
        graph = cast(GraphLike, edges)
        noisy, quiet = model(x, graph, streams.copies(0, 2).at(Purpose.TARGET_DROPOUT)), model(x, graph)
        yield from (noisy, quiet)
        loss = noisy.square().sum() + quiet.square().sum()
        for grad in torch.autograd.grad(loss, list(model.parameters()), allow_unused=True):
            yield torch.zeros(()) if grad is None else grad


def _quiet(model: "Wrapped", x: SparseMatrix | Tensor) -> list[Tensor]:
    """Results in evaluation, on a graph and on the null graph."""
    return [model(x, cast(GraphLike, edges)) for edges in _graphs(model, torch.device("cpu"))[:2]]


def _graphs(wrapped: "Wrapped", device: torch.device) -> list[Edges]:
    graphs = [Edges(probe.ring().to(device)), Edges(probe.no_edges().to(device))]
    weighted = wrapped.network.weight_name is not None
    return graphs + ([Edges(graphs[0].edge_index, ring_weights(device))] if weighted else [])


def ring_weights(device: torch.device | str = "cpu") -> Tensor:
    """Weights of the ring's edges, equal in both directions: `[2 * NODES]`."""
    return (1.5 + torch.arange(probe.NODES) % 3).repeat(2).to(device)


def _sparse_features(features: int) -> SparseMatrix:
    x = probe.probe_features(features)
    return SparseMatrix.from_scipy(sp.csr_array(x.where(x > 0, 0).numpy()))


def _reason(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
