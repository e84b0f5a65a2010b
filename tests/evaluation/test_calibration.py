"""Temperatures against scipy's minimiser, errors against the bins of `method`, and sets that keep their promise."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from graphmix.errors import ConfigError, DataError
from graphmix.evaluation.calibration import (
    COLDEST,
    HOTTEST,
    abstention_accuracy,
    abstention_curve,
    abstention_threshold,
    apply_temperature,
    conformal_coverage,
    conformal_sets,
    conformal_threshold,
    cross_fitted,
    expected_calibration_error,
    fit_temperature,
    reliability_table,
)
from graphmix.method import reliability
from graphmix.results.fit import AbstentionCurve


def draw(nodes, classes=4, scale=1.0, seed=0):
    """Probabilities that are right as often as they say, then sharpened by `scale`."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(nodes, classes))
    honest = softmax(logits, axis=1)
    labels = (honest.cumsum(axis=1) < rng.random((nodes, 1))).sum(axis=1).clip(max=classes - 1)
    return softmax(scale * logits, axis=1), labels


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0, 7.0])
def test_the_temperature_is_where_scipy_finds_the_least_loss(scale):
    p, labels = draw(300, scale=scale)

    def loss(inverse):
        return -log_softmax(inverse * np.log(p.clip(min=1e-12)), axis=1)[np.arange(300), labels].mean()

    best = minimize_scalar(loss, bounds=(1 / HOTTEST, 1 / COLDEST), method="bounded", options={"xatol": 1e-10})
    assert fit_temperature(p, labels) == pytest.approx(1 / best.x, rel=1e-4)
    # What was drawn honest and then sharpened comes back to about what it was.
    assert fit_temperature(p, labels) == pytest.approx(scale, rel=0.25)


def test_a_temperature_keeps_the_order_of_classes_and_one_changes_nothing():
    p, _ = draw(50)
    assert apply_temperature(p, 1.0) == pytest.approx(p, abs=1e-9)
    for temperature in (0.05, 3.0, 20.0):
        q = apply_temperature(p, temperature)
        assert q.sum(axis=1) == pytest.approx(np.ones(50))
        assert (q.argmax(axis=1) == p.argmax(axis=1)).all()
    with pytest.raises(ConfigError, match="above 0"):
        apply_temperature(p, 0.0)


def test_zeros_and_what_is_no_number_do_not_break_a_temperature():
    p = np.array([[1.0, 0.0], [0.0, 1.0]] * 10 + [[math.nan, math.nan]])
    labels = np.array([0, 1] * 9 + [1, 0] + [0])
    temperature = fit_temperature(p, labels)
    assert COLDEST <= temperature <= HOTTEST
    calibrated = apply_temperature(p, temperature)
    assert calibrated[-1].tolist() == [0.5, 0.5]
    # 18 of the 20 sure ones are right; the unsure one plays no part.
    assert calibrated[0, 0] == pytest.approx(0.9, abs=1e-6)


def test_few_nodes_leave_probabilities_alone_and_extremes_stay_sane():
    p, labels = draw(200)
    assert fit_temperature(p[:9], labels[:9]) == 1.0
    sure = p[p.max(axis=1) > 0.5][:98]
    confidence = apply_temperature(sure, fit_temperature(sure, sure.argmax(axis=1))).max(axis=1)
    assert confidence.mean() == pytest.approx(0.99, abs=1e-6)
    wrong = p.argmin(axis=1)
    assert fit_temperature(p, wrong) == pytest.approx(HOTTEST)
    assert fit_temperature(np.ones((20, 1)), np.zeros(20, dtype=np.int64)) == 1.0


def test_errors_agree_with_the_bins_of_the_method():
    p, labels = draw(500, scale=3.0)
    counts = reliability(torch.from_numpy(p)[None], torch.from_numpy(labels)[None])[0].numpy()
    expected = sum(abs(confidence - right) for _, confidence, right in counts) / 500
    assert expected_calibration_error(p, labels) == pytest.approx(expected)
    table = reliability_table(p, labels)
    assert table.ece == pytest.approx(100 * expected, abs=1e-3)
    assert sum(table.count) == 500
    filled = [place for place, count in enumerate(table.count) if count]
    assert [table.accuracy[place] for place in filled] == pytest.approx(
        [100 * counts[place, 2] / counts[place, 0] for place in filled], abs=0.01
    )
    by_hand = np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0, 1])
    assert expected_calibration_error(*by_hand, bins=1) == pytest.approx(0.85 - 0.5)


def test_cross_fitting_lowers_the_error_and_never_uses_a_node_for_itself():
    p, labels = draw(500, scale=4.0)
    calibrated = cross_fitted(p, labels, seed=3)
    assert expected_calibration_error(calibrated, labels) < expected_calibration_error(p, labels) / 2
    assert (cross_fitted(p, labels, seed=3) == calibrated).all()
    # Another label for one node changes how others are calibrated, never the node itself or its part.
    changed = labels.copy()
    changed[0] = (labels[0] + 1) % 4
    same = (cross_fitted(p, changed, seed=3) == calibrated).all(axis=1)
    assert same[0]
    assert same.sum() == 100
    assert cross_fitted(p[:1], labels[:1]) == pytest.approx(p[:1])
    with pytest.raises(ConfigError, match="2 parts"):
        cross_fitted(p, labels, parts=1)


def test_the_conformal_threshold_is_the_promised_rank():
    p = np.stack([np.arange(1, 10) / 10, 1 - np.arange(1, 10) / 10], axis=1)
    labels = np.zeros(9, dtype=np.int64)
    # Scores 0.1 … 0.9; of ten places the ninth.
    assert conformal_threshold(p, labels, 0.9) == pytest.approx(0.9)
    assert conformal_threshold(p, labels, 0.55) == pytest.approx(0.6)
    assert conformal_threshold(p, labels, 0.5) == pytest.approx(0.5)
    assert conformal_threshold(p, labels, 0.91) == math.inf
    # In floating point 0.55 · 100 is more than 55.
    p, labels = draw(99)
    scores = np.sort(1 - p[np.arange(99), labels])
    assert conformal_threshold(p, labels, 0.55) == scores[54]
    for coverage in (0.0, 1.0, math.nan):
        with pytest.raises(ConfigError, match="coverage"):
            conformal_threshold(p, labels, coverage)


def test_sets_hold_what_is_within_the_threshold_and_always_the_top_class():
    p = np.array([[0.6, 0.3, 0.1], [0.4, 0.35, 0.25]])
    assert conformal_sets(p, 0.7).tolist() == [[True, True, False], [True, True, False]]
    assert conformal_sets(p, 0.2).tolist() == [[True, False, False], [True, False, False]]
    assert conformal_sets(p, math.inf).all()


@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_sets_cover_as_often_as_promised_on_nodes_not_used(coverage):
    p, labels = draw(3000, scale=5.0)
    found = conformal_coverage(p, labels, coverage)
    # Two standard errors of 3,000 nodes; more where the top class alone covers more than asked for.
    assert found.coverage > coverage - 2 * math.sqrt(coverage * (1 - coverage) / 3000)
    top = (p.argmax(axis=1) == labels).mean()
    assert found.coverage < max(coverage, top) + 0.03
    assert 1 <= found.mean_size <= 4
    assert (found.mean_size == 1) == (found.single == 1)
    assert conformal_coverage(p[:1], labels[:1], coverage) is None


def test_coverage_is_not_measured_with_sets_of_all_classes():
    p, labels = draw(12)
    # Nine labels can promise 90 %. Of 12 the parts leave nine or ten, of 11 eight or nine.
    assert conformal_coverage(p, labels, 0.9) is not None
    assert conformal_coverage(p[:11], labels[:11], 0.9) is None
    assert conformal_coverage(p[:0], labels[:0], 0.9) is None


def certain(right, confidence):
    """Predictions of class 0 with a confidence each, right or not."""
    p = np.stack([confidence, 1 - np.asarray(confidence)], axis=1)
    return p, np.where(right, 0, 1)


def test_abstention_keeps_as_many_as_meet_the_target():
    # 60 nodes, falling confidence; the first 40 right, the rest every other.
    right = [True] * 40 + [True, False] * 10
    confidence = np.linspace(0.99, 0.6, 60)
    p, labels = certain(right, confidence)
    threshold = abstention_threshold(p, labels, 0.9)
    kept = p.max(axis=1) >= threshold
    # The standard error of 90 %.
    assert np.mean(np.asarray(right)[kept]) - np.sqrt(0.9 * 0.1 / kept.sum()) >= 0.9
    for lower in confidence[confidence < threshold]:
        above = np.asarray(right)[confidence >= lower]
        assert np.mean(above) - np.sqrt(0.9 * 0.1 / len(above)) < 0.9
    # 50 of 60 is 83 %, and the standard error of 77 % there is 5.4 %.
    assert abstention_threshold(p, labels, 0.77) == 0.0
    assert abstention_threshold(p, labels, 50 / 60) > 0.0
    assert abstention_threshold(p, labels, 1.0) is None
    with pytest.raises(ConfigError, match="target"):
        abstention_threshold(p, labels, 0.0)


def test_abstention_does_not_rest_on_a_few_sure_nodes():
    p, labels = certain([True] * 19 + [False] * 41, np.linspace(0.99, 0.6, 60))
    assert abstention_threshold(p, labels, 0.99) is None
    # 19 of 20 is 95 %, and the standard error of 87 % there is 7.5 %.
    assert abstention_threshold(p, labels, 0.87) == pytest.approx(np.linspace(0.99, 0.6, 60)[19])
    assert abstention_threshold(p, labels, 0.95) is None
    # Fewer than 20 in all choose no level, unless the accuracy is surely too low: 4 of 15 is at most 52 %.
    assert abstention_threshold(p[:19], labels[:19], 1.0) == 0.0
    assert abstention_threshold(p[15:30], labels[15:30], 0.9) is None
    assert abstention_threshold(p[15:30], labels[15:30], 0.5) == 0.0
    assert abstention_threshold(p[:0], labels[:0], 0.9) == 0.0
    # Nodes of one confidence stand or fall together.
    tied = certain([True] * 25 + [False] * 5, np.full(30, 0.8))
    assert abstention_threshold(*tied, 0.9) is None


def test_the_accuracy_above_a_level_is_that_of_nodes_that_did_not_choose_it():
    # All are right above 0.8, half below: whichever nodes choose the level, 0.9 is met by the first 60 and some more.
    p, labels = certain([True] * 60 + [True, False] * 20, np.r_[np.full(60, 0.9), np.full(40, 0.6)])
    assert abstention_accuracy(p, labels, 0.9) == (1.0, 60)
    # Of 24 a part leaves 19 or 20: too few for a level.
    assert abstention_accuracy(p[:24], labels[:24], 0.9) is None
    assert abstention_accuracy(p[:25], labels[:25], 0.9) == (1.0, 25)
    assert abstention_accuracy(p[60:], labels[60:], 0.9) is None


def test_the_abstention_curve_ends_with_all_nodes():
    p, labels = draw(400, scale=2.0)
    curve = abstention_curve(p, labels)
    assert len(curve.kept) == len(curve.threshold) == len(curve.accuracy) == 100
    assert curve.kept[-1] == 100
    assert curve.accuracy[-1] == pytest.approx(100 * (p.argmax(axis=1) == labels).mean(), abs=0.01)
    assert list(curve.threshold) == sorted(curve.threshold, reverse=True)
    middle = curve.threshold[50] / 100
    kept = p.max(axis=1) >= middle - 1e-4
    assert curve.kept[50] == pytest.approx(100 * kept.mean(), abs=0.6)
    short = abstention_curve(*certain([True, False], np.array([0.9, 0.7])))
    assert short == AbstentionCurve(threshold=(90.0, 70.0), kept=(50.0, 100.0), accuracy=(100.0, 50.0))


def test_labels_and_shapes_that_do_not_fit_are_named():
    p, labels = draw(20)
    labels[7] = -1
    with pytest.raises(DataError, match="entry 7 has label -1"):
        fit_temperature(p, labels)
    with pytest.raises(DataError, match=r"\[20, 4\] and \[19\]"):
        reliability_table(p, labels[:19])


@given(st.integers(0, 30), st.integers(1, 5), st.integers(0, 99))
def test_nothing_breaks_on_any_number_of_nodes_and_classes(nodes, classes, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.1), size=nodes)
    labels = rng.integers(classes, size=nodes)
    assert COLDEST <= fit_temperature(p, labels) <= HOTTEST + 1e-9
    assert np.isfinite(cross_fitted(p, labels)).all()
    assert len(abstention_curve(p, labels).kept) <= 100
    conformal_coverage(p, labels, 0.9)
    abstention_threshold(p, labels, 0.9)
