"""What is said of a mixture and its methods: who is in it, what each reaches alone, and what may be noise."""

from dataclasses import replace
from pathlib import Path

import pytest

from fitted_metrics import make_metrics, make_mixture
from graphmix.results.fit import FitMetrics, Majority
from graphmix.results.names import candidate_title, method_title
from graphmix.results.outcome import outcome_lines
from graphmix.results.reader import parse
from graphmix.results.recommendation import comparisons, headline, members, recommend


@pytest.fixture
def mixture():
    return parse(FitMetrics, make_mixture(), Path("metrics.json"))


def with_candidates(metrics, *candidates, **changes):
    return replace(metrics, candidates=(metrics.candidates[0], *candidates), **changes)


def test_names_of_methods():
    assert method_title("mixture", "gpr") == "Mixture"
    assert method_title("graphmix-steady", "sage") == "Steady GraphMix(GraphSAGE)"
    assert method_title("random-forest", "gpr") == "Random forest"


def test_each_candidate_is_named_by_its_own_network(mixture):
    assert [candidate_title(each, mixture) for each in mixture.candidates] == [
        "Mixture", "Label propagation", "GPR-GNN", "GraphSAGE", "Features only (FCN)",
    ]  # fmt: skip
    old = parse(FitMetrics, make_metrics(backbone="gat"), Path("metrics.json"))
    assert candidate_title(old.candidates[0], old) == "GraphMix(GAT)"


def test_members_come_with_their_shares_the_largest_first(mixture):
    assert [each.share for each in members(mixture)] == [65.0, 35.0]
    assert headline(mixture) == (
        "The model averages 2 methods of the 4 tried: GPR-GNN 65 %, Label propagation 35 %. It is right on 80.0 % of "
        "40 labels, each held out once (95 % interval 65.2 to 89.5)."
    )
    whole = with_candidates(mixture, *mixture.candidates[1:3])
    assert headline(whole).startswith("The model averages 2 methods: GPR-GNN 65 %, Label propagation 35 %. ")


def test_a_mixture_of_one(mixture):
    first, second, *_ = mixture.candidates[1:]
    single = with_candidates(mixture, replace(first, share=0.0), replace(second, share=100.0))
    assert headline(single).startswith(
        "The model is GPR-GNN alone: held-out labels gave 1 other method no share. It is "
    )


def test_the_only_member_is_not_compared_with_itself(mixture):
    first, second, *rest = mixture.candidates[1:]
    single = with_candidates(mixture, replace(second, share=100.0), replace(first, share=0.0), *rest)
    assert comparisons(single) == [
        "Alone, Label propagation is right on 82.5 %, 2.5 points more than the model (−1.5 to +6.5). That may be "
        "noise: of 3 methods, one is often ahead by luck. The model's probabilities are better (log loss 0.61, not "
        "0.75).",
        "The model is ahead of GraphSAGE and Features only (FCN) by more than noise.",
    ]
    assert comparisons(with_candidates(mixture, replace(second, share=100.0))) == []


def test_no_lead_of_nothing(mixture):
    best = replace(mixture.candidates[2], behind=(0.04, -0.5, 0.6))
    assert comparisons(with_candidates(mixture, best, share_of_others(mixture))) == [
        "Alone, GPR-GNN does as well (−0.5 to +0.6).",
        "The mixture is ahead of Features only (FCN) by more than noise.",
    ]


def share_of_others(mixture):
    """Another member, far behind."""
    return replace(mixture.candidates[4], share=35.0)


def test_a_method_that_does_better_alone_is_said_to(mixture):
    better, beaten = comparisons(mixture)
    assert better == (
        "Alone, Label propagation is right on 82.5 %, 2.5 points more than the mixture (−1.5 to +6.5). That may be "
        "noise: of 4 methods, one is often ahead by luck. The mixture's probabilities are better (log loss 0.61, not "
        "0.75)."
    )
    assert beaten == "The mixture is ahead of GraphSAGE and Features only (FCN) by more than noise."
    assert recommend(mixture) == " ".join([headline(mixture), better, beaten])
    best, *rest = mixture.candidates[1:]
    certain = replace(best, behind=(-2.5, -4.0, -1.0), certain=True, log_loss=0.5)
    (said, _) = comparisons(with_candidates(mixture, certain, *rest))
    more = "That is more than noise, if it were the only comparison; but of 4 methods, one is often ahead by luck."
    assert said.endswith(f"2.5 points more than the mixture (+1.0 to +4.0). {more}")


@pytest.mark.parametrize(
    ("certain", "low", "verdict"),
    [(False, -1.2, "(−1.2 to +2.6) may be noise."), (True, 0.1, "(+0.1 to +2.6) is more")],
)
def test_whether_the_lead_is_noise(mixture, certain, low, verdict):
    best = replace(mixture.candidates[2], behind=(0.7, low, 2.6), certain=certain)
    said = comparisons(with_candidates(mixture, best, share_of_others(mixture)))
    assert said[0].startswith(f"Alone, GPR-GNN is right on 77.5 %: the mixture's lead of 0.7 points {verdict}")
    # A lead over the best is one over the others too, which need no words then.
    assert said[1:] == ([] if certain else ["The mixture is ahead of Features only (FCN) by more than noise."])


def test_a_lead_in_macro_f1_is_in_macro_f1(mixture):
    best = replace(mixture.candidates[2], behind=(0.7, -1.2, 2.6))
    said = comparisons(with_candidates(mixture, best, share_of_others(mixture), chosen_by="macro-f1"))
    assert said[:1] == [
        "Alone, GPR-GNN has a macro F1 of 75.5 %: the mixture's lead of 0.7 points of macro F1 (−1.2 to +2.6) may be "
        "noise."
    ]


def test_every_method_that_does_as_well_is_named(mixture):
    ties = [replace(each, behind=(0.0, -5.0, 5.0), certain=False) for each in mixture.candidates[1:3]]
    said = comparisons(with_candidates(mixture, *ties))
    assert said == ["Alone, Label propagation and GPR-GNN do as well (−5.0 to +5.0)."]
    one = comparisons(with_candidates(mixture, ties[1], share_of_others(mixture)))
    assert one[0] == "Alone, GPR-GNN does as well (−5.0 to +5.0)."


def test_one_method_that_was_asked_for(mixture):
    only = replace(mixture.candidates[2], behind=None, certain=None, share=None)
    single = replace(mixture, chosen="supervised", candidates=(only,))
    assert recommend(single) == (
        "The model is GPR-GNN. It is right on 77.5 % of 40 labels, each held out once (95 % interval 62.5 to 87.7)."
    )


def test_a_model_that_does_not_beat_the_majority_class(mixture):
    said = recommend(replace(mixture, majority=Majority("a", 80.0)))
    assert "Always predicting 'a' is right on 80.0 %, so it may have learned nothing: " in said
    assert "Always" not in recommend(replace(mixture, majority=Majority("a", 79.0)))


@pytest.mark.parametrize(
    ("counts", "advice"), [((30, 10), "balance the classes"), ((20, 20), "label more nodes"), ((20, 0), "balance")]
)
def test_only_classes_of_different_size_are_to_be_balanced(mixture, counts, advice):
    survey = replace(mixture.survey, class_names=("a", "b"), class_counts=counts)
    said = recommend(replace(mixture, majority=Majority("a", 80.0), survey=survey))
    assert f"so it may have learned nothing: {advice}" in said


def test_validation_labels_choose_nothing_that_they_judge(mixture):
    given = replace(mixture, judged_on="validation nodes")
    assert "right on 80.0 % of 40 validation labels (95 % interval" in headline(given)
    old = parse(FitMetrics, make_metrics(judged_on="validation nodes"), Path("metrics.json"))
    assert "80.0 % of 40 validation labels, which also selected its epochs (95 %" in headline(old)


def test_older_files_speak_of_the_best_method():
    old = parse(FitMetrics, make_metrics(), Path("metrics.json"))
    assert recommend(old) == (
        "Use GraphMix(GCN): it is right on 80.0 % of 40 labels, each held out once (95 % interval 65.2 to 89.5). It is "
        "2.5 points ahead of Label propagation (95 % interval −1.5 to +6.5): that may be noise. It is ahead of "
        "Features only (FCN) by more than noise."
    )


def test_probabilities_that_are_not_calibrated_are_the_mixtures_own(mixture):
    unfitted = replace(mixture, held=8, calibration=replace(mixture.calibration, temperature=1.0, fitted=False))
    assert "The probabilities are the mixture's own" in outcome_lines(unfitted)[0]
    assert "The probabilities are the method's own" in outcome_lines(replace(unfitted, chosen="fcn"))[0]
