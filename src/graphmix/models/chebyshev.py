"""Chebyshev filters (Defferrard, Bresson and Vandergheynst, 2016), in the two layers of Kipf and Welling (2017).

    H = ReLU(Σₖ Tₖ(L) X Wₖ),    logits Σₖ Tₖ(L) H Vₖ,    k = 0 … K,
    T₀ = 1,    T₁(L) = L,    Tₖ(L) = 2 L Tₖ₋₁(L) - Tₖ₋₂(L).

L is the rescaled Laplacian 2 (I - S) / λ - I with S = D^-1/2 A D^-1/2. The largest eigenvalue λ is taken as 2, its
upper bound, so L = -S. Without edges L = 0: T₀ = 1, T₁ = 0, T₂ = -1, T₃ = 0 and so on.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.sparse import SparseMatrix, matmul, per_trial
from graphmix.streams import Noise, Purpose, Streams


@dataclass(frozen=True, eq=False)
class Chebyshev(Backbone):
    """Two layers of Chebyshev filters with ReLU between them; on the null graph a net with weights W₀ - W₂ + W₄ - ….

    Attributes:
        order: K, the order of the largest polynomial. The weights of all orders stand side by side.
    """

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True

    order: int = 2

    @property
    def reach(self) -> int | None:
        """K hops in each of the two layers."""
        return 2 * self.order

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights, order by order; biases, if asked for, start at zero."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        terms = options.get("order", cls.order) + 1
        weights = {
            name: torch.cat([glorot(noise, *size).detach() for _ in range(terms)], dim=2).requires_grad_()
            for name, size in (("conv1.weight", (features, hidden)), ("conv2.weight", (hidden, classes)))
        }
        if bias:
            weights |= {"conv1.bias": zeros(noise, hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN, with weights and a mapped state for every order.

        In a graph of links both factors of S have an entry more for every node.
        """
        order = options.get("order", cls.order)
        return replace(
            super().footprint(graph, hidden, classes, **options),
            logits_width=(order + 1) * classes,
            inner_weights=order * hidden * graph.num_features,
            hidden_states=12 + 4 * order,
            entries=graph.num_propagated + 2 * graph.num_nodes,
        )

    def decay_of(self, name: str, usual: float) -> float:
        """Decay the first layer alone, as Kipf and Welling do."""
        return usual if name.startswith("conv1.") else 0.0

    def first_weight(self, graph: GraphLike) -> Tensor:
        """The weights of all orders."""
        return self._weight("conv1", graph)

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute ReLU(Σₖ Tₖ(L) X Wₖ): `[trials, nodes, hidden]`."""
        mapped = linear(x, self.first_weight(graph), self.input_dropout, noise)
        return self._filter(mapped, graph, "conv1").relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute Σₖ Tₖ(L) H Vₖ: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self._weight("conv2", graph))
        return self._filter(mapped, graph, "conv2")

    def _weight(self, layer: str, graph: GraphLike) -> Tensor:
        """The weights of all orders `[trials, in, orders * out]`; without edges their sum W₀ - W₂ + W₄ - …."""
        weight = self.weights[f"{layer}.weight"]
        if graph.num_edges > 0:
            return weight
        total, *others = weight.chunk(self.order + 1, dim=2)[::2]
        for number, term in enumerate(others):
            total = total + term if number % 2 else total - term
        return total

    def _filter(self, mapped: Tensor, graph: GraphLike, layer: str) -> Tensor:
        adjacency = graph.normalised_adjacency
        if adjacency is not None:
            # Clenshaw's rule, from the largest order down: Bₖ = Zₖ + 2 L Bₖ₊₁ - Bₖ₊₂ and Z₀ + L B₁ - B₂.
            first, *others = mapped.chunk(self.order + 1, dim=2)
            above, before = others[-1], torch.zeros_like(first)
            for term in others[-2::-1]:
                above, before = term - 2 * matmul(adjacency, above.contiguous()) - before, above
            mapped = first - matmul(adjacency, above.contiguous()) - before
        return add_bias(mapped, self.weights.get(f"{layer}.bias"))
