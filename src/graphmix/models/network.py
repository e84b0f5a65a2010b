"""A module cut in two, and what is known of it."""

import copy
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from graphmix.errors import ConfigError
from graphmix.models import probe, tries
from graphmix.models.backbone import GraphLike
from graphmix.models.halves import Edges, Halves, cut
from graphmix.models.tracing import NAMED, check_place, find_places
from graphmix.streams import Noise


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
        weight_name: the argument by which it takes weights of edges; None if it does not.
        weighted: its halves for training and evaluation on a graph with weights.
        sparse: whether it is given sparse features as they are.
        writes_out: whether it needs values of dropped-out sparse features, which are then written out.
        notes: how it is run, by topic; copies share them.
        not_batched: for each type of device, why `torch.func.vmap` cannot run all trials in one call; "" if it can.
    """

    module: nn.Module
    mix_at: str
    features: int
    classes: int
    training: Halves
    evaluation: Halves
    weight_name: str | None = None
    weighted: tuple[Halves, Halves] | None = None
    sparse: bool = False
    writes_out: bool = True
    notes: dict[str, str] = field(default_factory=dict)
    not_batched: dict[str, str] = field(default_factory=dict)
    _copies: dict[torch.device, "Network"] = field(default_factory=dict, init=False)

    def to(self, device: torch.device) -> "Network":
        """Copy to a device; each network is used by one thread only."""
        weighted = None if self.weighted is None else (self.weighted[0].to(device), self.weighted[1].to(device))
        return replace(
            self, training=self.training.to(device), evaluation=self.evaluation.to(device), weighted=weighted
        )

    def halves(self, noise: Noise | None, device: torch.device, graph: GraphLike) -> tuple[Halves, Edges]:
        """The halves for training, or without noise for evaluation, on the device, and the edges that they take."""
        network = self
        if device != self.training.device:
            network = self._copies.setdefault(device, self._copies.get(device) or self.to(device))
        pair = (network.training, network.evaluation)
        edges: Edges = (graph.edge_index,)
        if graph.edge_weights is not None and network.weighted is not None:
            pair, edges = network.weighted, (graph.edge_index, graph.edge_weights)
        return pair[noise is None], edges


def build(module: nn.Module, mix_at: str | None, features: int | None) -> Network:
    """Find out what a module takes and returns, and cut it.

    Raises:
        ConfigError: GraphMix cannot train the module.
    """
    features = probe.find_features(module) if features is None else probe.try_features(module, features)
    classes = probe.check_module(module, features)
    calls = [probe.count_calls(module.train(mode), features) for mode in (False, True)]
    if mix_at is None:
        names = [name for name in find_places(module, calls[0]) if name in find_places(module, calls[1])]
        choice = f"one of {', '.join(names[:NAMED])}" if names else "the name of one that it calls exactly once"
        raise ConfigError(
            f"`mix_at` is missing: it names the submodule whose input is mixed, for this module {choice}, "
            "often the last layer"
        )
    for called in calls:
        check_place(module, mix_at, called)
    halves = _halves(module, mix_at, features)
    network = Network(module, mix_at, features, classes, *halves)
    if (name := tries.find_weight_name(module, features)) is not None:
        try:
            weighted = _halves(module, mix_at, features, name)
        except ConfigError as error:
            network.notes["edge weights"] = f"not passed ({error})"
        else:
            if [half.shapes for half in weighted] == [half.shapes for half in halves]:
                network.weight_name, network.weighted = name, weighted
                network.notes["edge weights"] = f"passed as {name}"
    return network


def _halves(module: nn.Module, mix_at: str, features: int, weight_name: str | None = None) -> tuple[Halves, Halves]:
    x = probe.probe_features(features)
    edges: Edges = (probe.ring(),)
    if weight_name is not None:
        edges = (*edges, tries.ring_weights())
    return (
        cut(copy.deepcopy(module).train(), mix_at, x, edges, probe.probe_noise(), weight_name),
        cut(copy.deepcopy(module).eval(), mix_at, x, edges, None, weight_name),
    )
