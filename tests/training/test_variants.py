"""Variants of GraphMix that the paper argues against: where it mixes, who predicts targets, and for whom."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from graphmix import Config, ConfigError, Streams, Task, build_model, fit, synthetic
from graphmix.method import draw_lambda, draw_partners, sharpen
from graphmix.models import BACKBONES
from graphmix.models.registry import backbone_class
from graphmix.streams import Purpose
from graphmix.training import Moment, fcn_loss, gnn_loss, predict_targets
from graphmix.training.batch import Batch
from graphmix.training.expectations import unused_settings
from graphmix.training.step import divided_loss, joint_loss, tails_loss

TRIALS, EPOCH = 3, 25
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
ONE_PRODUCT = [name for name in BACKBONES if backbone_class(name).reads_x_once]


def setup(**choices):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config.for_dataset("", **({"trials": TRIALS, "epochs": 40} | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(TRIALS))
    return build_model(task, config, streams), task, config, streams


def dropped(task, streams, epoch, trial):
    """One trial's features with the FCN's dropout, written out."""
    from graphmix.sparse.ops import unpack

    keep = streams.at(Purpose.FCN_DROPOUT, epoch).keep(task.x.nonzeros, 0.5)
    x = task.x.to_dense()
    row, col = x.nonzero(as_tuple=True)
    x[row, col] *= unpack(keep.words, task.x.nonzeros)[trial] * keep.scale
    return x


def test_mixing_at_the_input_is_mixup_of_features_written_out():
    model, task, config, streams = setup(mixup_layer="input", gamma=2.0, alpha=0.7)
    losses = fcn_loss(model, task, config, streams, Moment.at(config, EPOCH))
    targets = predict_targets(model, task, config, streams, EPOCH, task.unlabeled)
    one_hot = F.one_hot(task.graph.y[task.labeled.index[0]], task.graph.num_classes).float()
    for trial in range(TRIALS):
        x, total = dropped(task, streams, EPOCH, trial), 0.0
        sides = [
            (Purpose.MIXING_LABELED, 1.0, task.labeled.index[0], one_hot),
            (Purpose.MIXING_UNLABELED, 2.0, task.unlabeled.index[0], targets[trial]),
        ]
        for purpose, factor, nodes, target in sides:
            noise = streams.at(purpose, EPOCH)
            lam = draw_lambda(0.7, noise, len(nodes))[trial, :, None]
            partner = draw_partners(noise, torch.tensor([len(nodes)]), len(nodes))[trial]
            mixed = lam * x[nodes] + (1 - lam) * x[nodes][partner]
            first, second = (model.weights[f"conv{number}.weight"][trial] for number in (1, 2))
            logits = (mixed @ first).relu() @ second
            total = total + factor * F.cross_entropy(logits, lam * target + (1 - lam) * target[partner])
        assert_close(losses[trial], total, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backbone", ONE_PRODUCT)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_trial_with_a_random_layer_has_the_loss_of_the_layer_it_draws(backbone, weighted):
    model, task, config, streams = setup(mixup_layer="random", backbone=backbone, bias=True)
    moment = Moment(EPOCH, 2.0 if weighted else None)
    found, at_hidden, at_input = (
        fcn_loss(model, task, replace(config, mixup_layer=layer), streams, moment)
        for layer in ("random", "hidden", "input")
    )
    coins = streams.at(Purpose.MIXUP_LAYER, EPOCH).words(1)[:, 0] < 0
    assert_close(found, torch.where(coins, at_input, at_hidden))
    assert not torch.allclose(at_input, at_hidden)


def test_trials_draw_both_layers_about_equally():
    streams = Streams.from_seeds(range(50))
    coins = torch.stack([streams.at(Purpose.MIXUP_LAYER, epoch).words(1)[:, 0] < 0 for epoch in range(40)])
    assert abs(coins.float().mean().item() - 0.5) < 0.05
    assert coins.any(dim=0).all()


def test_without_mixup_the_layer_does_not_matter():
    model, task, config, streams = setup(alpha=0.0)
    moment = Moment.at(config, EPOCH)
    losses = [
        fcn_loss(model, task, replace(config, mixup_layer=layer), streams, moment)
        for layer in ("hidden", "input", "random")
    ]
    assert_close(losses[0], losses[1])
    assert_close(losses[0], losses[2])


def test_features_that_are_not_read_in_one_product_are_not_mixed():
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config.for_dataset("", backbone="grand", mixup_layer="input", trials=1, epochs=2)
    with pytest.raises(ConfigError, match="`mixup_layer` 'input' needs a `backbone` that reads the features in one"):
        fit(graph, split, config, device="cpu")
    fit(graph, split, replace(config, method="supervised"), device="cpu")


def test_the_fcn_teaches_without_the_edges():
    model, task, config, streams = setup(perturbations=4, temperature=0.3, teacher="fcn")
    targets = predict_targets(model, task, config, streams, 7, task.unlabeled)
    passes = [
        model(task.x, task.null, streams.copies(number, number + 1).at(Purpose.TARGET_DROPOUT, 7)).softmax(-1)
        for number in range(4)
    ]
    assert_close(targets, sharpen(torch.stack(passes).mean(0)[:, task.unlabeled.index[0]], 0.3), rtol=1e-4, atol=1e-5)
    usual = predict_targets(model, task, replace(config, teacher="gnn"), streams, 7, task.unlabeled)
    assert not torch.allclose(targets, usual)
    named = predict_targets(model, task, replace(config, teacher="gnn"), streams, 7, task.unlabeled, "fcn")
    assert torch.equal(named, targets)


def test_an_average_is_a_plain_mean_at_first_and_decays_later():
    _, task, config, _ = setup(teacher="gnn-average", teacher_decay=0.75)
    batch = Batch(task, config, list(range(TRIALS)))
    expected, seen = None, []
    for epoch in range(12):
        batch.advance_blindly(*batch.shape(epoch))
        weight = batch.model.weights["conv1.weight"].detach().clone()
        seen.append(weight)
        expected = torch.stack(seen).mean(0) if epoch < 4 else 0.75 * expected + 0.25 * weight
        assert_close(batch._teacher.model.weights["conv1.weight"], expected)
        assert not batch._teacher.model.weights["conv1.weight"].requires_grad


@pytest.mark.parametrize("teacher", ["gnn-average", "fcn-average"])
def test_the_fcn_learns_from_the_average_of_its_own_trial(teacher):
    model, task, config, streams = setup(teacher=teacher)
    other = replace(model, weights={name: 2 * weight.detach() for name, weight in model.weights.items()})
    moment = Moment(EPOCH, 1.0, teacher=other)
    found = fcn_loss(model, task, config, streams, moment)
    without = fcn_loss(model, task, config, streams, replace(moment, weight=None))
    usual = fcn_loss(model, task, config, streams, replace(moment, teacher=None))
    assert not torch.allclose(found, usual)
    order = torch.tensor([2, 0, 1])
    # The trials 2 and 0 show heads.
    divided = divided_loss(model, task, config, streams, moment, (order, 2))
    plain = gnn_loss(model, task, streams, moment)
    assert_close(divided, torch.stack([found[0], plain[1], found[2]]))
    assert (found > without).all()


@pytest.mark.parametrize("source", ["gnn", "fcn"])
def test_targets_for_the_gnn_are_added_to_its_loss(source):
    model, task, config, streams = setup(gnn_targets=source)
    moment = Moment(EPOCH, 3.0)
    logits = model(task.x, task.graph, streams.at(Purpose.GNN_DROPOUT, EPOCH))
    graph = task.graph if source == "gnn" else task.null
    passes = [
        model(task.x, graph, streams.copies(number, number + 1).at(Purpose.TARGET_DROPOUT, EPOCH)).softmax(-1)
        for number in range(config.perturbations)
    ]
    targets = sharpen(torch.stack(passes).mean(0)[:, task.unlabeled.index[0]], config.temperature)
    picked = logits[:, task.unlabeled.index[0]]
    extra = -(targets * picked.log_softmax(-1)).sum(-1).mean(-1)
    expected = gnn_loss(model, task, streams, moment) + 3.0 * extra
    assert_close(tails_loss(model, task, config, streams, moment), expected, rtol=1e-4, atol=1e-5)
    assert_close(
        joint_loss(model, task, config, streams, moment),
        expected + fcn_loss(model, task, config, streams, moment),
        rtol=1e-4,
        atol=1e-5,
    )
    before = tails_loss(model, task, config, streams, Moment(EPOCH, None))
    assert torch.equal(before, gnn_loss(model, task, streams, Moment(EPOCH, None)))


VARIANTS = [
    {"mixup_layer": "input"},
    {"mixup_layer": "random", "hidden_dropout": 0.3},
    {"mixup_layer": "random", "backbone": "gat"},
    {"mixup_layer": "input", "backbone": "unet", "bias": True},
    {"teacher": "fcn"},
    {"teacher": "fcn-average", "teacher_decay": 0.9},
    {"teacher": "gnn-average", "method": "self-training", "bias": True},
    {"gnn_targets": "fcn", "reading": "released"},
    {"gnn_targets": "gnn", "teacher": "fcn-average"},
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("choices", VARIANTS, ids=str)
def test_a_trial_in_a_batch_equals_the_trial_alone(device, choices):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config.for_dataset("", **({"trials": 3, "epochs": 30} | choices))
    together = fit(graph, split, config, device=device, chunk=3)
    alone = fit(graph, split, replace(config, trials=1, seed=2), device=device, chunk=1)
    if device == "cuda" and config.backbone == "unet":
        # cuBLAS rounds by the size of the batch, see test_trial_axis.py.
        assert_close(together.history.loss[2, :10], alone.history.loss[0, :10], rtol=1e-3, atol=1e-4)
    else:
        assert torch.equal(together.history.loss[2], alone.history.loss[0])
        for name, weight in together.weights.items():
            assert torch.equal(weight[2], alone.weights[name][0]), name
    usual = fit(graph, split, replace(config, mixup_layer="hidden", teacher="gnn", gnn_targets="none"), device=device)
    assert not torch.equal(together.history.loss, usual.history.loss)


@pytest.mark.parametrize("choices", [{"teacher": "fcn-average"}, {"gnn_targets": "fcn"}, {"mixup_layer": "random"}])
def test_padding_changes_no_bit(choices):
    _, task, config, _ = setup(**choices, trials=6, epochs=20)
    plain, padded = Batch(task, config, list(range(6))), Batch(task, config, list(range(6)), window=3)
    for epoch in range(20):
        plain.advance_blindly(*plain.shape(epoch))
        padded.advance_blindly(*padded.shape(epoch))
    for name, weight in plain.model.weights.items():
        assert torch.equal(weight, padded.model.weights[name])


@pytest.mark.gpu
@pytest.mark.parametrize("choices", VARIANTS, ids=str)
def test_replayed_epochs_equal_those_of_the_cpu_in_their_first_losses(choices):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config.for_dataset("", **({"trials": 3, "epochs": 12} | choices))
    fits = [fit(graph, split, config, device=device) for device in ("cpu", "cuda")]
    assert_close(fits[0].history.loss[:, :8], fits[1].history.loss[:, :8], rtol=1e-3, atol=1e-3)


def test_a_teacher_of_another_network_needs_passes():
    with pytest.raises(ConfigError, match="`perturbations` must be at least 1 if the `teacher` is 'fcn'"):
        Config(method="self-training", perturbations=0, teacher="fcn")
    assert Config(method="self-training", perturbations=0).teacher == "gnn"


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"method": "supervised", "mixup_layer": "input"}, ["mixup_layer"]),
        ({"method": "supervised", "teacher": "fcn"}, ["teacher"]),
        ({"teacher_decay": 0.5}, ["teacher_decay"]),
        ({"method": "self-training", "gnn_targets": "fcn"}, ["gnn_targets"]),
        ({"gamma": 0.0, "gnn_targets": "fcn"}, ["gnn_targets"]),
        ({"alpha": 0.0, "mixup_layer": "random"}, ["mixup_layer"]),
        ({"teacher": "fcn-average", "teacher_decay": 0.5, "gnn_targets": "gnn", "mixup_layer": "input"}, []),
        ({"method": "supervised", "mixup_layer": "hidden"}, []),
    ],
)
def test_variants_without_effect_are_named(choices, named):
    note = unused_settings(Config(**choices), choices)
    if not named:
        assert note is None
    else:
        assert note is not None
        assert all(f"`{name}`" in note for name in named)
        assert "no effect" in note
