"""The dual graph: in incidence form it is the graph that two nested loops over the links find."""

import re
from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix.data import DATASETS, Graph, Split, dual, dual_graph, load, make_split
from graphmix.data.dual_graph import SharedEnds
from graphmix.errors import DataError
from graphmix.models import GCN
from graphmix.models.registry import BACKBONES
from graphmix.results.describe import fingerprint
from graphmix.sparse import Chain, matmul
from graphmix.streams import Streams
from graphmix.training import Config, fit
from graphmix.training.devices import trials_at_once


@st.composite
def multigraphs(draw):
    """Links among few users, so that parallel ones, links back and self-loops are common."""
    users = draw(st.integers(1, 5))
    user = st.integers(0, users - 1)
    links = draw(st.lists(st.tuples(user, user), min_size=1, max_size=14))
    return np.array(links).T, users


def explicit(links, users):
    """The dual as an ordinary graph with listed edges, found pair by pair."""
    count = links.shape[1]
    pairs = [
        (i, j)
        for i in range(count)
        for j in range(count)
        if i != j and {links[0, i], links[1, i]} & {links[0, j], links[1, j]}
    ]
    x = np.zeros((count, users))
    for link in range(count):
        x[link, links[0, link]] += 1
        x[link, links[1, link]] += 1
    return Graph.build(x, np.array(pairs, dtype=np.int64).reshape(-1, 2).T, [0] * count, num_classes=2)


def implicit(links, users):
    return dual(links, users, [0] * links.shape[1], num_classes=2)


# Two links there and back between 0 and 1, one more beside the first, a self-loop at 1, and one to 2 from there.
LINKS = np.array([[0, 1, 0, 1, 1, 3], [1, 0, 1, 1, 2, 4]])


def test_a_dual_graph_by_hand():
    graph = implicit(LINKS, 5)
    # Links 0 to 4 all touch user 1; link 5 touches nobody's.
    assert graph.num_edges == 10
    assert repr(graph) == "Graph('dual': 6 nodes, 10 edges, 5 features, 2 classes)"
    assert graph.x.to_dense().tolist()[0] == [0.5, 0.5, 0, 0, 0]
    assert graph.x.to_dense().tolist()[3] == [0, 1, 0, 0, 0]
    expected = torch.zeros(6, 6)
    expected[:5, :5], expected[5, 5] = 1 / 5, 1
    torch.testing.assert_close(graph.propagation.to_dense(), expected)
    # Five links with two ends and one with one, and the five once more for their pairs; in both factors.
    assert graph.num_propagated == 2 * (11 + 5)


@given(multigraphs())
def test_the_incidence_form_is_the_explicit_dual_graph(parts):
    ours, theirs = implicit(*parts), explicit(*parts)
    assert ours.num_edges == theirs.num_edges
    assert torch.equal(ours.edge_index, theirs.edge_index)
    assert ours.edge_index is ours.edge_index
    torch.testing.assert_close(ours.x.to_dense(), theirs.x)
    if theirs.propagation is None:
        assert ours.propagation is None
        return
    assert isinstance(ours.propagation, Chain)
    assert ours.propagation is ours.propagation
    torch.testing.assert_close(ours.propagation.to_dense(), theirs.propagation.to_dense(), rtol=1e-5, atol=1e-6)
    assert ours.num_propagated == sum(factor.nonzeros for factor in ours.propagation.factors)


@given(multigraphs(), st.integers(0, 10**6))
def test_products_and_gradients_are_those_of_the_explicit_dual_graph(parts, seed):
    ours, theirs = implicit(*parts), explicit(*parts)
    if theirs.propagation is None:
        return
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(2, ours.num_nodes, 3, generator=generator, requires_grad=True)
    weight = torch.randn(2, ours.num_nodes, 3, generator=generator)
    results = []
    for graph in (ours, theirs):
        product = matmul(graph.propagation, hidden)
        results.append((product.detach(), *torch.autograd.grad((product * weight).sum(), hidden)))
    for mine, other in zip(*results, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


@given(multigraphs(), st.randoms(use_true_random=False))
def test_a_permutation_moves_links(parts, random):
    graph = implicit(*parts)
    order = torch.tensor(random.sample(range(graph.num_nodes), graph.num_nodes))
    moved = graph.permuted(order)
    alike = implicit(parts[0][:, order.numpy()], parts[1])
    assert torch.equal(moved.edge_index, alike.edge_index)
    assert torch.equal(moved.x.to_dense(), alike.x.to_dense())
    assert moved.num_edges == graph.num_edges
    back = moved.permuted(order.argsort())
    assert torch.equal(back.edge_index, graph.edge_index)


def test_a_dual_graph_does_what_graphs_do():
    graph = implicit(LINKS, 5)
    assert graph.to("cpu") is graph
    moved = graph.to("meta")
    assert {moved.x.values.device.type, moved.structure.ends.device.type, moved.y.device.type} == {"meta"}
    null = graph.null()
    assert null is graph.null()
    assert (null.num_nodes, null.num_edges, null.propagation) == (6, 0, None)
    # What was computed stays when only the features change.
    assert graph.with_x(torch.ones(6, 2)).propagation is graph.propagation


def test_a_gcn_cannot_tell_the_two_forms_apart():
    ours, theirs = implicit(LINKS, 5), explicit(LINKS, 5)
    model = GCN.create(Streams.from_seeds([0, 1]), (5, 4, 2))
    with torch.no_grad():
        torch.testing.assert_close(model(ours.x, ours), model(theirs.x, theirs), rtol=1e-5, atol=1e-6)


def test_a_single_link_has_no_neighbours():
    graph = dual([[0], [1]], 2, [0])
    assert (graph.num_edges, graph.propagation) == (0, None)
    assert graph.edge_index.shape == (2, 0)
    assert graph.null() is graph


@pytest.mark.parametrize(
    ("links", "users", "y", "message"),
    [
        ([[0, 1], [1, 2]], 2, [0, 1], r"edge 1 \(1, 2\) is to node 2, but the graph has 2 nodes"),
        ([[0, 1, 1], [1, 1, 0]], 2, [0, 1], r"one label for each of x's 3 nodes"),
        ([0, 1], 2, [0, 1], r"edges must be \[2, edges\]"),
        ([[], []], 2, [], r"at least one node and one feature"),
    ],
)
def test_wrong_links_are_named(links, users, y, message):
    with pytest.raises(DataError, match=message):
        dual(links, users, y)


def test_too_many_pairs_are_counted_but_not_listed():
    # A star: every two of its links share the hub.
    links = np.stack([np.zeros(5001, dtype=np.int64), np.arange(1, 5002)])
    graph = implicit(links, 5002)
    assert graph.num_edges == 5001 * 5000 // 2
    with pytest.raises(DataError, match=r"12,502,500 pairs of links .* 10,000,000 .* use a gcn"):
        _ = graph.edge_index
    assert graph.propagation.shape == (5001, 5001)


def test_the_networks_that_need_no_list_are_those_that_the_message_names(monkeypatch):
    monkeypatch.setattr(dual_graph, "MOST_LISTED", 0)
    graph = implicit(np.array([[0, 0, 0, 1], [1, 2, 3, 2]]), 4)
    with pytest.raises(DataError, match=r"use a .*, which need no list") as caught:
        _ = graph.edge_index
    needless = []
    for name in BACKBONES:
        config = Config(backbone=name, method="supervised", trials=1, epochs=1, select_by="last")
        with suppress(DataError):
            fit(graph, Split.build([True] * 4, [False] * 4, [False] * 4), config, device="cpu")
            needless.append(name)
    assert set(re.findall(r"\b(\w+)(?:,| or|, which)", str(caught.value).partition("use a ")[2])) == set(needless)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "negative", "users_shared"),
    [("bitcoin-alpha", (3821, 3783), 977, 99_069), ("bitcoin-otc", (6547, 5881), 2689, 227_624)],
)
def test_the_real_dual_graphs(data_root, name, sizes, negative, users_shared):
    graph, split = load(name, data_root=data_root)
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (*sizes, 2)
    assert graph.class_names == ("negative", "positive")
    assert int((graph.y == 0).sum()) == negative
    assert graph.x.nonzeros == 2 * graph.num_nodes
    assert (split.name, split.seeds, int(split.train.sum()), int(split.val.sum())) == ("random", (0,), 100, 500)
    assert int(split.test.sum()) == graph.num_nodes - 600
    assert graph.edge_index.shape == (2, 2 * DATASETS[name].edges)
    # Counting a shared user at a time counts links there and back twice, once for each of their two users.
    ends = np.sort(graph.structure.ends.numpy(), axis=0)
    _, alike = np.unique(ends[0] * graph.num_features + ends[1], return_counts=True)
    assert graph.num_edges + (alike * (alike - 1) // 2).sum() == users_shared
    written = graph.with_structure(Graph.build(graph.x, graph.edge_index, graph.y).structure)
    hidden = torch.randn(1, graph.num_nodes, 4, generator=torch.Generator().manual_seed(0))
    ours, theirs = matmul(graph.propagation, hidden), matmul(written.propagation, hidden)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.data
def test_a_run_can_be_told_from_another_without_listing_pairs(data_root, monkeypatch):
    def never(_):
        raise AssertionError("pairs were listed")

    graph, split = load("bitcoin-alpha", data_root=data_root)
    monkeypatch.setattr(SharedEnds, "edge_index", property(never))
    order = torch.arange(graph.num_nodes).flip(0)
    swapped = graph.with_structure(graph.structure.permuted(order))
    assert fingerprint(graph, split) == fingerprint(load("bitcoin-alpha", data_root=data_root).graph, split)
    assert fingerprint(swapped, split) != fingerprint(graph, split)
    assert trials_at_once(graph, Config(trials=3), torch.device("cpu")) >= 1


def small_run():
    rng = np.random.default_rng(0)
    links = rng.integers(12, size=(2, 60))
    graph = dual(links, 12, (links[0] > links[1]).astype(np.int64))
    return graph, make_split("5-per-class", graph, seeds=[0, 1])


def test_training_on_the_incidence_form_is_training_on_the_explicit_dual_graph():
    graph, split = small_run()
    written = graph.with_structure(Graph.build(graph.x, graph.edge_index, graph.y).structure)
    config = Config(trials=2, epochs=6, hidden=4)
    ours, theirs = (fit(form, split, config, device="cpu") for form in (graph, written))
    torch.testing.assert_close(ours.history.loss, theirs.history.loss, rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
def test_captured_epochs_on_a_dual_graph_are_those_of_the_cpu():
    graph, split = small_run()
    config = Config(trials=2, epochs=40, hidden=4)
    there, here = (fit(graph, split, config, device=device) for device in ("cuda", "cpu"))
    torch.testing.assert_close(there.history.loss.cpu(), here.history.loss, rtol=1e-2, atol=1e-3)


@pytest.mark.gpu
def test_a_dual_graph_on_a_gpu_is_the_same_graph():
    graph = dual(LINKS, 5, [0, 1, 0, 1, 0, 1])
    moved = graph.to("cuda")
    assert moved.to("cuda") is moved
    assert all(factor.values.is_cuda for factor in moved.propagation.factors)
    assert moved.edge_index.is_cuda
    hidden = torch.randn(3, 6, 2, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        matmul(moved.propagation, hidden.cuda()).cpu(), matmul(graph.propagation, hidden), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, -1, 1], "no link of dual has the class 'negative'; write 0"),
        ([0, 0, 0], "no link of dual has the class 'positive'; write 1"),
    ],
)
def test_a_class_with_a_name_and_no_link_is_refused(y, message):
    with pytest.raises(DataError, match=message):
        dual([[0, 1, 2], [1, 2, 3]], 5, y, class_names=("negative", "positive"))
