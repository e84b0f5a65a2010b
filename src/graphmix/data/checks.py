"""Convert and check the features, edges and labels that a user gives; errors name what is wrong."""

import warnings
from operator import index
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
# So many features are checked at a time.
_CHECKED = 2**24


def as_features(x: Any) -> Features:
    """Convert features: sparse stays sparse, dense stays dense, and nothing shares memory with the input.

    But an array of float32 that is mapped from a file, a `numpy.memmap`, stays in the file.

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
            x = x if isinstance(x, np.memmap) else np.asarray(x)
        except ValueError as error:
            raise DataError(f"x must be a table of numbers: {error}") from error
    _check_form(x.shape, x.dtype)
    # A float64 beyond the range of float32 becomes inf here, and the check below reports it.
    with np.errstate(over="ignore"):
        if sp.issparse(x):
            features: Features = SparseMatrix.from_scipy(x)
        elif isinstance(x, np.memmap) and x.dtype == np.float32:
            features = _mapped(x)
        else:
            # In rows, and in torch's memory: products of matrices that lie otherwise may round otherwise.
            features = torch.empty(x.shape, dtype=torch.float32, device="cpu")
            features.numpy()[:] = x
    _check_finite(features)
    return features


def _mapped(x: NDArray[np.float32]) -> Tensor:
    """Return a tensor of an array that is mapped from a file; only rows that are used are read."""
    with warnings.catch_warnings():
        # Nothing writes to features, so it does not matter that the file may be read-only.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(x)


def check_labels(y: object, nodes: int) -> NDArray[np.int64]:
    """Convert labels: whole numbers `[nodes]`, of any range."""
    labels = _as_integers(y, "y")
    if labels.shape != (nodes,):
        raise DataError(f"y must hold one label for each of x's {nodes} nodes, but its shape is {list(labels.shape)}")
    return labels


def count_classes(labels: NDArray[np.int64], num_classes: int | None, class_names: tuple[str, ...] | None) -> int:
    """Determine the number of classes, and check the labels `[nodes]` against it."""
    try:
        classes = None if num_classes is None else index(num_classes)
    except TypeError as error:
        raise DataError(f"`num_classes` must be a whole number, not {num_classes!r}") from error
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


def check_edges(edges: object, nodes: int) -> NDArray[np.integer[Any]]:
    """Convert edges: node numbers `[2, entries]`, in the given order and in a signed type of 32 or 64 bits."""
    if sp.issparse(edges):
        raise DataError("edges must be node numbers [2, edges], not a matrix; numpy.stack(matrix.nonzero()) has them")
    pairs = _as_integers(edges, "edges", may_be_short=True)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        turn = "; transpose them" if pairs.ndim == 2 and pairs.shape[1] == 2 else ""
        raise DataError(f"edges must be [2, edges], but their shape is {list(pairs.shape)}{turn}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= nodes):
        edge, end = np.argwhere(((pairs < 0) | (pairs >= nodes)).T)[0]
        ends = f"({pairs[0, edge]}, {pairs[1, edge]})"
        raise DataError(f"edge {edge} {ends} is to node {pairs[end, edge]}, but the graph has {nodes} nodes from 0")
    return pairs


def undirected(pairs: NDArray[np.integer[Any]], nodes: int) -> Tensor:
    """Turn edges `[2, entries]` into `Graph.edge_index`, int64 `[2, 2 * edges]`."""
    keys = _keys_of_both_directions(pairs, nodes)
    index = np.empty((2, len(keys)), dtype=np.int64)
    np.divmod(keys, nodes, out=(index[0], index[1]))
    return torch.from_numpy(index)


def _keys_of_both_directions(pairs: NDArray[np.integer[Any]], nodes: int) -> NDArray[np.int64]:
    """One number per direction of an edge, in order: source times nodes plus target. Loops and repeats are left out.

    In place wherever possible: of 100 million edges the numbers take 1.5 GiB.
    """
    entries = pairs.shape[1]
    keys = np.empty(2 * entries, dtype=np.int64)
    for half, (one, other) in zip((keys[:entries], keys[entries:]), (pairs, pairs[::-1]), strict=True):
        np.multiply(one, nodes, out=half, casting="safe", dtype=np.int64)
        half += other
        half[one == other] = -1
    # Not np.unique, which hashes and is slower on millions of edges.
    keys.sort()
    return keys[first_of_each(keys) & (keys >= 0)]


def first_of_each(increasing: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers of a list that increases, `[numbers]`, differ from those before them: bool `[numbers]`."""
    different = np.empty(len(increasing), dtype=np.bool_)
    different[:1] = True
    np.not_equal(increasing[1:], increasing[:-1], out=different[1:])
    return different


def check_weights(weights: object, entries: int) -> NDArray[np.float64]:
    """Convert the weight of each edge: finite numbers of at least 0 `[entries]`."""
    array = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else np.asarray(weights)
    if array.shape != (entries,) or (array.size and array.dtype.kind not in "biuf"):
        raise DataError(f"edge weights must be numbers [{entries}], but they are {array.dtype} {list(array.shape)}")
    wrong = np.flatnonzero(~np.isfinite(array) | (array < 0) | (array > MOST_WEIGHT))
    if len(wrong):
        raise DataError(f"edge {wrong[0]} has weight {array[wrong[0]]}; a weight must be from 0 to {MOST_WEIGHT:g}")
    return array.astype(np.float64)


def weigh(pairs: NDArray[np.integer[Any]], weights: NDArray[np.float64], nodes: int) -> tuple[Tensor, Tensor]:
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


def _as_integers(values: object, what: str, *, may_be_short: bool = False) -> NDArray[Any]:
    """Convert to a new array of int64; one of int32 or int64 is returned itself if it `may_be_short`."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    # An empty list has no integers, so numpy does not give it an integer type.
    if array.size and array.dtype.kind not in "iu":
        raise DataError(f"{what} must hold whole numbers, not {array.dtype}")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise DataError(f"{what} must hold node or class numbers, but one is {array.max()}")
    return array if may_be_short and array.dtype in (np.int32, np.int64) else array.astype(np.int64)


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
    start = 0
    for piece in values.split(max(1, _CHECKED * len(values) // max(1, values.numel()))):
        bad = (~torch.isfinite(piece)).nonzero()
        if len(bad):
            raise DataError(_not_finite(x, [start + int(bad[0, 0]), *bad[0, 1:].tolist()]))
        start += len(piece)


def _not_finite(x: Features, place: list[int]) -> str:
    """Name a feature that is not finite, given its place in the dense features or among the values of sparse ones."""
    if isinstance(x, Tensor):
        node, feature = place
        value = float(x[node, feature])
    else:
        (entry,) = place
        node = int(torch.searchsorted(x.crow, entry, right=True)) - 1
        feature, value = int(x.col[entry]), float(x.values[entry])
    return f"feature {feature} of node {node} is {value} in float32; every feature must be a finite number"
