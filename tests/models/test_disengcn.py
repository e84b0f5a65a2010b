"""DisenGCN against its formula written out edge by edge, and what it is without edges."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams
from graphmix.models import DisenGCN
from graphmix.streams import Purpose

FEATURES, HIDDEN, CLASSES, CHANNELS = 9, 5, 3, 4


def small(seed=0):
    rng = np.random.default_rng(seed)
    x = sp.random(12, FEATURES, density=0.5, format="csr", random_state=rng)
    # Node 11 has no neighbours.
    return Graph.build(x, rng.integers(0, 11, (2, 24)), rng.integers(0, CLASSES, 12), CLASSES)


def create(trials=2, **options):
    options = {"channels": CHANNELS, "layers": 2, "routing_steps": 3} | options
    model = DisenGCN.create(Streams.from_seeds(range(trials)), (FEATURES, HIDDEN, CLASSES), **options)
    with torch.no_grad():
        for name, weight in model.weights.items():
            if name.endswith("bias"):
                weight.uniform_(-0.1, 0.5)
    return model


def routed(z, edges, channels, steps):
    """One layer node by node, with loops over neighbours and channels."""
    z = F.normalize(z.unflatten(1, (channels, -1)), dim=2)
    out = []
    for node in range(len(z)):
        others = z[edges[1][edges[0] == node]]
        centre = z[node] + others.sum(0) / channels
        for _ in range(steps - 1):
            shares = torch.softmax((others * F.normalize(centre, dim=1)).sum(-1), dim=1)
            centre = z[node] + (shares[..., None] * others).sum(0)
        out.append(centre)
    return torch.stack(out).flatten(1)


def written_out(model, trial, graph):
    weights = {name: weight[trial] for name, weight in model.weights.items()}
    state = (graph.x.to_dense() @ weights["conv1.weight"] + weights["conv1.bias"]).relu()
    for _ in range(model.layers):
        state = routed(state, graph.edge_index, model.channels, model.routing_steps).relu()
    return state @ weights["conv2.weight"] + weights["conv2.bias"]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_values_and_gradients_against_the_formula(steps):
    graph = small()
    model = create(bias=True, routing_steps=steps)
    upstream = torch.randn(2, graph.num_nodes, CLASSES, generator=torch.Generator().manual_seed(0))
    logits = model(graph.x, graph)
    ours = torch.autograd.grad((logits * upstream).sum(), list(model.parameters()))
    plain = torch.stack([written_out(model, trial, graph) for trial in range(2)])
    theirs = torch.autograd.grad((plain * upstream).sum(), list(model.parameters()))
    assert_close(logits, plain, rtol=1e-4, atol=1e-4)
    for one, two in zip(ours, theirs, strict=True):
        assert_close(one, two, rtol=1e-3, atol=1e-3)


def test_one_layer_by_hand():
    # Two nodes that are joined, two channels of one unit: lengths are 1, so all that differs are the shares.
    graph = Graph.build(np.array([[1.0, 0.0], [2.0, 3.0]]), [[0], [1]], [0, 1], normalise=False)
    weights = {"conv1.weight": torch.eye(2)[None], "conv2.weight": torch.eye(2)[None]}
    model = DisenGCN(weights, channels=2, layers=1, routing_steps=2)
    # Node 0 has z = (1, 0), node 1 has (1, 1). First c₀ = (1.5, 0.5) and c₁ = (1.5, 1), all then of length 1: node 0
    # compares (1, 1), node 1 compares (1, 0).
    share = math.e / (math.e + 1)
    assert_close(model(graph.x, graph)[0], torch.tensor([[1.5, 0.5], [1 + share, 1.0]]), rtol=1e-5, atol=1e-5)


def test_without_edges_channels_have_length_one():
    graph = small()
    model = create(bias=True)
    logits = model(graph.x, graph.null())
    weights = {name: weight[1] for name, weight in model.weights.items()}
    state = (graph.x.to_dense() @ weights["conv1.weight"] + weights["conv1.bias"]).relu()
    state = F.normalize(state.unflatten(1, (CHANNELS, -1)), dim=2).flatten(1)
    assert_close(logits[1], state @ weights["conv2.weight"] + weights["conv2.bias"], rtol=1e-4, atol=1e-5)
    # A node without neighbours is the same with the graph and without.
    assert_close(model(graph.x, graph)[:, 11], logits[:, 11], rtol=1e-4, atol=1e-5)


def test_channels_of_zeros_leave_numbers():
    graph = Graph.build(sp.csr_array((6, FEATURES)), [[0, 1], [1, 2]], [0, 1, 2, 0, 1, 2])
    model = create()
    logits = model(graph.x, graph, Streams.from_seeds(range(2)).at(Purpose.GNN_DROPOUT))
    logits.sum().backward()
    assert torch.equal(logits, torch.zeros(2, 6, 3))
    assert all(weight.grad.isfinite().all() for weight in model.parameters())


def test_dropout_reaches_every_layer():
    graph = small()
    hidden = torch.rand(2, 12, CHANNELS * HIDDEN)
    for place in (graph, graph.null()):
        model = create(layers=3, hidden_dropout=0.5)
        noise = Streams.from_seeds(range(2)).at(Purpose.GNN_DROPOUT)
        assert not torch.equal(model.decode(hidden, place, noise), model.decode(hidden, place))
        assert noise._draws == 3


def test_copies_of_a_trial_have_its_weights():
    graph = small()
    model = create(hidden_dropout=0.5)
    streams = Streams.from_seeds(range(2))
    together = model(graph.x, graph, streams.copies(0, 3).at(Purpose.TARGET_DROPOUT, 1))
    for copy in range(3):
        alone = model(graph.x, graph, streams.copies(copy, copy + 1).at(Purpose.TARGET_DROPOUT, 1))
        assert_close(together.unflatten(0, (2, 3))[:, copy], alone)


def test_its_settings():
    config = Config.for_dataset("cora", backbone="disengcn")
    assert (config.channels, config.hidden, config.layers, config.routing_steps) == (7, 16, 5, 6)
    assert (config.learning_rate, config.weight_decay, config.input_dropout, config.hidden_dropout) == (
        0.03,
        0.0036,
        0.0,
        0.35,
    )
    for name in ("channels", "routing_steps", "layers"):
        with pytest.raises(ConfigError, match=f"`{name}` must be at least 1"):
            Config(backbone="disengcn", **{name: 0})
