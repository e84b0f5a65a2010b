"""Graph: what `build` cleans, what it refuses, and what a graph can do."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphmix.data import Graph
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix


def path_graph(**changes):
    parts = {"x": [[1.0], [2.0], [3.0]], "edges": [[0, 1], [1, 2]], "y": [0, 1, -1]}
    return Graph.build(**(parts | changes))


@st.composite
def messy_graphs(draw):
    nodes = draw(st.integers(1, 8))
    node = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=30))
    y = draw(st.lists(st.integers(-1, 2), min_size=nodes, max_size=nodes))
    x = np.arange(2 * nodes, dtype=np.float32).reshape(nodes, 2)
    return x, np.array(pairs, dtype=np.int64).reshape(-1, 2).T, y


def test_build_cleans_a_hand_made_graph():
    graph = path_graph(edges=[[1, 0, 2, 1, 1], [0, 1, 2, 0, 2]])
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_index.dtype == torch.int64
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (3, 2, 1, 2)
    assert repr(graph) == "Graph('graph': 3 nodes, 2 edges, 1 features, 2 classes)"


@given(messy_graphs())
def test_edges_are_undirected_without_loops_and_repeats_and_building_again_changes_nothing(parts):
    x, edges, y = parts
    graph = Graph.build(x, edges, y, num_classes=3)
    pairs = list(zip(*graph.edge_index.tolist(), strict=True))
    expected = {(a, b) for a, b in edges.T.tolist() if a != b}
    assert pairs == sorted(expected | {(b, a) for a, b in expected})
    again = Graph.build(graph.x, graph.edge_index, graph.y, graph.num_classes)
    assert torch.equal(again.edge_index, graph.edge_index)
    assert torch.equal(again.x, graph.x)
    assert torch.equal(again.y, graph.y)


@given(messy_graphs(), st.randoms(use_true_random=False))
def test_a_permutation_moves_nodes_and_its_inverse_moves_them_back(parts, random):
    x, edges, y = parts
    for features in (x, sp.csr_array(x)):
        graph = Graph.build(features, edges, y, num_classes=3)
        order = torch.tensor(random.sample(range(graph.num_nodes), graph.num_nodes))
        moved = graph.permuted(order)
        assert torch.equal(dense(moved.x), dense(graph.x)[order])
        assert torch.equal(moved.y, graph.y[order])
        assert torch.equal(adjacency(moved), adjacency(graph)[order][:, order])
        back = moved.permuted(order.argsort())
        assert torch.equal(back.edge_index, graph.edge_index)
        assert torch.equal(dense(back.x), dense(graph.x))


def dense(x):
    return x if isinstance(x, torch.Tensor) else x.to_dense()


def adjacency(graph):
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes)
    matrix[graph.edge_index[0], graph.edge_index[1]] = 1
    return matrix


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0.0, 1.0, 2.0], [True, False, True]])
def test_an_order_that_is_no_permutation_is_refused(order):
    with pytest.raises(DataError, match="each of the 3 nodes once"):
        path_graph().permuted(torch.tensor(order))


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (np.array([[1, 0], [0, 2], [0, 0]]), torch.Tensor),
        (torch.tensor([[1.0, 0], [0, 2], [0, 0]], dtype=torch.bfloat16), torch.Tensor),
        (sp.csr_matrix(np.array([[1.0, 0], [0, 2], [0, 0]])), SparseMatrix),
        (sp.coo_array(np.array([[True, False], [False, True], [False, False]])), SparseMatrix),
        (torch.tensor([[1.0, 0], [0, 2], [0, 0]]).to_sparse(), SparseMatrix),
        (SparseMatrix.from_scipy(sp.csr_array(np.array([[1.0, 0], [0, 2], [0, 0]]))), SparseMatrix),
    ],
)
def test_features_of_any_kind_become_float32_and_stay_sparse_or_dense(x, kind):
    graph = path_graph(x=x)
    assert isinstance(graph.x, kind)
    values = dense(graph.x)
    assert values.dtype == torch.float32
    assert torch.equal(values != 0, torch.tensor([[True, False], [False, True], [False, False]]))


@pytest.mark.parametrize(
    "x", [np.ones((3, 2), order="F"), np.ones((3, 2), np.float32, "F"), torch.ones(2, 3).mT, np.ones((6, 4))[::2, 1:3]]
)
def test_dense_features_lie_in_rows(x):
    assert path_graph(x=x).x.is_contiguous()


def test_features_are_float32_whatever_torch_makes_by_default():
    torch.set_default_dtype(torch.float64)
    try:
        assert path_graph(x=np.ones((3, 2))).x.dtype == torch.float32
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_graph_is_frozen_and_keeps_no_hold_on_dense_input():
    x = np.ones((3, 1), dtype=np.float32)
    y = np.array([0, 1, 0])
    graph = path_graph(x=x, y=y)
    x[0], y[0] = 7, 1
    assert graph.x[0, 0] == 1
    assert graph.y[0] == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.name = "other"


NAN = float("nan")
WRONG = [
    ({"x": [[1.0, 2.0], [3.0, NAN], [0.0, 0.0]]}, r"feature 1 of node 1 is nan"),
    ({"x": [[1.0], [2.0], [float("-inf")]]}, r"feature 0 of node 2 is -inf"),
    ({"x": np.array([[1.0], [1e300], [1.0]])}, r"feature 0 of node 1 is inf"),
    ({"x": sp.csr_array(np.array([[0.0, 1.0], [0, 0], [0, NAN]]))}, r"feature 1 of node 2 is nan"),
    ({"x": [1.0, 2.0, 3.0]}, r"x must be \[nodes, features\], but it has 1 dimension"),
    ({"x": np.zeros((0, 4)), "y": []}, r"at least one node and one feature, but x is \[0, 4\]"),
    ({"x": [["a"], ["b"], ["c"]]}, r"x must hold real numbers, but its type is <U1"),
    ({"x": torch.zeros(3, 1, dtype=torch.complex64)}, r"x must hold real numbers, but its type is complex64"),
    ({"edges": [[0, 1], [1, 3]]}, r"edge 1 \(1, 3\) is to node 3, but the graph has 3 nodes"),
    ({"edges": [[0, -1], [1, 2]]}, r"edge 1 \(-1, 2\) is to node -1, but the graph has 3 nodes"),
    ({"edges": [[0, 1], [1, 2], [2, 0]]}, r"edges must be \[2, edges\], but their shape is \[3, 2\]; transpose them"),
    ({"edges": sp.eye_array(3)}, r"edges must be node numbers \[2, edges\], not a matrix; numpy.stack"),
    ({"edges": [[0.5, 1], [1, 2]]}, r"edges must hold whole numbers, not float64"),
    ({"weights": [1.0, -2.0]}, r"edge 1 has weight -2.0; a weight must be from 0"),
    ({"weights": [NAN, 1.0]}, r"edge 0 has weight nan"),
    ({"weights": [1.0]}, r"edge weights must be numbers \[2\], but they are float64 \[1\]"),
    ({"weights": ["a", "b"]}, r"edge weights must be numbers"),
    ({"y": [0, 1]}, r"one label for each of x's 3 nodes, but its shape is \[2\]"),
    ({"y": [0, 5, 1], "num_classes": 2}, r"node 1 has label 5, outside the 2 classes"),
    ({"y": [0, 1, -2]}, r"node 2 has label -2, outside the 2 classes"),
    ({"y": [-1, -1, -1]}, r"no node has a label"),
    ({"num_classes": 2.0}, r"`num_classes` must be a whole number, not 2.0"),
    ({"class_names": ("a", "b", "c"), "num_classes": 2}, r"there are 2 classes, but 3 class names"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_input_is_named_in_one_line(changes, message):
    with pytest.raises(DataError, match=message) as caught:
        path_graph(**changes)
    assert "\n" not in str(caught.value)


def test_class_names_count_the_classes():
    graph = path_graph(class_names=["a", "b", "c"])
    assert (graph.num_classes, graph.class_names) == (3, ("a", "b", "c"))


def test_the_null_graph_keeps_the_nodes_and_is_made_once():
    graph = path_graph()
    null = graph.null()
    assert null is graph.null()
    assert null.null() is null
    assert (null.num_nodes, null.num_edges) == (3, 0)
    assert null.edge_index.shape == (2, 0)
    assert null.x is graph.x
    assert null.propagation is None


@pytest.mark.parametrize(
    "form", [np.asarray, torch.tensor, np.ndarray.tolist, sp.coo_array, lambda x: torch.tensor(x).to_sparse()]
)
def test_with_x_takes_what_build_takes(form):
    x = np.array([[1.0, 2.0], [0.0, 0.5], [3.0, 0.0]])
    other = path_graph().with_x(form(x))
    dense = other.x if isinstance(other.x, torch.Tensor) else other.x.to_dense()
    assert dense.dtype == torch.float32
    assert dense.tolist() == x.tolist()
    with pytest.raises(DataError, match="feature 0 of node 0 is nan"):
        path_graph().with_x(form(x * NAN))


def test_the_order_of_nodes_may_be_a_list():
    graph = path_graph()
    assert torch.equal(graph.permuted([2, 1, 0]).y, graph.y.flip(0))
    assert torch.equal(graph.permuted(np.array([2, 1, 0], dtype=np.int32)).y, graph.y.flip(0))


def test_with_x_replaces_the_features_alone():
    graph = path_graph()
    x = torch.ones(3, 5)
    other = graph.with_x(x)
    assert other.x is x
    assert other.edge_index is graph.edge_index
    with pytest.raises(DataError, match="x has 2 rows, but the graph has 3 nodes"):
        graph.with_x(torch.ones(2, 5))


def test_moving_to_the_same_device_is_free():
    graph = path_graph()
    assert graph.to("cpu") is graph
    # The meta device stands in for a GPU: it moves shapes and types, whatever the machine.
    moved = graph.to("meta")
    assert {moved.x.device.type, moved.edge_index.device.type, moved.y.device.type} == {"meta"}


def test_propagation_by_hand():
    # Degrees with the self-loop are 2, 3, 2.
    half, third, sixth = 1 / 2, 1 / 3, 1 / 6**0.5
    expected = torch.tensor([[half, sixth, 0], [sixth, third, sixth], [0, sixth, half]])
    graph = path_graph()
    assert graph.propagation is graph.propagation
    torch.testing.assert_close(graph.propagation.to_dense(), expected)


@pytest.mark.parametrize("seed", range(5))
def test_propagation_is_that_of_pytorch_geometric(seed):
    gcn_conv = pytest.importorskip("torch_geometric.nn.conv.gcn_conv")
    rng = np.random.default_rng(seed)
    nodes = 30
    graph = Graph.build(np.ones((nodes, 1)), rng.integers(nodes, size=(2, 25 * (seed + 1))), [0] * nodes)
    index, weight = gcn_conv.gcn_norm(graph.edge_index, num_nodes=nodes, dtype=torch.float64)
    expected = torch.zeros(nodes, nodes, dtype=torch.float64)
    expected[index[1], index[0]] = weight
    torch.testing.assert_close(graph.propagation.to_dense(), expected.float())


def test_weights_of_repeats_are_summed_and_of_two_directions_averaged_and_nothing_weighs_nothing():
    # 0→1 twice, 1→0 once; 1→2 one way; 2→0 weighs nothing; a loop.
    graph = path_graph(edges=[[0, 0, 1, 1, 2, 2], [1, 1, 0, 2, 0, 2]], weights=[1.0, 2.0, 5.0, 0.5, 0.0, 9.0])
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert graph.edge_weights.tolist() == [4.0, 4.0, 0.5, 0.5]
    assert graph.num_edges == 2
    assert path_graph().edge_weights is None


def test_listing_every_weighted_edge_both_ways_changes_nothing():
    edges, weights = np.array([[0, 1], [1, 2]]), np.array([2.0, 3.0])
    once = path_graph(edges=edges, weights=weights)
    twice = path_graph(edges=np.hstack([edges, edges[::-1]]), weights=np.tile(weights, 2))
    assert torch.equal(once.edge_weights, twice.edge_weights)
    assert torch.equal(once.propagation.to_dense(), twice.propagation.to_dense())


@pytest.mark.parametrize("seed", range(3))
def test_weighted_propagation_is_that_of_pytorch_geometric(seed):
    gcn_conv = pytest.importorskip("torch_geometric.nn.conv.gcn_conv")
    rng = np.random.default_rng(seed)
    nodes, edges = 30, rng.integers(30, size=(2, 60))
    graph = Graph.build(np.ones((nodes, 1)), edges, [0] * nodes, weights=rng.random(60) * 3)
    index, weight = gcn_conv.gcn_norm(graph.edge_index, graph.edge_weights.double(), num_nodes=nodes)
    expected = torch.zeros(nodes, nodes, dtype=torch.float64)
    expected[index[1], index[0]] = weight
    torch.testing.assert_close(graph.propagation.to_dense(), expected.float())
    order = torch.from_numpy(rng.permutation(nodes))
    moved = graph.permuted(order)
    torch.testing.assert_close(moved.propagation.to_dense(), graph.propagation.to_dense()[order][:, order])


def test_edges_that_all_weigh_one_are_edges_without_weights():
    weighed, plain = path_graph(weights=[1, 1]), path_graph()
    assert torch.equal(weighed.edge_index, plain.edge_index)
    assert torch.equal(weighed.propagation.to_dense(), plain.propagation.to_dense())


@pytest.mark.gpu
def test_a_graph_on_a_gpu_is_the_same_graph():
    graph = path_graph(x=sp.csr_array(np.eye(3)))
    moved = graph.to("cuda")
    assert moved.to("cuda") is moved
    assert moved.propagation.values.is_cuda
    order = torch.tensor([2, 0, 1])
    back, expected = moved.permuted(order).to("cpu"), graph.permuted(order)
    assert torch.equal(back.edge_index, expected.edge_index)
    torch.testing.assert_close(back.propagation.to_dense(), expected.propagation.to_dense())
