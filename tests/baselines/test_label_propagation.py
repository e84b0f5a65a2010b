import sys

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from graphmix import Graph, Split
from graphmix.baselines import label_propagation
from graphmix.baselines.label_propagation import harmonic, mean_of_neighbours, propagate

# The package gives the name to the function of this module.
lp = sys.modules["graphmix.baselines.label_propagation"]


def build(edges, y, train, classes=2):
    nodes = len(y)
    train = np.atleast_2d(np.array(train, dtype=bool))
    val, test = np.zeros_like(train), np.zeros_like(train)
    val[:, -1] = True
    return Graph.build(np.eye(nodes), edges, y, classes), Split.build(train, val, test)


def spread(graph, split):
    labels = torch.nn.functional.one_hot(graph.y, graph.num_classes).float() * split.train[..., None]
    return harmonic(mean_of_neighbours(graph), labels, split.train[..., None])


def test_on_a_path_probabilities_fall_linearly_between_the_labeled_ends():
    graph, split = build([[0, 1, 2, 3], [1, 2, 3, 4]], [0, 0, 1, 1, 1], [1, 0, 0, 1, 0])
    first = torch.tensor([1.0, 2 / 3, 1 / 3, 0.0, 0.0])
    assert_close(spread(graph, split)[0, :, 0], first, atol=1e-3, rtol=0)
    # The first class has 2 of the mass and the second 3, but each has half of the labels.
    normalised = (first / 2) / (first / 2 + (1 - first) / 3)
    assert_close(label_propagation(graph, split, [0])[0, :, 0], normalised, atol=1e-3, rtol=0)


def test_heavier_edges_pull_harder():
    edges, y = [[0, 1], [1, 2]], [0, -1, 1]
    graph = Graph.build(np.eye(3), edges, y, 2, weights=[3.0, 1.0])
    split = Split.build([True, False, True], [False, True, False], [False] * 3)
    held = harmonic(mean_of_neighbours(graph), torch.eye(2)[[0, 0, 1]] * split.train[..., None], split.train[..., None])
    assert_close(held[0, 1], torch.tensor([0.75, 0.25]))


def test_nodes_that_no_label_reaches_get_the_labels_frequencies():
    graph, split = build([[0, 1], [1, 2]], [0, 1, 1, 1, 0], [1, 1, 1, 0, 0])
    assert_close(label_propagation(graph, split, [0])[0, 3:], torch.tensor([[1 / 3, 2 / 3]] * 2))


@given(seed=st.integers(0, 10_000))
def test_it_solves_the_harmonic_equations(seed):
    """Zhu et al.: on nodes that labels reach, f_u = (D_uu - A_uu)^-1 A_ul y_l."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 12)
    train = np.stack([rng.permutation(12) < 4 for _ in range(2)])
    train[:, -1] = False
    graph, split = build(rng.integers(0, 12, (2, 30)), y, train, classes=3)
    ours = spread(graph, split).double().numpy()
    adjacency = np.zeros((12, 12))
    adjacency[tuple(graph.edge_index.numpy())] = 1
    one_hot = np.eye(3)[y]
    for trial in range(2):
        known, free = train[trial], ~train[trial]
        reached = np.linalg.matrix_power(adjacency + np.eye(12), 12)[:, known].sum(1) > 0
        free = free & reached
        laplacian = np.diag(adjacency.sum(1)) - adjacency
        solved = np.linalg.solve(laplacian[np.ix_(free, free)], adjacency[np.ix_(free, known)] @ one_hot[known])
        np.testing.assert_allclose(ours[trial][free], solved, atol=5e-3)
        np.testing.assert_allclose(ours[trial][known], one_hot[known])


def test_splits_side_by_side_are_splits_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    graph = Graph.build(np.ones((60, 1)), rng.integers(0, 60, (2, 150)), np.arange(60) % 4)
    known = torch.from_numpy(rng.random((3, 60)) < 0.2)
    expected = propagate(graph, known)
    monkeypatch.setattr(lp, "_ENTRIES", 100)
    torch.testing.assert_close(propagate(graph, known), expected)


def test_a_very_large_graph_has_fewer_steps(monkeypatch):
    path = Graph.build(np.ones((100, 1)), [list(range(99)), list(range(1, 100))], [0, *[-1] * 98, 1])
    known = (path.y >= 0)[None]
    walk = path.derived(lp.mean_of_neighbours)
    assert lp.steps_for(walk, 2) == lp.MOST_STEPS
    monkeypatch.setattr(lp, "_MOST_WORK", 30 * walk.nonzeros * 2)
    assert lp.steps_for(walk, 2) == 30
    steps = []
    found = propagate(path, known, steps.append)[0]
    assert len(steps) == 30
    # No label has come further than there were steps: what it has not reached gets the frequencies.
    assert torch.equal(found[49], torch.tensor([0.5, 0.5]))
    assert found[25, 0] == 1
    # A split has as many steps beside others as alone.
    both = propagate(path, known.expand(2, -1))
    assert torch.equal(both, found.expand(2, -1, -1))
    monkeypatch.setattr(lp, "_ENTRIES", 100)
    torch.testing.assert_close(propagate(path, known.expand(2, -1)), both)
    monkeypatch.setattr(lp, "_MOST_WORK", 0)
    assert lp.steps_for(walk, 2) == 20
