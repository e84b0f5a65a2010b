"""The synthetic graph: made from its seed alone, with the structure that was asked for."""

import hashlib

import numpy as np
import pytest
import torch

from graphmix.data import synthetic
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix


def test_the_same_seed_gives_the_same_graph_and_another_seed_another():
    (graph, split), (again, split_again), (other, _) = synthetic(seed=3), synthetic(seed=3), synthetic(seed=4)
    assert torch.equal(graph.edge_index, again.edge_index)
    assert torch.equal(graph.x.values, again.x.values)
    assert torch.equal(graph.x.col, again.x.col)
    assert torch.equal(graph.y, again.y)
    assert torch.equal(split.train, split_again.train)
    assert not torch.equal(graph.y, other.y)
    assert not torch.equal(graph.x.col[:500], other.x.col[:500])


def test_the_default_graph_is_the_same_on_every_machine():
    graph, split = synthetic()
    digest = hashlib.sha256()
    for part in (graph.edge_index, graph.y, graph.x.col.long(), split.train, split.val, split.test):
        digest.update(part.numpy().astype("<i8").tobytes())
    assert digest.hexdigest()[:16] == "0f24f06d2eb3ecfd"


@pytest.mark.parametrize("homophily", [0.0, 0.5, 0.8, 1.0])
def test_edges_join_one_class_as_often_as_asked(homophily):
    graph, _ = synthetic(nodes=5000, classes=3, homophily=homophily, degree=6.0)
    source, target = graph.y[graph.edge_index]
    assert float((source == target).double().mean()) == pytest.approx(homophily, abs=0.02)
    assert 2 * graph.num_edges / graph.num_nodes == pytest.approx(6.0, rel=0.01)


def test_sizes_and_sparsity():
    graph, split = synthetic(nodes=3001, classes=5, features=800, words=15, labels_per_class=7)
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (3001, 800, 5)
    assert set(graph.y.bincount().tolist()) == {600, 601}
    assert isinstance(graph.x, SparseMatrix)
    assert 3001 * 5 < graph.x.nonzeros <= 3001 * 15
    torch.testing.assert_close(torch.from_numpy(graph.x.to_scipy().sum(axis=1)), torch.ones(3001))
    assert graph.y[split.train[0]].bincount().tolist() == [7] * 5
    assert (int(split.val.sum()), int(split.test.sum())) == (500, 1000)
    split.check(graph)


def test_the_smallest_graph_still_has_every_mask():
    graph, split = synthetic(nodes=4, classes=2, features=1, words=1, labels_per_class=1, degree=1.0)
    assert [int(mask.sum()) for mask in (split.train, split.val, split.test)] == [2, 1, 1]
    assert graph.x.to_dense().tolist() == [[1.0]] * 4


def test_a_large_graph_is_made_without_quadratic_work():
    graph, _ = synthetic(nodes=100_000, classes=10)
    assert graph.num_edges == pytest.approx(250_000, rel=0.01)


def ridge_accuracy(x, y, train, test):
    inputs, targets = x[train], np.eye(y.max() + 1)[y[train]]
    gram = inputs @ inputs.T
    ridge = 0.3 * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.mean((x @ inputs.T @ np.linalg.solve(gram + ridge, targets)).argmax(axis=1)[test] == y[test])


def test_neighbours_say_much_more_than_features_alone():
    graph, split = synthetic()
    x, y = graph.x.to_scipy().toarray(), graph.y.numpy()
    train, test = split.train[0].numpy(), split.test[0].numpy()
    propagation = graph.propagation.to_scipy()
    alone = ridge_accuracy(x, y, train, test)
    together = ridge_accuracy(propagation @ (propagation @ x), y, train, test)
    assert 0.35 < alone < 0.6
    assert 0.8 < together < 0.97


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": 1}, "`classes` of a synthetic graph must be at least 2, not 1"),
        ({"features": 0}, "`features` of a synthetic graph must be at least 1, not 0"),
        ({"words": 0}, "`words` of a synthetic graph must be at least 1, not 0"),
        ({"labels_per_class": 0}, "`labels_per_class` of a synthetic graph must be at least 1, not 0"),
        ({"nodes": 83}, "83 nodes are too few for 20 labels in each of 4 classes: at least 84 are needed"),
        ({"degree": -1.0}, "`degree` of a synthetic graph must be at least 0 and below its 1000 nodes, not -1.0"),
        ({"degree": 1000}, "not 1000"),
        ({"degree": float("nan")}, "not nan"),
        ({"homophily": 1.5}, "`homophily` of a synthetic graph must be from 0 to 1, not 1.5"),
        ({"topic": -0.1}, "`topic` of a synthetic graph must be from 0 to 1, not -0.1"),
        ({"seed": -1}, "`seed` of a synthetic graph must be at least 0, not -1"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, message):
    with pytest.raises(DataError, match=message):
        synthetic(**arguments)
