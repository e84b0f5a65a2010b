"""graphmix-steady: its loss term by term, its targets, its defaults."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Split, Streams, Task, build_model, fit, step_loss, synthetic
from graphmix.method import align, cross_entropy, sharpen
from graphmix.streams import Purpose
from graphmix.training import Moment, fcn_loss, gnn_loss, predict_targets
from graphmix.training.methods import METHODS
from graphmix.workflow.plan import usual_config

STEADY, EPOCH = "graphmix-steady", 30


def setup(**choices):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config.for_dataset("", **({"method": STEADY, "backbone": "gpr", "trials": 3, "epochs": 40} | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(3))
    return build_model(task, config, streams), task, config, streams


def test_the_loss_is_the_sum_of_its_three_terms():
    model, task, config, streams = setup(gamma=2.0)
    everyone = replace(config, target_confidence=0.0, temperature=1.0)
    mean = predict_targets(model, task, everyone, streams, EPOCH, task.unlabeled)
    # Between the nodes' confidences, so that some have targets and some have none.
    config = replace(config, target_confidence=mean.amax(-1).median().item())
    moment = Moment.at(config, EPOCH)
    assert moment.weight == 2.0
    targets = predict_targets(model, task, config, streams, EPOCH, task.unlabeled)
    assert 0 < (targets.sum(-1) == 0).sum() < targets[..., 0].numel()
    logits = model(task.x, task.graph, streams.at(Purpose.GNN_DROPOUT, EPOCH))
    own = cross_entropy(task.unlabeled.of(logits), targets, task.unlabeled.weight)
    mixup = fcn_loss(model, task, config, streams, Moment(EPOCH, None))
    total = gnn_loss(model, task, streams, moment) + 2.0 * own + 0.3 * mixup
    assert_close(step_loss(model, task, config, streams, EPOCH), total)


def test_without_the_fcn_it_is_self_training():
    model, task, config, streams = setup(joint_weight=0.0)
    ours = step_loss(model, task, config, streams, EPOCH)
    assert torch.equal(ours, step_loss(model, task, replace(config, method="self-training"), streams, EPOCH))


def test_before_the_ramp_it_is_the_gnns_loss_and_mixup():
    model, task, config, streams = setup()
    moment = Moment(0, None)
    total = gnn_loss(model, task, streams, moment) + 0.3 * fcn_loss(model, task, config, streams, moment)
    assert_close(step_loss(model, task, config, streams, 0), total)


@pytest.mark.parametrize("method", ["self-training", STEADY])
def test_no_passes_of_their_own_means_the_predictions_of_the_step(method):
    choices = {"target_confidence": 0.0, "target_alignment": 0.4, "joint_weight": 0.0}
    model, task, config, streams = setup(method=method, perturbations=0, **choices)
    logits = model(task.x, task.graph, streams.at(Purpose.GNN_DROPOUT, EPOCH))
    predicted = task.unlabeled.of(logits)
    mean = align(predicted.detach().softmax(-1), task.unlabeled.weight, task.label_shares, 0.4)
    targets = sharpen(mean, config.temperature)
    total = gnn_loss(model, task, streams, Moment(EPOCH, None)) + cross_entropy(
        predicted, targets, task.unlabeled.weight
    )
    loss = step_loss(model, task, config, streams, EPOCH)
    assert_close(loss, total)
    # The targets are constants: no gradient flows through them.
    gradients = [torch.autograd.grad(each.sum(), model.weights["conv1.weight"])[0] for each in (loss, total)]
    assert_close(*gradients)


def test_without_dropout_a_pass_of_their_own_is_the_pass_of_the_step():
    still = {"input_dropout": 0.0, "hidden_dropout": 0.0}
    model, task, none, streams = setup(perturbations=0, **still)
    one = replace(none, perturbations=1)
    losses = [step_loss(model, task, config, streams, EPOCH) for config in (none, one)]
    assert_close(*losses)


@pytest.mark.parametrize("method", ["graphmix", "fcn-self-training", "fcn-mixup"])
def test_methods_that_train_the_fcn_on_targets_need_passes(method):
    with pytest.raises(ConfigError, match=f"`perturbations` must be at least 1 for {method}; only self-training"):
        Config(method=method, perturbations=0)
    assert Config(method="supervised", perturbations=0).perturbations == 0


def test_alignment_moves_the_shares_of_the_targets_to_those_of_the_labels():
    model, task, config, streams = setup(target_confidence=0.0, temperature=1.0)
    distances = []
    for strength in (0.0, 0.5, 1.0):
        with_strength = replace(config, target_alignment=strength)
        targets = predict_targets(model, task, with_strength, streams, EPOCH, task.unlabeled)
        assert_close(targets.sum(-1), torch.ones_like(targets[..., 0]))
        distances.append((targets.mean(1) - task.label_shares).abs().sum(1))
    assert (distances[0] > distances[1]).all()
    assert (distances[1] > distances[2]).all()


def test_the_shares_of_labels_are_each_trials_own_without_padding():
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    train = split.train.repeat(2, 1)
    last = train[1].nonzero()[graph.y[train[1]] == graph.num_classes - 1]
    train[1, last[1:]] = False  # the second trial has one label of the last class
    both = Split.build(train, split.val.repeat(2, 1), split.test.repeat(2, 1))
    task = Task.build(graph, both, Config(trials=2))
    counts = torch.tensor([[4.0] * graph.num_classes, [4.0] * (graph.num_classes - 1) + [1.0]])
    assert_close(task.label_shares, counts / counts.sum(1, keepdim=True))
    weighted = Task.build(graph, both, Config(trials=2, class_weight="balanced"))
    assert_close(weighted.label_shares, torch.full_like(counts, 1 / graph.num_classes))


def test_its_defaults_are_filled_in_and_given_values_win():
    held = METHODS[STEADY].defaults
    for config in (
        Config.for_dataset("cora", method=STEADY),
        Config.for_dataset("pubmed", method=STEADY),
        usual_config(synthetic(nodes=100, seed=0)[0], method=STEADY),
    ):
        assert {name: getattr(config, name) for name in held} == held
    # A reading that draws some unlabeled nodes in every step has nothing to keep.
    drawn = Config.for_dataset("pubmed", method=STEADY, reading="released")
    assert {name: getattr(drawn, name) for name in held} == {**held, "target_every": 1}
    assert usual_config(synthetic(nodes=100, seed=0)[0], STEADY, unlabeled="labeled").target_every == 1
    chosen = Config.for_dataset("cora", method=STEADY, temperature=0.9, perturbations=0)
    assert (chosen.temperature, chosen.perturbations, chosen.joint_weight) == (0.9, 0, held["joint_weight"])
    for method in set(METHODS) - {STEADY}:
        assert not METHODS[method].defaults


def test_it_learns_and_predicts_with_the_gnn():
    graph, split = synthetic(nodes=300, features=80, labels_per_class=5, seed=1)
    config = Config.for_dataset("", method=STEADY, backbone="gpr", trials=2, epochs=60)
    assert config.predicts_with_gnn
    assert fit(graph, split, config, device="cpu").test_accuracy.min() > 0.7
