"""Padded epochs: fewer shapes, and the same numbers."""

import pytest
import torch

from graphmix import Config, Streams, Task, build_model, fit, step_loss, synthetic
from graphmix.training import loop, padding
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured
from graphmix.training.padding import window_width
from graphmix.training.step import Moment, fcn_loss, flip_coins, heads_first


class Replayed:
    """Stands in for a CUDA graph: it can only do again what it did when it was captured."""

    def __init__(self, function, arguments):
        self._again = lambda: function(*arguments)

    def replay(self):
        self._again()


@pytest.fixture
def captured(monkeypatch):
    """Let `fit` capture epochs on the CPU; return the shapes that were captured."""
    shapes = []

    def capture(self, arguments):
        shapes.append(arguments)
        return Replayed(self._function, arguments)

    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: (0, 0))
    monkeypatch.setattr(Captured, "_capture", capture)
    monkeypatch.setattr(loop, "capturable", lambda device: True)
    return shapes


def curves(graph, split, config, window):
    trials = list(range(config.trials))
    batch = Batch(Task.build(graph, split, config), config, trials, window=window)
    for epoch in range(config.epochs):
        batch.advance(*batch.shape(epoch))
    return batch


@pytest.mark.parametrize("window", [2, 5, 8, 11])
@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"reading": "released"},
        {"backbone": "gat", "hidden": 4},
        {"backbone": "unet"},
        {"hidden_dropout": 0.5, "bias": True, "unlabeled": 30},
    ],
    ids=["paper", "released", "gat", "unet", "options"],
)
def test_padding_changes_no_bit(choices, window):
    graph, split = synthetic(nodes=90, features=30, labels_per_class=4, seed=2)
    # A ramp-up in the middle: both kinds of epochs. Of 11 trials some windows end beyond the last.
    choices = {"trials": 11, "epochs": 14, "rampup_start": 5, "rampup_end": 8} | choices
    config = Config.for_dataset("", **choices)
    plain, padded = (curves(graph, split, config, width) for width in (1, window))
    assert torch.equal(plain.curves, padded.curves)
    for name, weight in plain.model.weights.items():
        assert torch.equal(weight, padded.model.weights[name]), name
        assert torch.equal(plain.kept[name], padded.kept[name]), name


def test_every_number_of_heads_from_none_to_all_is_served():
    graph, split = synthetic(nodes=60, features=20, labels_per_class=4, seed=2)
    config = Config(trials=3, epochs=40, rampup_start=10, rampup_end=20)
    plain, padded = (curves(graph, split, config, width) for width in (1, 3))
    heads = {plain.shape(epoch)[0] for epoch in range(40)}
    assert heads == {0, 1, 2, 3}
    assert {padded.shape(epoch)[0] for epoch in range(40)} == {0, 3}
    assert torch.equal(plain.curves, padded.curves)


def test_a_loss_that_is_dropped_may_be_infinite(monkeypatch):
    graph, split = synthetic(nodes=60, features=20, labels_per_class=4, seed=2)
    config = Config(trials=4, epochs=1, rampup_start=5, rampup_end=6)
    streams = Streams.from_seeds(range(4))
    task = Task.build(graph, split, config)
    heads = torch.tensor([False, True, False, False])
    expected = build_model(task, config, streams)
    step_loss(expected, task, config, streams, 0, heads).sum().backward()

    def diverged(model, task, config, streams, moment):
        right = streams.keys == Streams.from_seeds([1]).keys  # the one trial with heads
        factor = torch.where(right, 0.0, torch.inf)
        found = fcn_loss(model, task, config, streams, moment)
        return found + factor * model.weights["conv1.weight"].sum(dim=(1, 2))

    monkeypatch.setattr(padding, "fcn_loss", diverged)
    model, order = build_model(task, config, streams), heads_first(heads)
    moment = Moment.at(config, 0)
    padding.padded_loss(model, task, config, streams, moment, (heads, order), (0, 3)).sum().backward()
    for name, weight in expected.weights.items():
        assert torch.equal(model.weights[name].grad, weight.grad), name


def test_a_captured_run_needs_few_graphs_and_a_trial_in_it_equals_the_trial_alone(captured):
    graph, split = synthetic(nodes=60, features=20, labels_per_class=4, seed=2)
    config = Config(trials=24, epochs=60, rampup_start=20, rampup_end=40)
    assert window_width(graph, config, 24) == 3
    together = fit(graph, split, config, device="cpu", chunk=24)
    assert len(captured) == len(set(captured)) <= 12
    assert all(shape[0] % 3 == 0 for shape in captured)
    captured.clear()
    alone = fit(graph, split, config, device="cpu", chunk=1)
    for name in ("loss", "val_accuracy", "val_loss"):
        assert torch.equal(getattr(together.history, name), getattr(alone.history, name))
    for name, weight in together.weights.items():
        assert torch.equal(weight, alone.weights[name]), name


def test_a_dozen_graphs_serve_a_hundred_trials(cora_sized):
    config = Config.for_dataset("cora", trials=100)
    width = window_width(cora_sized, config, 100)
    heads = flip_coins(config, Streams.from_seeds(range(100)), config.epochs).sum(dim=1)
    exact, padded = len(heads.unique()), len((heads // width).unique())
    # Before and after the ramp-up.
    assert 2 * exact > 55
    assert 2 * padded <= 14


@pytest.fixture
def cora_sized():
    return synthetic(nodes=2700, features=1400, classes=7, labels_per_class=20, seed=0)[0]


def test_windows_are_wide_where_graphs_cost_more_than_what_they_save(cora_sized):
    config = Config(trials=100)
    assert window_width(cora_sized, config, 100) > 4
    assert window_width(cora_sized, config, 10) == 1
    # More work in an epoch, or more epochs: a graph of its own pays off for more numbers of heads.
    wide = Config(trials=100, hidden=4096)
    assert window_width(cora_sized, wide, 100) == 1
    assert window_width(cora_sized, Config(trials=100, epochs=20000), 100) < window_width(cora_sized, config, 100)
    for method in ("supervised", "graphmix-steady"):
        assert window_width(cora_sized, Config(method=method, trials=100), 100) == 1
    assert window_width(cora_sized, Config(optimisation="joint", trials=100), 100) == 1


@pytest.mark.gpu
@pytest.mark.parametrize("reading", ["paper", "released"])
def test_padded_replays_equal_epochs_that_are_not_padded(reading):
    graph, split = synthetic(nodes=400, features=100, seed=5)
    config = Config.for_dataset("", trials=40, epochs=80, reading=reading)
    assert window_width(graph, config, 40) > 1
    padded = fit(graph, split, config, device="cuda", chunk=40)
    plain = Batch(Task.build(graph, split, config, "cuda"), config, list(range(40)))
    for epoch in range(config.epochs):
        plain.advance(*plain.shape(epoch))
    torch.testing.assert_close(padded.history.loss, plain.curves[0].T.cpu(), rtol=1e-3, atol=1e-4)
    assert (padded.history.val_accuracy == plain.curves[1].T.cpu()).float().mean() > 0.999
