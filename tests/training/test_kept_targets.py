"""Targets that are kept for a few steps, and mixup that reads labeled rows alone."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Split, Streams, Task, build_model, step_loss, synthetic
from graphmix.method import cross_entropy
from graphmix.models import BACKBONES
from graphmix.streams import Purpose
from graphmix.training import Moment, predict_targets
from graphmix.training.batch import Batch
from graphmix.training.step import label_mixup_loss, self_training_loss

METHODS = ["self-training", "graphmix-steady"]


def setup(**choices):
    graph, split = synthetic(nodes=100, features=40, labels_per_class=4, seed=3)
    usual = {"method": "self-training", "backbone": "gcn", "trials": 3, "epochs": 40, "target_every": 4}
    config = Config.for_dataset("", **(usual | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(3))
    return build_model(task, config, streams), task, config, streams


def empty(task):
    return torch.zeros(3, task.unlabeled.index.shape[1], task.graph.num_classes)


@pytest.mark.parametrize("perturbations", [0, 2])
def test_a_step_that_refreshes_keeps_its_targets_and_the_next_one_uses_them(perturbations):
    model, task, config, streams = setup(perturbations=perturbations)
    kept = empty(task)
    fresh = self_training_loss(model, task, config, streams, Moment(30, 2.0, kept, True))
    assert_close(fresh, self_training_loss(model, task, config, streams, Moment(30, 2.0)), rtol=0, atol=0)
    if perturbations:
        assert torch.equal(kept, predict_targets(model, task, config, streams, 30, task.unlabeled))
    before = kept.clone()
    later = self_training_loss(model, task, config, streams, Moment(31, 2.0, kept, False))
    assert torch.equal(kept, before)
    logits = model(task.x, task.graph, streams.at(Purpose.GNN_DROPOUT, 31))
    expected = cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight) + 2.0 * cross_entropy(
        task.unlabeled.of(logits), before, task.unlabeled.weight
    )
    assert_close(later, expected)
    own = self_training_loss(model, task, config, streams, Moment(31, 2.0))
    assert not torch.allclose(later, own), "it would have predicted others"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("every", [1, 3])
def test_a_batch_predicts_targets_at_the_first_step_that_needs_them_and_every_few_after_it(method, every):
    _, task, config, _ = setup(method=method, target_every=every, epochs=12, rampup_start=4, rampup_end=6)
    shapes = [Batch(task, config, [0, 1, 2]).shape(epoch) for epoch in range(12)]
    # At the start of the ramp its weight is exp(-5), not 0.
    needed = [unsupervised for _, unsupervised, _ in shapes]
    assert needed == [False] * 4 + [True] * 8
    refreshed = [epoch for epoch, (_, _, refresh) in enumerate(shapes) if refresh]
    assert refreshed == ([4, 6, 9] if every == 3 else list(range(4, 12)))


@pytest.mark.parametrize("method", METHODS)
def test_the_targets_of_a_batch_are_those_of_its_last_refresh(method, monkeypatch):
    _, task, config, streams = setup(method=method, target_every=3, epochs=12, rampup_start=4)
    from graphmix.training import step

    asked = []

    def noted(model, task, config, streams, epoch, nodes):
        asked.append(int(epoch))
        return predict_targets(model, task, config, streams, epoch, nodes)

    monkeypatch.setattr(step, "predict_targets", noted)
    batch, expected = Batch(task, config, [0, 1, 2]), None
    for epoch in range(12):
        shape = batch.shape(epoch)
        if shape[2]:
            expected = predict_targets(batch.model, task, config, streams, epoch, task.unlabeled)
        batch.advance_blindly(*shape)
        if expected is not None:
            assert torch.equal(batch._targets, expected)
    assert asked == [4, 6, 9]


@pytest.mark.parametrize("method", METHODS)
def test_of_every_step_is_what_it_was_without_keeping(method):
    _, task, config, _ = setup(method=method, target_every=1, epochs=10, rampup_start=2)
    plain, kept = Batch(task, config, [0, 1, 2]), Batch(task, config, [0, 1, 2])
    kept._targets = empty(task)
    for epoch in range(10):
        plain.advance(*plain.shape(epoch))
        kept.advance(*kept.shape(epoch))
    assert plain._targets is None
    for name, weight in plain.model.weights.items():
        assert torch.equal(weight, kept.model.weights[name])


def test_only_methods_that_train_the_gnn_on_all_targets_can_keep_them():
    for method in ("graphmix", "fcn-mixup", "fcn-self-training"):
        with pytest.raises(ConfigError, match=f"`target_every` must be 1 for {method}"):
            Config(method=method, target_every=2)
    for method in METHODS:
        assert Config(method=method, target_every=2).target_every == 2
        for unlabeled in ("labeled", 30):
            with pytest.raises(ConfigError, match="`target_every` must be 1"):
                Config(method=method, target_every=2, unlabeled=unlabeled)
    # A method without targets has none to keep.
    assert Config(method="supervised", target_every=2).target_every == 2
    with pytest.raises(ConfigError, match="`target_every` must be at least 1"):
        Config(target_every=0)


def labeled_by_trial(sparse):
    """A graph whose trials train on other nodes each, and on other numbers of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 7)) * (rng.random((50, 7)) < 0.5)
    y = np.arange(50) % 3
    graph = Graph.build(
        sp.csr_array(x) if sparse else x, rng.integers(0, 50, (2, 80)), y, 3, normalise=False, class_names=list("abc")
    )
    train = torch.zeros(3, 50, dtype=torch.bool)
    train[0, [4, 9, 5, 20]] = train[1, [4, 6, 8, 31, 40, 45]] = train[2, [49, 0]] = True
    val = torch.zeros_like(train)
    val[:, 10] = True
    return graph, Split.build(train, val, torch.zeros_like(train))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("backbone", BACKBONES)
def test_mixup_of_the_labels_needs_labeled_rows_alone(backbone, sparse):
    graph, split = labeled_by_trial(sparse)
    choices = {"input_dropout": 0.0, "hidden_dropout": 0.4, "bias": True, "trials": 3, "epochs": 9, "hidden": 5}
    config = Config.for_dataset("", method="graphmix-steady", backbone=backbone, **choices)
    task, streams = Task.build(graph, split, config), Streams.from_seeds(range(3))
    model = build_model(task, config, streams)
    x, nodes = task.labeled_rows
    assert x.shape[0] == 11
    assert_close(nodes.labels, task.labeled.labels)
    found = label_mixup_loss(model, task, config, streams, 3)
    everything = replace(task, labeled_rows=(task.x, task.labeled))
    assert_close(found, label_mixup_loss(model, everything, config, streams, 3))
    if model.reads_rows:
        zeros = 0 * task.x if not sparse else replace(task.x, values=0 * task.x.values)
        assert torch.equal(label_mixup_loss(model, replace(task, x=zeros), config, streams, 3), found)
    for trial in range(3):
        one = torch.tensor([trial])
        alone = label_mixup_loss(model.select(one), task.select(one), config, streams.select(one), 3)
        assert_close(alone[0], found[trial])


def test_with_dropout_of_the_input_all_rows_are_read():
    graph, split = labeled_by_trial(False)
    config = Config.for_dataset("", method="graphmix-steady", trials=3, epochs=9, hidden=5, input_dropout=0.5)
    task, streams = Task.build(graph, split, config), Streams.from_seeds(range(3))
    model = build_model(task, config, streams)
    damaged = replace(task, labeled_rows=(torch.zeros(11, 7), task.labeled_rows[1]))
    found = label_mixup_loss(model, task, config, streams, 3)
    assert torch.equal(label_mixup_loss(model, damaged, config, streams, 3), found)


@pytest.mark.parametrize("sparse", [False, True])
def test_features_alone_need_labeled_rows_alone(sparse):
    graph, split = labeled_by_trial(sparse)
    choices = {"input_dropout": 0.0, "bias": True, "trials": 3, "epochs": 9, "hidden": 5}
    config = Config.for_dataset("", method="fcn", hidden_dropout=0.0, **choices)
    task, streams = Task.build(graph, split, config), Streams.from_seeds(range(3))
    model = build_model(task, config, streams)
    full = cross_entropy(task.labeled.of(model(task.x, task.null)), task.targets, task.labeled.weight)
    assert_close(step_loss(model, task, config, streams, 3), full)


def test_a_trial_of_features_alone_does_not_depend_on_labels_of_other_trials():
    graph, split = labeled_by_trial(False)
    choices = {"input_dropout": 0.0, "hidden_dropout": 0.4, "epochs": 9, "hidden": 5}
    config = Config.for_dataset("", method="fcn", trials=3, **choices)
    task, streams = Task.build(graph, split, config), Streams.from_seeds(range(3))
    model = build_model(task, config, streams)
    together = step_loss(model, task, config, streams, 3)
    assert not torch.equal(together, step_loss(model, task, config, streams, 4))
    for trial in range(3):
        one = torch.tensor([trial])
        masks = (mask[one] for mask in (split.train, split.val, split.test))
        own = Task.build(graph, Split.build(*masks), replace(config, trials=1))
        alone = step_loss(model.select(one), own, replace(config, trials=1), streams.select(one), 3)
        assert_close(alone[0], together[trial])
