"""Rows of a table from a graph: a node's own features, and their means over its neighbours, one and two hops away.

With M the mean over neighbours, weighted by the edges, the row of a node is its row in [Z, MZ, M²Z]. Z holds the
features, made comparable and few:

- Dense columns are standardised over all nodes. A few sparse columns, which are mostly indicators of categories, are
  divided by one number, so that rare categories do not count most.
- Many sparse columns are bags of words: their rows are scaled to length 1. A truncated singular value decomposition
  X ≈ U S Vᵀ over all nodes, labeled or not, then gives Z = XV = US. MX of a wide sparse X is nearly dense, and too
  large to write out.

Dense columns that are too many are reduced in the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.structure import Edges
from graphmix.sparse import Chain

Floats = NDArray[np.float32]

HOPS = 2
# Of sparse features, and of dense ones that are more than _MOST_DENSE.
DIRECTIONS = 128
_MOST_DENSE = 256
# Columns that are averaged at a time: the sums are float64 and would double the memory.
_WIDTH = 64


@dataclass(frozen=True, eq=False)
class Columns:
    """How features become columns: learned from all nodes of one graph, applied to that graph or to another.

    Attributes:
        shift: float32 `[features]`, the means that are subtracted; None for bags of words, whose rows are scaled.
        scale: float32 `[features]`, what is divided by: standard deviations, or one number; None for bags of words.
        basis: float32 `[features, columns]`; None if the features, then dense, are the columns.
    """

    shift: Floats | None
    scale: Floats | None
    basis: Floats | None

    @classmethod
    def learn(cls, graph: Graph) -> Self:
        """Learn the columns of a graph; `graph.derived(Columns.learn)` does it once."""
        x = _numbers(graph)
        if not isinstance(x, np.ndarray) and graph.num_features > _MOST_DENSE:
            return cls(None, None, _basis(_unit_rows(x)))
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        # Float64: a sum of many large float32 values loses digits.
        shift = dense.mean(axis=0, dtype=np.float64)
        scale = dense.std(axis=0, dtype=np.float64)
        if not isinstance(x, np.ndarray):
            # Mostly zeros: indicators of categories. Each by itself, the rarest would count most.
            scale[:] = np.sqrt((scale**2).mean())
        scale[scale <= 1e-6 * np.abs(shift)] = 1.0
        scale[scale == 0] = 1.0
        plain = cls(shift.astype(np.float32), scale.astype(np.float32), None)
        if graph.num_features <= _MOST_DENSE:
            return plain
        return cls(plain.shift, plain.scale, _basis(plain.of(graph)))

    @property
    def alike(self) -> bool:
        """Whether the columns have the lengths that they should have, and are not to be standardised one by one."""
        return self.reduced or (self.scale is not None and float(np.ptp(self.scale)) == 0)

    @property
    def reduced(self) -> bool:
        """Whether the columns are directions in the space of the features, the strongest first."""
        return self.basis is not None

    def of(self, graph: Graph) -> Floats:
        """Return the columns of each node: float32 `[nodes, columns]`."""
        x = _numbers(graph)
        if self.shift is None or self.scale is None:
            reduced: Floats = _unit_rows(sp.csr_array(x)) @ self.basis
            return reduced
        dense = x if isinstance(x, np.ndarray) else x.toarray()
        columns: Floats = (dense - self.shift) / self.scale
        if self.basis is None:
            return columns
        # Float64: in float32 a row's result would depend on its place in the matrix.
        return (columns.astype(np.float64) @ self.basis).astype(np.float32)

    def rows(self, graph: Graph) -> Floats:
        """Return the columns and their means over neighbours: float32 `[nodes, (1 + HOPS) * columns]`.

        `graph.derived(columns.rows)` computes them once. A node without neighbours has zeros for the means.
        """
        parts = [self.of(graph)]
        for _ in range(HOPS):
            parts.append(mean_over_neighbours(graph, parts[-1]))
        return np.concatenate(parts, axis=1)

    def tensors(self) -> dict[str, Tensor]:
        """Return the arrays by name, for a file."""
        arrays = {"shift": self.shift, "scale": self.scale, "basis": self.basis}
        return {name: torch.from_numpy(array) for name, array in arrays.items() if array is not None}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], features: int) -> Self:
        """Read back what `tensors` returned, among other tensors or not.

        Raises:
            ValueError: a tensor is missing or invalid.
        """
        shift, scale, basis = (
            checked(tensors, name, torch.float32) if name in tensors else None for name in ("shift", "scale", "basis")
        )
        if (shift is None) != (scale is None) or (shift is None and basis is None):
            raise ValueError("the scale of the features is missing")
        if any(array is not None and array.shape != (features,) for array in (shift, scale)):
            raise ValueError(f"the scale is not that of {features:,} features")
        if scale is not None and not (scale > 0).all():
            raise ValueError("the scale of a feature is not positive")
        if basis is not None and (basis.ndim != 2 or len(basis) != features or not 1 <= basis.shape[1] <= DIRECTIONS):
            raise ValueError(f"the basis is not one of {features:,} features")
        return cls(shift, scale, basis)

    def width(self, features: int) -> int:
        """Return the number of columns of a row."""
        return (1 + HOPS) * (features if self.basis is None else self.basis.shape[1])


def checked(
    tensors: Mapping[str, Tensor], name: str, dtype: torch.dtype, shape: tuple[int, ...] | None = None
) -> NDArray[Any]:
    """Return a tensor as an array; raise ValueError if it is missing, not finite or of another type or shape."""
    tensor = tensors.get(name)
    if tensor is None or tensor.dtype != dtype or (shape is not None and tuple(tensor.shape) != shape):
        raise ValueError(f"{name!r} is missing or not {dtype} {'' if shape is None else list(shape)}".rstrip())
    if not tensor.isfinite().all():
        raise ValueError(f"{name!r} has values that are not finite")
    array: NDArray[Any] = tensor.cpu().contiguous().numpy()
    return array


def mean_over_neighbours(graph: Graph, values: Floats) -> Floats:
    """Average over neighbours, weighted by the edges: `[nodes, width]`; zeros for a node without neighbours."""
    strengths = graph.structure.strengths[:, None]
    means = np.empty_like(values)
    for start in range(0, values.shape[1], _WIDTH):
        part = values[:, start : start + _WIDTH].astype(np.float64)
        total = _sums(graph, part, np.sqrt(strengths + 1))
        means[:, start : start + _WIDTH] = np.where(strengths > 0, total / np.where(strengths > 0, strengths, 1), 0)
    return means


def _sums(graph: Graph, values: NDArray[np.float64], root: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over neighbours, weighted by the edges: AV `[nodes, width]`.

    The edges of a dual graph may be too many to list: with P its propagation D^-1/2 (A + I) D^-1/2, a chain of small
    factors, AV = D^1/2 P D^1/2 V - V. Without edges P is the identity.
    """
    if isinstance(graph.structure, Edges):
        total: NDArray[np.float64] = graph.derived(adjacency) @ values
        return total
    spread = root * values
    for factor in reversed(graph.derived(_factors)):
        spread = factor @ spread
    return root * spread - values


def adjacency(graph: Graph) -> sp.csr_array:
    """Return the weights of the edges: A, float64 `[nodes, nodes]`."""
    row, col = graph.edge_index.cpu().numpy()
    weights = np.ones(len(row)) if graph.edge_weights is None else graph.edge_weights.double().cpu().numpy()
    return sp.csr_array((weights, (row, col)), shape=(graph.num_nodes, graph.num_nodes))


def _factors(graph: Graph) -> tuple[sp.csr_array, ...]:
    factors = graph.propagation.factors if isinstance(graph.propagation, Chain) else ()
    return tuple(factor.to_scipy().astype(np.float64) for factor in factors)


def unit_rows(graph: Graph) -> sp.csr_array:
    """Return the features with each row scaled to length 1: float64 `[nodes, features]`."""
    return _unit_rows(sp.csr_array(_numbers(graph)).astype(np.float64))


def _numbers(graph: Graph) -> Floats | sp.csr_array:
    return graph.x.cpu().numpy() if isinstance(graph.x, Tensor) else graph.x.to_scipy()


def _unit_rows(x: sp.csr_array) -> sp.csr_array:
    """Scale each row to length 1; a row of zeros stays zero."""
    length = np.sqrt(np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64))
    factor = 1 / np.where(length > 0, length, 1)
    return sp.csr_array(sp.diags_array(factor.astype(x.dtype)) @ x)


def _basis(x: Floats | sp.csr_array) -> Floats:
    """Return the V of X ≈ U S Vᵀ, the strongest directions first: float32 `[features, directions]`."""
    from sklearn.utils.extmath import randomized_svd

    _, _, directions = randomized_svd(x, min(DIRECTIONS, *x.shape), n_iter=4, random_state=0)
    return np.ascontiguousarray(directions.T, dtype=np.float32)
