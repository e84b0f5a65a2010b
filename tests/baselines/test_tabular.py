import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from graphmix import Graph, Split, dual, synthetic
from graphmix.baselines import BASELINES, TABULAR, forest, judge
from graphmix.baselines.forest import Forest, flatten
from graphmix.baselines.linear import Linear, _regressions, _spread
from graphmix.baselines.neighbour_means import Columns
from graphmix.baselines.tabular import choose_point

KINDS = list(TABULAR)


def graph_of(kind, nodes=80, classes=3, seed=0):
    """Return a graph whose classes differ in their features and join themselves, and 30 labeled nodes."""
    rng = np.random.default_rng(seed)
    y = np.arange(nodes) % classes
    x = rng.random((nodes, 8)) + 0.7 * np.eye(8)[y]
    ends = rng.integers(0, nodes, (2, 6 * nodes))
    ends = ends[:, (y[ends[0]] == y[ends[1]]) | (rng.random(ends.shape[1]) < 0.1)]
    if kind == "sparse":
        x = sp.csr_array(np.where(x > 0.6, x, 0))
    return Graph.build(x, ends, y, classes, normalise=False), np.arange(nodes) < 30


def fit(name, graph, labeled, **options):
    chosen = {"seed": 0, "balanced": False} | options
    return TABULAR[name].fit(graph, labeled, TABULAR[name].points[-1:], **chosen)[0]


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_span_of_the_rows_gives_scikit_learns_optimum(classes, balanced):
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(20, 60)), np.append(np.arange(12) % classes, np.zeros(8, dtype=np.int64))
    new = rng.normal(size=(50, 60))
    weight = "balanced" if balanced else None
    for point, (coefficients, intercepts) in zip((0.1, 1.0), _regressions(rows, y, (0.1, 1.0), balanced), strict=True):
        oracle = LogisticRegression(C=point, tol=1e-9, max_iter=10_000, class_weight=weight).fit(rows, y)
        logits = new @ coefficients + intercepts
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shares, oracle.predict_proba(new), atol=1e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_linear_model_is_scikit_learns_on_the_scaled_rows(kind):
    graph, labeled = graph_of(kind, nodes=80)
    columns = graph.derived(Columns.learn)
    rows = columns.rows(graph).astype(np.float64)
    # By hand: columns of a table have variance 1 / columns each, reduced ones a total variance of 1 for each hop.
    blocks = rows.reshape(len(rows), 3, -1)
    spread = blocks.std(axis=0) * np.sqrt(8) if kind == "dense" else np.sqrt(blocks.var(axis=0).sum(axis=1))[:, None]
    scaled = (blocks / spread).reshape(rows.shape)
    np.testing.assert_allclose(rows / _spread(graph), scaled, rtol=1e-4, atol=1e-6)
    oracle = LogisticRegression(C=10.0, tol=1e-9, max_iter=10_000).fit(scaled[labeled], graph.y.numpy()[labeled])
    model = Linear.fit(graph, labeled, [10.0], seed=0, balanced=False)[0]
    np.testing.assert_allclose(model.predict(graph), oracle.predict_proba(scaled), atol=1e-3)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_trees_as_arrays_predict_what_scikit_learn_predicts(kind):
    graph, labeled = graph_of(kind, nodes=700)
    columns = graph.derived(Columns.learn)
    rows, y = columns.rows(graph), graph.y.numpy()
    oracle = ExtraTreesClassifier(40, random_state=3).fit(rows[labeled], y[labeled])
    flat = flatten([one.tree_ for one in oracle.estimators_], oracle.classes_, 3)
    model = Forest(columns, **flat, factors=np.ones(3))
    given = rows if kind == "dense" else sp.csr_array(rows)
    np.testing.assert_allclose(model.predict(graph), oracle.predict_proba(given), rtol=1e-12, atol=1e-14)


def test_a_value_at_the_threshold_goes_left():
    columns = Columns(np.zeros(1, np.float32), np.ones(1, np.float32), None)
    cuts = {"column": np.array([0, -1, -1]), "threshold": np.array([0.5, 0, 0])}
    ways = {"left": np.array([1, 0, 1]), "right": np.array([2, 0, 1])}
    model = Forest(columns, np.array([0]), **cuts, **ways, shares=np.eye(2), factors=np.ones(2))
    rows = np.array([[0.4], [0.5], [0.6]], dtype=np.float32)
    assert model.of_rows(rows).tolist() == [[1, 0], [1, 0], [0, 1]]


def test_a_forests_probabilities_are_the_trees_and_one_label_spread_over_the_classes(usual_trees, monkeypatch):
    monkeypatch.setattr(forest, "TREES", usual_trees)
    graph, labeled = graph_of("dense")
    labeled[[0, 3, 6, 9]] = False
    columns = graph.derived(Columns.learn)
    rows, y = columns.rows(graph), graph.y.numpy()
    plain, balanced = (fit("random-forest", graph, labeled, seed=5, balanced=balanced) for balanced in (False, True))
    oracle = ExtraTreesClassifier(300, max_features=0.3, random_state=5).fit(rows[labeled], y[labeled])
    expected = (26 * oracle.predict_proba(rows) + 1 / 3) / 27
    np.testing.assert_allclose(plain.predict(graph), expected, rtol=1e-12)
    # Six labels of the first class, ten of each of the others.
    equal = expected / [6, 10, 10]
    np.testing.assert_allclose(balanced.predict(graph), equal / equal.sum(axis=1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse", "dual"])
@pytest.mark.parametrize("name", KINDS)
def test_predictions_are_probabilities_and_come_back_from_tensors(name, kind):
    graph, labeled = graph_of(kind)
    if kind == "dual":
        ends = np.random.default_rng(0).integers(0, 30, (2, 80))
        graph = dual(ends, 30, graph.y, 3)
    model = fit(name, graph, labeled)
    probabilities = model.predict(graph)
    assert probabilities.shape == (80, 3)
    assert probabilities.dtype == np.float64
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities > 0).all()
    again = TABULAR[name].from_tensors(model.tensors(), graph.num_features, 3)
    assert np.array_equal(again.predict(graph), probabilities)
    some = np.array([5, 70, 5])
    np.testing.assert_allclose(model.predict(graph, some), probabilities[some], rtol=1e-12)
    if kind != "dual":
        assert (probabilities.argmax(axis=1) == graph.y.numpy())[~labeled].mean() > 0.8


@pytest.mark.parametrize("name", KINDS)
def test_a_model_predicts_another_graph_by_what_it_learned_on_its_own(name):
    graph, labeled = graph_of("dense")
    model = fit(name, graph, labeled)
    # The same nodes in another order, with one more whose features are far off: they must not be standardised anew.
    order = torch.randperm(80, generator=torch.Generator().manual_seed(0))
    moved = graph.permuted(order)
    x = torch.cat([moved.x, torch.full((1, 8), 1e3)])
    grown = Graph.build(x, moved.edge_index, torch.cat([moved.y, torch.tensor([-1])]), 3, normalise=False)
    np.testing.assert_allclose(model.predict(grown)[:80], model.predict(graph)[order.numpy()], rtol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_classes_without_a_label_get_the_share_of_one_more_label_at_most(name):
    graph, _ = graph_of("dense", classes=4)
    y = graph.y.numpy()
    for known in (1, 2, 3):
        labeled = (y < known) & (np.arange(80) < 40)
        probabilities = fit(name, graph, labeled).predict(graph)
        unseen = probabilities[:, known:]
        assert ((unseen > 0) & (unseen < 1.01 / (labeled.sum() + 1))).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("name", KINDS)
def test_labels_that_are_not_given_are_not_used(name):
    graph, labeled = graph_of("sparse")
    hidden = Graph(graph.x, graph.structure, torch.where(torch.from_numpy(labeled), graph.y, -1), 3)
    assert np.array_equal(fit(name, graph, labeled).predict(graph), fit(name, hidden, labeled).predict(hidden))


def test_a_forest_depends_on_its_seed_and_not_on_threads_or_the_global_generator():
    graph, labeled = graph_of("dense")
    first = fit("random-forest", graph, labeled, seed=1).predict(graph)
    before = np.random.get_state()[1].copy()
    torch.set_num_threads(2)
    try:
        second = fit("random-forest", graph, labeled, seed=1).predict(graph)
    finally:
        torch.set_num_threads(1)
    assert np.array_equal(first, second)
    assert (np.random.get_state()[1] == before).all()
    assert not np.array_equal(first, fit("random-forest", graph, labeled, seed=2).predict(graph))


@pytest.mark.parametrize("name", KINDS)
def test_balanced_models_predict_rare_classes_more_often(name):
    graph, _ = graph_of("dense", classes=2)
    y = graph.y.numpy()
    labeled = np.zeros(80, dtype=bool)
    labeled[np.flatnonzero(y == 0)[:25]] = True
    labeled[np.flatnonzero(y == 1)[:5]] = True
    points = [0.1]
    plain, balanced = (
        TABULAR[name].fit(graph, labeled, points, seed=0, balanced=balanced)[0].predict(graph)[~labeled, 1].mean()
        for balanced in (False, True)
    )
    assert balanced > plain


def test_a_point_does_not_depend_on_the_others():
    graph, labeled = graph_of("dense")
    several = Linear.fit(graph, labeled, Linear.points, seed=0, balanced=False)
    for point, model in zip(Linear.points, several, strict=True):
        alone = Linear.fit(graph, labeled, [point], seed=0, balanced=False)[0]
        assert np.array_equal(alone.predict(graph), model.predict(graph))


def test_the_strongest_penalty_is_chosen_where_labels_are_noise_and_a_weak_one_where_they_are_not():
    graph, labeled = graph_of("dense", nodes=300)
    labeled = np.arange(300) < 90
    noise = Graph(graph.x, graph.structure, torch.from_numpy(np.random.default_rng(1).integers(0, 3, 300)), 3)
    assert choose_point(Linear, noise, labeled, seed=0) == min(Linear.points)
    assert choose_point(Linear, graph, labeled, seed=0) > min(Linear.points)


@pytest.mark.parametrize("name", KINDS)
def test_baselines_run_on_every_split(name):
    graph, split = synthetic(nodes=200, features=30, seed=3)
    seen = []
    together = BASELINES[name](graph, split, [5, 6], seen.append)
    assert seen == [0, 1]
    assert together.shape == (2, 200, graph.num_classes)
    assert torch.equal(together[1], BASELINES[name](graph, split, [6], None)[0])
    masked = Graph(graph.x, graph.structure, torch.where(split.train[0], graph.y, -1), graph.num_classes)
    assert torch.equal(together[0], BASELINES[name](masked, split, [5], None)[0])
    assert judge(name, graph, split).method == name


@pytest.mark.parametrize("name", KINDS)
def test_one_label_is_enough_to_predict(name):
    graph, _ = graph_of("sparse")
    one = Split.build(np.arange(80) == 3, np.arange(80) == 4, np.arange(80) > 4)
    probabilities = BASELINES[name](graph, one, [0], None)[0]
    assert (probabilities.argmax(dim=1) == graph.y[3]).all()


def swap(name, place, value):
    def change(tensors):
        tensors[name] = tensors[name].clone()
        tensors[name][place] = value

    return change


LINEAR_DAMAGE = {
    "missing": lambda t: t.pop("intercepts"),
    "not finite": swap("coefficients", (0, 0), torch.inf),
    "another shape": lambda t: t.update(coefficients=t["coefficients"][1:]),
    "another type": lambda t: t.update(intercepts=t["intercepts"].float()),
    "negative share": swap("unseen", 0, -0.1),
    "all classes unseen": lambda t: t.update(unseen=torch.full((3,), 0.1, dtype=torch.float64)),
}
FOREST_DAMAGE = {
    "missing": lambda t: t.pop("starts"),
    "no trees": lambda t: t.update(starts=t["starts"][:0]),
    "trees do not start at the first node": swap("starts", 0, 1),
    "trees out of order": swap("starts", 2, 1),
    "a tree behind the last node": swap("starts", -1, 10**9),
    "other column": swap("column", 0, 10**6),
    "negative column": swap("column", 0, -2),
    "child before its parent": swap("left", 0, 0),
    "child in another tree": lambda t: swap("right", 0, int(t["starts"][1]))(t),
    "child outside": swap("right", 0, 10**12),
    "leaf without shares": lambda t: t["left"].masked_fill_(t["column"] < 0, 10**9),
    "negative leaf": lambda t: t["right"].masked_fill_(t["column"] < 0, -1),
    "shares of other classes": lambda t: t.update(shares=t["shares"][:, 1:]),
    "negative shares": swap("shares", 0, torch.tensor([2.0, -1.0, 0.0], dtype=torch.float64)),
    "shares of more than 1": swap("shares", 0, 1.0),
    "not finite": swap("threshold", 0, torch.nan),
    "factor of zero": swap("factors", 1, 0.0),
    "factors of other classes": lambda t: t.update(factors=t["factors"][1:]),
    "shorter": lambda t: t.update(left=t["left"][1:]),
    "no vector": lambda t: t.update(column=t["column"][None]),
}


@pytest.mark.parametrize(
    ("name", "damage"),
    [("logistic-regression", change) for change in LINEAR_DAMAGE]
    + [("random-forest", change) for change in FOREST_DAMAGE],
)
def test_damaged_tensors_are_refused(name, damage):
    graph, labeled = graph_of("dense")
    tensors = {key: tensor.clone() for key, tensor in fit(name, graph, labeled).tensors().items()}
    TABULAR[name].from_tensors(tensors, 8, 3)
    {"logistic-regression": LINEAR_DAMAGE, "random-forest": FOREST_DAMAGE}[name][damage](tensors)
    with pytest.raises(ValueError, match=r"."):
        TABULAR[name].from_tensors(tensors, 8, 3)
