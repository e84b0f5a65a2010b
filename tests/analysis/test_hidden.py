"""Soft-rank by hand and by numpy, t-SNE that is the same every time, and what is said of its points."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphmix import Config, fit, synthetic
from graphmix.analysis import details, embedding, hidden_states, soft_rank
from graphmix.analysis.details import MOST_EPOCHS, curves
from graphmix.analysis.hidden import centroid_accuracy, class_soft_ranks, separation
from graphmix.analysis.plane import SKETCH_POINTS
from graphmix.data import make_split
from graphmix.errors import ConfigError
from graphmix.evaluation.reliability import reliability_diagram
from graphmix.results.writer import to_json


@pytest.fixture(scope="module")
def trained():
    graph, split = synthetic(nodes=150, classes=3, features=40, labels_per_class=5, seed=1)
    return fit(graph, split, Config(trials=3, epochs=30), device="cpu"), graph, split


@given(arrays(np.float64, (7, 4), elements=st.floats(-5, 5, width=32)))
def test_soft_rank_is_the_sum_of_singular_values_over_the_largest(matrix):
    values = np.linalg.svd(matrix, compute_uv=False)
    got = soft_rank(torch.from_numpy(matrix))
    if values[0] == 0:
        assert got != got
    else:
        assert got == pytest.approx(values.sum() / values[0], rel=1e-9)
        assert 1 - 1e-9 <= got <= 4 + 1e-9
        # How long the states are plays no part.
        assert soft_rank(torch.from_numpy(3 * matrix)) == pytest.approx(got)


def test_classes_without_nodes_or_numbers_have_no_soft_rank():
    hidden = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [torch.inf, 0.0]])
    assert class_soft_ranks(hidden, torch.tensor([0, 0, 1, 3]), 4) == [2.0, 1.0, None, None]


def test_hidden_states_are_those_before_the_last_layer(trained):
    run, graph, _ = trained
    hidden = hidden_states(run, graph, 1)
    assert hidden.shape == (150, 16)
    logits = run.model().select(torch.tensor([1])).decode(hidden[None], graph)
    assert torch.allclose(logits.softmax(2)[0], run.predict_proba(graph)[1], atol=1e-5)


def test_an_embedding_says_what_each_point_is(trained):
    run, graph, split = trained
    laid = embedding(run, graph, split, trial=2)
    assert laid.node == tuple(range(150))
    assert list(laid.label) == graph.y.tolist()
    probabilities = run.predict_proba(graph)[2]
    assert list(laid.predicted) == probabilities.argmax(1).tolist()
    assert laid.confidence == pytest.approx((100 * probabilities.max(1).values).tolist(), abs=0.06)
    for role, mask in (("train", split.train), ("val", split.val), ("test", split.test)):
        assert [said == role for said in laid.role] == mask[0].tolist()
    assert embedding(run, graph, split, trial=2) == laid
    assert np.std(laid.x) > 1


def test_of_many_nodes_some_are_drawn_the_same_every_time(trained):
    run, graph, split = trained
    laid = embedding(run, graph, split, most=40)
    assert len(laid.node) == len(set(laid.node)) == 40
    assert laid.nodes == 150
    assert list(laid.node) == sorted(laid.node) == list(embedding(run, graph, split, most=40).node)


def test_a_sketch_is_of_fewer_nodes_and_says_so():
    graph, split = synthetic(nodes=SKETCH_POINTS + 50, classes=3, features=20, labels_per_class=5, seed=1)
    run = fit(graph, split, Config(method="supervised", trials=1, epochs=5), device="cpu")
    summed = details(run, graph, split, ("sketch",))
    assert len(set(summed.embedding.node)) == len(summed.embedding.x) == SKETCH_POINTS
    assert summed.embedding.nodes == SKETCH_POINTS + 50
    assert summed == details(run, graph, split, ("sketch",))


def test_curves_are_means_and_bands_over_trials(trained):
    run, *_ = trained
    drawn = curves(run)
    assert drawn.epochs == tuple(range(1, 31))
    val = 100 * run.history.val_accuracy.double()
    assert drawn.val_accuracy.mean == pytest.approx(val.mean(0).tolist(), abs=0.006)
    low, high = np.quantile(run.history.train_loss.double(), [0.1, 0.9], axis=0)
    assert drawn.train_loss.low == pytest.approx(low.tolist(), abs=1e-4)
    assert drawn.train_loss.high == pytest.approx(high.tolist(), abs=1e-4)


def test_long_curves_are_thinned_but_keep_their_ends():
    graph, split = synthetic(nodes=60, classes=2, features=10, labels_per_class=3)
    run = fit(graph, split, Config(method="supervised", trials=1, epochs=MOST_EPOCHS + 37), device="cpu")
    epochs = curves(run).epochs
    assert (len(epochs), epochs[0], epochs[-1]) == (MOST_EPOCHS, 1, MOST_EPOCHS + 37)


def test_details_are_json_even_of_a_network_out_of_numbers():
    graph, split = synthetic(nodes=60, classes=2, features=10, labels_per_class=3)
    run = fit(graph, split, Config(method="supervised", trials=2, epochs=9, learning_rate=1e29), device="cpu")
    assert not run.history.loss.isfinite().all()
    summed = details(run, graph, split, ("embedding", "soft-rank"))
    json.dumps(to_json(summed), allow_nan=False)
    assert None in summed.curves.train_loss.mean


def test_calibration_error_by_hand():
    # 10 nodes at 0.9 of which 6 are right, 10 at 0.6 of which 6 are right: the gap is (0.3 + 0) / 2.
    counts = torch.zeros(1, 15, 3, dtype=torch.float64)
    counts[0, 13] = torch.tensor([10, 9.0, 6])
    counts[0, 8] = torch.tensor([10, 6.0, 6])
    diagram = reliability_diagram(counts)
    assert diagram.ece == pytest.approx(15.0)
    assert diagram.confidence[13] == 90.0
    assert diagram.accuracy[13] == 60.0
    assert diagram.accuracy[0] is None


def test_confusion_and_reliability_are_of_the_test_nodes(trained):
    run, graph, split = trained
    summed = details(run, graph, split)
    test = int(split.test.sum())
    assert sum(map(sum, summed.confusion)) == sum(summed.reliability.count) == 3 * test
    right = sum(summed.confusion[place][place] for place in range(3))
    assert right / (3 * test) == pytest.approx(run.test_accuracy.mean().item(), abs=1e-6)


def test_separation_is_the_ratio_of_scatters():
    rng = np.random.default_rng(0)
    states, y = rng.normal(size=(40, 3)), np.arange(40) % 4
    states[y == 2] += 5
    means = np.stack([states[y == label].mean(0) for label in range(4)])
    total = ((states - states.mean(0)) ** 2).sum()
    within = sum(((states[y == label] - means[label]) ** 2).sum() for label in range(4))
    # The scatter of all is the sum of the two.
    expected = (total - within) / within
    assert separation(torch.from_numpy(states), torch.from_numpy(y)) == pytest.approx(expected, rel=1e-9)
    # Neither a shift nor a scale matters; nodes without a label are left out.
    moved = torch.from_numpy(np.concatenate([7 - 3 * states, np.full((2, 3), 99.0)]))
    labels = torch.from_numpy(np.concatenate([y, [-1, -1]]))
    assert separation(moved, labels) == pytest.approx(expected, rel=1e-9)
    assert np.isnan(separation(torch.ones(4, 2), torch.tensor([0, 0, 1, 1])))
    assert np.isnan(separation(torch.full((4, 2), torch.inf), torch.tensor([0, 0, 1, 1])))


def test_the_nearest_class_mean_is_scikit_learns():
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(1)
    y = np.arange(60) % 3
    states = rng.normal(size=(60, 4)) + 0.8 * y[:, None]
    train = np.zeros(60, dtype=bool)
    train[:15] = True
    oracle = neighbors.NearestCentroid().fit(states[train], y[train]).score(states[~train], y[~train])
    given = (torch.from_numpy(part) for part in (states, y, train, ~train))
    assert centroid_accuracy(*given) == pytest.approx(oracle)
    # A class without a training node is never predicted.
    hidden, labels = torch.tensor([[0.0], [5.0], [0.1], [2.0]]), torch.tensor([0, 2, 0, 1])
    first, rest = torch.tensor([True, True, False, False]), torch.tensor([False, False, True, True])
    assert centroid_accuracy(hidden, labels, first, rest) == 0.5


def test_measures_of_every_trial(trained):
    run, graph, split = trained
    assert details(run, graph, split).measured is None
    summed = details(run, graph, split, ("separation", "training", "memory"))
    assert set(summed.measured) == {"train_loss", "separation", "centroid_accuracy"}
    for trial in range(3):
        states, test = hidden_states(run, graph, trial), split.test[0]
        assert summed.measured["separation"][trial] == pytest.approx(separation(states[test], graph.y[test]), abs=1e-4)
        accuracy = 100 * centroid_accuracy(states, graph.y, split.train[0], test)
        assert summed.measured["centroid_accuracy"][trial] == pytest.approx(accuracy, abs=1e-4)
        assert summed.measured["train_loss"][trial] == pytest.approx(run.history.train_loss[trial, -1].item(), abs=1e-5)
    assert summed.memory_estimate > 4 * sum(weight[0].numel() for weight in run.weights.values())


def test_four_trials_in_turn_predict_with_their_mean():
    graph, split = synthetic(nodes=150, classes=3, features=40, labels_per_class=5, seed=1)
    run = fit(graph, split, Config(trials=9, epochs=10), device="cpu")
    test = split.test[0]
    means = [run.predict_proba(graph)[4 * group : 4 * group + 4].mean(0)[test] for group in range(2)]
    right = [100 * (mean.argmax(1) == graph.y[test]).double().mean().item() for mean in means]
    assert details(run, graph, split, ("ensembles",)).measured == {"ensemble_accuracy": pytest.approx(right, abs=0.01)}
    few = fit(graph, split, Config(trials=3, epochs=2), device="cpu")
    assert details(few, graph, split, ("ensembles",)).measured == {"ensemble_accuracy": ()}


def test_trials_with_different_splits_are_no_ensemble():
    graph, _ = synthetic(nodes=150, classes=3, features=40, labels_per_class=5, seed=1)
    split = make_split("random", graph, range(4), sizes=(30, 30, 60))
    run = fit(graph, split, Config(trials=4, epochs=2), device="cpu")
    with pytest.raises(ConfigError, match="one split"):
        details(run, graph, split, ("ensembles",))
