"""The classifier of GraphSGAN (Ding et al., 2018): a deep net on features, fused with the neighbours', and embeddings.

    input = [½ x + ½ mean of the neighbours' x, embedding],   hₖ = ELU(hₖ₋₁ Wₖ + bₖ), k = 1 … 5,   logits = s ∘ h₅ V + b

The columns of every W and V have length 1 (weight norm); s is learned. In training Gaussian noise is added to the input
and to every h, except where h₅ is compared between real and generated nodes.
"""

from dataclasses import replace
from inspect import signature
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.models.activations import elu
from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, glorot, zeros
from graphmix.sparse import SparseMatrix, matmul, product
from graphmix.streams import Noise, Purpose, Streams

EMBEDDING, INPUT_NOISE, HIDDEN_NOISE = 128, 0.05, 0.5
_LAYERS = 5
# What the generator takes, in widths of the first layer: its own layers.
_GENERATED = 200
# Matrices of so many rows are taken apart as dense ones.
_DENSE = 500
# Shares below this are rounding.
_ROUNDING = 1e-6

Floats = NDArray[np.float64]


class SGAN(Backbone):
    """A net with five hidden layers; half of them as wide as the first two. It belongs to the method graphsgan."""

    first: ClassVar[str] = "layer1.weight"

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw weights, whose length does not matter; biases start at zero, whether asked for or not."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        wide = widths(features, hidden)
        weights = {}
        for layer in range(1, _LAYERS + 1):
            weights[f"layer{layer}.weight"] = glorot(noise, wide[layer - 1], wide[layer])
            weights[f"layer{layer}.bias"] = zeros(noise, wide[layer])
        weights["final.weight"] = glorot(noise, wide[-1], classes)
        weights["final.bias"] = zeros(noise, classes)
        weights["final.scale"] = (zeros(noise, classes).detach() + 1).requires_grad_()
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As wide as its first layer; the inner weights include the generator's."""
        wide = widths(graph.num_features, hidden)
        inner = sum(before * after for before, after in pairwise(wide[1:]))
        inner += EMBEDDING * hidden + hidden * (_GENERATED + hidden + wide[0])
        usual = super().footprint(graph, hidden, classes, **options)
        return replace(usual, inner_weights=inner, hidden_states=6)

    @property
    def features(self) -> int:
        """How many features it takes, without the embedding."""
        return super().features - EMBEDDING

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute h₅ of all nodes: `[trials, nodes, hidden]`; the features are the graph's own."""
        rows = graph.derived(inputs)
        return self.run(rows.expand(self.trials, -1, -1), noise)[0]

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute logits: `[trials, nodes, classes]`."""
        weight = unit(self.weights["final.weight"]) * self.weights["final.scale"]
        return product(hidden, weight) + self.weights["final.bias"]

    def run(self, rows: Tensor, noise: Noise | None) -> tuple[Tensor, Tensor]:
        """Compute h₅ and logits of inputs `[trials, rows, width]`, with noise in training."""
        values = rows if noise is None else rows + INPUT_NOISE * noise.bell(rows[0].numel()).view(rows.shape)
        hidden = values
        for layer in range(1, _LAYERS + 1):
            weight = unit(self.weights[f"layer{layer}.weight"])
            hidden = elu(product(values, weight) + self.weights[f"layer{layer}.bias"])
            values = (
                hidden if noise is None else hidden + HIDDEN_NOISE * noise.bell(hidden[0].numel()).view(hidden.shape)
            )
        weight = unit(self.weights["final.weight"]) * self.weights["final.scale"]
        return hidden, product(values, weight) + self.weights["final.bias"]


def widths(features: int, hidden: int) -> tuple[int, ...]:
    """The width of the input and of each hidden layer."""
    half = max(1, hidden // 2)
    return (features + EMBEDDING, hidden, hidden, half, half, half)


def unit(weight: Tensor) -> Tensor:
    """Scale the columns of weights `[trials, rows, columns]` to length 1."""
    return weight * weight.square().sum(dim=1, keepdim=True).clamp_min(1e-24).rsqrt()


def inputs(graph: Any) -> Tensor:
    """The input of all nodes, dense: `[nodes, features + EMBEDDING]`.

    Features are scaled so that the mean of their non-zeros is 1: noise is added to them.
    """
    x = graph.x.to_dense() if isinstance(graph.x, SparseMatrix) else graph.x
    x = x / (x.abs().sum() / (x != 0).sum().clamp_min(1)).clamp_min(1e-12)
    mean = graph.neighbour_mean
    fused = x if mean is None else torch.where(_lonely(graph), x, (x + matmul(mean, x[None])[0]) / 2)
    return torch.cat([fused, _embedding(graph).to(fused)], dim=1)


def _lonely(graph: Any) -> Tensor:
    """Which nodes have no neighbours: bool `[nodes, 1]`."""
    return torch.bincount(graph.edge_index[0], minlength=graph.num_nodes)[:, None] == 0


def _embedding(graph: Any) -> Tensor:
    """LINE (Tang et al., 2015) in closed form (Qiu et al., 2018): factors of log(vol A / (dᵢ dⱼ)), where above 0."""
    nodes = graph.num_nodes
    out = np.zeros((nodes, EMBEDDING))
    size = min(EMBEDDING, nodes - 1)
    if graph.num_edges and size > 0:
        row, col = graph.edge_index.cpu().numpy()
        weights = np.ones(len(row)) if graph.edge_weights is None else graph.edge_weights.double().cpu().numpy()
        strength = np.bincount(row, weights, minlength=nodes)
        known = np.log(strength.sum() * weights / (strength[row] * strength[col]))
        # Not exactly 0: scipy refuses a matrix of zeros.
        matrix = sp.csr_array((np.maximum(known, 1e-6), (row, col)), shape=(nodes, nodes))
        values, vectors = _largest(matrix, size)
        rows = vectors * np.sqrt(np.abs(values))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        # A node without neighbours has 0, which rounding would give a direction.
        rows = np.where(lengths > _ROUNDING * lengths.max(), rows, 0.0) / np.maximum(lengths, 1e-12)
        out[:, : len(values)] = rows / np.maximum(np.abs(rows).max(axis=0), 1e-12)
    return torch.from_numpy(out).float()


def _drawn_alike() -> dict[str, Any]:
    """The option that fixes what `eigsh` draws; scipy before 1.17 has none."""
    return {"rng": np.random.default_rng(0)} if "rng" in signature(sp.linalg.eigsh).parameters else {}


def _largest(matrix: sp.csr_array, size: int) -> tuple[Floats, Floats]:
    """Return the eigenvalues of a symmetric matrix that are farthest from 0, and their vectors `[nodes, values]`.

    They are the singular values and vectors but for signs. In each vector the number farthest from 0 is positive, and
    values that are 0 but for rounding are left out: what is returned is the same on every machine, to rounding, if no
    other values are equal.
    """
    nodes = matrix.shape[0]
    if nodes <= _DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
    else:
        # A given start vector: by default scipy draws one. On graphs of equal components it draws again on its way.
        values, vectors = sp.linalg.eigsh(matrix, k=size, v0=np.linspace(1, 2, nodes), **_drawn_alike())
    sizes = np.abs(values) / np.abs(values).max()
    # Of two values that differ in sign alone, as a pair of nodes has them, the positive one comes first.
    order = np.lexsort((values < 0, -np.round(sizes, 9)))[:size]
    order = order[sizes[order] > _ROUNDING]
    values, vectors = values[order], vectors[:, order]
    far = np.abs(vectors)
    # The first of those that are equally far but for rounding.
    first = (far >= (1 - _ROUNDING) * far.max(axis=0)).argmax(axis=0)
    return values, vectors * np.sign(vectors[first, np.arange(len(values))])
