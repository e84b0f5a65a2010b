"""Structural features, for nodes without columns: they describe a node's place in the graph.

They are the logarithm of the degree, and FastRP (Chen et al., 2019, Fast and Accurate Network Embeddings via Very
Sparse Random Projection): every node has a random vector, and a node's features are the averages of these vectors over
its neighbourhoods of one, two and three steps. The random vector is drawn from a hash of the node's id, so it is the
same on every machine, and does not change when the graph grows.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphmix.errors import DataError
from graphmix.tables.stored import real

STEPS = 3
DIMENSIONS = 21
WIDTH = 1 + STEPS * DIMENSIONS
# Of the 256 values of a byte, about a sixth give +1, a sixth -1, and the others 0 (Achlioptas, 2003).
_SIGNED = 43
_MOST = 10.0


@dataclass(frozen=True)
class Structural:
    """Structural features, scaled to the degrees of the graph they were fitted to; nothing else is fitted.

    Attributes:
        mean: the mean of the logarithms of the degrees.
        std: their standard deviation, 0 if they are all the same.
    """

    mean: float
    std: float

    @classmethod
    def fit(cls, pairs: NDArray[np.int64], nodes: int) -> "Structural":
        """Learn the scale from edges `[2, edges]`, given as node numbers."""
        logs = _log_degrees(_adjacency(pairs, None, nodes))
        # Exact sums, because numpy may add in another order on another machine.
        mean = _exact_mean(logs)
        return cls(mean, float(np.sqrt(_exact_mean((logs - mean) ** 2))))

    def encode(
        self, ids: Sequence[str], pairs: NDArray[np.int64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float32]:
        """Return features for the nodes of the graph it was fitted to, or of a larger one.

        Args:
            ids: `[nodes]`.
            pairs: `[2, edges]`, node numbers; directions, loops and repeats do not matter.
            weights: `[edges]`, not negative; they weight the averages over neighbours.

        Returns:
            float32 `[nodes, 64]`: the scaled degree, and for each number of steps a vector of length 1, or of zeros if
            a node has no neighbours.
        """
        joined = _adjacency(pairs, weights, len(ids))
        logs = _log_degrees(joined)
        degree = np.clip((logs - self.mean) / self.std, -_MOST, _MOST) if self.std > 0 else np.zeros_like(logs)
        return np.hstack([degree[:, None], *_projections(ids, joined)]).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """Return plain data, for a JSON file."""
        return {"mean": self.mean, "std": self.std}

    @classmethod
    def from_json(cls, value: Any) -> "Structural":
        """Read what `to_json` returned.

        Raises:
            DataError: it is damaged.
        """
        mean, std = real(value, "mean"), real(value, "std")
        if std < 0:
            raise DataError("the structural features are damaged: std is negative")
        return cls(mean, std)


def _adjacency(pairs: NDArray[np.int64], weights: NDArray[np.float64] | None, nodes: int) -> sp.csr_array:
    """Return the symmetric matrix `[nodes, nodes]` of weights scaled to at most 1, without loops.

    If an edge is repeated, or given in both directions, its largest weight is used.
    """
    values = np.ones(pairs.shape[1]) if weights is None else weights / max(weights.max(initial=0), 1e-300)
    between = pairs[0] != pairs[1]
    source, target = pairs[:, between]
    keys = np.concatenate([source * nodes + target, target * nodes + source])
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], np.tile(values[between], 2)[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1) > 0)
    keys, values = keys[first], np.maximum.reduceat(values, first) if len(first) else values
    return sp.csr_array((values, (keys // nodes, keys % nodes)), shape=(nodes, nodes))


def _log_degrees(adjacency: sp.csr_array) -> NDArray[np.float64]:
    degrees: NDArray[np.float64] = np.log1p(np.diff(adjacency.indptr).astype(np.float64))
    return degrees


def _projections(ids: Sequence[str], adjacency: sp.csr_array) -> list[NDArray[np.float64]]:
    """Average the nodes' random vectors over neighbourhoods: `STEPS` times `[nodes, DIMENSIONS]`."""
    strength = adjacency.sum(axis=1)
    inverse = np.divide(1.0, strength, out=np.zeros_like(strength), where=strength > 0)
    average = sp.csr_array(sp.diags_array(inverse) @ adjacency)
    # Hubs say little about their neighbours: the paper scales by the degree to the power -1/2.
    spread = _random_rows(ids) * np.sqrt(inverse)[:, None]
    blocks = []
    for _ in range(STEPS):
        spread = average @ spread
        lengths = np.sqrt((spread**2).sum(axis=1, keepdims=True))
        blocks.append(np.divide(spread, lengths, out=np.zeros_like(spread), where=lengths > 0))
    return blocks


def _random_rows(ids: Sequence[str]) -> NDArray[np.float64]:
    """Draw a sparse vector of -1, 0 and +1 for every id: `[nodes, DIMENSIONS]`."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=DIMENSIONS).digest() for name in ids)
    drawn = np.frombuffer(digests, dtype=np.uint8).reshape(len(ids), DIMENSIONS)
    return (drawn < _SIGNED).astype(np.float64) - (drawn >= 256 - _SIGNED)


def _exact_mean(values: NDArray[np.float64]) -> float:
    return math.fsum(values.tolist()) / max(len(values), 1)
