"""Traces of held-out nodes and training for a number of epochs: against plain loops of steps, and each other."""

import time
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, Split, Task, synthetic
from graphmix.errors import RunError
from graphmix.training import trace as module
from graphmix.training.batch import Batch
from graphmix.training.loop import predict_proba
from graphmix.training.trace import OutOfTimeError, trace, train_for

# Adam moves weights by about the learning rate: by so little, not at all.
STILL = 1e-30


def graph_and_split(trials=1):
    """A graph, and as many splits of its labels; those of two trials share held-out nodes."""
    graph, split = synthetic(nodes=90, classes=3, features=25, labels_per_class=6, seed=2)
    number = torch.arange(90)
    val = torch.stack([split.train[0] & (number % 5 == trial % 5) for trial in range(trials)])
    val |= split.train[0] & (number == split.train[0].nonzero()[0])
    return graph, Split.build(split.train & ~val, val, torch.zeros_like(val))


def quick(**choices):
    usual = {"method": "supervised", "backbone": "gcn", "trials": 1, "epochs": 20, "hidden": 4, "learning_rate": 0.05}
    return Config(**(usual | choices))


def predicted(graph, config, weights, *, null=False):
    """What networks with such weights predict, the mean over the trials: `[nodes, classes]`."""
    batch = Batch(Task.build(graph, synthetic_split(graph), config), config, list(range(config.trials)))
    network = replace(batch.model, weights=weights)
    return predict_proba(network, config, graph.null() if null else graph).mean(dim=0)


def synthetic_split(graph):
    known = (graph.y >= 0)[None]
    first = torch.zeros_like(known)
    first[0, known[0].nonzero()[0]] = True
    return Split.build(known & ~first, first, torch.zeros_like(known))


@pytest.mark.parametrize(
    ("epochs", "points"), [(1, [1]), (10, [10]), (25, [10, 20, 25]), (40, [10, 20, 30, 40])], ids=str
)
def test_the_points_are_every_few_epochs_and_the_last(epochs, points):
    found = trace(*graph_and_split(), quick(epochs=epochs), device="cpu")
    assert found.points.tolist() == points
    assert found.probabilities.shape == (len(points), len(found.nodes), 3)


def test_where_there_are_many_probabilities_there_are_fewer_points_but_five(monkeypatch):
    graph, split = graph_and_split()
    held = int(split.val.sum()) * 3
    monkeypatch.setattr(module, "_MOST_KEPT", 4 * held)
    assert trace(graph, split, quick(epochs=100), device="cpu").points.tolist() == [20, 40, 60, 80, 100]
    monkeypatch.setattr(module, "_MOST_KEPT", 8 * held)
    assert len(trace(graph, split, quick(epochs=100), device="cpu").points) == 8


@pytest.mark.parametrize(
    ("method", "backbone"),
    [("supervised", "gcn"), ("supervised", "sage"), ("fcn", "gcn"), ("graphmix", "gcn"), ("graphmix-steady", "gpr")],
)
def test_a_point_is_what_networks_trained_for_so_long_predict(method, backbone):
    graph, split = graph_and_split()
    config = Config.for_dataset(
        "", method=method, backbone=backbone, trials=3, epochs=30, hidden=4, learning_rate=0.05, rampup_start=5
    )
    found = trace(graph, split, config, device="cpu")
    assert found.points.tolist() == [10, 20, 30]
    for point, probabilities in zip(found.points.tolist(), found.probabilities, strict=True):
        shorter = replace(config, epochs=point)
        assert (shorter.rampup_start, shorter.rampup_end) == (config.rampup_start, config.rampup_end)
        weights = train_for(graph, split.train[0], shorter, device="cpu")
        assert_close(probabilities, predicted(graph, shorter, weights)[found.nodes])
    assert_close(found.probabilities.sum(dim=2), torch.ones(3, len(found.nodes)))
    assert (found.fcn is not None) == method.startswith("graphmix")
    if found.fcn is not None:
        assert_close(found.fcn[-1], predicted(graph, config, weights, null=True)[found.nodes])
        assert not torch.allclose(found.fcn, found.probabilities)


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_a_node_has_the_mean_of_the_trials_that_held_it_out(monkeypatch, at_once):
    graph, split = graph_and_split(3)
    monkeypatch.setattr(module, "trials_at_once", lambda graph, config, device: at_once)
    found = trace(graph, split, quick(trials=3, seed=4), device="cpu")
    alone = []
    for trial in range(3):
        own = Split.build(split.train[[trial]], split.val[[trial]], split.test[[trial]])
        alone.append(trace(graph, own, quick(seed=4 + trial), device="cpu"))
        assert alone[-1].nodes.tolist() == split.val[trial].nonzero()[:, 0].tolist()
    assert found.nodes.tolist() == split.val.any(dim=0).nonzero()[:, 0].tolist()
    shared = 0
    for place, node in enumerate(found.nodes.tolist()):
        single = [each.probabilities[:, each.nodes.tolist().index(node)] for each in alone if node in each.nodes]
        assert_close(found.probabilities[:, place], torch.stack(single).mean(dim=0))
        shared += len(single) > 1
    assert 0 < shared < len(found.nodes)


@pytest.mark.parametrize(("patience", "points"), [(10, [10, 20]), (20, [10, 20, 30]), (25, [10, 20, 30, 40])])
def test_training_ends_where_the_loss_has_not_improved(patience, points):
    told = []
    found = trace(
        *graph_and_split(),
        quick(epochs=70, learning_rate=STILL, trials=2),
        device="cpu",
        patience=patience,
        tell=lambda done, total: told.append((done, total)),
    )
    assert found.points.tolist() == points
    assert torch.equal(found.probabilities[0], found.probabilities[-1])
    # What is not trained counts as done.
    assert told[-1] == (140, 140)
    assert told == sorted(told)


def test_with_predicted_targets_patience_begins_after_the_ramp():
    def points(**choices):
        config = quick(epochs=120, learning_rate=STILL, rampup_start=20, rampup_end=50, **choices)
        return trace(*graph_and_split(), config, device="cpu", patience=20).points.tolist()

    assert points(method="supervised") == [10, 20, 30]
    assert points(method="self-training") == [10, 20, 30, 40, 50, 60, 70]
    assert points(method="self-training", gamma=0.0) == [10, 20, 30]


def test_a_loss_that_improves_is_waited_for(monkeypatch):
    losses = iter([1.0, 0.9, 0.95, 0.89, 0.95, 0.96, 0.5])
    monkeypatch.setattr(module, "_loss", lambda probabilities, task: next(losses))
    found = trace(*graph_and_split(), quick(epochs=200), device="cpu", patience=20)
    assert found.points.tolist() == [10, 20, 30, 40, 50, 60]


def test_the_last_predictions_of_a_batch_that_stopped_stand_for_later_epochs(monkeypatch):
    graph, split = graph_and_split(2)
    monkeypatch.setattr(module, "trials_at_once", lambda graph, config, device: 1)
    # The first batch stops after 20 epochs, the second trains on.
    losses = iter([1.0, 1.0, *torch.linspace(1, 0, 5).tolist()])
    monkeypatch.setattr(module, "_loss", lambda probabilities, task: next(losses))
    found = trace(graph, split, quick(trials=2, epochs=50), device="cpu", patience=10)
    assert found.points.tolist() == [10, 20, 30, 40, 50]
    only_first = (split.val[0] & ~split.val[1])[found.nodes]
    only_second = (split.val[1] & ~split.val[0])[found.nodes]
    first, second = found.probabilities[:, only_first], found.probabilities[:, only_second]
    assert not torch.equal(first[0], first[1])
    assert torch.equal(first[1:], first[1:2].expand_as(first[1:]))
    assert not torch.equal(second[1], second[2])


def test_a_deadline_that_passed_is_told_apart_from_other_errors():
    with pytest.raises(OutOfTimeError, match="the time limit was reached"):
        trace(*graph_and_split(), quick(), device="cpu", deadline=time.monotonic() - 1)
    assert issubclass(OutOfTimeError, RunError)
    found = trace(*graph_and_split(), quick(), device="cpu", deadline=time.monotonic() + 600)
    assert found.points.tolist() == [10, 20]


def test_labels_that_are_not_trained_on_change_no_prediction():
    graph, split = graph_and_split(2)
    config = Config.for_dataset("", method="graphmix-steady", backbone="sage", trials=2, epochs=20, hidden=4)
    found = trace(graph, split, config, device="cpu")
    # Those held out by both trials, and those of nobody.
    hidden = ~split.train.any(dim=0)
    assert (hidden & split.val.all(dim=0)).any()
    other = replace(graph, y=torch.where(hidden, (graph.y + 1) % 3, graph.y))
    again = trace(other, split, config, device="cpu")
    assert torch.equal(again.probabilities, found.probabilities)
    assert torch.equal(again.fcn, found.fcn)


def test_test_nodes_are_not_looked_at():
    graph, split = graph_and_split()
    test = (~split.train & ~split.val) & (graph.y >= 0)
    found = trace(graph, split, quick(), device="cpu")
    again = trace(graph, replace(split, test=test), quick(), device="cpu")
    assert test.any()
    assert torch.equal(found.nodes, again.nodes)
    assert torch.equal(found.probabilities, again.probabilities)


@pytest.mark.parametrize("method", ["supervised", "graphmix", "self-training", "graphmix-steady"])
def test_training_for_some_epochs_is_a_plain_loop_of_steps(method):
    graph, split = graph_and_split()
    longer = Config.for_dataset("", method=method, trials=3, epochs=24, hidden=4, rampup_start=4)
    shorter = replace(longer, epochs=14)
    task = Task.build(graph, split, longer)
    batch = Batch(task, longer, [0, 1, 2])
    for epoch in range(14):
        batch.advance(*batch.shape(epoch))
    weights, again = (train_for(graph, split.train[0], shorter, device="cpu") for _ in range(2))
    assert weights.keys() == batch.model.weights.keys()
    for name, weight in weights.items():
        assert torch.equal(weight, again[name]), "not repeatable"
        assert torch.equal(weight, batch.model.weights[name].detach()), "the ramp-up was moved, or a step differs"
        assert not weight.requires_grad


def test_a_batch_of_networks_is_each_of_them_alone(monkeypatch):
    graph, split = graph_and_split()
    config = Config.for_dataset(
        "", method="graphmix-steady", backbone="gpr", trials=3, epochs=14, hidden=4, rampup_start=2
    )
    together = train_for(graph, split.train[0], config, device="cpu")
    for trial in range(3):
        alone = train_for(graph, split.train[0], replace(config, trials=1, seed=trial), device="cpu")
        for name, weight in alone.items():
            assert_close(weight[0], together[name][trial])
    monkeypatch.setattr(module, "trials_at_once", lambda graph, config, device: 2)
    told = []
    apart = train_for(graph, split.train[0], config, device="cpu", tell=lambda *done: told.append(done))
    for name, weight in apart.items():
        assert_close(weight, together[name])
    assert told[-1] == (42, 42)


def test_a_loss_is_the_mean_negative_log_likelihood_of_the_held_out_labels():
    graph, split = graph_and_split(2)
    task = Task.build(graph, split, quick(trials=2))
    torch.manual_seed(0)
    probabilities = torch.softmax(torch.randn(2, task.val.index.shape[1], 3), dim=2)
    expected = []
    for trial in range(2):
        nodes = split.val[trial].nonzero()[:, 0]
        own = probabilities[trial, torch.arange(len(nodes)), graph.y[nodes]]
        expected.append(-own.log().mean())
    assert module._loss(probabilities, task) == pytest.approx(float(torch.stack(expected).mean()), rel=1e-6)
