"""DisenGCN (Ma et al., 2019): channels, between which every node divides each of its neighbours by routing.

H = ReLU(X W₁) is cut into K channels. A layer brings every channel of every node to length 1, z_ik, and then repeats

    c_ik = z_ik + Σⱼ p_ijk z_jk,    p_ijk = softmax over k of ⟨z_jk, c_ik / |c_ik|⟩,

T times over i's neighbours j, the first time with p = 1/K. Its output is ReLU(c); the logits are the last one times W₂.
Training drops entries of every layer's output. Layers have no weights. Without edges a layer is z.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.models.neighbourhood import neighbours_alone
from graphmix.sparse import Neighbours, SparseMatrix, compare, per_trial, weigh
from graphmix.streams import Noise, Purpose, Streams

# Lengths are compared with 1e-6; this is its square.
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class DisenGCN(Backbone):
    """A layer for the features, L layers of routing, a layer for the classes; on the null graph a node-wise net.

    Hidden units are counted per channel: the hidden state, where nodes are mixed, is `channels * hidden` wide.

    Attributes:
        channels: K, number of channels.
        layers: L, number of layers of routing.
        routing_steps: T, how often a layer divides the neighbours anew.
    """

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 0

    channels: int = 7
    layers: int = 5
    routing_steps: int = 6

    @property
    def reach(self) -> int | None:
        """A hop for every layer of routing."""
        return self.layers

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases, if asked for, start at zero."""
        features, hidden, classes = sizes
        width = options.get("channels", cls.channels) * hidden
        noise = streams.at(Purpose.WEIGHTS)
        weights = {"conv1.weight": glorot(noise, features, width), "conv2.weight": glorot(noise, width, classes)}
        if bias:
            weights |= {"conv1.bias": zeros(noise, width), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """Some states, and three values for every channel and edge, are kept for every step of the routing."""
        channels = options.get("channels", cls.channels)
        steps = options.get("layers", cls.layers) * options.get("routing_steps", cls.routing_steps)
        return replace(
            super().footprint(graph, hidden, classes, **options),
            hidden_width=channels * hidden,
            hidden_states=12 + 6 * steps,
            entries=2 * graph.num_edges * channels * max(hidden, steps // 2) + graph.num_nodes,
        )

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H = ReLU(X W₁), node by node: `[trials, nodes, channels * hidden]`."""
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        return add_bias(mapped, self.weights.get("conv1.bias")).relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the layers of routing, and from the last the logits: `[trials, nodes, classes]`."""
        state = hidden
        neighbours = graph.derived(neighbours_alone) if graph.num_edges > 0 else None
        for _ in range(self.layers):
            channels = _to_length_one(state.unflatten(2, (self.channels, -1)))
            routed = channels if neighbours is None else self._route(channels, neighbours)
            state = drop(routed.flatten(2).relu(), self.hidden_dropout, noise)
        mapped = per_trial(state, self.weights["conv2.weight"])
        return add_bias(mapped, self.weights.get("conv2.bias"))

    def _route(self, channels: Tensor, neighbours: Neighbours) -> Tensor:
        """Divide the neighbours between the channels: `[trials, nodes, channels, hidden]` to the same."""
        even = channels.new_full((channels.shape[0], neighbours.matrix.nonzeros, self.channels), 1 / self.channels)
        centre = channels + weigh(neighbours, even, channels)
        for _ in range(self.routing_steps - 1):
            shares = torch.softmax(compare(neighbours, _to_length_one(centre), channels), dim=2)
            centre = channels + weigh(neighbours, shares, channels)
        return centre


def _to_length_one(vectors: Tensor) -> Tensor:
    """Divide vectors `[..., width]` by their lengths; those of length 0 stay 0."""
    return vectors / (vectors.square().sum(dim=-1, keepdim=True) + _TINY).sqrt()
