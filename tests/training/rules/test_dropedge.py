"""DropEdge against the same written with dense matrices."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams, Task, build_model, fit, step_loss, synthetic
from graphmix.sparse.ops import unpack
from graphmix.streams import Purpose
from graphmix.training.rules.dropedge import adjacency


def setup(weights=False, **choices):
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    if weights:
        heavy = 0.5 + (graph.edge_index.sum(dim=0) % 4)
        graph = Graph.build(graph.x, graph.edge_index, graph.y, weights=heavy)
    config = Config.for_dataset("", method="dropedge", trials=2, hidden_dropout=0.0, **choices)
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    return build_model(task, config, streams), task, config, streams


@pytest.mark.parametrize("weights", [False, True])
def test_the_loss_is_that_of_the_graph_without_the_edges(weights):
    model, task, config, streams = setup(weights, edge_dropout=0.3)
    loss = step_loss(model, task, config, streams, 4)
    (gradient,) = torch.autograd.grad(loss.sum(), model.weights["conv1.weight"])
    matrix, x = adjacency(task.graph), task.x.to_dense()
    row = torch.repeat_interleave(torch.arange(60), matrix.crow.diff())
    kept = unpack(streams.at(Purpose.EDGE_DROPOUT, 4).keep(matrix.nonzeros, 0.3).words, matrix.nonzeros)
    for trial in range(2):
        dense = torch.zeros(60, 60).index_put((row, matrix.col.long()), matrix.values * kept[trial]) + torch.eye(60)
        scale = dense.sum(1) ** -0.5
        spread = scale[:, None] * dense * scale
        first = model.weights["conv1.weight"][trial].detach().requires_grad_()
        hidden = (spread @ x @ first + model.weights["conv1.bias"][trial]).relu()
        logits = spread @ (hidden @ model.weights["conv2.weight"][trial]) + model.weights["conv2.bias"][trial]
        nodes, labels = task.labeled.index[0], task.labeled.labels[0]
        expected = torch.nn.functional.cross_entropy(logits[nodes], labels)
        assert_close(loss[trial], expected)
        expected.backward()
        assert_close(gradient[trial], first.grad)
    assert 0.6 < kept.mean() < 0.8
    assert not torch.equal(kept[0], kept[1])


def test_without_dropping_it_is_supervised_training():
    model, task, config, streams = setup(edge_dropout=0.0)
    plain = Config.from_dict(config.to_dict() | {"method": "supervised"})
    assert torch.equal(step_loss(model, task, config, streams, 4), step_loss(model, task, plain, streams, 4))


def test_other_networks_are_refused():
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    with pytest.raises(ConfigError, match="`backbone` gcn"):
        fit(graph, split, Config(method="dropedge", backbone="gat", trials=1, epochs=1), device="cpu")


def test_settings_are_the_published_ones():
    cora = Config.for_dataset("cora", method="dropedge")
    assert (cora.edge_dropout, cora.hidden, cora.hidden_dropout, cora.learning_rate) == (0.6, 128, 0.8, 0.007)
    assert Config.for_dataset("citeseer", method="dropedge").edge_dropout == 0.8
