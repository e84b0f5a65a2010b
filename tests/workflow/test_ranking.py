"""Who wins, by hand; and that among equals the simplest does."""

from itertools import permutations

import numpy as np
import pytest
import torch

from graphmix.evaluation.heldout import HeldOut
from graphmix.workflow.candidates import FCN, GRAPHMIX, SUPERVISED, Candidate
from graphmix.workflow.options import MACRO_F1
from graphmix.workflow.ranking import accuracy, macro_f1, rank

LABELS = [0] * 8 + [1] * 2
# All of the frequent class, or some of it given up for the rare one.
FREQUENT = [0] * 10
FAIR = [0] * 5 + [1] * 3 + [1] * 2


def candidate(method, predicted, labels=LABELS, classes=2):
    predicted, labels = np.array(predicted), np.array(labels)
    held = HeldOut(np.arange(len(labels)), labels, np.eye(classes)[predicted], (predicted == labels).astype(float))
    return Candidate(method, torch.zeros(1, len(labels), classes), held, None, 0.0)


def test_scores_by_hand():
    frequent, fair = candidate(GRAPHMIX, FREQUENT).held, candidate(GRAPHMIX, FAIR).held
    assert (accuracy(frequent), accuracy(fair)) == (0.8, 0.7)
    # F1 is 2 hits / (labels + predictions): 16 / 18 and 0 / 2; 10 / 13 and 4 / 7.
    assert macro_f1(frequent, 2) == pytest.approx((16 / 18 + 0) / 2)
    assert macro_f1(fair, 2) == pytest.approx((10 / 13 + 4 / 7) / 2)
    # A third class that is neither a label nor predicted does not count.
    assert macro_f1(candidate(GRAPHMIX, FAIR, classes=3).held, 3) == pytest.approx(macro_f1(fair, 2))


def test_the_winner_depends_on_what_is_asked_for():
    tried = [candidate(GRAPHMIX, FAIR), candidate(FCN, FREQUENT)]
    first, second = rank(tried, 2)
    assert (first.method, first.accuracy, first.behind) == (FCN, 0.8, None)
    assert (second.method, second.behind.mean) == (GRAPHMIX, pytest.approx(0.1))
    assert not second.behind.certain
    first, second = rank(tried, 2, MACRO_F1)
    assert (first.method, first.behind) == (GRAPHMIX, None)
    assert second.behind.mean == pytest.approx(macro_f1(tried[0].held, 2) - macro_f1(tried[1].held, 2))


def test_among_equals_the_simplest_wins_whatever_the_order():
    methods = ("label-propagation", FCN, SUPERVISED, GRAPHMIX)
    for order in permutations(methods):
        placed = [each.method for each in rank([candidate(method, FAIR) for method in order], 2)]
        assert placed == list(methods)


def test_a_hair_is_no_lead():
    # 0.1 + 0.2 is more than 0.3 in floating point: shares that differ by rounding are the same.
    better, same = candidate(GRAPHMIX, [0], [0]), candidate("label-propagation", [0], [0])
    better.held.right[:], same.held.right[:] = 0.1 + 0.2, 0.3
    assert accuracy(better.held) > accuracy(same.held)
    assert rank([better, same], 2)[0].method == "label-propagation"


def test_a_clear_lead_is_certain():
    labels = [0, 1] * 50
    right, wrong = candidate(GRAPHMIX, labels, labels), candidate(SUPERVISED, [0] * 100, labels)
    first, second = rank([wrong, right], 2)
    assert (first.method, first.accuracy) == (GRAPHMIX, 1)
    assert second.behind.certain
    assert second.behind.low < 0.5 < second.behind.high
