"""Predictions with something left out, against predictions of a graph that really lacks it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphmix import Graph, dual, synthetic
from graphmix.data.dual_graph import SharedEnds
from graphmix.data.structure import Edges
from graphmix.models import BACKBONES
from graphmix.training import Config
from graphmix.workflow.members import Member
from graphmix.workflow.row_parts import RowPart
from graphmix.workflow.surroundings import Surroundings
from graphmix.workflow.without import Change, Without
from small_mixtures import mixture, network, tabular

EVERY = 10_000


@pytest.fixture(scope="module")
def graph():
    made, split = synthetic(nodes=120, classes=3, features=12, labels_per_class=8, seed=2)
    known = split.train[0] | (torch.arange(120) % 5 == 0)
    return replace(made, y=torch.where(known, made.y, -1))


@pytest.fixture(scope="module")
def links():
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 25, (2, 60))
    return dual(ends, 25, np.where(rng.random(60) < 0.5, rng.integers(0, 2, 60), [0, 1] * 30), 2)


def isolate(graph, gone):
    """The graph whose `gone` nodes have no edges, made from scratch."""
    gone = np.isin(np.arange(graph.num_nodes), list(gone))
    if isinstance(graph.structure, SharedEnds):
        ends = graph.structure.ends.numpy().copy()
        ends[:, gone] = ends.max() + 1 + np.arange(gone.sum())
        return graph.with_structure(SharedEnds(torch.from_numpy(ends)))
    pairs = graph.edge_index.numpy()
    kept = ~(gone[pairs[0]] | gone[pairs[1]])
    weights = None if graph.edge_weights is None else graph.edge_weights.double().numpy()[kept]
    return graph.with_structure(Edges.build(pairs[:, kept], graph.num_nodes, weights))


def distances(graph, node):
    pairs = graph.edge_index.numpy()
    joined = sp.csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(graph.num_nodes,) * 2)
    return sp.csgraph.shortest_path(joined, unweighted=True, indices=node)


def with_zeros(graph, rows, columns):
    x = graph.x.to_dense().clone() if not isinstance(graph.x, torch.Tensor) else graph.x.clone()
    for row in rows:
        x[row, columns] = 0
    made = Graph.build(sp.csr_array(x.numpy()), [[], []], graph.y, graph.num_classes, normalise=False)
    return graph.with_x(made.x if not isinstance(graph.x, torch.Tensor) else x)


def check(graph, member, node=7):
    model = mixture(graph, member)
    near = graph.structure.neighbours_of(node)[:2].tolist()
    hops = distances(graph, node)
    column = RowPart("a", 2, 6)
    every, far = np.arange(graph.num_nodes), np.flatnonzero(hops > 1)
    cases = [
        (Change(), graph),
        (Change(gone=(near[0],)), isolate(graph, near[:1])),
        (Change(gone=tuple(near)), isolate(graph, near)),
        (Change(within=1), isolate(graph, far)),
        (Change(within=0), isolate(graph, [node] if member.reach is not None else np.flatnonzero(hops > 0))),
        (Change(blank=(column,)), with_zeros(graph, [node], slice(2, 6))),
        (Change(everywhere=(column,)), with_zeros(graph, every, slice(2, 6))),
        (Change(gone=(near[1],)) + Change(blank=(column,)), isolate(with_zeros(graph, [node], slice(2, 6)), near[1:])),
    ]
    found, whole = Without(model, graph).probabilities(node, [change for change, _ in cases], EVERY)
    assert whole
    expected = np.stack([model.probabilities(changed)[node] for _, changed in cases])
    assert np.abs(expected - expected[0]).max() > 0.01, "the changes must matter, or nothing is tested"
    return found, expected


@pytest.mark.parametrize("backbone", sorted(set(BACKBONES) - {"unet"}))
def test_every_network_predicts_as_if_the_graph_lacked_what_is_left_out(graph, backbone):
    found, expected = check(graph, network(graph, backbone))
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_network_that_pools_all_nodes_reads_the_whole_graph(graph):
    found, expected = check(graph, network(graph, "unet"))
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("options", [{"predictor": "fcn"}, {"binarise": True}])
def test_networks_that_predict_otherwise(graph, options):
    found, expected = check(graph, network(graph, "gcn", **options))
    assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("method", ["logistic-regression", "random-forest"])
def test_models_of_tables_too(graph, method):
    found, expected = check(graph, tabular(graph, method))
    assert found == pytest.approx(expected, abs=1e-5)


def test_label_propagation_keeps_what_is_far_away(graph):
    member = Member("label-propagation", "label-propagation", Config(), {})
    node = next(each for each in range(50, 120) if graph.y[each] < 0 and len(graph.structure.neighbours_of(each)) > 2)
    found, expected = check(graph, member, node)
    assert found[0] == pytest.approx(expected[0], abs=1e-3)
    # Values at the rim stay, and so does the balance of the classes.
    assert np.abs(found - expected).max() < 0.05


@pytest.mark.parametrize("member", [lambda g: network(g, "gpr"), lambda g: tabular(g, "logistic-regression")])
def test_links_that_share_ends(links, member):
    found, expected = check(links, member(links))
    assert found == pytest.approx(expected, abs=1e-5)


def test_weights_of_edges_and_dense_features(graph):
    rng = np.random.default_rng(0)
    pairs = graph.structure.packed()["edges"]
    weighted = Graph.build(
        rng.normal(size=(120, 8)), pairs, graph.y, 3, weights=rng.random(pairs.shape[1]) + 0.1, normalise=False
    )
    model = mixture(weighted, network(weighted, "sage"), tabular(weighted, "random-forest"))
    near = weighted.structure.neighbours_of(7)[:1].tolist()
    found, _ = Without(model, weighted).probabilities(7, [Change(), Change(gone=tuple(near))], EVERY)
    changed = isolate(weighted, near)
    expected = np.stack([model.probabilities(each)[7] for each in (weighted, changed)])
    assert found == pytest.approx(expected, abs=1e-5)


def test_nodes_beyond_the_reach_do_not_matter(graph):
    """The surroundings are as large as they must be, and a few nodes short of that is noticed."""
    for backbone in sorted(BACKBONES):
        member = network(graph, backbone)
        if member.reach is None:
            continue
        whole = Surroundings.of(graph, 7, member.reach, EVERY)
        hops = distances(graph, 7)
        assert set(whole.nodes) == set(np.flatnonzero(hops <= member.reach + 1))
        assert whole.hops.tolist() == hops[whole.nodes].tolist()
        assert not Surroundings.of(graph, 7, member.reach, len(whole) - 1).whole


def test_a_word_left_out_leaves_the_others_larger():
    part = RowPart("words", 1, 5, words=list("abcd"), rescales=True)
    x = sp.csr_array(np.array([[9, 0.25, 0.25, 0.5, 0, 9], [9, 0, 1, 0, 0, 9]], dtype=np.float32))
    words = part.words_of(x, 0)
    assert [each.name for each in words] == ["a", "b", "c"]
    for form in (x, x.toarray()):
        (one, two), own = (words[1].without(form, np.array(rows)) for rows in ([0, 1], [0])), words[1]
        one, two = (np.asarray(each.todense() if sp.issparse(each) else each) for each in (one, two))
        # 0.25 of the sum of 1 is gone; a row whose only word is gone has none.
        assert one == pytest.approx(np.array([[9, 1 / 3, 0, 2 / 3, 0, 9], [9, 0, 0, 0, 0, 9]]))
        assert two[1] == pytest.approx(x.toarray()[1])
        assert own.name == "b"
