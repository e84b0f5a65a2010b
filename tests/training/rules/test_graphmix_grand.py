"""The loss of graphmix-grand, term by term, and what it shares with GRAND."""

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, Streams, Task, build_model, fit, make_split, step_loss, synthetic
from graphmix.method import cross_entropy, ramp_up
from graphmix.streams import Purpose
from graphmix.training.mixup import Pairs, label_mixup_loss, mixup_loss
from graphmix.training.rules.graphmix_grand import agreed_targets, distance
from graphmix.training.rules.rule import make_rule

PREDICTIONS = torch.tensor([[[[0.6, 0.4], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]]])
# The mean of the first node is (0.7, 0.3), sharpened with T = 0.5: (0.49, 0.09) / 0.58.
SHARP = torch.tensor([0.49, 0.09]) / 0.58


def setup(own_splits=False, **settings):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    split = make_split("5-per-class", graph, [0, 1]) if own_splits else split
    chosen = {"trials": 2, "epochs": 20, "rampup_end": 10, "perturbations": 3} | settings
    config = Config.for_dataset("", method=chosen.pop("method", "graphmix-grand"), **chosen)
    task, streams = Task.build(graph, split, config), Streams.from_seeds([0, 1])
    return build_model(task, config, streams), task, config, streams


def test_the_targets_are_the_sharpened_mean_of_the_passes():
    targets = agreed_targets(PREDICTIONS, 0.5, 0.0)
    assert_close(targets, torch.stack([SHARP, torch.tensor([0.5, 0.5])])[None])


def test_a_node_without_confidence_has_no_target_and_no_loss():
    targets = agreed_targets(PREDICTIONS, 0.5, 0.6)
    assert_close(targets[0], torch.stack([SHARP, torch.zeros(2)]))
    apart = ((PREDICTIONS[0, :, 0] - SHARP) ** 2).sum() / 4
    assert_close(distance(PREDICTIONS.log(), targets, "squared"), apart[None])


@pytest.mark.parametrize("form", ["squared", "cross-entropy"])
def test_the_distance_by_hand(form):
    targets = SHARP.repeat(1, 2, 1)
    each = (PREDICTIONS - SHARP) ** 2 if form == "squared" else -SHARP * PREDICTIONS.log()
    assert_close(distance(PREDICTIONS.log(), targets, form), each.sum()[None] / 4)


@pytest.mark.parametrize("own_splits", [False, True])
@pytest.mark.parametrize("form", ["squared", "cross-entropy"])
def test_the_loss_is_that_of_separate_passes_and_the_fcn(own_splits, form):
    model, task, config, streams = setup(own_splits, consistency=form, gamma=0.7, joint_weight=0.4, temperature=0.5)
    loss = step_loss(model, task, config, streams, 5)
    weight = ramp_up(5, 0, 10, 0.7)
    mixed = label_mixup_loss(model, task, config, streams, 5)
    for trial in range(2):
        one = torch.tensor([trial])
        alone, own, part = model.select(one), task.select(one), streams.select(one)
        nodes, shares, labels = own.labeled.index[0], own.labeled.weight[0], own.labeled.labels[0]
        logs = []
        for copy in range(3):
            noise = part.copies(copy, copy + 1).at(Purpose.RANDOM_PROPAGATION, 5)
            logs.append(alone(own.x, own.graph, noise)[0].log_softmax(1))
        logs = torch.stack(logs)
        right = logs[:, nodes].gather(2, labels.clamp_min(0).repeat(3, 1)[..., None])[..., 0]
        mean = logs.exp().mean(0)
        sharp = mean**2 / (mean**2).sum(1, keepdim=True)
        apart = (logs.exp() - sharp) ** 2 if form == "squared" else -sharp * logs
        expected = -(right * shares).sum() / 3 + weight * apart.sum(2).mean() + 0.4 * mixed[trial]
        assert_close(loss[trial], expected, rtol=1e-4, atol=1e-5)


def test_without_ramp_and_fcn_it_is_grand():
    changes = {"gamma": 0.7, "rampup_start": 0, "rampup_end": 0, "input_dropout_at": "propagated", "temperature": 0.5}
    model, task, config, streams = setup(joint_weight=0.0, **changes)
    _, _, grand, _ = setup(method="grand", **changes)
    assert_close(step_loss(model, task, config, streams, 3), step_loss(model, task, grand, streams, 3))


def test_the_targets_of_the_fcn_are_constants():
    changes = {"joint_weight": 0.4, "hidden_dropout": 0.0, "input_dropout": 0.0, "node_dropout": 0.0}
    model, task, config, streams = setup(fcn_targets=True, **changes)
    without = setup(**changes)[2]
    extra = step_loss(model, task, config, streams, 12) - step_loss(model, task, without, streams, 12)
    targets = agreed_targets(model(task.x, task.graph).softmax(2)[:, None], config.temperature, 0.0).detach()
    pairs = Pairs.draw(task.unlabeled, config, streams.at(Purpose.MIXING_UNLABELED, 12))
    mixed = pairs.mix(task.unlabeled.of(model.encode(task.x, task.null)))
    noise = streams.at(Purpose.FCN_DROPOUT, 12)
    rest = (pairs, task.unlabeled.of(targets))
    expected = 0.4 * mixup_loss(model, task, mixed, rest, noise, cross_entropy)
    assert_close(extra, expected, rtol=1e-4, atol=1e-5)
    names = ("conv1.weight", "conv2.weight")
    ours, theirs = (
        torch.autograd.grad(each.sum(), [model.weights[name] for name in names]) for each in (extra, expected)
    )
    assert_close(ours, theirs, rtol=1e-3, atol=1e-5)


def test_an_epoch_on_the_device_gives_the_same_loss():
    # A captured step has its epoch in a tensor.
    model, task, config, streams = setup(fcn_targets=True)
    rule = make_rule(model, task, config, streams)
    for epoch in (0, 7, 19):
        assert torch.equal(rule.loss(0, torch.tensor([epoch])), rule.loss(0, epoch))


@pytest.mark.parametrize("part", [{"gamma": 0.0}, {"alpha": 0.0}, {"joint_weight": 0.0}, {"fcn_targets": True}])
def test_every_part_changes_the_loss(part):
    model, task, config, streams = setup()
    other = setup(**part)[2]
    one, two = (step_loss(model, task, each, streams, 15) for each in (config, other))
    assert torch.isfinite(two).all()
    assert not torch.allclose(one, two)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_it_learns_and_a_trial_alone_is_the_same(device):
    graph, split = synthetic(nodes=150, features=60, labels_per_class=5, seed=1)
    settings = {"method": "graphmix-grand", "epochs": 60, "fcn_targets": True, "hop_weights": "learned"}
    both = fit(graph, split, Config.for_dataset("", trials=2, **settings), device=device, chunk=2)
    alone = fit(graph, split, Config.for_dataset("", trials=1, seed=1, **settings), device=device)
    assert torch.equal(both.history.val_accuracy[1], alone.history.val_accuracy[0])
    assert both.history.loss[:, -1].mean() < both.history.loss[:, 0].mean()


def test_what_it_cannot_do_is_refused():
    with pytest.raises(ConfigError, match="`perturbations`"):
        Config(method="graphmix-grand", backbone="grand", perturbations=0)
    with pytest.raises(ConfigError, match="`batch_norm`"):
        Config(method="graphmix-grand", backbone="grand", batch_norm=True)


def test_the_layer_of_mixup_counts():
    # Its network does not read the features in one product, so there is only one layer to mix at.
    graph, split = synthetic(nodes=90, features=10, labels_per_class=4)
    config = Config.for_dataset("", method="graphmix-grand", mixup_layer="input", epochs=2)
    with pytest.raises(ConfigError, match="mixup_layer"):
        fit(graph, split, config, device="cpu")
