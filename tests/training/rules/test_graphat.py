"""GraphAT and GraphVAT against perturbations that are written out."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Split, Streams, Task, build_model, fit, step_loss, synthetic
from graphmix.training.rules.adversarial import SHORTEST
from graphmix.training.rules.graphat import GraphAT, GraphVAT

EPOCH = 3


def setup(**choices):
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    config = Config.for_dataset("", trials=2, **choices)
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    return build_model(task, config, streams), task, config, streams


def test_drawn_nodes_are_neighbours_and_all_are_drawn():
    edges = [[0, 0, 0, 1], [1, 2, 3, 2]]
    graph = Graph.build(torch.eye(6), edges, [0, 1, 0, 1, 0, 1])
    some = torch.tensor([[True, True, False, False, False, False]])
    config = Config.for_dataset("", method="graphat", trials=3, neighbour_draws=50)
    task = Task.build(graph, Split(some, some.roll(2), some.roll(4)), config)
    streams = Streams.from_seeds(range(3))
    rule = GraphAT(build_model(task, config, streams), task, config, streams)
    drawn = rule.draw_neighbours(1)
    beside = {0: {1, 2, 3}, 1: {0, 2}, 2: {0, 1}, 3: {0}, 4: {4}, 5: {5}}
    for node, wanted in beside.items():
        assert set(drawn[:, :, node].flatten().tolist()) == wanted
    assert not torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn, rule.draw_neighbours(2))


def test_the_loss_is_that_of_a_perturbation_written_out():
    model, task, config, streams = setup(method="graphat", graph_perturbation_size=0.4, graph_weight=0.7)
    loss = step_loss(model, task, config, streams, EPOCH)
    gradients = torch.autograd.grad(loss.sum(), list(model.weights.values()))
    drawn = GraphAT(model, task, config, streams).draw_neighbours(EPOCH)
    spread = task.graph.propagation.to_dense()
    for trial in range(2):
        first, second = (model.weights[name][trial] for name in ("conv1.weight", "conv2.weight"))
        x = task.x.to_dense().requires_grad_()
        clean = spread @ (spread @ x @ first).relu() @ second

        def apart(moved, clean=clean, trial=trial):
            p = clean.detach().softmax(1)[drawn[trial]]
            return (p * (p.log() - moved.log_softmax(1))).sum(2).mean(1).sum()

        (direction,) = torch.autograd.grad(apart(clean), x, retain_graph=True)
        worst = 0.4 * direction / direction.norm(dim=1, keepdim=True).clamp_min(SHORTEST)
        labels = torch.nn.functional.cross_entropy(clean[task.labeled.index[0]], task.labeled.labels[0])
        expected = labels + 0.7 * apart(spread @ (spread @ (x.detach() + worst) @ first).relu() @ second)
        assert_close(loss[trial], expected)
        for ours, theirs in zip(gradients, torch.autograd.grad(expected, list(model.weights.values())), strict=True):
            assert_close(ours[trial], theirs[trial], rtol=1e-3, atol=1e-6)


def test_graphvat_adds_the_loss_of_vat():
    model, task, config, streams = setup(method="graphvat", perturbation_probe=0.1)
    rule = GraphVAT(model, task, config, streams)
    logits, labels = rule.clean(EPOCH)
    total = labels + rule.discord(logits, EPOCH) + rule.smoothness(logits, EPOCH)
    assert_close(step_loss(model, task, config, streams, EPOCH), total)
    vat = Config.from_dict(config.to_dict() | {"method": "vat"})
    assert_close(step_loss(model, task, vat, streams, EPOCH), labels + rule.smoothness(logits, EPOCH))


def test_edge_weights_are_refused():
    graph, split = synthetic(nodes=60, features=40, labels_per_class=3, seed=3)
    heavy = Graph.build(graph.x, graph.edge_index, graph.y, weights=torch.rand(graph.edge_index.shape[1]) + 0.5)
    for method in ("graphat", "graphvat"):
        with pytest.raises(ConfigError, match="edge weights"):
            fit(heavy, split, Config(method=method, trials=1, epochs=1), device="cpu")
