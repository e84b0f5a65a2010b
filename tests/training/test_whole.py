"""Predictions layer by layer are those of one pass over the whole graph."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, Graph, Streams, Task, build_model, fit, synthetic
from graphmix.models import BACKBONES
from graphmix.training import loop, whole
from graphmix.training.whole import chunks_of, whole_logits


def setup(backbone, **choices):
    graph, split = synthetic(nodes=150, features=30, seed=2)
    config = Config.for_dataset("", backbone=backbone, trials=2, hidden=8, bias=True, **choices)
    task = Task.build(graph, split, config)
    return build_model(task, config, Streams.from_seeds([0, 1])), task


@pytest.mark.parametrize("backbone", list(BACKBONES))
@pytest.mark.parametrize("most", [1, 60, 500])
def test_the_logits_of_every_network_are_those_of_one_pass(backbone, most):
    model, task = setup(backbone)
    for graph in (task.graph, task.null):
        with torch.no_grad():
            expected = model(task.x, graph)
        assert_close(whole_logits(model, task.x, graph, most), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backbone", ["gcn", "sage"])
def test_dense_features_and_edge_weights(backbone):
    model, task = setup(backbone)
    graph = task.graph
    forward = graph.edge_index[0] < graph.edge_index[1]
    weights = torch.linspace(0.5, 2.0, int(forward.sum()))
    weighted = Graph.build(graph.x.to_dense(), graph.edge_index[:, forward], graph.y, weights=weights)
    with torch.no_grad():
        expected = model(weighted.x, weighted)
    assert_close(whole_logits(model, weighted.x, weighted, 60), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gat"])
def test_chunks_of_nodes_without_neighbours(backbone):
    model, task = setup(backbone)
    lonely = Graph.build(task.graph.x.to_dense(), [[148], [149]], task.graph.y, normalise=False)
    with torch.no_grad():
        expected = model(lonely.x, lonely)
    assert_close(whole_logits(model, lonely.x, lonely, 10), expected, rtol=1e-4, atol=1e-5)


def test_a_layer_sees_a_chunk_and_its_neighbours_and_no_more(monkeypatch):
    model, task = setup("sage")
    seen = []
    decode = type(model).decode
    monkeypatch.setattr(
        type(model), "decode", lambda self, hidden, *rest: seen.append(hidden.shape[1]) or decode(self, hidden, *rest)
    )
    whole_logits(model, task.x, task.graph, 60)
    assert len(seen) == len(chunks_of(task.graph, 60)) > 5
    assert max(seen) <= 60


def test_products_with_the_propagation_alone_are_done_at_once(monkeypatch):
    model, task = setup("gcn")
    monkeypatch.setattr(whole, "surroundings", None)
    with torch.no_grad():
        expected = model(task.x, task.graph)
    assert_close(whole_logits(model, task.x, task.graph, 60), expected)


def test_chunks_by_hand():
    # Node 0 has four neighbours, the others one or two.
    star = Graph.build(torch.eye(6), [[0, 0, 0, 0, 4], [1, 2, 3, 4, 5]], [0, 1, 0, 1, 0, 1])
    assert chunks_of(star, 5) == [(0, 1), (1, 3), (3, 5), (5, 6)]
    assert chunks_of(star, 1) == [(node, node + 1) for node in range(6)]
    assert chunks_of(star, 100) == [(0, 6)]
    assert chunks_of(star.null(), 4) == [(0, 4), (4, 6)]


def test_training_and_prediction_go_in_chunks(monkeypatch):
    graph, split = synthetic(nodes=150, features=30, seed=2)
    config = Config.for_dataset("", trials=2, hidden=8, epochs=5, batch_nodes=40)
    once = fit(graph, split, config, device="cpu")
    calls = []
    limited = whole.whole_logits

    def in_chunks(model, x, judged, most=60):
        calls.append(most)
        return limited(model, x, judged, most)

    monkeypatch.setattr("graphmix.training.judging.whole_logits", in_chunks)
    monkeypatch.setattr(loop, "whole_logits", in_chunks)
    again = fit(graph, split, config, device="cpu")
    assert len(calls) == 6, "five epochs, and the test nodes at the end"
    assert torch.equal(once.best_epoch, again.best_epoch)
    assert_close(once.predict_proba(graph), again.predict_proba(graph), rtol=1e-4, atol=1e-5)


def test_without_edges_a_layer_sees_every_node_once(monkeypatch):
    model, task = setup("gat")
    seen = []
    encode = type(model).encode
    monkeypatch.setattr(type(model), "encode", lambda self, x, *rest: seen.append(x.shape[0]) or encode(self, x, *rest))
    whole_logits(model, task.x, task.null, 40)
    assert seen == [40, 40, 40, 30]


@pytest.mark.parametrize("backbone", ["sage", "gat"])
def test_a_chunk_without_neighbours_does_not_read_the_whole_graph(backbone, monkeypatch):
    model, task = setup(backbone)
    lonely = Graph.build(task.graph.x.to_dense(), [[148], [149]], task.graph.y, normalise=False)
    seen = []
    decode = type(model).decode
    monkeypatch.setattr(
        type(model), "decode", lambda self, hidden, *rest: seen.append(hidden.shape[1]) or decode(self, hidden, *rest)
    )
    whole_logits(model, lonely.x, lonely, 10)
    assert max(seen) <= 12
