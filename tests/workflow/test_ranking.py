"""The model and its candidates on held-out labels, by hand."""

import numpy as np
import pytest

from graphmix.evaluation.heldout import HeldOut
from graphmix.workflow.options import MACRO_F1
from graphmix.workflow.ranking import accuracy, macro_f1, rank

LABELS = [0] * 8 + [1] * 2
# All of the frequent class, or some of it given up for the rare one.
FREQUENT = [0] * 10
FAIR = [0] * 5 + [1] * 3 + [1] * 2


def held(predicted, labels=LABELS, classes=2):
    predicted, labels = np.array(predicted), np.array(labels)
    return HeldOut(np.arange(len(labels)), labels, np.eye(classes)[predicted], (predicted == labels).astype(float))


def test_scores_by_hand():
    frequent, fair = held(FREQUENT), held(FAIR)
    assert (accuracy(frequent), accuracy(fair)) == (0.8, 0.7)
    # F1 is 2 hits / (labels + predictions): 16 / 18 and 0 / 2; 10 / 13 and 4 / 7.
    assert macro_f1(frequent, 2) == pytest.approx((16 / 18 + 0) / 2)
    assert macro_f1(fair, 2) == pytest.approx((10 / 13 + 4 / 7) / 2)
    # A third class that is neither a label nor predicted does not count.
    assert macro_f1(held(FAIR, classes=3), 3) == pytest.approx(macro_f1(fair, 2))


def test_the_model_is_first_whoever_is_better():
    for model, other, behind in ((FREQUENT, FAIR, 0.1), (FAIR, FREQUENT, -0.1)):
        first, second = rank("mixture", {"fcn": held(other), "mixture": held(model)}, 2)
        assert (first.name, first.accuracy, first.behind) == ("mixture", accuracy(held(model)), None)
        assert (second.name, second.behind.mean) == ("fcn", pytest.approx(behind))
        assert not second.behind.certain


def test_what_it_leads_by_depends_on_what_is_asked_for():
    both = {"mixture": held(FAIR), "fcn": held(FREQUENT)}
    lead = macro_f1(both["mixture"], 2) - macro_f1(both["fcn"], 2)
    assert rank("mixture", both, 2, MACRO_F1)[1].behind.mean == pytest.approx(lead)
    assert rank("mixture", both, 2)[1].behind.mean == pytest.approx(-0.1)


def test_the_others_are_sorted_and_among_equals_the_order_stays():
    tried = {"a": held(FAIR), "b": held(FREQUENT), "mixture": held(FAIR), "c": held(FAIR), "d": held(FREQUENT)}
    assert [each.name for each in rank("mixture", tried, 2)] == ["mixture", "b", "d", "a", "c"]
    assert [each.name for each in rank("mixture", tried, 2, MACRO_F1)] == ["mixture", "a", "c", "b", "d"]


def test_a_hair_is_no_lead():
    # 0.1 + 0.2 is more than 0.3 in floating point: shares that differ by rounding are the same.
    cheap, better = held([0], [0]), held([0], [0])
    cheap.right[:], better.right[:] = 0.3, 0.1 + 0.2
    assert accuracy(better) > accuracy(cheap)
    placed = rank("model", {"cheap": cheap, "better": better, "model": better}, 2)
    assert [each.name for each in placed] == ["model", "cheap", "better"]


def test_a_clear_lead_is_certain():
    labels = [0, 1] * 50
    first, second = rank("model", {"other": held([0] * 100, labels), "model": held(labels, labels)}, 2)
    assert (first.name, first.accuracy) == ("model", 1)
    assert second.behind.certain
    assert second.behind.low < 0.5 < second.behind.high


def test_a_single_candidate_is_the_model():
    (only,) = rank("fcn", {"fcn": held(FAIR)}, 2)
    assert (only.name, only.behind) == ("fcn", None)
