"""The .npz files of "Pitfalls of Graph Neural Network Evaluation" (Shchur et al., 2018): Coauthor and Cora-Full.

A file holds an adjacency matrix and bags of words, both in CSR form, and labels:

adj_data, adj_indices, adj_indptr, adj_shape
attr_data, attr_indices, attr_indptr, attr_shape
labels                                             [nodes]

The benchmark reads every bag of words as a set: a word is there or not. Its Cora-Full is cleaned: see `keep_large`.

Names of nodes, words and classes, which some files hold as well, in pickles too, are not read.

What could not be checked: Cora-Full's file was not to be had, so its loader is tested on small files in the same
format, and on the official one only by the sizes that the paper's table gives for the result. The files of Coauthor-CS
and -Physics that the tests read have the published content, but need not be the official ones byte for byte. So no
SHA-256 is known of any of the three, and none is written down.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.data.datasets.arrays import as_csr, csr_names, parse_arrays
from graphmix.errors import DataError

# A class that cannot spare 20 training and 30 validation nodes and still have one to test on is too small.
LARGEST_SMALL_CLASS = 50


class Attributed(NamedTuple):
    """A parsed file.

    Attributes:
        x: 0/1 `[nodes, features]`.
        edges: `[2, entries]`, as in the file: one direction or both, self-loops included.
        y: `[nodes]`.
    """

    x: sp.csr_array
    edges: NDArray[np.int64]
    y: NDArray[np.int64]


def parse(contents: Mapping[str, bytes]) -> Attributed:
    """Read a dataset from the bytes of its only file, by file name.

    Raises:
        DataError: the file holds no graph in this format.
    """
    ((name, content),) = contents.items()
    wanted = (*csr_names("adj"), *csr_names("attr"), "labels")
    arrays = parse_arrays(content, name, "a graph", wanted)
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


def keep_large(raw: Attributed) -> Attributed:
    """Clean Cora-Full as the benchmark does.

    The largest connected component is kept; then the classes with more than 50 nodes in it; then the largest
    component of what is left. Classes are numbered anew, in their old order. Of 19,793 nodes in 70 classes, 18,703 in
    67 are left, with 62,421 edges, by the benchmark's and the paper's tables.
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
    # Without nodes there is no component; the graph is refused later, with its reason.
    return _select(raw, component == np.bincount(component, minlength=1).argmax())


def _select(raw: Attributed, kept: NDArray[np.bool_]) -> Attributed:
    place = np.cumsum(kept) - 1
    inside = kept[raw.edges].all(axis=0)
    return Attributed(raw.x[kept], place[raw.edges[:, inside]], raw.y[kept])
