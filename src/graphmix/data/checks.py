"""Convert and check the features, edges and labels that a user gives; errors name what is wrong."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data.features import Features
from graphmix.errors import DataError
from graphmix.sparse import SparseMatrix

UNKNOWN = -1
MOST_CLASSES = 1_000_000
# A matrix and its transpose have an entry for each feature, whatever they hold.
MOST_FEATURES = 100_000_000
# A sum of a million weights of this size is still finite in float32.
MOST_WEIGHT = 1e30


def as_features(x: Any) -> Features:
    """Convert features: sparse stays sparse, dense stays dense, and nothing shares memory with the input.

    Args:
        x: `[nodes, features]` of real numbers: scipy sparse, numpy, torch (dense or sparse), `SparseMatrix`.

    Returns:
        float32 `[nodes, features]` on the CPU.

    Raises:
        DataError: x is not 2-d, is empty, or holds something other than finite real numbers.
    """
    if isinstance(x, Tensor):
        x = _to_numpy(x) if x.layout == torch.strided else _to_scipy(x)
    if isinstance(x, SparseMatrix):
        x = x.to_scipy()
    if not sp.issparse(x):
        try:
            x = np.asarray(x)
        except ValueError as error:
            raise DataError(f"x must be a table of numbers: {error}") from error
    _check_form(x.shape, x.dtype)
    # A float64 beyond the range of float32 becomes inf here, and the check below reports it.
    with np.errstate(over="ignore"):
        if sp.issparse(x):
            features: Features = SparseMatrix.from_scipy(x)
        else:
            features = torch.from_numpy(np.array(x, dtype=np.float32))
    _check_finite(features)
    return features


def check_labels(y: object, nodes: int) -> NDArray[np.int64]:
    """Convert labels: whole numbers `[nodes]`, of any range."""
    labels = _as_integers(y, "y")
    if labels.shape != (nodes,):
        raise DataError(f"y must hold one label for each of x's {nodes} nodes, but its shape is {list(labels.shape)}")
    return labels


def count_classes(labels: NDArray[np.int64], num_classes: int | None, class_names: tuple[str, ...] | None) -> int:
    """Determine the number of classes, and check the labels `[nodes]` against it."""
    classes = num_classes
    if classes is None:
        classes = len(class_names) if class_names is not None else int(labels.max()) + 1
    if class_names is not None and len(class_names) != classes:
        raise DataError(f"there are {classes} classes, but {len(class_names)} class names")
    if num_classes is None and class_names is None and classes > len(labels):
        node = int(labels.argmax())
        raise DataError(f"node {node} has label {labels[node]}, but {len(labels)} nodes cannot have that many classes")
    if num_classes is not None and not 1 <= num_classes <= MOST_CLASSES:
        raise DataError(f"the number of classes must be from 1 to {MOST_CLASSES:,}, not {num_classes}")
    if classes < 1 and labels.min() >= UNKNOWN:
        raise DataError("no node has a label; give the number of classes as `num_classes`")
    outside = np.flatnonzero((labels < UNKNOWN) | (labels >= classes))
    if len(outside):
        node = outside[0]
        raise DataError(f"node {node} has label {labels[node]}, outside the {classes} classes (-1 means unknown)")
    return classes


def check_edges(edges: object, nodes: int) -> NDArray[np.int64]:
    """Convert edges: node numbers `[2, entries]`, in the given order."""
    pairs = _as_integers(edges, "edges")
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise DataError(f"edges must be [2, edges], but their shape is {list(pairs.shape)}")
    wrong = np.argwhere(((pairs < 0) | (pairs >= nodes)).T)
    if len(wrong):
        edge, end = wrong[0]
        ends = f"({pairs[0, edge]}, {pairs[1, edge]})"
        raise DataError(f"edge {edge} {ends} is to node {pairs[end, edge]}, but the graph has {nodes} nodes from 0")
    return pairs


def undirected(pairs: NDArray[np.int64], nodes: int) -> Tensor:
    """Turn edges `[2, entries]` into `Graph.edge_index`, int64 `[2, 2 * edges]`."""
    source, target = pairs[:, pairs[0] != pairs[1]]
    # One number per direction of an edge. Not np.unique, which hashes and is slower on millions of edges.
    keys = np.concatenate([source * nodes + target, target * nodes + source])
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return torch.from_numpy(np.stack([keys // nodes, keys % nodes]))


def check_weights(weights: object, entries: int) -> NDArray[np.float64]:
    """Convert the weight of each edge: finite numbers of at least 0 `[entries]`."""
    array = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else np.asarray(weights)
    if array.shape != (entries,) or (array.size and array.dtype.kind not in "biuf"):
        raise DataError(f"edge weights must be numbers [{entries}], but they are {array.dtype} {list(array.shape)}")
    wrong = np.flatnonzero(~np.isfinite(array) | (array < 0) | (array > MOST_WEIGHT))
    if len(wrong):
        raise DataError(f"edge {wrong[0]} has weight {array[wrong[0]]}; a weight must be from 0 to {MOST_WEIGHT:g}")
    return array.astype(np.float64)


def weigh(pairs: NDArray[np.int64], weights: NDArray[np.float64], nodes: int) -> tuple[Tensor, Tensor]:
    """Return `undirected` of the edges `[2, entries]` with a weight `[entries]` above 0, and their weights.

    The weights of an edge that is repeated in the same direction are summed. The weights of its two directions are then
    averaged, so that listing every edge both ways changes nothing.

    Returns:
        int64 `[2, 2 * edges]` and float32 `[2 * edges]`, equal for both directions of an edge.
    """
    # A weight that float32 rounds to 0 counts as 0.
    used = (weights >= np.finfo(np.float32).tiny) & (pairs[0] != pairs[1])
    (source, target), weights = pairs[:, used], weights[used]
    directed = sp.csr_array((weights, (source, target)), shape=(nodes, nodes))
    ways = sp.csr_array((np.ones(directed.nnz), directed.indices, directed.indptr), shape=(nodes, nodes))
    total, count = (sp.csr_array(matrix + matrix.T) for matrix in (directed, ways))
    for matrix in (total, count):
        matrix.sort_indices()
    row = np.repeat(np.arange(nodes), np.diff(total.indptr))
    index = np.stack([row, total.indices.astype(np.int64)])
    return torch.from_numpy(index), torch.from_numpy((total.data / count.data).astype(np.float32))


def _as_integers(values: object, what: str) -> NDArray[Any]:
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    # An empty list has no integers, so numpy does not give it an integer type.
    if array.size and array.dtype.kind not in "iu":
        raise DataError(f"{what} must hold whole numbers, but its type is {array.dtype}")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise DataError(f"{what} must hold node or class numbers, but one is {array.max()}")
    return array.astype(np.int64)


def _to_numpy(x: Tensor) -> NDArray[Any]:
    # Via float32, because numpy has no bfloat16.
    return (x.detach().float() if x.is_floating_point() else x.detach()).cpu().numpy()


def _to_scipy(x: Tensor) -> sp.coo_array:
    entries = x.detach().to_sparse_coo().coalesce()
    return sp.coo_array((_to_numpy(entries.values()), _to_numpy(entries.indices())), shape=tuple(entries.shape))


def _check_form(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    if len(shape) != 2:
        raise DataError(f"x must be [nodes, features], but it has {len(shape)} dimension(s)")
    if 0 in shape:
        raise DataError(f"a graph needs at least one node and one feature, but x is {list(shape)}")
    if shape[1] > MOST_FEATURES:
        raise DataError(f"x has {shape[1]:,} features, and {MOST_FEATURES:,} are the most; use fewer")
    if dtype.kind not in "biuf":
        raise DataError(f"x must hold real numbers, but its type is {dtype}")


def _check_finite(x: Features) -> None:
    values = x if isinstance(x, Tensor) else x.values
    bad = (~torch.isfinite(values)).nonzero()
    if not len(bad):
        return
    if isinstance(x, Tensor):
        node, feature = bad[0].tolist()
        value = float(x[node, feature])
    else:
        entry = int(bad[0])
        node = int(torch.searchsorted(x.crow, entry, right=True)) - 1
        feature, value = int(x.col[entry]), float(values[entry])
    raise DataError(f"feature {feature} of node {node} is {value} in float32; every feature must be a finite number")
