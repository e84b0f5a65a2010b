"""GraphMixClassifier keeps scikit-learn's promises, and its own."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphmix
from graphmix import ConfigError, DataError, GraphMixClassifier

CANNOT_HOLD = {
    "check_classifiers_classes": "it has a class -1, which means unlabeled here, as in sklearn.semi_supervised",
    "check_class_weight_classifiers": "it gives weights by class, and only 'balanced' ones are known",
}


@parametrize_with_checks(
    # Of several methods one is quicker; test_auto.py runs a few of these checks with all of them.
    [GraphMixClassifier(method="graphmix-steady", trials=1, epochs=30, learning_rate=0.2, device="cpu")],
    expected_failed_checks=lambda estimator: CANNOT_HOLD,
)
def test_scikit_learns_own_checks(estimator, check):
    # Without edges: they know of none.
    check(estimator)


def test_importing_graphmix_does_not_import_scikit_learn():
    lazily = (
        "import sys, graphmix; assert 'sklearn' not in sys.modules and 'pyarrow' not in sys.modules; "
        "graphmix.GraphMixClassifier; assert 'sklearn' in sys.modules; assert not hasattr(graphmix, 'magic')"
    )
    subprocess.run([sys.executable, "-c", lazily], check=True, timeout=120)


def test_what_was_learned(small, fitted):
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.n_features_in_ == 30
    known = small.y >= 0
    np.testing.assert_array_equal(fitted.transduction_[known], small.y[known])
    np.testing.assert_array_equal(fitted.transduction_[~known], fitted.predict()[~known])
    np.testing.assert_allclose(fitted.predict_proba().sum(axis=1), 1)
    # A third is what guessing comes to.
    assert fitted.held_out_accuracy_ > 0.5
    assert fitted.held_out_macro_f1_ > 0.5
    assert (fitted.predict() == small.truth)[~known].mean() > 0.5


def test_strings_are_given_back(small, quick, fitted):
    names = np.array(["theory", "agents", "systems"])
    y = [names[label] if label >= 0 else None for label in small.y]
    classifier = quick().fit(small.x, y, small.edges)
    assert classifier.classes_.tolist() == sorted(names)
    # Classes are in another order, and so are their weights: it is not the same network, but as good.
    assert classifier.score(None, [*[None] * 45, *names[small.truth[45:]]]) > 0.5
    assert set(classifier.transduction_) <= set(names)


@pytest.mark.parametrize("method", ["supervised", "fcn", "label-propagation"])
def test_other_methods(small, quick, method):
    classifier = quick(method=method).fit(small.x, small.y, small.edges)
    assert classifier.model_.method == method
    assert classifier.score(None, np.where(small.y < 0, small.truth, -1)) > 0.4
    if method == "fcn":
        np.testing.assert_allclose(classifier.predict_proba(small.x), classifier.predict_proba(), rtol=1e-5)
    if method == "label-propagation":
        with pytest.raises(DataError, match="label propagation only knows the nodes of the fit"):
            classifier.predict(small.x, small.edges)


def test_parameters_reach_the_networks(small, quick):
    classifier = quick(
        backbone="gat",
        hidden=4,
        alpha=0.5,
        gamma=2.0,
        sharpening_temperature=0.3,
        weight_decay=0.01,
        learning_rate=None,
    ).fit(small.x, small.y, small.edges)
    config = classifier.model_.config
    assert (config.backbone, config.hidden, config.alpha, config.gamma) == ("gat", 4, 0.5, 2.0)
    assert (config.temperature, config.weight_decay) == (0.3, 0.01)
    assert config.learning_rate == 0.005, "the usual one of a GAT"
    assert config.class_weight == config.target_weight == "none"


def test_rows_are_normalised_if_asked_for(small, quick):
    classifier = quick(normalise=True, epochs=2).fit(small.x, small.y, small.edges)
    torch.testing.assert_close(classifier.graph_.x.abs().sum(1), torch.ones(120))
    np.testing.assert_allclose(
        classifier.predict_proba(7 * small.x, small.edges), classifier.predict_proba(), rtol=1e-4
    )


def test_calibration_can_be_left_out(small, quick, fitted):
    raw = quick(calibrate=False).fit(small.x, small.y, small.edges)
    assert raw.temperature_ == 1
    assert fitted.temperature_ != 1
    # The same networks: a temperature changes no order.
    np.testing.assert_array_equal(raw.predict(), fitted.predict())
    logits = np.log(raw.predict_proba())
    cooled = np.exp(logits / fitted.temperature_)
    np.testing.assert_allclose(fitted.predict_proba(), cooled / cooled.sum(axis=1, keepdims=True), rtol=1e-6)


def test_a_random_state_repeats_itself(small, quick, fitted):
    def probabilities(state):
        return quick(random_state=state).fit(small.x, small.y, small.edges).predict_proba()

    np.testing.assert_array_equal(probabilities(np.int64(0)), fitted.predict_proba())
    one, two = (probabilities(np.random.RandomState(5)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, fitted.predict_proba())


def test_a_clone_has_learned_nothing(fitted, small):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.predict()
    with pytest.raises(NotFittedError):
        copy.predict_proba(small.x)
    with pytest.raises(NotFittedError):
        copy.score(small.x, small.y)
    with pytest.raises(NotFittedError):
        copy.save("nowhere")
    assert copy.set_params(alpha=0.25).alpha == 0.25
    assert fitted.alpha is None


def test_a_fit_that_failed_is_none(small, quick):
    classifier = quick()
    with pytest.raises(DataError, match="at least two classes"):
        classifier.fit(small.x, np.full(120, 1), small.edges)
    with pytest.raises(NotFittedError):
        classifier.predict(small.x)


def test_a_graph_that_has_grown(small, quick):
    old = 100
    kept = (small.edges < old).all(axis=0)
    classifier = quick().fit(small.x[:old], small.y[:old], small.edges[:, kept])
    grown = classifier.predict_proba(small.x, small.edges)
    assert grown.shape == (120, 3)
    assert (grown.argmax(axis=1) == small.truth)[old:].mean() > 0.5
    # Two layers see two steps, and there the degrees of nodes a third one away: farther from a single new node nothing
    # changes.
    kept = (small.edges <= old).all(axis=0)
    reached = np.arange(old + 1) == old
    for _ in range(3):
        reached[small.edges[:, kept][:, reached[small.edges[:, kept]].any(axis=0)]] = True
    near = reached[:old]
    assert 0 < near.sum() < old
    grown = classifier.predict_proba(small.x[: old + 1], small.edges[:, kept])
    changed = np.abs(grown[:old] - classifier.predict_proba()).max(axis=1)
    assert changed[~near].max() < 1e-5
    assert changed[near].max() > 1e-3


def test_edges_that_were_forgotten_are_missed(small, fitted):
    none = np.empty((2, 0), dtype=np.int64)
    expected = fitted.predict_proba(small.x, none)
    with pytest.warns(UserWarning, match="predicted by their features alone"):
        found = fitted.predict_proba(small.x)
    np.testing.assert_array_equal(found, expected)
    assert not np.allclose(expected, fitted.predict_proba(small.x, small.edges))


def test_score_counts_labels_alone(small, fitted):
    right = fitted.predict(small.x, small.edges) == small.truth
    some = np.where(np.arange(120) % 2, small.truth.astype(float), np.nan)
    assert fitted.score(small.x, some, small.edges) == pytest.approx(right[1::2].mean())
    assert fitted.score(y=small.truth) == pytest.approx(right.mean())
    weight = np.arange(120)
    weighed = fitted.score(small.x, small.truth, small.edges, sample_weight=weight)
    assert weighed == pytest.approx(np.average(right, weights=weight))
    with pytest.raises(DataError, match="score needs labels"):
        fitted.score()
    with pytest.raises(DataError, match="no label to compare"):
        fitted.score(y=np.full(120, -1))


def test_balanced_weights_find_rare_classes(quick):
    graph, _ = graphmix.synthetic(nodes=900, classes=3, features=100, topic=0.15, labels_per_class=5, seed=1)
    rng = np.random.default_rng(0)
    truth = graph.y.numpy()
    kept = np.sort(np.concatenate([np.flatnonzero(truth == c)[:n] for c, n in enumerate((260, 50, 25))]))
    x, truth = graph.x.to_scipy()[kept], truth[kept]
    edges = graph.edge_index.numpy()
    place = np.full(900, -1)
    place[kept] = np.arange(len(kept))
    edges = place[edges][:, (place[edges] >= 0).all(axis=0)]
    y = np.where(rng.random(len(truth)) < 0.3, truth, -1)

    def fit(weight):
        return quick(class_weight=weight, trials=5, epochs=60).fit(x, y, edges)

    plain, balanced = fit(None), fit("balanced")
    config = balanced.model_.config
    assert (config.class_weight, config.target_weight) == ("balanced", "balanced")
    hidden = y < 0
    scores = [f1_score(truth[hidden], each.predict()[hidden], average="macro") for each in (plain, balanced)]
    assert scores[1] > scores[0] + 0.1
    assert balanced.held_out_macro_f1_ > plain.held_out_macro_f1_


def test_in_a_pipeline(small, quick):
    pipeline = make_pipeline(StandardScaler(), quick())
    pipeline.fit(small.x, small.y, graphmixclassifier__edge_index=small.edges)
    scaled = StandardScaler().fit_transform(small.x)
    alone = quick().fit(scaled, small.y, small.edges)
    np.testing.assert_array_equal(pipeline.predict(small.x, edge_index=small.edges), alone.predict())


def test_parameters_can_be_searched_where_there_are_no_edges(small, quick):
    search = GridSearchCV(quick(method="fcn"), {"hidden": [2, 16]}, cv=2).fit(small.x, small.truth)
    assert search.best_params_["hidden"] in (2, 16)
    assert search.best_estimator_.model_.config.hidden == search.best_params_["hidden"]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"backbone": "magic"}, "`backbone` must be one of"),
        ({"class_weight": {0: 1}}, "`class_weight` must be None or 'balanced'"),
        ({"normalise": "rows"}, "`normalise` must be True or False"),
        ({"trials": 0}, "`trials` must be at least 1"),
        ({"random_state": -1}, "`seed` must be at least 0"),
        ({"device": "abacus"}, "`device`.*'abacus'"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused(small, quick, choices, message):
    with pytest.raises(ValueError, match=message) as caught:
        quick(**choices).fit(small.x, small.y, small.edges)
    assert isinstance(caught.value, ConfigError)


def test_input_that_does_not_fit_is_refused(small, quick, fitted):
    with pytest.raises(DataError, match="X has 3 features, but GraphMixClassifier is expecting 30"):
        fitted.predict(small.x[:, :3])
    with pytest.raises(DataError, match="edges need the X that they belong to"):
        fitted.predict(edge_index=small.edges)
    with pytest.raises(DataError, match="too few labels"):
        quick().fit(small.x, np.where(np.arange(120) < 2, np.arange(120), -1), small.edges)
