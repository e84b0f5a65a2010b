import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression

from graphmix import Graph, synthetic
from graphmix.baselines.ica import SWEEPS, Classifier, ica, regression, visits
from graphmix.baselines.neighbour_means import adjacency, unit_rows


@pytest.fixture(scope="module")
def data():
    return synthetic(nodes=120, classes=3, features=60, topic=0.4, labels_per_class=5, seed=2)


def one_by_one(graph, train, order, strength, shares):
    """The algorithm with scikit-learn's own predictions, one node after the other."""
    x, y = graph.derived(unit_rows).toarray(), graph.y.numpy()
    joined = graph.derived(adjacency).toarray()
    local = LogisticRegression(C=strength, max_iter=1000).fit(x[train], y[train])
    current = np.where(train, y, local.predict(x))

    def row(node):
        z = np.bincount(current, joined[node], minlength=3)
        return np.concatenate([x[node], z / max(z.sum(), 1e-9) if shares else z])

    seen = np.stack([row(node) for node in np.flatnonzero(train)])
    relational = LogisticRegression(C=strength, max_iter=1000).fit(seen, y[train])
    scores = np.zeros((len(y), 3))
    for _ in range(SWEEPS):
        for node in order:
            (scores[node],) = relational.decision_function(row(node)[None])
            if not train[node]:
                current[node] = scores[node].argmax()
    return scores


@pytest.mark.parametrize("shares", [True, False])
def test_groups_of_nodes_give_what_one_node_after_the_other_gives(data, shares):
    graph, split = data
    train = split.train[0].numpy()
    order = np.random.Generator(np.random.PCG64(4)).permutation(graph.num_nodes)
    ours = Classifier.fit(graph, train, 1.0, shares).classify(visits(graph, 4))
    expected = one_by_one(graph, train, order, 1.0, shares)
    assert (ours.argmax(1) == expected.argmax(1)).all()
    np.testing.assert_allclose(ours, expected, atol=0.01)


def test_visits_hold_every_node_once_and_no_two_neighbours_together(data):
    graph, _ = data
    groups = visits(graph, 0)
    assert sorted(np.concatenate(groups).tolist()) == list(range(graph.num_nodes))
    place = np.empty(graph.num_nodes, dtype=int)
    for number, nodes in enumerate(groups):
        place[nodes] = number
    row, col = graph.edge_index.numpy()
    assert (place[row] != place[col]).all()
    assert len(groups) < 20


def test_edge_weights_count():
    # Node 2 has a neighbour of each class; the heavier edge decides. The features say nothing.
    classes = []
    for weights in ([3.0, 1.0, 1, 1], [1.0, 3.0, 1, 1]):
        graph = Graph.build(np.ones((5, 1)), [[0, 1, 0, 1], [2, 2, 3, 4]], [0, 1, -1, 0, 1], 2, weights=weights)
        train = np.array([True, True, False, True, True])
        scores = Classifier.fit(graph, train, 10.0, shares=False).classify(visits(graph, 0))
        classes.append(int(scores[2].argmax()))
    assert classes == [0, 1]


@pytest.mark.parametrize("classes", [2, 3])
def test_a_regression_is_scikit_learns(classes):
    rng = np.random.default_rng(0)
    rows, y = sp.csr_array(rng.normal(size=(30, 5))), np.arange(30) % classes
    weights, intercepts = regression(rows, y, 4, 0.5)
    scores = torch.from_numpy(rows @ weights + intercepts).softmax(dim=1)
    expected = LogisticRegression(C=0.5).fit(rows, y).predict_proba(rows)
    np.testing.assert_allclose(scores[:, :classes], expected, atol=1e-3)
    assert (scores[:, classes:] == 0).all()


def test_one_class_alone_is_predicted():
    weights, intercepts = regression(sp.csr_array(np.ones((3, 2))), np.array([1, 1, 1]), 3, 1.0)
    assert not weights.any()
    assert intercepts.argmax() == 1


def test_seeds_order_the_nodes(data):
    graph, split = data
    seen = []
    results = ica(graph, split, [0, 1], seen.append)
    assert seen == [0, 1]
    assert not torch.equal(results[0], results[1])
