"""Every form of a graph comes to the same graph, and to the same probabilities."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

import graphmix
from graphmix import DataError
from graphmix.workflow.foreign import read_edges, read_graph

# Imported first: doing so inside a test would make its deprecation warnings errors there.
pyg = pytest.importorskip("torch_geometric.data")
pd = pytest.importorskip("pandas")


def matrix(small, values=None, kind=sp.coo_array):
    values = np.ones(small.edges.shape[1]) if values is None else values
    return kind(sp.coo_array((values, tuple(small.edges)), shape=(small.nodes, small.nodes)))


def networkx_graph(small, weights=None, kind=nx.Graph):
    graph = kind()
    # Names and an order that have nothing to do with the edges.
    graph.add_nodes_from(f"paper {node}" for node in range(small.nodes))
    weights = [{}] * small.edges.shape[1] if weights is None else [{"weight": weight} for weight in weights]
    graph.add_edges_from((f"paper {a}", f"paper {b}", w) for (a, b), w in zip(small.edges.T, weights, strict=True))
    return graph


EDGES = {
    "torch": lambda small: torch.from_numpy(small.edges),
    "list": lambda small: small.edges.tolist(),
    "both directions": lambda small: np.hstack([small.edges, small.edges[::-1]]),
    "coo": matrix,
    "csc of bool": lambda small: matrix(small, kind=sp.csc_matrix).astype(bool),
    "symmetric csr": lambda small: sp.csr_array(matrix(small) + matrix(small).T),
    "torch sparse": lambda small: torch.sparse_coo_tensor(
        torch.from_numpy(small.edges), torch.ones(small.edges.shape[1]), (small.nodes,) * 2, check_invariants=True
    ),
    "networkx": networkx_graph,
    "directed": lambda small: networkx_graph(small, kind=nx.DiGraph),
    "weights of 1": lambda small: networkx_graph(small, np.ones(small.edges.shape[1])),
}


@pytest.mark.parametrize("form", EDGES)
def test_edges_in_every_form_train_the_same_networks(small, quick, fitted, form):
    classifier = quick().fit(small.x, small.y, EDGES[form](small))
    np.testing.assert_array_equal(classifier.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(
        classifier.predict_proba(small.x, EDGES[form](small)), fitted.predict_proba(small.x, small.edges)
    )


def test_edges_matter(small, quick, fitted):
    assert not np.array_equal(quick().fit(small.x, small.y).predict_proba(), fitted.predict_proba())


def test_weights_in_every_form_train_the_same_networks(small, quick, fitted):
    weights = np.random.default_rng(0).choice([0.5, 1.0, 3.0], small.edges.shape[1])
    expected = quick().fit(small.x, small.y, small.edges, edge_weight=weights).predict_proba()
    assert not np.array_equal(expected, fitted.predict_proba())
    data = {"x": torch.from_numpy(small.x), "y": small.y, "edge_index": torch.from_numpy(small.edges)}
    for given in (
        (small.x, small.y, matrix(small, weights)),
        (small.x, small.y, networkx_graph(small, weights)),
        (pyg.Data(**data, edge_weight=torch.from_numpy(weights)),),
        (pyg.Data(**data, edge_attr=torch.from_numpy(weights[:, None])),),
        (graphmix.Graph.build(small.x, small.edges, small.y, weights=weights, normalise=False),),
    ):
        np.testing.assert_array_equal(quick().fit(*given).predict_proba(), expected)


def test_weights_of_1_are_no_weights_and_may_stand_beside_others(small, quick, fitted):
    ones = np.ones(small.edges.shape[1])
    unweighted = quick(backbone="gat").fit(small.x, small.y, small.edges, edge_weight=ones)  # GAT takes no weights
    assert unweighted.graph_.edge_weights is None
    np.testing.assert_array_equal(
        fitted.predict_proba(small.x, small.edges, edge_weight=ones), fitted.predict_proba(small.x, small.edges)
    )
    weighted = quick().fit(small.x, small.y, small.edges, edge_weight=ones / 2)
    np.testing.assert_array_equal(
        weighted.predict_proba(small.x, matrix(small)),
        weighted.predict_proba(small.x, small.edges, edge_weight=ones),
    )
    with pytest.raises(DataError, match="the edges of the fit had weights, but these have none"):
        weighted.predict(small.x, small.edges)
    with pytest.raises(DataError, match="the edges of the fit had no weights, but these have some"):
        fitted.predict(small.x, small.edges, edge_weight=ones / 2)


def test_features_of_edges_are_no_weights(small):
    several = torch.ones(small.edges.shape[1], 2)
    assert read_graph(pyg.Data(torch.ones(120, 1), small.edges, several)).weights is None


@pytest.mark.parametrize(
    "form", [torch.from_numpy, np.ndarray.tolist, np.asfortranarray], ids=["torch", "lists", "by columns"]
)
def test_dense_features_in_every_form(small, quick, fitted, form):
    classifier = quick().fit(form(small.x), small.y, small.edges)
    np.testing.assert_array_equal(classifier.predict_proba(), fitted.predict_proba())


def test_sparse_features_in_every_form(small, quick):
    csr = sp.csr_array(small.x)
    expected = quick().fit(csr, small.y, small.edges)
    assert isinstance(expected.graph_.x, graphmix.sparse.SparseMatrix)
    for x in (sp.coo_matrix(csr), sp.csc_array(csr), torch.from_numpy(small.x).to_sparse()):
        np.testing.assert_array_equal(
            quick().fit(x, small.y, small.edges).predict_proba(), expected.predict_proba(), err_msg=str(type(x))
        )


def test_a_data_frame_keeps_its_columns_in_mind(small, quick, fitted):
    frame = pd.DataFrame(small.x, columns=[f"word {number}" for number in range(30)])
    classifier = quick().fit(frame, pd.Series(small.y), small.edges)
    np.testing.assert_array_equal(classifier.predict_proba(frame, small.edges), fitted.predict_proba())
    assert list(classifier.feature_names_in_) == list(frame.columns)
    assert not hasattr(fitted, "feature_names_in_")
    with pytest.raises(DataError, match="feature names should match"):
        classifier.predict(frame[frame.columns[::-1]], small.edges)


def test_the_masks_of_data_hide_labels(small, quick):
    """Labels outside the training and validation masks count for nothing, whatever they are."""
    train, val, test = (torch.arange(120) // 30 == part for part in range(3))
    x, edges = torch.from_numpy(small.x), torch.from_numpy(small.edges)
    lies = np.where(test, (small.truth + 1) % 3, small.truth)
    visible = np.where(np.arange(120) < 60, small.truth, -1)
    expected = quick().fit(small.x, visible, small.edges, val_mask=val.numpy())
    for y in (small.truth, lies, lies[:, None]):
        data = pyg.Data(x, edges, y=torch.from_numpy(y), train_mask=train, val_mask=val, test_mask=test)
        classifier = quick().fit(data)
        np.testing.assert_array_equal(classifier.predict_proba(), expected.predict_proba())
        np.testing.assert_array_equal(classifier.predict(data), expected.predict())
        shown = small.truth if y is small.truth else lies
        right = expected.predict()[60:90] == shown[60:90]
        assert classifier.score(data) == pytest.approx(right.mean())


def test_data_with_fewer_masks(small, quick):
    half = torch.arange(120) < 60
    data = pyg.Data(torch.from_numpy(small.x), torch.from_numpy(small.edges), y=torch.from_numpy(small.truth))
    visible = np.where(half, small.truth, -1)
    expected = quick().fit(small.x, visible, small.edges).predict_proba()
    data.test_mask = ~half
    np.testing.assert_array_equal(quick().fit(data).predict_proba(), expected)
    data.train_mask, data.test_mask = half, None
    np.testing.assert_array_equal(quick().fit(data).predict_proba(), expected)


def test_data_with_a_matrix_in_place_of_a_list(small, quick, fitted):
    data = pyg.Data(torch.from_numpy(small.x), y=torch.from_numpy(small.y), adj_t=EDGES["torch sparse"](small))
    np.testing.assert_array_equal(quick().fit(data).predict_proba(), fitted.predict_proba())
    with pytest.raises(DataError, match="the graph has no features, x"):
        quick().fit(pyg.Data(edge_index=torch.from_numpy(small.edges)))


def test_a_networkx_graph_with_all_in_it(small, quick, fitted):
    graph = networkx_graph(small)
    for node, x, y in zip(graph.nodes, small.x, small.y, strict=True):
        graph.nodes[node]["x"] = x
        if y >= 0:
            graph.nodes[node]["y"] = int(y)
    classifier = quick().fit(graph)
    np.testing.assert_array_equal(classifier.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(classifier.predict_proba(graph), fitted.predict_proba())
    del graph.nodes["paper 7"]["x"]
    with pytest.raises(DataError, match="node 'paper 7' has no attribute 'x'"):
        classifier.predict(graph)


def test_a_graph_brings_all_of_its_own(small, quick):
    graph = graphmix.Graph.build(small.x, small.edges, small.y)
    with pytest.raises(DataError, match="has edges of its own"):
        quick().fit(graph, edge_index=small.edges)
    with pytest.raises(DataError, match="labels of its own"):
        quick().fit(graph, small.y)


def test_entries_of_a_matrix_that_come_twice_are_summed_and_zeros_left_out():
    twice = sp.coo_array(([1.0, 1.5, 0.0, 1.0], ([0, 0, 1, 2], [1, 1, 2, 0])), shape=(3, 3))
    pairs, weights = read_edges(twice, None, 3)
    assert pairs.tolist() == [[0, 2], [1, 0]]
    assert weights.tolist() == [2.5, 1.0]


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        (sp.eye_array(3), None, r"the adjacency matrix is \[3, 3\], but X has 120 rows"),
        (nx.path_graph(4), None, "the NetworkX graph has 4 nodes, but X has 120 rows"),
        (sp.eye_array(120), [1.0], "`edge_weight` needs an `edge_index`"),
        (None, [1.0], "`edge_weight` needs an `edge_index`"),
        ([[0], [120]], None, r"edge 0 \(0, 120\) is to node 120"),
        ([[0], [1]], [-1.0], "edge 0 has weight -1.0"),
        ([[0, 1]], None, r"edges must be \[2, edges\]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_edges_that_cannot_be_are_refused(small, quick, edges, weights, message):
    with pytest.raises(ValueError, match=message) as caught:
        quick().fit(small.x, small.y, edges, edge_weight=weights)
    assert isinstance(caught.value, DataError)


def test_masks_that_cannot_be_are_refused(small, quick):
    with pytest.raises(DataError, match=r"val_mask must be bool \[120\], one for each node, but it is int64 \[3\]"):
        quick().fit(small.x, small.y, small.edges, val_mask=[3, 4, 5])
    with pytest.raises(DataError, match="the split has no validation nodes"):
        quick().fit(small.x, small.y, small.edges, val_mask=np.arange(120) > 90)
