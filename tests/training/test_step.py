"""Algorithm 1, term by term."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from graphmix import Config, ConfigError, Graph, Streams, Task, build_model, build_optimizer, fit, step_loss, synthetic
from graphmix.method import cross_entropy, draw_lambda, draw_partners, sharpen
from graphmix.sparse import SparseMatrix
from graphmix.streams import Purpose
from graphmix.training import Moment, devices, fcn_loss, gnn_loss, predict_targets, step
from graphmix.training.step import draw_unlabeled, joint_loss

TRIALS = 3


def setup(**choices):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    config = Config.for_dataset("", **({"trials": TRIALS, "epochs": 40} | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(TRIALS))
    return build_model(task, config, streams), task, config, streams


def dense_features(task, streams, purpose, epoch, trial):
    """One trial's dropped-out features, written out."""
    keep = streams.at(purpose, epoch).keep(task.x.nonzeros, 0.5)
    from graphmix.sparse.ops import unpack

    x = task.x.to_dense()
    row, col = x.nonzero(as_tuple=True)
    x[row, col] *= unpack(keep.words, task.x.nonzeros)[trial] * keep.scale
    return x


def test_gnn_loss_is_the_ordinary_loss():
    model, task, config, streams = setup()
    losses = gnn_loss(model, task, streams, Moment.at(config, 5))
    propagation = task.graph.propagation.to_dense()
    for trial in range(TRIALS):
        x = dense_features(task, streams, Purpose.GNN_DROPOUT, 5, trial)
        first, second = (model.weights[f"conv{number}.weight"][trial] for number in (1, 2))
        logits = propagation @ ((propagation @ (x @ first)).relu() @ second)
        labeled = task.labeled.index[0]
        assert_close(losses[trial], F.cross_entropy(logits[labeled], task.graph.y[labeled]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reading", ["paper", "released"])
def test_fcn_loss_against_the_equations_written_out(reading):
    epoch = 25
    model, task, config, streams = setup(reading=reading, gamma=3.0, alpha=0.7)
    weight = 3.0  # the ramp ends at epoch 20
    losses = fcn_loss(model, task, config, streams, Moment.at(config, epoch))
    unlabeled = draw_unlabeled(task, config, streams, epoch)
    targets = predict_targets(model, task, config, streams, epoch, unlabeled)
    for trial in range(TRIALS):
        x = dense_features(task, streams, Purpose.FCN_DROPOUT, epoch, trial)
        hidden = (x @ model.weights["conv1.weight"][trial]).relu()
        total = 0.0
        one_hot = F.one_hot(task.graph.y[task.labeled.index[0]], task.graph.num_classes).float()
        sides = [
            (Purpose.MIXING_LABELED, 1.0, task.labeled.index[0], one_hot),
            (Purpose.MIXING_UNLABELED, weight, unlabeled.index.expand(TRIALS, -1)[trial], targets[trial]),
        ]
        for purpose, factor, nodes, target in sides:
            noise = streams.at(purpose, epoch)
            lam = draw_lambda(0.7, noise, len(nodes) if reading == "paper" else 1)[trial, :, None]
            partner = draw_partners(noise, torch.tensor([len(nodes)]), len(nodes))[trial]
            mixed = lam * hidden[nodes] + (1 - lam) * hidden[nodes][partner]
            mixed_target = lam * target + (1 - lam) * target[partner]
            logits = mixed @ model.weights["conv2.weight"][trial]
            if reading == "paper":
                total = total + factor * F.cross_entropy(logits, mixed_target)
            else:
                total = total + factor * F.binary_cross_entropy(logits.softmax(-1), mixed_target)
        assert_close(losses[trial], total, rtol=1e-4, atol=1e-5)


def test_targets_average_k_noisy_gnn_passes_and_sharpen():
    model, task, config, streams = setup(perturbations=4, temperature=0.3)
    targets = predict_targets(model, task, config, streams, 7, task.unlabeled)
    passes = [
        model(task.x, task.graph, streams.copies(number, number + 1).at(Purpose.TARGET_DROPOUT, 7)).softmax(-1)
        for number in range(4)
    ]
    expected = sharpen(torch.stack(passes).mean(0)[:, task.unlabeled.index[0]], 0.3)
    assert_close(targets, expected, rtol=1e-4, atol=1e-5)
    assert_close(targets.sum(-1), torch.ones_like(targets[..., 0]))
    assert not torch.equal(passes[0], passes[1])


def test_targets_without_input_dropout_differ_by_the_hidden_layers():
    model, task, config, streams = setup(perturbations=3, input_dropout=0.0, hidden_dropout=0.5, temperature=1.0)
    several = predict_targets(model, task, config, streams, 7, task.unlabeled)
    still = model(task.x, task.graph).softmax(-1)[:, task.unlabeled.index[0]]
    assert (several - still).abs().max() > 1e-4
    model, task, config, streams = setup(perturbations=3, input_dropout=0.0, temperature=1.0)
    assert_close(predict_targets(model, task, config, streams, 7, task.unlabeled), still)


def test_targets_do_not_depend_on_how_passes_are_grouped(monkeypatch):
    model, task, config, streams = setup(perturbations=7)
    results = []
    for size in (1, 3, 7):
        monkeypatch.setattr(devices, "passes_at_once", lambda *_, size=size: size)
        results.append(predict_targets(model, task, config, streams, 7, task.unlabeled))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("backbone", ["gcn", "gat", "gpr"])
def test_targets_from_dense_features_do_not_either(monkeypatch, backbone):
    # At these sizes MKL rounds the last rows by how many there are.
    graph, split = synthetic(nodes=129, features=33, classes=6, labels_per_class=4, seed=3)
    config = Config.for_dataset("", method="self-training", backbone=backbone, hidden=33, trials=2)
    task, streams = Task.build(graph.with_x(graph.x.to_dense()), split, config), Streams.from_seeds(range(2))
    model = build_model(task, config, streams)
    results = []
    for size in (1, 3, 10):
        monkeypatch.setattr(devices, "passes_at_once", lambda *_, size=size: size)
        results.append(predict_targets(model, task, config, streams, 7, task.unlabeled))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_no_gradient_flows_through_targets():
    model, task, config, streams = setup()
    assert not predict_targets(model, task, config, streams, 30, task.unlabeled).requires_grad


def test_gradient_of_the_fcn_loss_is_that_with_constant_targets(monkeypatch):
    model, task, config, streams = setup()
    constant = predict_targets(model, task, config, streams, 30, task.unlabeled)
    gradients = []
    for replacement in (predict_targets, lambda *_: constant):
        monkeypatch.setattr(step, "predict_targets", replacement)
        loss = fcn_loss(model, task, config, streams, Moment.at(config, 30)).sum()
        gradients.append(torch.autograd.grad(loss, list(model.parameters())))
    for free, fixed in zip(*gradients, strict=True):
        assert torch.equal(free, fixed)


def test_the_gnn_loss_ignores_targets_and_unlabeled_nodes(monkeypatch):
    def forbidden(*_):
        raise AssertionError("the GNN's side of the coin uses no targets")

    model, task, config, streams = setup()
    monkeypatch.setattr(step, "predict_targets", forbidden)
    loss = gnn_loss(model, task, streams, Moment.at(config, 30)).sum()
    assert all(gradient.abs().sum() > 0 for gradient in torch.autograd.grad(loss, list(model.parameters())))


def test_each_trial_follows_its_own_coin():
    model, task, config, streams = setup()
    heads = torch.tensor([True, False, True])
    losses = step_loss(model, task, config, streams, 30, heads)
    fcn, gnn = (
        fcn_loss(model, task, config, streams, Moment.at(config, 30)),
        gnn_loss(model, task, streams, Moment.at(config, 30)),
    )
    assert_close(losses, torch.where(heads, fcn, gnn))
    for coins, expected in ((heads | True, fcn), (heads & False, gnn)):
        assert torch.equal(step_loss(model, task, config, streams, 30, coins), expected)


def test_coins_come_from_the_streams_when_not_given():
    model, task, config, streams = setup()
    for epoch in range(8):
        given = step_loss(model, task, config, streams, epoch, streams.coins(40)[epoch])
        assert torch.equal(step_loss(model, task, config, streams, epoch), given)


def test_supervised_never_trains_the_fcn():
    model, task, config, streams = setup(method="supervised")
    for epoch in range(30, 36):
        expected = gnn_loss(model, task, streams, Moment.at(config, epoch))
        assert torch.equal(step_loss(model, task, config, streams, epoch), expected)


def test_before_the_ramp_only_labeled_nodes_count(monkeypatch):
    model, task, config, streams = setup()
    monkeypatch.setattr(step, "predict_targets", lambda *_: pytest.fail("targets were computed for nothing"))
    paper = fcn_loss(model, task, config, streams, Moment.at(config, 3))
    monkeypatch.undo()
    model, task, config, streams = setup(rampup_before=math.exp(-5))
    assert (fcn_loss(model, task, config, streams, Moment.at(config, 3)) > paper).all()


def test_alpha_zero_is_training_without_mixup():
    model, task, config, streams = setup(alpha=0.0, gamma=0.0)
    loss = fcn_loss(model, task, config, streams, Moment.at(config, 30))
    hidden = model.encode(task.x, task.null, streams.at(Purpose.FCN_DROPOUT, 30))
    logits = model.decode(hidden, task.null)[:, task.labeled.index[0]]
    assert_close(loss, cross_entropy(logits, task.targets, task.labeled.weight))


def test_unlabeled_subsets_are_fresh_unlabeled_and_of_the_given_size():
    _, task, config, streams = setup(unlabeled=50)
    first, second = (draw_unlabeled(task, config, streams, epoch) for epoch in (0, 1))
    assert first.index.shape == (TRIALS, 50)
    assert first.count.unique().tolist() == [50]
    assert not torch.equal(first.index, second.index)
    assert not torch.equal(first.index[0], first.index[1])
    everyone = set(task.unlabeled.index[0].tolist())
    assert set(first.index.flatten().tolist()) <= everyone
    assert_close(first.weight.sum(1), torch.ones(1))
    as_many = Config.for_dataset("", trials=TRIALS, unlabeled="labeled")
    assert draw_unlabeled(task, as_many, streams, 0).index.shape[1] == task.labeled.index.shape[1]


@pytest.mark.parametrize("method", ["graphmix", "self-training"])
@pytest.mark.parametrize("unlabeled", ["all", "labeled", 5])
def test_without_unlabeled_nodes_targets_add_nothing(method, unlabeled):
    graph, _ = synthetic(nodes=40, features=12, labels_per_class=3, seed=3)
    config = Config(method=method, trials=2, epochs=2, unlabeled=unlabeled, rampup_start=0, rampup_end=0, gamma=5.0)
    none = torch.zeros(1, 40, dtype=torch.bool)
    task = Task.of_masks(graph, config, "cpu", train=~none, val=none, test=none)
    streams = Streams.from_seeds(range(2))
    model = build_model(task, config, streams)
    losses, alone = (step_loss(model, task, replace(config, gamma=gamma), streams, 0) for gamma in (config.gamma, 0.0))
    assert_close(losses, alone)


def test_unlabeled_nodes_are_all_but_the_training_nodes_and_carry_no_labels():
    _, task, _, _ = setup()
    labeled = set(task.labeled.index[0].tolist())
    assert set(task.unlabeled.index[0].tolist()) == set(range(task.graph.num_nodes)) - labeled
    assert (task.unlabeled.labels == -1).all()


def test_the_released_reading_trains_on_binarised_features():
    graph, split = synthetic(nodes=120, features=60, seed=3)
    uneven = graph.with_x(SparseMatrix(graph.x.crow, graph.x.col, torch.rand(graph.x.nonzeros) + 0.1, graph.x.shape))
    for reading in ("paper", "released"):
        x = Task.build(uneven, split, Config.for_dataset("", reading=reading, trials=1)).x.to_dense()
        expected = uneven.x.to_dense()
        if reading == "released":
            expected = (expected > 0).float()
            expected /= expected.sum(1, keepdim=True).clamp_min(1)
        assert_close(x, expected)


def test_hidden_dropout_reaches_the_mixed_states():
    model, task, config, streams = setup(input_dropout=0.0, hidden_dropout=0.5, gamma=0.0)
    loss = fcn_loss(model, task, config, streams, Moment.at(config, 30))
    model, task, config, streams = setup(input_dropout=0.0, hidden_dropout=0.0, gamma=0.0)
    assert ((loss - fcn_loss(model, task, config, streams, Moment.at(config, 30))).abs() > 1e-6).all()


def test_one_update_is_adams_by_hand():
    model, task, config, streams = setup(method="supervised", learning_rate=0.03, weight_decay=0.2)
    before = {name: weight.detach().clone() for name, weight in model.weights.items()}
    optimizer = build_optimizer(model, config)
    loss = step_loss(model, task, config, streams, 0).sum()
    gradients = dict(
        zip(model.weights, torch.autograd.grad(loss, list(model.parameters()), retain_graph=True), strict=True)
    )
    loss.backward()
    optimizer.step()
    for name, weight in model.weights.items():
        gradient = gradients[name] + 0.2 * before[name]  # L2 joins the gradient
        # In the first step both moments, corrected for their start, are those of this gradient.
        expected = before[name] - 0.03 * gradient / (gradient.abs() + 1e-8)
        assert_close(weight.detach(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reading", ["paper", "released"])
def test_test_labels_change_nothing_but_test_accuracy(reading):
    graph, split = synthetic(nodes=200, features=60, seed=3)
    flipped = replace(graph, y=torch.where(split.test[0], (graph.y + 1) % graph.num_classes, graph.y))
    config = Config.for_dataset("", reading=reading, trials=2, epochs=30)
    first, second = fit(graph, split, config, device="cpu"), fit(flipped, split, config, device="cpu")
    assert torch.equal(first.best_epoch, second.best_epoch)
    assert torch.equal(first.history.loss, second.history.loss)
    for name, weight in first.weights.items():
        assert torch.equal(weight, second.weights[name])
    assert not torch.equal(first.test_accuracy, second.test_accuracy)


def labels_alone(model, task, place, streams, purpose, epoch):
    logits = model(task.x, place, streams.at(purpose, epoch))
    return cross_entropy(task.labeled.of(logits), task.targets, task.labeled.weight)


@pytest.mark.parametrize(("method", "purpose"), [("self-training", "GNN"), ("fcn-self-training", "FCN")])
def test_self_training_adds_the_predicted_targets_to_the_labels(method, purpose):
    epoch = 30
    model, task, config, streams = setup(method=method, gamma=2.5)
    place, purpose = (task.graph, Purpose.GNN_DROPOUT) if purpose == "GNN" else (task.null, Purpose.FCN_DROPOUT)
    # The GNN's, whichever network is trained.
    passes = [
        model(task.x, task.graph, streams.copies(number, number + 1).at(Purpose.TARGET_DROPOUT, epoch)).softmax(-1)
        for number in range(config.perturbations)
    ]
    targets = sharpen(torch.stack(passes).mean(0)[:, task.unlabeled.index[0]], config.temperature)
    logits = model(task.x, place, streams.at(purpose, epoch))
    expected = labels_alone(model, task, place, streams, purpose, epoch)
    for trial in range(TRIALS):
        soft = F.cross_entropy(logits[trial, task.unlabeled.index[0]], targets[trial])
        loss = step_loss(model, task, config, streams, epoch)[trial]
        assert_close(loss, expected[trial] + 2.5 * soft, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["self-training", "fcn-self-training"])
def test_self_training_without_its_targets_is_training_on_the_labels(method):
    for choices in ({"gamma": 0.0}, {"rampup_start": 35, "rampup_end": 39}):
        model, task, config, streams = setup(method=method, **choices)
        place, purpose = (
            (task.graph, Purpose.GNN_DROPOUT) if method == "self-training" else (task.null, Purpose.FCN_DROPOUT)
        )
        expected = labels_alone(model, task, place, streams, purpose, 30)
        assert torch.equal(step_loss(model, task, config, streams, 30), expected)


def test_the_fcn_alone_sees_no_edges_and_no_targets(monkeypatch):
    model, task, config, streams = setup(method="fcn")
    monkeypatch.setattr(step, "predict_targets", lambda *_: pytest.fail("the FCN alone has no targets"))
    expected = labels_alone(model, task, task.null, streams, Purpose.FCN_DROPOUT, 30)
    assert torch.equal(step_loss(model, task, config, streams, 30), expected)
    assert task.judged is task.null


@pytest.mark.parametrize(
    ("choices", "judged"),
    [
        ({"method": "graphmix"}, "graph"),
        ({"method": "graphmix", "predictor": "fcn"}, "null"),
        ({"method": "fcn", "predictor": "gnn"}, "graph"),
        ({"method": "fcn-self-training"}, "graph"),
    ],
)
def test_the_predictor_can_be_chosen(choices, judged):
    _, task, _, _ = setup(**choices)
    assert task.judged is getattr(task, judged)


@pytest.mark.parametrize("weight", [0.0, 0.3, 2.0])
def test_joint_optimisation_is_the_weighted_sum_and_flips_no_coin(weight):
    model, task, config, streams = setup(optimisation="joint", joint_weight=weight)
    for epoch in (3, 30):
        moment = Moment.at(config, epoch)
        expected = gnn_loss(model, task, streams, moment) + weight * fcn_loss(model, task, config, streams, moment)
        assert_close(step_loss(model, task, config, streams, epoch), expected)
        assert_close(joint_loss(model, task, config, streams, moment), expected)


@pytest.mark.parametrize(("mixup", "targets"), [(False, False), (False, True), (True, False), (True, True)])
def test_the_ablations_switches_change_the_terms_they_name(mixup, targets, monkeypatch):
    """α = 0 leaves every pair unmixed, γ = 0 leaves the targets out; neither touches the other or the GNN's loss."""
    epoch = 30
    switches = {"alpha": 0.7 if mixup else 0.0, "gamma": 2.0 if targets else 0.0}
    model, task, config, streams = setup(**switches)
    if not targets:
        monkeypatch.setattr(step, "predict_targets", lambda *_: pytest.fail("targets are switched off"))
    loss = fcn_loss(model, task, config, streams, Moment.at(config, epoch))
    noise = streams.at(Purpose.FCN_DROPOUT, epoch)
    hidden = model.encode(task.x, task.null, noise)
    monkeypatch.undo()

    def term(nodes, wanted, purpose):
        mixing = streams.at(purpose, epoch)
        picks = nodes.index.shape[1]
        lam = draw_lambda(0.7, mixing, picks)[..., None] if mixup else 1.0
        partner = draw_partners(mixing, nodes.count, picks) if mixup else torch.arange(picks).expand(TRIALS, -1)
        own, wanted = nodes.of(hidden), wanted.expand(TRIALS, -1, -1)
        pair = partner[..., None]
        mixed = lam * own + (1 - lam) * own.gather(1, pair.expand_as(own))
        mixed_targets = lam * wanted + (1 - lam) * wanted.gather(1, pair.expand_as(wanted))
        return cross_entropy(model.decode(mixed, task.null), mixed_targets, nodes.weight)

    expected = term(task.labeled, task.targets, Purpose.MIXING_LABELED)
    if targets:
        predicted = predict_targets(model, task, config, streams, epoch, task.unlabeled)
        expected = expected + 2.0 * term(task.unlabeled, predicted, Purpose.MIXING_UNLABELED)
    assert_close(loss, expected, rtol=1e-4, atol=1e-5)
    plain_model, plain_task, plain_config, _ = setup()
    ordinary = gnn_loss(plain_model, plain_task, streams, Moment.at(plain_config, epoch))
    assert torch.equal(gnn_loss(model, task, streams, Moment.at(config, epoch)), ordinary)


@pytest.mark.parametrize("backbone", ["gat", "unet"])
def test_networks_that_do_not_heed_edge_weights_are_not_given_any(backbone):
    graph, split = synthetic(nodes=120, features=60, labels_per_class=4, seed=3)
    weighed = Graph.build(graph.x, graph.edge_index, graph.y, weights=torch.ones(graph.edge_index.shape[1]))
    with pytest.raises(ConfigError, match=f"edge weights .* gcn, gpr, .* only, not by {backbone}"):
        Task.build(weighed, split, Config(backbone=backbone, trials=1))
