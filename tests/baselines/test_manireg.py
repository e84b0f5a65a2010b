import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import linear_kernel
from sklearn.preprocessing import normalize

from graphmix import Graph, Split, synthetic
from graphmix.baselines.manireg import RIDGES, SMOOTHINGS, manireg, regress, solve


def weighted(seed=0, nodes=40):
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, nodes, (2, 90))
    words = rng.poisson(0.3, (nodes, 12)) + np.eye(nodes, 12)
    y = rng.integers(0, 3, nodes)
    train = np.arange(nodes) < 9
    y[:3] = [0, 1, 2]
    return Graph.build(words, edges, y, 3, weights=rng.uniform(0.5, 2, 90)), train


@pytest.mark.parametrize(("ridge", "smoothing"), [(0.5, 0.0), (0.01, 0.1), (0.1, 3.0)])
def test_scores_are_those_of_the_papers_kernel_expansion(ridge, smoothing):
    """Equation 8: f = K α with α = (J K + γ_A l I + γ_I l / n² L K)⁻¹ Y."""
    graph, train = weighted()
    nodes = graph.num_nodes
    weights = np.zeros((nodes, nodes))
    weights[tuple(graph.edge_index.numpy())] = graph.edge_weights.numpy()
    laplacian = np.diag(weights.sum(1)) - weights
    x = graph.x.numpy() if isinstance(graph.x, torch.Tensor) else graph.x.to_dense().numpy()
    kernel = linear_kernel(normalize(x.astype(np.float64)))
    labels = np.where(train[:, None], np.eye(3)[graph.y.numpy()], 0)
    system = np.diag(train.astype(float)) @ kernel + ridge * np.eye(nodes) + smoothing * laplacian @ kernel
    expected = kernel @ np.linalg.solve(system, labels)
    np.testing.assert_allclose(regress(graph, train, ridge, smoothing), expected, atol=1e-4)


def test_smoothing_joins_nodes_that_share_no_word_with_a_label():
    # Nodes 0 and 1 are labeled; 2 has its own word and an edge to 0, 3 its own word and an edge to 1.
    graph = Graph.build(np.eye(4), [[0, 1], [2, 3]], [0, 1, 0, 1])
    scores = regress(graph, np.array([True, True, False, False]), 0.01, 1.0)
    assert scores.argmax(axis=1).tolist() == [0, 1, 0, 1]
    # Without smoothing nothing is known of the words 2 and 3. By hand: f_0 = 1 / (1 + ridge).
    alone = regress(graph, np.array([True, True, False, False]), 0.25, 0.0)
    np.testing.assert_allclose(alone, [[0.8, 0], [0, 0.8], [0, 0], [0, 0]], atol=1e-6)


def test_conjugate_gradients_solve_a_column_of_zeros_too():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    right = np.array([[1.0, 0.0, 5.0], [2.0, 0.0, -1.0]])
    np.testing.assert_allclose(solve(lambda x: matrix @ x, right), np.linalg.solve(matrix, right), atol=1e-8)


def test_validation_nodes_choose_the_penalties():
    graph, split = synthetic(nodes=200, classes=3, features=80, topic=0.4, labels_per_class=4, seed=5)
    train, val = split.train[0].numpy(), split.val[0].numpy()
    y = graph.y.numpy()

    def right(a, b):
        return (regress(graph, train, a, b).argmax(1) == y)[val].mean()

    tried = [right(a, b) for a in RIDGES for b in SMOOTHINGS]
    chosen = manireg(graph, split, [0])[0].argmax(1).numpy()
    assert (chosen == y)[val].mean() == max(tried) > tried[0]


def test_trials_are_alike_and_each_split_has_its_own_result():
    graph, one = synthetic(nodes=150, classes=3, features=40, labels_per_class=4, seed=5)
    alike = manireg(graph, one, [0, 1, 2])
    assert torch.equal(alike[0], alike[2])
    two = Split.build(*(torch.cat([mask, mask.flip(1)]) for mask in (one.train, one.val, one.test)))
    seen = []
    both = manireg(graph, two, [0, 1], seen.append)
    assert seen == [0, 1]
    assert torch.equal(both[0], alike[0])
    assert not torch.equal(both[1], alike[0])
