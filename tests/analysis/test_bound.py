"""The theorem's terms: by hand where a hand can compute them, and between the limits that theory sets elsewhere."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from graphmix import Config, ConfigError, DataError, Graph, Split, Streams, Task, build_model, make_split, synthetic
from graphmix.analysis import bound
from graphmix.analysis.bound import estimate, searching
from graphmix.analysis.bound_terms import (
    DRAWS,
    bounded_loss,
    concentration,
    correlation,
    draw_signs,
    fcn_parts,
    least,
)
from graphmix.method import sharpen
from graphmix.results.reader import parse
from graphmix.results.record import Bound, Estimate
from graphmix.results.writer import to_json
from graphmix.training.step import unsupervised_weight

TRIALS = 2
LABELED = 24


def problem(**choices):
    graph, _ = synthetic(nodes=120, features=80, classes=3, seed=1)
    split = make_split("random", graph, range(TRIALS), sizes=(LABELED, 20, 20))
    return graph, split, Config(**({"trials": TRIALS, "epochs": 40, "learning_rate": 0.05} | choices))


def run(alphas, gammas, **choices):
    graph, split, config = problem(**choices)
    return estimate(graph, split, config, alphas=alphas, gammas=gammas, device="cpu")


@pytest.fixture(scope="module")
def result():
    return run([0.0, 2.0], [0.1, 1000.0])


def at(result, alpha, gamma):
    return next(point for point in result.points if (point.alpha, point.gamma) == (alpha, gamma))


def untrained(**choices):
    graph, split, config = problem(**choices)
    config = replace(searching(config), method="fcn-mixup")
    task = Task.build(graph, split, config)
    streams = Streams.from_seeds(range(TRIALS))
    return build_model(task, config, streams), task, config, streams


def nodes_alone(x, y):
    """A graph without edges, every node of which is a training node but for one."""
    graph = Graph.build(x, torch.empty(2, 0, dtype=torch.int64), y, int(y.max()) + 1)
    train = torch.arange(len(y)) < len(y) - 1
    return graph, Split.build(train, ~train, torch.zeros_like(train))


# The bounded loss and the constants


def test_the_bounded_loss_by_hand():
    logits = torch.tensor([[[1.0, 5.0, 0.0], [2.0, 2.0, 0.0]], [[0.0, 0.0, 9.0], [0.0, 1.0, 0.0]]])
    targets = torch.tensor([[[0.2, 0.7, 0.1], [0.6, 0.0, 0.4]]])
    weight = torch.tensor([[0.75, 0.25]])
    # Of equal logits the first counts: 0.75 · 0.3 + 0.25 · 0.4, and 0.75 · 0.9 + 0.25 · 1.
    assert_close(bounded_loss(logits, targets, weight), torch.tensor([0.325, 0.925]))


def test_on_labels_the_bounded_loss_is_the_share_of_errors():
    logits = torch.randn(3, 50, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(50) % 4
    losses = bounded_loss(logits, torch.eye(4)[labels][None], torch.full((1, 50), 1 / 50))
    assert_close(losses, (logits.argmax(2) != labels).float().mean(1))


def test_constants_of_cora():
    assert concentration(140, 16, 0.05) == pytest.approx(math.sqrt(math.log(320) / 280))
    assert 4 * concentration(140, 16, 0.05) == pytest.approx(0.5741, abs=1e-4)
    # Four times the labels halve it.
    assert concentration(560, 16, 0.05) == pytest.approx(concentration(140, 16, 0.05) / 2)


# The search


def test_gamma_is_the_weight_from_the_first_epoch_on():
    for given in (Config(gamma=3.0), Config.for_dataset("", reading="released", gamma=3.0)):
        config = replace(searching(given), method="fcn-mixup")
        assert {unsupervised_weight(config, epoch) for epoch in (0, 1, 500, 1999)} == {3.0}
        assert (config.input_dropout, config.weight_decay, config.fcn_loss) == (0.0, 0.0, "cross-entropy")


def test_without_mixup_the_terms_are_errors_against_labels_and_own_predictions():
    model, task, config, streams = untrained(alpha=0.0)
    parts = fcn_parts(model, task, config, streams)
    fcn, gnn = (model(task.x, graph).detach() for graph in (task.null, task.graph))
    for trial in range(TRIALS):
        labeled, unlabeled = task.labeled.index[trial], task.unlabeled.index[trial]
        wrong = fcn[trial, labeled].argmax(1) != task.graph.y[labeled]
        assert_close(parts[0, trial], wrong.float().mean())
        targets = sharpen(gnn[trial, unlabeled].softmax(1), config.temperature)
        met = targets.gather(1, fcn[trial, unlabeled].argmax(1, keepdim=True))
        assert_close(parts[1, trial], 1 - met.mean(), atol=1e-5, rtol=1e-5)


def test_measuring_takes_no_gradient_and_draws_what_training_did_not():
    model, task, config, streams = untrained(alpha=1.0)
    parts = fcn_parts(model, task, config, streams)
    assert not parts.requires_grad
    assert torch.equal(parts, fcn_parts(model, task, config, streams))
    later = fcn_parts(model, task, replace(config, epochs=config.epochs + DRAWS), streams)
    assert not torch.equal(parts, later)


def test_the_least_of_the_candidates_is_by_gamma_and_by_trial():
    parts = torch.tensor([[[0.0, 0.3], [0.5, math.nan]], [[0.4, 0.5], [0.0, 0.1]]])
    assert_close(least(parts, 0.1), torch.tensor([0.05, 0.51]))
    assert_close(least(parts, 10.0), torch.tensor([0.4, 1.5]))


# E[inf L_FCN] and V


def test_without_mixup_a_small_gamma_leaves_nothing_to_lose(result):
    point = at(result, 0.0, 0.1)
    assert point.fcn_loss.mean < 0.05
    assert point.excess < -0.9 * result.threshold


def test_mixed_pairs_of_two_classes_cannot_be_fitted(result):
    graph, split, _ = problem()
    floors = []
    for train in split.train:
        share = graph.y[train].bincount() / LABELED
        # E[min(λ, 1 - λ)] is 5/16 for λ ~ Beta(2, 2); a mixed target of two classes costs at least that.
        floors.append(5 / 16 * (1 - share.square().sum()).item())
    losses = at(result, 2.0, 0.1).fcn_loss.trials
    for loss, floor in zip(losses, floors, strict=True):
        # Measured on 10 draws of 24 pairs, which differ from the mean by a few hundredths.
        assert floor - 0.06 < loss < floor + 0.15
    assert min(losses) > max(at(result, 0.0, 0.1).fcn_loss.trials)


def test_one_class_for_all_nodes_caps_the_infimum_whatever_gamma(result):
    graph, split, _ = problem()
    caps = [1 - (graph.y[train].bincount().max() / LABELED).item() for train in split.train]
    for alpha in (0.0, 2.0):
        for loss, cap in zip(at(result, alpha, 1000.0).fcn_loss.trials, caps, strict=True):
            assert loss < cap + 0.06


def test_the_infimum_grows_with_gamma(result):
    for alpha in (0.0, 2.0):
        small, large = (at(result, alpha, gamma).fcn_loss.trials for gamma in (0.1, 1000.0))
        assert all(first <= second for first, second in zip(small, large, strict=True))


def test_one_gamma_is_helped_by_the_networks_of_another():
    alone, beside = run([1.0], [20.0], epochs=12), run([1.0], [1.0, 20.0], epochs=12)
    pairs = zip(at(alone, 1.0, 20.0).fcn_loss.trials, at(beside, 1.0, 20.0).fcn_loss.trials, strict=True)
    assert all(more <= less for less, more in pairs)


# R


def test_signs_are_fair_and_their_targets_meet_them():
    y = torch.arange(4001) % 5
    graph, split = nodes_alone(torch.ones(4001, 1), y)
    task = Task.build(graph, split, Config(trials=1))
    signs, wanted = draw_signs(task, Streams.from_seeds([3, 4]))
    assert signs.shape == (2, 4000)
    assert signs.unique().tolist() == [-1.0, 1.0]
    assert signs.mean(dim=1).abs().max() < 5 / math.sqrt(4000)
    right = wanted.argmax(2) == task.labeled.labels
    assert torch.equal(right, signs < 0)
    # Every wrong class comes up as often as any other.
    off = (wanted.argmax(2) - task.labeled.labels)[~right] % 5
    assert off.unique().tolist() == [1, 2, 3, 4]
    assert off.bincount(minlength=5)[1:].min() > 0.2 * len(off)
    alone = draw_signs(task, Streams.from_seeds([4]))
    assert torch.equal(signs[1], alone[0][0])
    assert torch.equal(wanted[1], alone[1][0])


def test_the_correlation_by_hand():
    graph, split = nodes_alone(torch.eye(4), torch.tensor([0, 1, 0, 1]))
    task = Task.build(graph, split, Config(trials=1))
    model = build_model(task, Config(trials=1, hidden=4), Streams.from_seeds([0]))
    model = replace(
        model,
        weights={
            "conv1.weight": torch.eye(4)[None],
            "conv2.weight": torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]),
        },
    )
    # Right, wrong, wrong on the three training nodes: losses less 1/2 are -1/2, 1/2, 1/2.
    for signs, expected in (([1.0, 1.0, 1.0], 1 / 3), ([-1.0, 1.0, 1.0], 1.0), ([1.0, -1.0, 1.0], -1 / 3)):
        assert_close(correlation(model, task, torch.tensor([signs])), torch.tensor([expected]))


def test_a_net_that_can_tell_all_nodes_apart_follows_any_signs():
    y = torch.arange(31) % 3
    graph, split = nodes_alone(torch.eye(31), y)
    config = Config(trials=1, epochs=60, learning_rate=0.1, hidden=32)
    found = estimate(graph, split, config, alphas=[0.0], gammas=[0.1], device="cpu").rademacher.mean
    # No network can do better than err on all nodes with +1 and on no other.
    assert found == pytest.approx(1.0, abs=1e-5)


def test_a_net_that_sees_no_difference_can_only_choose_a_class():
    y = torch.arange(61) % 3
    graph, split = nodes_alone(torch.ones(61, 4), y)
    config = Config(trials=1, epochs=30, learning_rate=0.05)
    found = estimate(graph, split, config, alphas=[0.0], gammas=[0.1], device="cpu").rademacher.mean
    signs, _ = draw_signs(Task.build(graph, split, config), Streams.from_seeds([0]))
    choices = [2 / 60 * (signs[0] * ((y[:60] != label).float() - 0.5)).sum().item() for label in range(3)]
    assert min(abs(found - choice) for choice in choices) < 1e-5
    assert found < 0.5


def test_taking_half_off_changes_no_mean():
    errors = torch.rand(50, generator=torch.Generator().manual_seed(0))
    graph, split = nodes_alone(torch.ones(51, 1), torch.arange(51) % 2)
    signs, _ = draw_signs(Task.build(graph, split, Config(trials=1)), Streams.from_seeds(range(20_000)))
    full, less = ((2 / 50 * signs * values).sum(1) for values in (errors, errors - 0.5))
    # Both means are 0; theirs differ from it by chance, 2 / √50 / √20,000 at most for one standard deviation.
    assert max(full.mean().abs(), less.mean().abs()) < 5 * 2 / math.sqrt(50 * 20_000)


def test_the_estimate_lies_between_chance_and_its_largest(result):
    assert all(0.3 < found <= 1.00001 for found in result.rademacher.trials)


# The whole


def test_it_is_what_results_files_hold(result):
    assert parse(Bound, json.loads(json.dumps(to_json(result), allow_nan=False)), Path("record.json")) == result
    fields = "m unlabeled grid delta c concentration threshold rademacher points"
    assert list(to_json(result)) == fields.split()
    assert (result.m, result.unlabeled, result.grid, result.delta, result.c) == (24, 96, 4, 0.05, 1.0)
    assert result.threshold == pytest.approx(4 * result.concentration, abs=3e-6)
    grid = [(point.alpha, point.gamma) for point in result.points]
    assert grid == [(0.0, 0.1), (0.0, 1000.0), (2.0, 0.1), (2.0, 1000.0)]
    for point in result.points:
        assert list(to_json(point)) == ["alpha", "gamma", "fcn_loss", "V", "bound"]
        assert list(point.bound) == ["0", "1"]
        for term in (point.fcn_loss, result.rademacher):
            assert list(to_json(term)) == ["mean", "std", "trials"]
            assert term.mean == pytest.approx(sum(term.trials) / TRIALS, abs=2e-6)
            assert term.std == pytest.approx(abs(term.trials[0] - term.trials[1]) / math.sqrt(2), abs=3e-6)
        assert point.excess == pytest.approx(point.fcn_loss.mean - result.threshold, abs=3e-6)
        without = result.rademacher.mean + result.concentration
        assert point.bound["0"] == pytest.approx(without, abs=3e-6)
        assert point.bound["1"] == pytest.approx(without - point.excess, abs=3e-6)


def test_a_trial_among_others_is_the_trial_alone():
    graph, split, config = problem(epochs=15)
    together = estimate(graph, split, config, alphas=[1.0], gammas=[1.0], device="cpu")
    own = Split.build(*(mask[1:] for mask in (split.train, split.val, split.test)))
    alone = estimate(graph, own, replace(config, trials=1, seed=1), alphas=[1.0], gammas=[1.0], device="cpu")
    assert alone.rademacher == Estimate(together.rademacher.trials[1], None, together.rademacher.trials[1:])
    assert alone.points[0].fcn_loss.trials == together.points[0].fcn_loss.trials[1:]


def test_again_it_is_the_same_however_many_trials_run_at_once(monkeypatch):
    first = run([1.0], [1.0], epochs=6)
    assert run([1.0], [1.0], epochs=6) == first
    monkeypatch.setattr(bound, "trials_at_once", lambda *_: 1)
    assert run([1.0], [1.0], epochs=6) == first


def test_every_point_is_announced():
    graph, split, config = problem(epochs=2)
    seen = []
    estimate(
        graph, split, config, alphas=[0.0, 1.0], gammas=[1.0, 2.0], device="cpu", watch=lambda *now: seen.append(now)
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_other_networks_and_readings_have_terms_too():
    graph, split, _ = problem()
    for choices in ({"backbone": "gat", "hidden": 4, "heads": 2}, {"reading": "released"}):
        config = Config.for_dataset("", trials=TRIALS, epochs=3, **choices)
        found = estimate(graph, split, config, alphas=[1.0], gammas=[1.0], device="cpu")
        assert 0 < found.points[0].fcn_loss.mean < 2


def test_even_weights_without_bounds_give_finite_terms():
    assert math.isfinite(run([1.0], [1.0], epochs=8, learning_rate=1e25).points[0].bound["1"])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"delta": 0.0}, ConfigError, "`delta` must be a probability"),
        ({"alphas": []}, ConfigError, "grid is empty"),
        ({"trials": 3}, ConfigError, "2 training sets, but `trials` is 3"),
        ({"backbone": "custom"}, ConfigError, "custom model"),
        ({"drop": True}, DataError, "same size, but they have 23 to 24"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, error, message):
    graph, split, config = problem(epochs=2)
    if changes.pop("drop", False):
        train = split.train.clone()
        train[0, train[0].nonzero()[0]] = False
        split = replace(split, train=train)
    given = {"alphas": [1.0], "gammas": [1.0], "device": "cpu"}
    given |= {name: changes.pop(name) for name in ("delta", "alphas") if name in changes}
    with pytest.raises(error, match=message):
        estimate(graph, split, replace(config, **changes), **given)


@pytest.mark.gpu
def test_cuda_finds_what_the_cpu_finds():
    graph, split, config = problem(epochs=30)
    there, here = (
        estimate(graph, split, config, alphas=[0.0, 1.0], gammas=[1.0], device=device) for device in ("cuda", "cpu")
    )
    assert there.rademacher.mean == pytest.approx(here.rademacher.mean, abs=0.1)
    for point, expected in zip(there.points, here.points, strict=True):
        assert point.excess == pytest.approx(expected.excess, abs=0.1)
