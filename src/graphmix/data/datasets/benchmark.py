"""The .npz files of "Pitfalls of Graph Neural Network Evaluation" (Shchur et al., 2018): Coauthor, Amazon, Cora-Full.

A file contains an adjacency matrix and bags of words, both in CSR form, and labels:

adj_data, adj_indices, adj_indptr, adj_shape
attr_data, attr_indices, attr_indptr, attr_shape
labels                                             [nodes]

As in the benchmark, only the presence of a word counts, not how often it occurs. Cora-Full is cleaned: see
`keep_large`. Some files also contain names of nodes, words and classes, partly pickled; they are not read.

No SHA-256 is known for these files. Cora-Full's file could not be downloaded here: its reader is tested on small files
in the same format, and a real file is checked only by the published sizes. The files of Coauthor-CS and -Physics that
the tests read have the published content, but may differ from the official ones in their bytes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.data.datasets.arrays import as_csr, csr_names, parse_arrays
from graphmix.errors import DataError
from graphmix.limits import USUAL, Limits

# A class needs more nodes than the 20 for training and the 30 for validation, to leave one for testing.
LARGEST_SMALL_CLASS = 50


class Attributed(NamedTuple):
    """A parsed file.

    Attributes:
        x: 0/1 `[nodes, features]`.
        edges: `[2, entries]`, as in the file: in one direction or both, with self-loops.
        y: `[nodes]`.
    """

    x: sp.csr_array
    edges: NDArray[np.int64]
    y: NDArray[np.int64]


def parse(contents: Mapping[str, bytes], limit: Limits = USUAL) -> Attributed:
    """Read a dataset from the content of its only file, by file name.

    Raises:
        DataError: the file does not contain a graph in this format.
    """
    ((name, content),) = contents.items()
    wanted = (*csr_names("adj"), *csr_names("attr"), "labels")
    arrays = parse_arrays(content, name, "a graph", wanted, limit)
    missing = [array for array in wanted if array not in arrays]
    if missing:
        raise DataError(f"{name} has no array {missing[0]!r}")
    x = as_csr(arrays, "attr", f"the words in {name}")
    adjacency = as_csr(arrays, "adj", f"the edges in {name}").tocoo()
    y = _labels(arrays["labels"], x.shape[0], name)
    if adjacency.shape != (len(y), len(y)):
        raise DataError(f"{name} has {len(y)} nodes, but an adjacency matrix {list(adjacency.shape)}")
    x.data[:] = x.data != 0
    return Attributed(x, np.stack(adjacency.coords).astype(np.int64), y)


def parse_either(contents: Mapping[str, bytes], limit: Limits = USUAL) -> Attributed:
    """Read the same from a file in this format, or in that of users' graphs (`npz`) without masks.

    Raises:
        DataError: the file does not contain a graph in either format.
    """
    ((name, content),) = contents.items()
    wanted = (*csr_names("x"), "edges", "y")
    arrays = parse_arrays(content, name, "a graph", wanted, limit)
    if any(array not in arrays for array in wanted):
        return parse(contents, limit)
    x = as_csr(arrays, "x", f"the words in {name}")
    edges, y = arrays["edges"], _labels(arrays["y"], x.shape[0], name)
    if edges.ndim != 2 or len(edges) != 2 or edges.dtype.kind not in "iu":
        raise DataError(f"the edges in {name} must be whole numbers [2, edges], not {edges.dtype} {list(edges.shape)}")
    x.data[:] = x.data != 0
    return Attributed(x, edges.astype(np.int64), y)


def keep_large(raw: Attributed) -> Attributed:
    """Clean Cora-Full as the benchmark does.

    Keep the largest connected component, then the classes with more than 50 nodes in it, then the largest component
    of the rest. Classes are renumbered in their old order. By the benchmark's and the paper's tables, 18,703 of 19,793
    nodes and 67 of 70 classes are left, with 62,421 edges.
    """
    raw = _largest_component(raw)
    raw = _select(raw, np.bincount(raw.y)[raw.y] > LARGEST_SMALL_CLASS)
    raw = _largest_component(raw)
    return raw._replace(y=np.unique(raw.y, return_inverse=True)[1].astype(np.int64))


def _labels(labels: Any, nodes: int, name: str) -> NDArray[np.int64]:
    if labels.shape != (nodes,) or labels.dtype.kind not in "iu" or (nodes and labels.min() < 0):
        form = f"{labels.dtype} {list(labels.shape)}"
        raise DataError(f"{name} must have a class number from 0 for each of {nodes} nodes, but its labels are {form}")
    y: NDArray[np.int64] = labels.astype(np.int64)
    return y


def _largest_component(raw: Attributed) -> Attributed:
    nodes = len(raw.y)
    joined = sp.coo_array((np.ones(raw.edges.shape[1]), raw.edges), shape=(nodes, nodes))
    _, component = sp.csgraph.connected_components(joined, directed=False)
    # minlength: a graph without nodes has no component; `Graph.build` rejects it with a message.
    return _select(raw, component == np.bincount(component, minlength=1).argmax())


def _select(raw: Attributed, kept: NDArray[np.bool_]) -> Attributed:
    place = np.cumsum(kept) - 1
    inside = kept[raw.edges].all(axis=0)
    return Attributed(raw.x[kept], place[raw.edges[:, inside]], raw.y[kept])
