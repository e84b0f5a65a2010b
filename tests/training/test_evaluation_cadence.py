"""How often the whole graph is predicted while networks train on parts of it."""

import pytest
import torch

from graphmix import Config, ConfigError, fit, synthetic
from graphmix.training import batch as batches
from graphmix.training.sizes import epochs_between_evaluations

GRAPH, SPLIT = synthetic(nodes=200, features=30, seed=2)


def config(**choices):
    return Config.for_dataset("", **{"trials": 2, "hidden": 8, "epochs": 7, "batch_nodes": 20} | choices)


def trained(monkeypatch, **choices):
    """A fit, and how often the networks were judged."""
    times = []
    judge = batches.judge
    monkeypatch.setattr(batches, "judge", lambda *given: times.append(1) or judge(*given))
    return fit(GRAPH, SPLIT, config(**choices), device="cpu"), len(times)


def test_every_third_epoch_and_the_last_one_are_evaluated(monkeypatch):
    often, all_times = trained(monkeypatch, evaluate_every=1)
    monkeypatch.undo()
    seldom, times = trained(monkeypatch, evaluate_every=3)
    assert (all_times, times) == (7, 3)
    # The same steps, so the same losses and, where they were evaluated, the same accuracies.
    assert torch.equal(seldom.history.loss, often.history.loss)
    judged = [2, 5, 6]
    for name in ("val_accuracy", "test_accuracy", "train_loss", "val_loss"):
        few, every = getattr(seldom.history, name), getattr(often.history, name)
        assert torch.equal(few[:, judged], every[:, judged])
        assert few[:, :2].isnan().all()
        assert torch.equal(few[:, 3], few[:, 2])
    assert set(seldom.best_epoch.tolist()) <= set(judged)
    assert torch.equal(seldom.val_accuracy, often.history.val_accuracy[:, judged].max(dim=1).values)


def test_a_batch_of_trials_is_evaluated_like_each_alone():
    both = fit(GRAPH, SPLIT, config(evaluate_every=2), device="cpu", chunk=2)
    one = fit(GRAPH, SPLIT, config(evaluate_every=2), device="cpu", chunk=1)
    assert torch.equal(both.history.val_loss.nan_to_num(), one.history.val_loss.nan_to_num())
    assert torch.equal(both.best_epoch, one.best_epoch)


def test_the_number_follows_from_the_sizes():
    full = Config.for_dataset("", epochs=400)
    assert epochs_between_evaluations(GRAPH, full) == 1
    # A part of at most 4 + 1 * (4 + 4) = 12 nodes and 8 entries, three times, of the whole graph.
    small = config(epochs=400, batch_nodes=4, batch_fanout=1)
    assert epochs_between_evaluations(GRAPH, small) == round(GRAPH.num_propagated / (3 * (12 + 8)))
    # There are at least ten evaluations.
    assert epochs_between_evaluations(GRAPH, config(epochs=50, batch_nodes=4, batch_fanout=1)) == 5
    assert epochs_between_evaluations(GRAPH, config(epochs=5, evaluate_every=20)) == 5


def test_a_full_batch_is_evaluated_after_every_epoch():
    with pytest.raises(ConfigError, match="`evaluate_every` above 1 needs `batch_nodes`"):
        Config(evaluate_every=2)
    assert Config(evaluate_every=1).evaluate_every == 1
