"""MoNet (Monti et al., 2017): edges weighed by learned Gaussian kernels of the degrees at their ends.

    u_ij = (dᵢ^-1/2, dⱼ^-1/2),    ũ_ij = tanh(u_ij A + b),    w_ijk = exp(-½ Σ_r p_kr² (ũ_ijr - μ_kr)²),
    H = ReLU(1/dᵢ Σₖ Σⱼ w_ijk xⱼ Wₖ),    and the same once more for the logits,

where j runs over i and its neighbours, d are the degrees with self-loops, and k = 1 … K. Each layer has its own A, b, μ
and p. A node without neighbours has u = (1, 1), so on the null graph a layer is X Σₖ wₖ Wₖ.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.models.neighbourhood import neighbours_and_self
from graphmix.sparse import SparseMatrix, matmul, per_trial, product, weigh
from graphmix.streams import Noise, Purpose, Streams


@dataclass(frozen=True, eq=False)
class MoNet(Backbone):
    """Two layers of Gaussian kernels with ReLU between them; on the null graph a net with one hidden layer.

    Attributes:
        kernels: K, number of Gaussian kernels of a layer; their weights Wₖ stand side by side.
        coordinates: number of entries of ũ.
    """

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True

    kernels: int = 3
    coordinates: int = 2

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights, kernel by kernel; the precisions start at 1, biases and shifts at 0."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        kernels, width = options.get("kernels", cls.kernels), options.get("coordinates", cls.coordinates)
        weights = {}
        for layer, size in (("conv1", (features, hidden)), ("conv2", (hidden, classes))):
            drawn = [glorot(noise, *size).detach() for _ in range(kernels)]
            weights[f"{layer}.weight"] = torch.cat(drawn, dim=2).requires_grad_()
            weights[f"{layer}.map"] = glorot(noise, 2, width)
            weights[f"{layer}.shift"] = zeros(noise, width)
            weights[f"{layer}.mean"] = glorot(noise, kernels, width)
            weights[f"{layer}.precision"] = torch.ones_like(weights[f"{layer}.mean"]).requires_grad_()
        if bias:
            weights |= {"conv1.bias": zeros(noise, hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN, with weights and a mapped state for every kernel, and a few values for every kernel and edge."""
        kernels, width = options.get("kernels", cls.kernels), options.get("coordinates", cls.coordinates)
        return replace(
            super().footprint(graph, hidden, classes, **options),
            logits_width=kernels * classes,
            inner_weights=(kernels - 1) * hidden * graph.num_features + 2 * width * (3 + 2 * kernels),
            hidden_states=12 + 6 * kernels,
            entries=(2 * graph.num_edges + graph.num_nodes) * kernels * (width + 1),
        )

    def first_weight(self, graph: GraphLike) -> Tensor:
        """The weights of all kernels."""
        return self._weight("conv1", graph)

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute ReLU of the first layer: `[trials, nodes, hidden]`."""
        mapped = linear(x, self.first_weight(graph), self.input_dropout, noise)
        return self._gather(mapped, graph, "conv1").relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the second layer: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self._weight("conv2", graph))
        return self._gather(mapped, graph, "conv2")

    def _weight(self, layer: str, graph: GraphLike) -> Tensor:
        """The weights of all kernels side by side `[trials, in, kernels * out]`; without edges Σₖ wₖ Wₖ."""
        weight = self.weights[f"{layer}.weight"]
        if graph.num_edges > 0:
            return weight
        shares = self._kernels(weight.new_ones(1, 2), layer)
        total: Tensor = (weight.unflatten(2, (self.kernels, -1)) * shares[..., None]).sum(dim=2)
        return total

    def _gather(self, mapped: Tensor, graph: GraphLike, layer: str) -> Tensor:
        if graph.num_edges > 0:
            ends = graph.derived(_degrees_at_ends)
            # The first of u, squared, is 1/dᵢ.
            shares = self._kernels(ends, layer) * ends[:, :1].square()
            shares = shares.repeat_interleave(mapped.shape[0] // shares.shape[0], dim=0)
            values = mapped.unflatten(2, (self.kernels, -1))
            mapped = weigh(graph.derived(neighbours_and_self), shares, values).sum(dim=2)
        return add_bias(mapped, self.weights.get(f"{layer}.bias"))

    def _kernels(self, ends: Tensor, layer: str) -> Tensor:
        """Compute w from u `[edges, 2]`: `[trials, edges, kernels]`."""
        place = (matmul(ends, self.weights[f"{layer}.map"]) + self.weights[f"{layer}.shift"]).tanh()
        mean, precision = self.weights[f"{layer}.mean"], self.weights[f"{layer}.precision"]
        # The square, multiplied out: one product of [ũ², ũ, 1] with a matrix for all kernels.
        sharp = precision.square()
        terms = torch.cat([sharp, -2 * sharp * mean, (sharp * mean.square()).sum(dim=2, keepdim=True)], dim=2)
        distance = product(torch.cat([place.square(), place, torch.ones_like(place[..., :1])], dim=2), terms.mT)
        return (-0.5 * distance).exp()


def _degrees_at_ends(graph: GraphLike) -> Tensor:
    """d^-1/2 of a node and of its neighbour, for every entry of A + I: float32 `[entries, 2]`."""
    neighbours = graph.derived(neighbours_and_self)
    scale = neighbours.matrix.crow.diff().double().rsqrt().float()
    return torch.stack([scale[neighbours.per_head(1).row.long()], scale[neighbours.matrix.col.long()]], dim=1)
