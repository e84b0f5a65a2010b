"""GraphSAGE (Hamilton et al., 2017): a node and the mean of its neighbours, each with weights of its own."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.sparse import SparseMatrix, matmul, per_trial
from graphmix.streams import Noise, Purpose, Streams


class SAGE(Backbone):
    """ReLU(X W₁ + M X V₁), then H W₂ + M H V₂, with M the neighbours' mean; on the null graph a net without the Vs."""

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 1
    decode_hops: ClassVar[int | None] = 1

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases, if asked for, start at zero."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        weights = {
            "conv1.weight": glorot(noise, features, hidden),
            "conv1.neighbours": glorot(noise, features, hidden),
            "conv2.weight": glorot(noise, hidden, classes),
            "conv2.neighbours": glorot(noise, hidden, classes),
        }
        if bias:
            weights |= {"conv1.bias": zeros(noise, hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN, with twice the weights; what is mapped for the neighbours is kept beside what is mapped for a node.

        In a graph of links both factors of the mean have an entry more for every node.
        """
        return replace(
            super().footprint(graph, hidden, classes, **options),
            logits_width=2 * classes,
            inner_weights=hidden * graph.num_features,
            hidden_states=16,
            entries=graph.num_propagated + 2 * graph.num_nodes,
        )

    def first_weight(self, graph: GraphLike) -> Tensor:
        """Both weights side by side."""
        return self._weight("conv1", graph)

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H = ReLU(X W₁ + M X V₁), one dropout mask for both: `[trials, nodes, hidden]`."""
        mapped = linear(x, self.first_weight(graph), self.input_dropout, noise)
        return self._gather(mapped, graph, "conv1").relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H W₂ + M H V₂: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self._weight("conv2", graph))
        return self._gather(mapped, graph, "conv2")

    def _weight(self, layer: str, graph: GraphLike) -> Tensor:
        """Both weights side by side `[trials, in, 2 * out]`, for one product; without edges the node's own alone."""
        own = self.weights[f"{layer}.weight"]
        return own if graph.num_edges == 0 else torch.cat([own, self.weights[f"{layer}.neighbours"]], dim=2)

    def _gather(self, mapped: Tensor, graph: GraphLike, layer: str) -> Tensor:
        mean = graph.neighbour_mean
        if mean is not None:
            # The mean is linear, so it comes after the map, which makes it narrower.
            own, others = mapped.chunk(2, dim=2)
            mapped = own + matmul(mean, others.contiguous())
        return add_bias(mapped, self.weights.get(f"{layer}.bias"))
