"""What is said of a fit: nothing that its labels do not show."""

from dataclasses import replace

import pytest
from scipy.stats import binomtest

from graphmix.results.details import Reliability
from graphmix.results.evidence import fewest_for_coverage, interval, most_coverage
from graphmix.results.fit import (
    Abstention,
    AbstentionCurve,
    Calibration,
    CandidateResult,
    Conformal,
    FitMetrics,
    TestResult,
)
from graphmix.results.outcome import outcome_lines
from graphmix.results.recommendation import recommend
from graphmix.results.survey import Survey


def bins(ece):
    return Reliability(count=(4,), confidence=(60.0,), accuracy=(50.0,), ece=ece)


def make(held, accuracy=80.0, **changes):
    """The metrics of a fit with so many held-out labels."""
    survey = Survey(
        nodes=100,
        labeled=held,
        class_names=("a", "b", "c"),
        class_counts=(held, 0, 0),
        edges=10,
        isolated=0,
        components=1,
        features=3,
        mean_degree=1.0,
        labeled_edges=0,
        homophily=None,
        chance=None,
        adjusted_homophily=None,
        reached=None,
        warnings=(),
    )
    curve = AbstentionCurve((50.0,), (100.0,), (accuracy,))
    made = FitMetrics(
        format=1,
        dataset="d",
        survey=survey,
        judged_on="held-out folds",
        held=held,
        trials=5,
        epochs=100,
        backbone="gcn",
        chosen_by="accuracy",
        chosen="graphmix",
        candidates=(CandidateResult("graphmix", accuracy, accuracy, None, None, 1.0),),
        calibration=Calibration(0.5, bins(20.0), bins(5.0), fitted=True),
        conformal=Conformal(90.0, 91.0, 1.5, 0.7, (80, 20, 0)),
        abstention=Abstention(90.0, 0.7, 60.0, 92.0, curve, labels=50),
        classes=("a", "b", "c"),
        predicted=(50, 30, 20),
    )
    return replace(made, **changes)


def lines(metrics):
    calibration, sets, abstention, *_ = outcome_lines(metrics)
    return calibration, sets, abstention


@pytest.mark.parametrize(("right", "labels"), [(8, 8), (0, 8), (7, 8), (54, 60), (450, 500)])
def test_intervals_are_wilsons(right, labels):
    expected = binomtest(right, labels).proportion_ci(0.95, method="wilson")
    assert interval(100 * right / labels, labels) == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-4)


def test_percentages_that_cannot_be_do_not_break_an_interval():
    assert interval(-5.0, 3) == interval(0.0, 3)
    assert interval(1e6, 3) == interval(100.0, 3)


@pytest.mark.parametrize("percent", [50.0, 60.0, 90.0, 95.0, 99.0, 99.5])
def test_the_labels_that_a_coverage_needs_are_the_fewest(percent):
    fewest = fewest_for_coverage(percent)
    assert most_coverage(fewest) >= percent - 1e-9
    assert fewest == 1 or most_coverage(fewest - 1) < percent


def test_a_temperature_that_was_not_fitted_is_not_shown():
    unfitted = make(8, calibration=Calibration(1.0, bins(24.4), bins(24.4), fitted=False))
    assert lines(unfitted)[0] == (
        "Not calibrated: 8 held-out labels are too few to fit a temperature (13 are needed). The probabilities are the "
        "method's own, and how far they can be believed is not known."
    )
    # Files from before do not say whether it was fitted.
    assert lines(replace(unfitted, calibration=replace(unfitted.calibration, fitted=None)))[0] == lines(unfitted)[0]
    one = make(1, calibration=unfitted.calibration)
    assert "1 held-out label is too few" in lines(one)[0]


def test_a_temperature_that_was_fitted_is_shown_with_its_labels():
    said = lines(make(60))[0]
    assert said.startswith("Calibrated on 60 held-out labels with temperature 0.50: ")
    assert "20.0 % before, 5.0 % after." in said
    worse = lines(make(60, calibration=Calibration(0.5, bins(5.0), bins(6.0), fitted=True)))[0]
    assert worse.endswith("5.0 % before, 6.0 % after; it did not help here.")


def test_sets_of_all_classes_are_not_said_to_cover():
    few = make(8, conformal=Conformal(90.0, None, None, None, (0, 0, 100)))
    said = lines(few)[1]
    assert "8 held-out labels are too few" in said
    assert "(9 are needed)" in said
    assert "all 3 classes" in said
    assert "88.9 %" in said  # 8 of 9
    unmeasured = lines(make(11, conformal=Conformal(90.0, None, None, 0.7, (80, 20, 0))))[1]
    assert unmeasured.startswith("11 held-out labels are too few to check")
    assert "cover 91.0 % of 60 held-out labels (95 % interval" in lines(make(60))[1]


def level(metrics, value, **changes):
    return replace(metrics, abstention=replace(metrics.abstention, level=value, **changes))


def test_eight_labels_do_not_meet_a_target():
    said = lines(level(make(8, accuracy=100.0), 0.0, accuracy=100.0, labels=8))[2]
    assert said.startswith("8 held-out labels are too few to tell which predictions reach 90 % accuracy")
    assert "meet" not in said
    missed = lines(level(make(8, accuracy=25.0), None, accuracy=None, labels=None))[2]
    assert missed.startswith("25.0 % of 8 held-out labels were predicted correctly (95 % interval")
    assert missed.endswith("less than 90 %: every prediction abstains.")


def test_whether_labels_prove_that_the_target_is_met():
    # 19 of 20 may be less than 90 %, 59 of 60 hardly.
    doubtful, proven = (lines(level(make(held, accuracy=right), 0.0))[2] for held, right in ((20, 95.0), (60, 98.3)))
    assert "none abstains" in doubtful
    assert doubtful.endswith("the accuracy may be lower.")
    assert proven.endswith("which meets the target of 90 %: none abstains.")


def test_abstaining_below_a_level_says_what_was_measured():
    assert (
        "Above levels so chosen, 92.0 % of 50 other held-out labels were predicted correctly (95 %"
        in lines(make(60))[2]
    )
    old = lines(level(make(60), 0.7, labels=None))[2]
    assert old.endswith("92.0 % of other held-out labels were predicted correctly.")
    unmeasured = lines(level(make(22), 0.7, accuracy=None, labels=None))[2]
    assert unmeasured.endswith("22 held-out labels are too few to check how often those are right.")
    assert "99.5 %" in lines(level(make(60), None, target=99.5))[2]


def test_test_labels_come_with_an_interval():
    test = TestResult(5, 80.0, None, (80.0,), bins(1.0), bins(1.0))
    assert outcome_lines(make(60, test=test))[3] == (
        "Looked at last: 80.0 % of 5 test labels were predicted correctly (95 % interval 37.6 to 96.4)."
    )


def test_every_method_that_does_as_well_is_named():
    best = make(12).candidates[0]
    names = ("supervised", "fcn", "label-propagation")
    ties = [CandidateResult(name, 80.0, 80.0, (0.0, -26.0, 26.0), False, 1.0) for name in names]
    said = recommend(make(12, candidates=(best, *ties)))
    assert "GCN, Features only (FCN) and Label propagation do as well (95 % interval −26.0 to +26.0)." in said
    behind = CandidateResult("fcn", 40.0, 40.0, (40.0, 10.0, 70.0), True, 1.0)
    assert "GCN does as well (" in recommend(make(12, candidates=(best, ties[0], behind)))
    assert said.startswith("Use GraphMix(GCN): it is right on 80.0 % of 12 labels, each held out once (95 % interval")
