"""A graph and sparse matrices as tensors by name, and back."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.packed import unpack_structure


def pack_graph(graph: Graph) -> dict[str, Tensor]:
    """Return a graph as tensors by name, whatever the form of its edges."""
    features = {"x": graph.x} if isinstance(graph.x, Tensor) else pack_csr("x", graph.x.to_scipy())
    return {"y": graph.y} | features | graph.structure.packed()


def unpack_graph(packed: dict[str, Tensor], classes: tuple[str, ...], name: str) -> Graph:
    """Read back what `pack_graph` returned, validated like a new graph.

    Raises:
        KeyError: a tensor is missing.
        ValueError: a tensor is invalid; a DataError is one.
    """
    x: Any = packed["x"] if "x" in packed else unpack_csr("x", packed)
    bare = Graph.build(x, [[], []], packed["y"], len(classes), name, classes, normalise=False)
    return bare.with_structure(unpack_structure(packed, bare.num_nodes))


def pack_csr(name: str, matrix: sp.csr_array) -> dict[str, Tensor]:
    """Return a sparse matrix as four tensors whose names begin with `name`."""
    parts = {"crow": matrix.indptr, "col": matrix.indices, "values": matrix.data, "shape": np.array(matrix.shape)}
    return {f"{name}.{part}": torch.from_numpy(array) for part, array in parts.items()}


def unpack_csr(name: str, packed: dict[str, Tensor]) -> sp.csr_array:
    """Read back what `pack_csr` returned.

    Raises:
        KeyError: a tensor is missing.
        ValueError: the tensors do not form a sparse matrix.
    """
    crow, col, values, shape = (packed[f"{name}.{part}"].numpy() for part in ("crow", "col", "values", "shape"))
    rows, columns = shape.tolist()
    matrix = sp.csr_array((values, col, crow), shape=(rows, columns))
    matrix.check_format()
    return matrix
