"""Graphs of other libraries: PyTorch Geometric, NetworkX, scipy. None of them is imported here."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.data.checks import UNKNOWN
from graphmix.data.structure import Edges
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix
from graphmix.workflow.labels import read_labels


@dataclass(frozen=True, eq=False)
class Given:
    """The parts of a graph, as they were given.

    Attributes:
        x: `[nodes, features]`, in any form.
        edges: what `read_edges` takes.
        weights: `[edges]`, in any form; None without weights.
        y: `[nodes]`, in any form; None without labels.
        train: mask of the nodes to train on; None without such a mask.
        val: mask of the nodes to select by; None without such a mask.
        test: mask of the nodes to test on; None without such a mask.
    """

    x: Any
    edges: Any
    weights: Any = None
    y: Any = None
    train: Any = None
    val: Any = None
    test: Any = None


def read_graph(x: Any, edges: Any = None, weights: Any = None) -> Given:
    """Read what was given as X: features, or a graph with edges and labels.

    Args:
        x: features `[nodes, features]`, or a graph: a PyG `Data`, a `Graph`, or a NetworkX graph whose nodes have an
            attribute "x" and, if labeled, "y".
        edges: what `read_edges` takes; None with a graph.
        weights: the weights of the edges; None with a graph.

    Raises:
        DataError: edges are given twice, or a node has no features.
    """
    holds_arrays = hasattr(x, "edge_index") and hasattr(x, "x")
    if not holds_arrays and not is_networkx(x):
        return Given(_as_matrix(x), edges, weights)
    if edges is not None or weights is not None:
        raise DataError("X is a graph that has edges of its own; leave `edge_index` and `edge_weight` out")
    return _from_arrays(x) if holds_arrays else _from_networkx(x)


def read_edges(edges: Any, weights: Any, nodes: int) -> tuple[Any, Any]:
    """Return edges as node numbers `[2, entries]`, and their weights `[entries]` or None if they have none.

    Args:
        edges: node numbers `[2, entries]`, an adjacency matrix `[nodes, nodes]` of weights, scipy sparse or torch
            sparse, a NetworkX graph whose nodes are in the order of the rows of X, or None: no edges.
        weights: `[entries]`, with node numbers only.
        nodes: the number of nodes.

    Raises:
        DataError: the edges are those of another number of nodes, or weights are given twice or without edges.
    """
    edges = _as_matrix(edges)
    if is_networkx(edges):
        pairs, found = _networkx_edges(edges, nodes)
    elif sp.issparse(edges):
        pairs, found = _matrix_edges(edges, nodes)
    elif edges is not None:
        return edges, weights
    else:
        pairs, found = np.zeros((2, 0), dtype=np.int64), None
    if weights is not None:
        raise DataError("`edge_weight` needs an `edge_index` [2, edges]; a matrix or a graph has its own weights")
    return pairs, found


def read_mask(mask: Any, nodes: int, name: str) -> NDArray[np.bool_]:
    """Return a mask as bool `[nodes]`."""
    array = mask.detach().cpu().numpy() if isinstance(mask, Tensor) else np.asarray(mask)
    if array.shape != (nodes,) or array.dtype != np.bool_:
        form = f"{array.dtype} {list(array.shape)}"
        raise DataError(f"{name} must be bool [{nodes}], one for each node, but it is {form}")
    return np.asarray(array)


def visible_labels(given: Given, y: Any, nodes: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels, and where they may be used: where there is one and no mask of the graph excludes it.

    Args:
        given: the graph.
        y: the labels, if the graph has none.
        nodes: the number of nodes.

    Returns:
        What `read_labels` returns.
    """
    y = given.y if y is None else y
    if y is None:
        raise DataError("GraphMixClassifier requires y to be passed, but the target y is None")
    labels, known = read_labels(y, nodes)
    if given.train is not None:
        roles = [("train_mask", given.train), *([] if given.val is None else [("val_mask", given.val)])]
        known &= np.logical_or.reduce([read_mask(mask, nodes, name) for name, mask in roles])
    elif given.test is not None:
        known &= ~read_mask(given.test, nodes, "test_mask")
    return labels, known


def labels_to_score(x: Any, y: Any, nodes: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the labels to compare predictions with, and where there is one; see `GraphMixClassifier.score`.

    Raises:
        DataError: there is no label to compare with, or they are invalid.
    """
    test = None
    if y is None:
        given = Given(None, None) if x is None else read_graph(x)
        y, test = given.y, given.test
    if y is None:
        raise DataError("score needs labels, y; held_out_accuracy_ is the accuracy on those of the fit")
    labels, known = read_labels(y, nodes)
    if test is not None:
        known &= read_mask(test, len(known), "test_mask")
    if not known.any():
        raise DataError("y has no label to compare predictions with")
    return labels, known


def split_by_mask(numbers: NDArray[np.int64], val_mask: Any) -> Split:
    """Return a split that selects by the labeled nodes of a mask; `numbers` are the class numbers `[nodes]`."""
    val = read_mask(val_mask, len(numbers), "val_mask")
    known = numbers != UNKNOWN
    split = Split.build(known & ~val, known & val, np.zeros_like(known), "given")
    split.require_validation()
    return split


def without_ones(graph: Graph) -> Graph:
    """Leave out weights that are all 1: networks that use no weights may be trained then."""
    if graph.edge_weights is None or not bool((graph.edge_weights == 1).all()):
        return graph
    return graph.with_structure(Edges(graph.edge_index, graph.num_nodes))


def is_networkx(graph: Any) -> bool:
    """Whether an object has the attributes of a NetworkX graph."""
    return all(hasattr(graph, name) for name in ("nodes", "edges", "adj"))


def _from_arrays(graph: Any) -> Given:
    """Read a PyG `Data` or a `Graph`."""
    y, masks = getattr(graph, "y", None), (getattr(graph, f"{role}_mask", None) for role in ("train", "val", "test"))
    if isinstance(y, Tensor) and y.dim() == 2 and y.shape[1] == 1:  # the form of OGB's datasets
        y = y[:, 0]
    if graph.x is None:
        raise DataError("the graph has no features, x; give every node features")
    # PyG's ToSparseTensor moves the edges into a matrix.
    edges = getattr(graph, "adj_t", None) if graph.edge_index is None else graph.edge_index
    return Given(_as_matrix(graph.x), edges, _weights_of(graph), y, *masks)


def _weights_of(graph: Any) -> Any:
    for name in ("edge_weight", "edge_weights"):
        if getattr(graph, name, None) is not None:
            return getattr(graph, name)
    attributes = getattr(graph, "edge_attr", None)
    # One number per edge is a weight; several are other features.
    if attributes is None or attributes.ndim > 2 or (attributes.ndim == 2 and attributes.shape[1] != 1):
        return None
    return attributes.reshape(-1)


def _from_networkx(graph: Any) -> Given:
    held = [(node, graph.nodes[node]) for node in graph.nodes]
    bare = next((node for node, attributes in held if "x" not in attributes), None)
    if bare is not None:
        raise DataError(f"node {bare!r} has no attribute 'x'; give every node its features, or X as a matrix")
    try:
        x = np.asarray([np.asarray(attributes["x"]) for _, attributes in held])
    except ValueError as error:
        raise DataError(f"the attributes 'x' of the nodes must have one length: {error}") from error
    labels = [attributes.get("y") for _, attributes in held]
    return Given(x, graph, y=None if all(label is None for label in labels) else labels)


def _networkx_edges(graph: Any, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    place = {node: number for number, node in enumerate(graph.nodes)}
    if len(place) != nodes:
        raise DataError(f"the NetworkX graph has {len(place)} nodes, but X has {nodes} rows")
    held = list(graph.edges(data="weight"))
    pairs = np.array([(place[one], place[two]) for one, two, _ in held], dtype=np.int64).reshape(-1, 2).T
    if all(weight is None for *_, weight in held):
        return pairs, None
    weights = [1.0 if weight is None else weight for *_, weight in held]
    return pairs, np.asarray(weights)


def _matrix_edges(matrix: Any, nodes: int) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    if matrix.shape != (nodes, nodes):
        raise DataError(f"the adjacency matrix is {list(matrix.shape)}, but X has {nodes} rows")
    # Repeated entries are summed, and zeros are not edges.
    entries = sp.csr_array(matrix, copy=True)
    entries.sum_duplicates()
    entries = entries.tocoo()
    used = entries.data != 0
    pairs = np.stack([entries.row[used], entries.col[used]]).astype(np.int64)
    return pairs, None if entries.dtype == np.bool_ else entries.data[used]


def _as_matrix(values: Any) -> Any:
    """Convert tensors and `SparseMatrix` to numpy or scipy; return anything else as it is."""
    if isinstance(values, SparseMatrix):
        return values.to_scipy()
    if not isinstance(values, Tensor):
        return values
    values = values.detach().cpu()
    # numpy has no bfloat16.
    values = values.float() if values.dtype in (torch.bfloat16, torch.float16) else values
    if values.layout == torch.strided:
        return values.numpy()
    entries = values.to_sparse_coo().coalesce()
    return sp.coo_array((entries.values().numpy(), entries.indices().numpy()), shape=tuple(entries.shape))
