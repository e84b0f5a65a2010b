import numpy as np
import pytest
import torch

from graphmix import DataError, Graph, Split, synthetic
from graphmix.baselines import BASELINES, deepwalk, judge
from graphmix.baselines.deepwalk import _count_pairs, _positive_information, _walk, embed


def two_communities():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    inside = [(a, b) for a in range(60) for b in range(a) if y[a] == y[b] and rng.random() < 0.3]
    across = [(0, 1), (2, 3)]
    graph = Graph.build(np.eye(60), np.array(inside + across).T, y)
    train = np.arange(60) < 8
    val = (np.arange(60) >= 8) & (np.arange(60) < 20)
    return graph, Split.build(train, val, ~train & ~val)


def test_walks_follow_edges_and_stay_where_there_are_none():
    edges = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    walks = _walk(np.random.default_rng(0), edges, nodes=4)
    steps = set(zip(walks[:-1].ravel().tolist(), walks[1:].ravel().tolist(), strict=True))
    assert steps == {(0, 1), (1, 0), (1, 2), (2, 1), (3, 3)}


def test_pairs_within_the_window_are_counted_both_ways():
    counts = _count_pairs(np.array([[0], [1], [2]]), nodes=3).toarray()
    assert counts.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_positive_pointwise_mutual_information_by_hand():
    counts = _count_pairs(np.array([[0, 2], [1, 3]]), nodes=4)
    # Four entries of 1 in all; every node has a quarter of them, so each pair seen has log((1/4) / (1/16)).
    information = _positive_information(counts).toarray()
    assert information[0, 1] == pytest.approx(np.log(4))
    assert information[0, 2] == 0


def test_communities_are_found_from_the_edges_alone():
    graph, split = two_communities()
    results = judge("deepwalk", graph, split, trials=2)
    assert min(results.test_accuracy.values) > 95
    probabilities = deepwalk(graph, split, [0])[0]
    for role in ("val", "test"):
        mask = getattr(split, role)[0]
        right = (probabilities.argmax(1) == graph.y)[mask].float().mean().item()
        assert getattr(results, f"{role}_accuracy").values[0] == pytest.approx(100 * right, abs=1e-3)
    assert results.backbone is None


def test_a_trial_depends_on_its_seed_alone():
    graph, split = two_communities()
    seen = []
    both, alone = deepwalk(graph, split, [3, 4], seen.append), deepwalk(graph, split, [4])
    assert seen == [0, 1]
    assert torch.equal(both[1], alone[0])
    assert not torch.equal(both[0], both[1])
    edges = graph.edge_index.numpy()
    before = np.random.get_state()[1].copy()
    embed(edges, 60, 0)
    assert (np.random.get_state()[1] == before).all()


def test_a_graph_without_edges_is_refused():
    graph, split = two_communities()
    with pytest.raises(DataError, match="the graph has none"):
        deepwalk(graph.null(), split, [0])


@pytest.mark.parametrize("name", ["label-propagation", "deepwalk"])
def test_features_and_hidden_labels_are_not_used(name):
    graph, split = synthetic(nodes=200, features=30, seed=3)
    masked = Graph.build(
        torch.ones(200, 1), graph.edge_index, torch.where(split.train[0], graph.y, -1), graph.num_classes
    )
    assert torch.equal(BASELINES[name](graph, split, [5], None), BASELINES[name](masked, split, [5], None))
