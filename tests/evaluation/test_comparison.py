"""Paired intervals against scipy's, and caution where there is nothing to go by."""

import numpy as np
import pytest
import torch
from scipy import stats

from graphmix.errors import DataError
from graphmix.evaluation.comparison import compare, compare_macro_f1
from graphmix.method import f1


def test_the_interval_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 6, size=(2, 200)) / 5
    found = compare(a, b)
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert found.mean == pytest.approx(a.mean() - b.mean())
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    turned = compare(b, a)
    assert (turned.mean, turned.low, turned.high) == pytest.approx((-found.mean, -found.high, -found.low))


def test_what_is_hard_for_both_drops_out():
    # Half of the nodes are wrong by both; a has 10 of 100 more. Unpaired that would be noise.
    a = np.array([1.0] * 50 + [0.0] * 50)
    b = np.array([1.0] * 40 + [0.0] * 60)
    assert compare(a, b).certain
    assert compare(b, a).certain
    assert not stats.ttest_ind(a, b).pvalue < 0.05
    assert not compare(a, a[::-1]).certain


def test_nodes_that_all_say_the_same_are_believed_only_when_many():
    assert not compare(np.ones(1), np.zeros(1)).certain
    # As a sign test has it: five of five have a p of 0.06, six of six one of 0.03.
    for nodes in (2, 5, 6, 50):
        found = compare(np.ones(nodes), np.zeros(nodes))
        assert found.mean == 1.0
        assert found.certain == (stats.binomtest(nodes, nodes).pvalue < 0.05)
    alike = compare(np.ones(100), np.ones(100))
    assert alike.mean == 0.0
    assert not alike.certain
    assert -0.05 < alike.low < 0 < alike.high < 0.05
    assert compare(np.ones(1), np.ones(1)).high > 0.9


@pytest.mark.parametrize(("for_a", "for_b"), [(5, 0), (6, 0), (7, 1), (8, 1), (10, 2), (2, 8)])
@pytest.mark.parametrize("alike", [2, 90])
def test_where_few_nodes_differ_the_exact_test_decides(for_a, for_b, alike):
    a = np.array([1.0] * for_a + [0.0] * for_b + [1.0] * alike)
    b = np.array([0.0] * for_a + [1.0] * for_b + [1.0] * alike)
    found = compare(a, b)
    # McNemar's exact test, with caution: where Student's interval holds 0, it stays.
    student = stats.ttest_rel(a, b)
    sure = stats.binomtest(for_a, for_a + for_b).pvalue < 0.05
    assert found.certain == (sure and student.pvalue < 0.05)
    assert found.low <= found.mean <= found.high
    labels = np.zeros(len(a), dtype=np.int64)
    assert sure or not compare_macro_f1((a == 0).astype(int), (b == 0).astype(int), labels, classes=2).certain


def test_methods_on_different_nodes_are_not_compared():
    with pytest.raises(DataError, match=r"\[3\] and \[2\]"):
        compare(np.ones(3), np.ones(2))
    with pytest.raises(DataError, match="at least one"):
        compare(np.ones(0), np.ones(0))


def macro_f1(predicted, labels, classes):
    return f1(torch.from_numpy(predicted)[None], torch.from_numpy(labels)[None], classes).nanmean().item()


def test_macro_f1_is_compared_by_drawing_nodes_anew():
    rng = np.random.default_rng(1)
    labels = rng.choice(4, p=[0.6, 0.3, 0.1, 0.0], size=300)
    a, b = (np.where(rng.random(300) < share, labels, rng.integers(3, size=300)) for share in (0.8, 0.5))
    found = compare_macro_f1(a, b, labels, classes=4)
    assert found.mean == pytest.approx(macro_f1(a, labels, 4) - macro_f1(b, labels, 4), abs=1e-6)
    assert found.certain
    # The same by drawing node numbers; the two differ by the noise of 1,000 draws.
    drawn = []
    for nodes in rng.integers(300, size=(400, 300)):
        drawn.append(macro_f1(a[nodes], labels[nodes], 4) - macro_f1(b[nodes], labels[nodes], 4))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02)
    assert compare_macro_f1(a, b, labels, classes=4) == found


def test_macro_f1_of_equals_and_of_few_is_not_certain():
    labels = np.array([0, 1, 0, 1])
    assert not compare_macro_f1(labels, labels, labels, classes=2).certain
    assert compare_macro_f1(labels, labels, labels, classes=2).mean == 0
    assert not compare_macro_f1(labels[:1], 1 - labels[:1], labels[:1], classes=2).certain
    assert not compare_macro_f1(labels, 1 - labels, labels, classes=2).certain
    with pytest.raises(DataError, match="predictions from 0 to 1"):
        compare_macro_f1(labels, labels, labels - 1, classes=2)
