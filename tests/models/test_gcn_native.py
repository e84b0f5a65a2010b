"""Predictions by a GCN in one native pass, and the order of Â and W₂."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix.data import Graph
from graphmix.models.gcn import GCN
from graphmix.sparse import ops
from graphmix.streams import Purpose, Streams
from graphmix.training import Config
from graphmix.training.devices import passes_at_once, trials_at_once

NODES, FEATURES = 300, 100


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    x = sp.random(NODES, FEATURES, density=0.5, format="csr", dtype=np.float32, random_state=rng)
    return Graph.build(x, rng.integers(0, NODES, (2, 900)), rng.integers(0, 3, NODES))


def logits_of(model, graph, copies):
    noise = Streams.from_seeds([4, 9]).copies(0, copies).at(Purpose.TARGET_DROPOUT, 3) if copies else None
    return model(graph.x, graph, noise)


@pytest.mark.parametrize("copies", [0, 1, 2, 5, 10])
@pytest.mark.parametrize(("hidden", "classes", "bias"), [(16, 3, False), (16, 7, True), (20, 11, True), (4, 9, True)])
def test_predictions_are_those_of_the_two_halves(graph, copies, hidden, classes, bias, monkeypatch):
    model = GCN.create(Streams.from_seeds([4, 9]), (FEATURES, hidden, classes), bias=bias)
    with torch.no_grad():
        for name, weight in model.weights.items():
            weight.add_(0.1 if "bias" in name else 0)
        fast = logits_of(model, graph, copies)
    halves = logits_of(model, graph, copies).detach()
    assert_close(fast, halves, rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(ops, "native", lambda name: None)
    with torch.no_grad():
        assert_close(fast, logits_of(model, graph, copies), rtol=1e-4, atol=1e-5)


def test_a_trial_in_a_batch_predicts_what_it_predicts_alone(graph):
    model = GCN.create(Streams.from_seeds([4, 9]), (FEATURES, 16, 3))
    with torch.no_grad():
        both = logits_of(model, graph, 5)
        noise = Streams.from_seeds([9]).copies(0, 5).at(Purpose.TARGET_DROPOUT, 3)
        alone = model.select(torch.tensor([1]))(graph.x, graph, noise)
    assert torch.equal(both[5:], alone)


def test_a_subclass_predicts_by_its_own_layers(graph):
    class Silent(GCN):
        def encode(self, x, graph, noise=None):
            return 0 * super().encode(x, graph, noise)

    model = Silent.create(Streams.from_seeds([4, 9]), (FEATURES, 16, 3))
    with torch.no_grad():
        assert not logits_of(model, graph, 0).any()


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_torch_s_default_type_does_not_matter(graph, default):
    model = GCN.create(Streams.from_seeds([4, 9]), (FEATURES, 16, 3))
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        with torch.no_grad():
            assert logits_of(model, graph, 5).dtype == torch.float32
    finally:
        torch.set_default_dtype(before)


def test_more_classes_than_hidden_units(graph):
    model = GCN.create(Streams.from_seeds([0]), (FEATURES, 4, 9), bias=True)
    first, second = model.weights["conv1.weight"][0], model.weights["conv2.weight"][0]
    propagation = graph.propagation.to_dense()
    expected = propagation @ (propagation @ graph.x.to_dense() @ first).relu() @ second
    assert_close(model(graph.x, graph)[0], expected, rtol=1e-4, atol=1e-5)


def test_copies_without_input_dropout_differ_by_hidden_dropout_only(graph):
    model = GCN.create(Streams.from_seeds([0]), (FEATURES, 4, 3), input_dropout=0.0, hidden_dropout=0.5)
    noise = Streams.from_seeds([0]).copies(0, 3).at(Purpose.TARGET_DROPOUT, 3)
    hidden = model.encode(graph.x, graph, noise)
    assert torch.equal(hidden[0], model.encode(graph.x, graph)[0])
    assert torch.equal(hidden[0], hidden[2])
    logits = model.decode(hidden, graph, noise)
    assert not torch.equal(logits[0], logits[2])


def test_native_code_takes_five_passes_and_shares_the_features(graph, monkeypatch):
    pytest.importorskip("numba")
    cpu, many = torch.device("cpu"), Config(trials=1000)
    fast = passes_at_once(graph, many, 1000, cpu), trials_at_once(graph, many, cpu)
    monkeypatch.setattr(ops, "native", lambda name: None)
    slow = passes_at_once(graph, many, 1000, cpu), trials_at_once(graph, many, cpu)
    assert fast[0] == 5
    assert slow[0] == 1
    assert fast[1] > slow[1]
