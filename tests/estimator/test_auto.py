"""GraphMixClassifier with method="auto": a mixture of methods, saved, loaded, used on new nodes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks

import graphmix
from graphmix import GraphMixClassifier
from graphmix.training.methods import fit_methods
from graphmix.workflow.options import CANDIDATES


def quick(**choices):
    return GraphMixClassifier(**({"trials": 2, "epochs": 10, "hidden": 4, "device": "cpu"} | choices))


@pytest.fixture(scope="module")
def auto(small):
    return quick().fit(small.x, small.y, small.edges)


def test_it_is_the_default_and_a_mixture(small, auto):
    assert auto.method == "auto"
    shares = {member.name: member.share for member in auto.model_.members}
    assert sum(shares.values()) == pytest.approx(1)
    assert {member.method for member in auto.model_.members} <= set(fit_methods())
    held = set(auto.table_model_.held)
    assert {"mixture", "logistic-regression", "graphmix-steady-gcn", "graphmix-steady-gcn-fcn"} <= held
    assert shares.keys() <= held
    np.testing.assert_allclose(auto.predict_proba().sum(axis=1), 1)
    assert auto.held_out_accuracy_ == pytest.approx(auto.table_model_.held["mixture"].right.mean())
    hidden = small.y < 0
    assert (auto.predict() == small.truth)[hidden].mean() > 0.6


def test_probabilities_are_the_calibrated_weighted_mean_of_its_members(auto):
    total = sum(member.share * member.probabilities(auto.graph_) for member in auto.model_.members)
    powers = total ** (1 / auto.temperature_)
    np.testing.assert_allclose(auto.predict_proba(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-9)


def test_it_is_saved_and_fitted_again_as_it_was(small, auto, tmp_path):
    auto.save(tmp_path)
    loaded = GraphMixClassifier.load(tmp_path)
    assert loaded.get_params() == auto.get_params()
    np.testing.assert_array_equal(loaded.predict_proba(), auto.predict_proba())
    again = clone(loaded).fit(small.x, small.y, small.edges)
    np.testing.assert_array_equal(again.predict_proba(), auto.predict_proba())


def test_on_another_graph_label_propagation_is_left_out(small, auto):
    inductive = auto.model_.inductive()
    assert all(member.method != "label-propagation" for member in inductive.members)
    assert sum(member.share for member in inductive.members) == pytest.approx(1)
    expected = inductive.probabilities(auto.graph_)
    np.testing.assert_allclose(auto.predict_proba(small.x, small.edges), expected, rtol=1e-6)
    assert auto.predict(small.x[:7], np.zeros((2, 0), dtype=int)).shape == (7,)


def test_a_balanced_mixture_and_one_without_calibration(small):
    made = quick(class_weight="balanced", calibrate=False).fit(small.x, small.y, small.edges)
    assert made.temperature_ == 1
    assert {member.config.class_weight for member in made.model_.members} == {"balanced"}


def test_a_validation_mask_chooses_and_is_not_trained_on(small):
    val = np.zeros(120, dtype=bool)
    val[30:45] = True
    given = quick().fit(small.x, small.y, small.edges, val_mask=val)
    assert given.model_.held.nodes.tolist() == list(range(30, 45))


@pytest.mark.parametrize("method", CANDIDATES)
def test_every_method_can_be_asked_for_alone(small, method):
    alone = quick(method=method).fit(small.x, small.y, small.edges)
    (member,) = alone.model_.members
    assert (member.method, member.share) == (method, 1.0)
    np.testing.assert_allclose(alone.predict_proba().sum(axis=1), 1)


@pytest.mark.parametrize(
    "check",
    [
        "check_fit_idempotent",
        "check_classifiers_one_label",
        "check_estimators_dtypes",
        "check_dict_unchanged",
        "check_fit2d_1sample",
        "check_n_features_in",
    ],
)
def test_checks_of_scikit_learn_with_all_methods(check):
    getattr(estimator_checks, check)("GraphMixClassifier", quick(trials=1, epochs=2))


def test_it_prints_nothing(small, capfd):
    quick(epochs=2).fit(small.x, small.y, small.edges)
    assert capfd.readouterr() == ("", "")
    assert graphmix.GraphMixClassifier is GraphMixClassifier
