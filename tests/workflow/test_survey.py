"""Counts by hand on small graphs, dual graphs against their listed edges, and a sentence for each reason to doubt."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix import Graph, dual, synthetic
from graphmix.data.structure import Edges
from graphmix.errors import DataError
from graphmix.results.writer import to_json
from graphmix.workflow.survey import survey


def path(labels, **given):
    """Nodes in a row, each joined to the next."""
    nodes = len(labels)
    return Graph.build(np.ones((nodes, 2)), [list(range(nodes - 1)), list(range(1, nodes))], labels, **given)


def test_counts_by_hand():
    # 0-0-1-?-?-?-?  and two nodes alone.
    edges = [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]]
    graph = Graph.build(np.ones((9, 3)), edges, [0, 0, 1, -1, -1, -1, -1, -1, -1], class_names=["a", "b"])
    found = survey(graph, graph.y >= 0)
    assert (found.nodes, found.labeled, found.edges, found.features) == (9, 3, 6, 3)
    assert (found.isolated, found.components) == (2, 3)
    assert found.class_counts == (2, 1)
    assert found.mean_degree == pytest.approx(12 / 9)
    assert found.labeled_edges == 2
    assert found.homophily == 0.5
    # Three of the four ends are in a, one in b.
    assert found.chance == pytest.approx((9 + 1) / 16)
    assert found.adjusted_homophily == pytest.approx((0.5 - 0.625) / 0.375)
    # Nodes 3 and 4 of the six that have no label.
    assert found.reached == pytest.approx(2 / 6)
    assert json.loads(json.dumps(to_json(found)))["class_counts"] == [2, 1]


def test_only_the_labels_of_the_mask_are_read():
    graph, split = synthetic(nodes=120, classes=3, features=20, labels_per_class=5, seed=2)
    hidden = Graph.build(
        graph.x, graph.edge_index, torch.where(split.train[0], graph.y, -1), num_classes=3, name=graph.name
    )
    assert survey(graph, split.train[0]) == survey(hidden, split.train[0].numpy())
    with pytest.raises(DataError, match="its label is unknown"):
        survey(hidden, split.val[0])
    with pytest.raises(DataError, match=r"bool \[120\]"):
        survey(graph, split.train)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 5))
def test_a_dual_graph_is_surveyed_as_if_its_edges_were_listed(seed, links, users):
    rng = np.random.default_rng(seed)
    ends = rng.integers(users, size=(2, links))
    graph = dual(ends, users, rng.integers(3, size=links), num_classes=3)
    listed = graph.with_structure(Edges(graph.edge_index, links))
    mask = rng.random(links) < 0.6
    assert survey(graph, mask) == survey(listed, mask)


def test_a_dual_graph_with_too_many_edges_to_list_is_surveyed():
    links = 10_000
    graph = dual(np.stack([np.zeros(links, dtype=int), np.arange(1, links + 1)]), links + 1, np.arange(links) % 2)
    found = survey(graph, torch.arange(links) < 1000)
    assert found.edges == links * (links - 1) // 2
    assert found.labeled_edges == 1000 * 999 // 2
    assert found.homophily == pytest.approx(2 * (500 * 499 / 2) / (1000 * 999 / 2))
    assert found.reached == 1.0


def warned(graph, labeled, about):
    return [sentence for sentence in survey(graph, labeled).warnings if about in sentence]


def test_a_graph_that_suits_graphmix_is_not_warned_about():
    graph, split = synthetic(nodes=300, classes=3, labels_per_class=20, degree=8, seed=1)
    assert survey(graph, split.train[0]).warnings == ()


def test_few_edges_are_warned_about():
    graph, split = synthetic(nodes=300, classes=3, degree=1, seed=1)
    assert warned(graph.null(), split.train[0], "no edges")
    assert len(survey(graph.null(), split.train[0]).warnings) == 1
    few = Graph.build(np.ones((10, 1)), [[0, 1], [1, 2]], [0, 1] * 5)
    assert warned(few, torch.arange(10) < 2, "7 of 10 nodes have no edge")
    assert warned(*_ring_of_pairs(), "0.7 neighbours")


def _ring_of_pairs():
    graph = Graph.build(np.ones((6, 1)), [[0, 2], [1, 3]], [0, 1] * 3)
    return graph, torch.arange(6) < 2


def test_neighbours_that_say_nothing_are_warned_about():
    mixed, split = synthetic(nodes=300, classes=3, degree=8, homophily=1 / 3, seed=1)
    assert warned(mixed, split.train[0], "by chance")
    # Three quarters of the edges join one class, but one class has nearly all nodes.
    rng = np.random.default_rng(0)
    lopsided = Graph.build(
        np.ones((400, 1)), rng.integers(400, size=(2, 1200)), rng.choice(2, p=[0.85, 0.15], size=400)
    )
    found = survey(lopsided, torch.arange(400) < 150)
    assert found.homophily > 0.7
    assert any("by chance" in sentence for sentence in found.warnings)


def test_few_labeled_edges_are_said_to_say_nothing():
    assert warned(path([0, 1, 0, 1, 0, 1, 0, 1]), torch.arange(8) < 2, "1 edge joins two labeled nodes: too few")
    one = path([0] * 40, num_classes=2)
    assert warned(one, torch.arange(40) < 25, "24 edges join two labeled nodes: all of one class")
    assert survey(one, torch.arange(40) < 25).adjusted_homophily is None


def test_labels_are_warned_about():
    y = np.array([0] * 30 + [1] * 5 + [2] * 2 + [0] * 63)
    graph = path(y, class_names=["big", "small", "tiny", "empty"])
    some = torch.arange(100) < 37
    assert warned(graph, some, "No label to learn from is empty")
    assert warned(graph, some, "Fewer than 5 labels: tiny (2)")
    assert warned(graph, some, "big has 30 labels and tiny 2")
    assert not warned(graph, some, "gains from unlabeled")
    assert warned(graph, torch.ones(100, dtype=torch.bool), "gains from unlabeled")
    assert survey(graph, torch.ones(100, dtype=torch.bool)).reached is None
    equal = path([0, 1] * 50)
    assert not warned(equal, torch.arange(100) < 40, "labels and")
    many = path(np.arange(100), num_classes=10_000)
    [sentence] = warned(many, torch.arange(100) < 40, "No label to learn from is")
    assert len(sentence) < 120
    assert "9,957 more" in sentence


def test_labels_that_reach_few_are_warned_about():
    graph = path([0, 1] * 50)
    assert warned(graph, torch.arange(100) < 2, "Labels reach 2%")
    assert not warned(graph, torch.arange(100) % 4 == 0, "Labels reach")
