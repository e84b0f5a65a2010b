"""Class weights and balanced targets: the loss by hand, trial by trial, and what they are for."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from graphmix import (
    Config,
    ConfigError,
    Graph,
    RunError,
    Split,
    Streams,
    Task,
    build_model,
    fit,
    load_run,
    synthetic,
    train,
)
from graphmix.method import draw_lambda, draw_partners
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.streams import Purpose
from graphmix.training import Moment, fcn_loss, gnn_loss, predict_targets, step_loss

BALANCED = {"class_weight": "balanced", "target_weight": "balanced"}
EPOCH = 30
STILL = {"input_dropout": 0.0, "trials": 1, "epochs": 40}


def tiny(**choices):
    """A path of six nodes; four are labeled, three of them of one class."""
    graph = Graph.build(
        x=np.eye(6, 4) + np.eye(6, 4, k=-2), edges=[[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], y=[0, 0, 0, 1, 1, 0]
    )
    train = torch.tensor([True, True, True, True, False, False])
    split = Split.build(train, torch.arange(6) == 4, torch.arange(6) == 5)
    config = Config(**(STILL | {"hidden": 3} | choices))
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(config.trials))
    return build_model(task, config, streams), task, config, streams


def test_the_loss_of_a_tiny_graph_by_hand():
    model, task, config, streams = tiny(method="supervised", class_weight="balanced")
    log_p = model(task.x, task.graph)[0].log_softmax(-1)
    # Four labels, two classes: class 0 weighs 4 / (2 · 3), class 1 weighs 4 / (2 · 1).
    expected = -(2 / 3 * (log_p[0, 0] + log_p[1, 0] + log_p[2, 0]) + 2 * log_p[3, 1]) / 4
    assert_close(gnn_loss(model, task, streams, Moment.at(config, 0))[0], expected)


@pytest.mark.parametrize("method", ["supervised", "fcn"])
def test_the_loss_is_torchs_weighted_cross_entropy(method):
    model, task, config, streams = tiny(method=method, class_weight="balanced")
    logits = model(task.x, task.judged)[0, :4]
    weight = torch.tensor([2 / 3, 2.0])
    loss = step_loss(model, task, config, streams, EPOCH)[0]
    # Torch divides by the sum of the labels' weights, which for balanced ones is their number.
    assert_close(loss, F.cross_entropy(logits, task.graph.y[:4], weight=weight))
    assert_close(loss, F.cross_entropy(logits, F.one_hot(task.graph.y[:4]).float(), weight=weight))


def test_mixtures_take_of_each_class_its_weight():
    """Manifold mixup of soft targets under torch's class weights, supervised and on predicted targets."""
    model, task, config, streams = tiny(gamma=3.0, temperature=0.5, **BALANCED)
    plain = replace(config, target_weight="none")
    targets = predict_targets(model, task, plain, streams, EPOCH, task.unlabeled)[0]
    shares = targets.mean(0)
    assert shares.min() > 1 / 20, "the limit on the factor must not be met here"
    hidden = model.encode(task.x, task.null)[0]
    one_hot = F.one_hot(task.graph.y[:4]).float()
    expected = 0.0
    sides = [
        (Purpose.MIXING_LABELED, 1.0, hidden[:4], one_hot, torch.tensor([2 / 3, 2.0])),
        (Purpose.MIXING_UNLABELED, 3.0, hidden[4:], targets, 0.5 / shares),
    ]
    for purpose, factor, own, wanted, weight in sides:
        noise = streams.at(purpose, EPOCH)
        lam = draw_lambda(config.alpha, noise, len(own))[0, :, None]
        partner = draw_partners(noise, torch.tensor([len(own)]), len(own))[0]
        mixed = lam * own + (1 - lam) * own[partner]
        soft = lam * wanted + (1 - lam) * wanted[partner]
        logits = model.decode(mixed[None], task.null)[0]
        expected = expected + factor * F.cross_entropy(logits, soft, weight=weight)
    assert_close(fcn_loss(model, task, config, streams, Moment.at(config, EPOCH))[0], expected)


def test_self_training_balances_its_targets():
    model, task, config, streams = tiny(method="self-training", gamma=3.0, temperature=0.5, target_weight="balanced")
    targets = predict_targets(model, task, replace(config, target_weight="none"), streams, EPOCH, task.unlabeled)[0]
    logits = model(task.x, task.graph)[0]
    labels = F.cross_entropy(logits[:4], task.graph.y[:4])
    expected = labels + 3.0 * F.cross_entropy(logits[4:], targets, weight=0.5 / targets.mean(0))
    assert_close(step_loss(model, task, config, streams, EPOCH)[0], expected)


def test_no_gradient_flows_through_the_balance():
    model, task, config, streams = tiny(**BALANCED)
    assert not predict_targets(model, task, config, streams, EPOCH, task.unlabeled).requires_grad


def skewed(nodes=400, seed=0):
    """A graph of three classes in shares 78, 16 and 6 %: nodes of a larger, even one, left out."""
    graph, _ = synthetic(nodes=4 * nodes, classes=3, features=200, homophily=0.75, topic=0.1, seed=seed)
    rng = np.random.default_rng(seed)
    sizes = [round(nodes * 0.78), round(nodes * 0.16), round(nodes * 0.06)]
    kept = np.sort(np.concatenate([rng.permutation(np.flatnonzero(graph.y == c))[:n] for c, n in enumerate(sizes)]))
    place = np.full(graph.num_nodes, -1)
    place[kept] = np.arange(len(kept))
    edges = place[graph.edge_index.numpy()]
    features = graph.x.to_dense()[torch.from_numpy(kept)]
    return Graph.build(features, edges[:, (edges >= 0).all(0)], graph.y[torch.from_numpy(kept)], 3)


def random_splits(graph, trials, share=0.15):
    """A split for each trial, each a label smaller, classes as they come, with at least two labels of each."""
    nodes = graph.num_nodes
    train, val = torch.zeros(2, trials, nodes, dtype=torch.bool)
    for trial in range(trials):
        order = torch.randperm(nodes, generator=torch.Generator().manual_seed(trial))
        train[trial, order[: round(share * nodes) - trial]] = True
        for label in range(graph.num_classes):
            train[trial, order[graph.y[order] == label][:2]] = True
        val[trial, order[round(share * nodes) : round(2.5 * share * nodes)]] = True
    val &= ~train
    return Split.build(train, val, ~train & ~val)


@pytest.mark.parametrize(
    "choices", [{}, {"method": "self-training", "unlabeled": 30}, {"unlabeled": "labeled"}], ids=str
)
def test_trials_with_splits_of_their_own_equal_each_alone(choices):
    graph = skewed(150)
    splits = random_splits(graph, 3)
    assert len(set(splits.train.sum(1).tolist())) > 1, "training sets of one size would need no padding"
    config = Config(trials=3, epochs=25, **BALANCED, **choices)
    together = fit(graph, splits, config, device="cpu", chunk=3)
    for trial in range(3):
        own = Split.build(splits.train[trial], splits.val[trial], splits.test[trial])
        alone = fit(graph, own, replace(config, trials=1, seed=trial), device="cpu")
        assert torch.equal(together.history.val_accuracy[trial], alone.history.val_accuracy[0])
        assert_close(together.history.loss[trial], alone.history.loss[0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["graphmix", "supervised"])
def test_macro_f1_rises_where_classes_are_uneven(method):
    graph = skewed()
    config = Config(method=method, trials=5, epochs=80, perturbations=3, learning_rate=0.02)
    splits = random_splits(graph, 5)
    plain, balanced = (
        fit(graph, splits, replace(config, **choices), device="cpu").test_f1.nanmean() for choices in ({}, BALANCED)
    )
    assert balanced > plain + 0.02


@pytest.mark.parametrize("name", ["class_weight", "target_weight"])
@pytest.mark.parametrize("method", ["graphmix", "fcn-mixup"])
def test_a_loss_that_is_not_linear_in_its_targets_takes_no_weights(name, method):
    with pytest.raises(ConfigError, match="need the loss cross-entropy"):
        Config.for_dataset("", reading="released", method=method, **{name: "balanced"})
    # Only the FCN's loss of these two is ever binary.
    assert Config.for_dataset("", reading="released", method="supervised", **{name: "balanced"}).reading == "released"
    with pytest.raises(ConfigError, match=f"`{name}` must be one of none, balanced, not 'even'"):
        Config(**{name: "even"})


def test_records_older_than_the_weights_are_read_as_they_were(tmp_path):
    graph, split = synthetic(nodes=120, features=40, seed=2)
    config = Config(trials=2, epochs=4)
    run = train(graph, split, config, tmp_path / "run", device="cpu")
    kept = {name: value for name, value in to_json(run.results).items() if name not in BALANCED}
    write_json(run.folder / "results.json", kept)
    assert load_run(run.folder).fit.config == config
    write_json(run.folder / "results.json", {name: value for name, value in kept.items() if name != "alpha"})
    with pytest.raises(RunError, match="does not hold a whole run: the hyperparameter `alpha` is missing"):
        load_run(run.folder)


def test_a_run_begun_before_the_weights_goes_on(tmp_path):
    graph, split = synthetic(nodes=120, features=40, seed=2)
    config = Config(trials=2, epochs=4)

    def interrupt(progress):
        if progress.first == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(graph, split, config, tmp_path / "run", device="cpu", chunk=1, watch=interrupt)
    path = tmp_path / "run" / "config.json"
    asked = json.loads(path.read_text())
    write_json(path, {name: value for name, value in asked.items() if name not in BALANCED})
    with pytest.raises(RunError, match="class_weight is 'none' there and 'balanced' here"):
        train(graph, split, replace(config, class_weight="balanced"), tmp_path / "run", device="cpu")
    train(graph, split, config, tmp_path / "run", device="cpu")


@pytest.mark.gpu
def test_weights_can_be_captured():
    graph = skewed(150)
    splits = random_splits(graph, 3)
    config = Config(trials=3, epochs=25, **BALANCED)
    here, there = (fit(graph, splits, config, device=device, chunk=3) for device in ("cpu", "cuda"))
    assert_close(here.history.loss[:, :5], there.history.loss[:, :5].cpu(), rtol=1e-3, atol=1e-4)
