import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix import Graph, dual
from graphmix.baselines import neighbour_means
from graphmix.baselines.neighbour_means import DIRECTIONS, Columns, mean_over_neighbours
from graphmix.data.dual_graph import SharedEnds


def test_means_by_hand_with_weights_and_an_isolated_node():
    graph = Graph.build([[1.0], [2.0], [6.0], [9.0]], [[0, 0], [1, 2]], [0, 1, 0, 1], weights=[3.0, 1.0])
    values = np.array([[1.0], [2.0], [6.0], [9.0]], dtype=np.float32)
    means = mean_over_neighbours(graph, values)
    assert means.tolist() == [[3.0], [1.0], [1.0], [0.0]]
    assert means.dtype == np.float32


def test_equal_neighbourhoods_have_equal_means():
    # A tree must not find a cut between two nodes whose neighbours have the same values.
    rng = np.random.default_rng(0)
    edges = np.array([(node, 10 + other) for node in range(10) for other in rng.permutation(7)]).T
    graph = Graph.build(np.ones((17, 1)), edges, [0] * 17, 1)
    values = np.zeros((17, 3), dtype=np.float32)
    values[10:] = 0.1
    means = mean_over_neighbours(graph, values)[:10]
    assert (means == np.float32(0.1)).all()


@given(seed=st.integers(0, 10_000))
def test_a_dual_graph_gives_the_means_of_its_listed_edges(seed):
    rng = np.random.default_rng(seed)
    links = rng.integers(0, 8, (2, 15))
    graph = dual(links, 9, rng.integers(0, 2, 15), 2)
    listed = Graph.build(np.ones((15, 1)), graph.edge_index, [0] * 15, 1)
    values = rng.normal(size=(15, 5)).astype(np.float32)
    np.testing.assert_allclose(mean_over_neighbours(graph, values), mean_over_neighbours(listed, values), atol=1e-5)


def test_a_dual_graphs_edges_are_never_listed(monkeypatch):
    graph = dual([[0, 1, 2, 5], [1, 2, 0, 6]], 7, [0, 1, 0, 1])
    monkeypatch.setattr(SharedEnds, "edge_index", property(lambda self: pytest.fail("the edges were listed")))
    rows = Columns.learn(graph).rows(graph)
    assert rows.shape[0] == 4
    assert (rows[3, rows.shape[1] // 3 :] == 0).all()


def test_a_dual_graph_without_shared_ends_has_zeros():
    graph = dual([[0, 2], [1, 3]], 4, [0, 1])
    assert (mean_over_neighbours(graph, np.ones((2, 2), dtype=np.float32)) == 0).all()


def test_dense_columns_are_standardised_and_constant_ones_are_zero():
    x = np.array([[1e6, 3.0, 7.0], [2e6, 5.0, 7.0], [3e6, 10.0, 7.0]])
    graph = Graph.build(x, [[0], [1]], [0, 1, 0], normalise=False)
    rows = Columns.learn(graph).rows(graph)
    own = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    np.testing.assert_allclose(rows[:, :3], own, atol=1e-6)
    np.testing.assert_allclose(rows[:, 3:6], [own[1], own[0], [0, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(rows[:, 6:], [own[0], own[1], [0, 0, 0]], atol=1e-6)


def test_sparse_columns_are_the_directions_of_unit_rows():
    x = sp.random_array((40, 300), density=0.3, rng=np.random.default_rng(1), format="csr")
    graph = Graph.build(x, [[], []], [0] * 40, 1)
    columns = Columns.learn(graph)
    lengths = np.sqrt((x.toarray() ** 2).sum(axis=1, keepdims=True))
    left, strength, _ = np.linalg.svd(x.toarray() / np.where(lengths > 0, lengths, 1), full_matrices=False)
    ours = columns.of(graph)
    assert ours.shape[1] >= 30
    expected = (left * strength)[:, : ours.shape[1]]
    # Directions have no sign.
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-3)


def test_a_few_sparse_columns_are_centred_and_divided_by_one_number():
    # A frequent and a rare category: rare ones must not count most, as they would if each were standardised.
    x = sp.csr_array(np.array([[1, 0], [1, 0], [0, 0], [0, 1.0]]))
    graph = Graph.build(x, [[0], [1]], [0] * 4, 1, normalise=False)
    columns = Columns.learn(graph)
    spread = np.sqrt((0.25 + 0.1875) / 2)
    np.testing.assert_allclose(columns.of(graph)[3], np.array([-0.5, 0.75]) / spread, rtol=1e-6)
    assert columns.alike
    assert not Columns.learn(Graph.build(x.toarray(), [[0], [1]], [0] * 4, 1, normalise=False)).alike


def test_wide_features_are_reduced_dense_or_sparse():
    rng = np.random.default_rng(0)
    for x in (rng.normal(size=(400, 300)), sp.random_array((400, 300), density=0.05, rng=rng)):
        graph = Graph.build(x, [[0], [1]], [0] * 400, 1, normalise=False)
        columns = graph.derived(Columns.learn)
        assert columns.basis.shape == (300, DIRECTIONS)
        assert graph.derived(columns.rows).shape == (400, 3 * DIRECTIONS)
        assert graph.derived(columns.rows) is graph.derived(columns.rows)


def test_columns_are_learned_the_same_way_every_time_and_leave_the_global_generator_alone():
    x = sp.random_array((300, 400), density=0.05, rng=np.random.default_rng(0))
    graph = Graph.build(x, [[0], [1]], [0] * 300, 1)
    before = np.random.get_state()[1].copy()
    assert np.array_equal(Columns.learn(graph).basis, Columns.learn(graph).basis)
    assert (np.random.get_state()[1] == before).all()


@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_a_row_of_a_graph_without_edges_depends_on_that_row_alone(kind):
    rng = np.random.default_rng(2)
    x = {
        "dense": lambda: rng.normal(size=(50, 4)),
        "sparse": lambda: sp.random_array((50, 30), density=0.3, rng=rng),
        "wide": lambda: rng.normal(size=(50, 300)),
    }[kind]()
    graph = Graph.build(x, [[], []], [0] * 50, 1, normalise=False)
    columns = Columns.learn(graph)
    part = Graph.build(sp.csr_array(x)[7:9] if kind == "sparse" else x[7:9], [[], []], [0] * 2, 1, normalise=False)
    assert np.array_equal(columns.rows(graph)[7:9], columns.rows(part))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_columns_come_back_from_their_tensors(kind):
    x = np.random.default_rng(0).random((6, 3))
    graph = Graph.build(sp.csr_array(x) if kind == "sparse" else x, [[0, 1], [1, 2]], [0] * 6, 1)
    columns = Columns.learn(graph)
    again = Columns.from_tensors(columns.tensors() | {"other": torch.zeros(1)}, 3)
    assert np.array_equal(again.rows(graph), columns.rows(graph))
    assert again.width(3) == columns.rows(graph).shape[1]


DAMAGE = {
    "no scale": lambda t: t.pop("scale"),
    "nothing at all": lambda t: t.clear(),
    "negative scale": lambda t: t.update(scale=-t["scale"]),
    "not finite": lambda t: t.update(shift=t["shift"] * torch.nan),
    "another type": lambda t: t.update(shift=t["shift"].double()),
    "other features": lambda t: t.update(shift=torch.zeros(4)),
    "a basis of other features": lambda t: t.update(basis=torch.zeros(4, 2)),
    "a basis without columns": lambda t: t.update(basis=torch.zeros(3, 0)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_columns_are_refused(damage):
    columns = Columns.learn(Graph.build(np.random.default_rng(0).random((6, 3)), [[0], [1]], [0] * 6, 1))
    tensors = columns.tensors()
    DAMAGE[damage](tensors)
    with pytest.raises(ValueError, match=r"scale|shift|basis"):
        neighbour_means.Columns.from_tensors(tensors, 3)
