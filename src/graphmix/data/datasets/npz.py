"""A user's graph in one .npz file.

x             [nodes, features], or in CSR form: x_data, x_indices, x_indptr, x_shape
edges         [2, entries], node numbers
weights       [entries], the weight of each edge; optional
y             [nodes], class numbers, -1 where unknown
train, val, test   bool masks, [nodes] or [trials, nodes]; all or none of them
num_classes   optional
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphmix.data.datasets.arrays import as_csr, csr_names, read_arrays
from graphmix.data.graph import Graph
from graphmix.data.split import Split
from graphmix.errors import DataError
from graphmix.limits import USUAL, Limits
from graphmix.sparse import SparseMatrix

_CSR = csr_names("x")
_NEEDED, _MASKS = ("edges", "y"), ("train", "val", "test")


def read_npz(path: Path | str, limit: Limits = USUAL) -> tuple[Graph, Split | None]:
    """Read a graph and its split if it has one, both validated, features row-normalised.

    Args:
        path: the file; arrays of other names are not read.
        limit: how large it may be.

    Raises:
        DataError: the file is missing, is not such a file, or contains an invalid graph.
    """
    path = Path(path)
    arrays = read_arrays(path, "a graph", (*_NEEDED, *_MASKS, "weights", "num_classes", "x", *_CSR), limit)
    masks = _MASKS if any(name in arrays for name in _MASKS) else ()
    missing = [name for name in (*_NEEDED, *masks) if name not in arrays]
    if missing:
        raise DataError(f"{path} has no array {missing[0]!r}")
    try:
        weights, classes = arrays.get("weights"), _classes(arrays)
        graph = Graph.build(_features(arrays), arrays["edges"], arrays["y"], classes, name=path.stem, weights=weights)
        split = Split.build(*(arrays[name] for name in masks)) if masks else None
        if split is not None:
            split.check(graph)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    return graph, split


def write_npz(path: Path | str, graph: Graph, split: Split | None) -> None:
    """Write a graph, and its split if it has one, to a new .npz file."""
    if isinstance(graph.x, SparseMatrix):
        x = graph.x.to_scipy()
        features = dict(zip(_CSR, (x.data, x.indices, x.indptr, np.array(x.shape)), strict=True))
    else:
        features = {"x": graph.x.cpu().numpy()}
    masks = {} if split is None else {name: getattr(split, name).cpu().numpy() for name in _MASKS}
    edges, y = graph.edge_index.cpu().numpy(), graph.y.cpu().numpy()
    weights: dict[str, Any] = {} if graph.edge_weights is None else {"weights": graph.edge_weights.cpu().numpy()}
    with Path(path).open("xb") as file:
        np.savez_compressed(file, edges=edges, y=y, num_classes=graph.num_classes, **features, **masks, **weights)


def _classes(arrays: Mapping[str, Any]) -> int | None:
    if "num_classes" not in arrays:
        return None
    held = arrays["num_classes"]
    if held.shape != () or held.dtype.kind not in "iu":
        raise DataError(f"num_classes must be one whole number, not {held.dtype} {list(held.shape)}")
    return int(held)


def _features(arrays: Mapping[str, Any]) -> Any:
    if "x" in arrays:
        return arrays["x"]
    missing = [name for name in _CSR if name not in arrays]
    if missing:
        raise DataError(f"there is neither an array 'x' nor {missing[0]!r}")
    return as_csr(arrays, "x", "the features")
