"""GATv2 (Brody, Alon and Yahav, 2022): attention whose ranking of the neighbours can differ from node to node.

For every head, with s_j = W x_j and t_i = V x_i,

    z_ij = ⟨a, LeakyReLU(t_i + s_j)⟩,    α_ij = softmax over j of z_ij,    out_i = Σ_j d_ij α_ij s_j,

where j runs over i and its neighbours, and d_ij is dropout. In a GAT the vector a is inside, LeakyReLU outside.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.models.activations import elu
from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.models.gat import SLOPE, block_diagonal
from graphmix.models.neighbourhood import neighbours_and_self
from graphmix.sparse import SparseMatrix, at_edges, attend_by, per_trial
from graphmix.streams import Noise, Purpose, Streams


@dataclass(frozen=True, eq=False)
class GATv2(Backbone):
    """Two attention layers with ELU between them; on the null graph, a net with one hidden layer and the weights W.

    Hidden units are counted per head: the hidden state is `heads * hidden` wide.

    Attributes:
        attention_dropout: the share of the attention weights dropped in training; none on the null graph.
        heads: number of heads in the first layer; their outputs are concatenated.
        output_heads: number of heads in the second layer; their outputs are averaged.
    """

    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 1
    decode_hops: ClassVar[int | None] = 1

    attention_dropout: float = 0.5
    heads: int = 8
    output_heads: int = 1

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights, the attention vectors' as `[heads, width]` matrices; biases start at zero."""
        features, hidden, classes = sizes
        heads, output_heads = options.get("heads", cls.heads), options.get("output_heads", cls.output_heads)
        noise = streams.at(Purpose.WEIGHTS)
        weights = {
            "conv1.weight": glorot(noise, features, heads * hidden),
            "conv1.targets": glorot(noise, features, heads * hidden),
            "conv1.attention": glorot(noise, heads, hidden),
            "conv2.weight": glorot(noise, heads * hidden, output_heads * classes),
            "conv2.targets": glorot(noise, heads * hidden, output_heads * classes),
            "conv2.attention": glorot(noise, output_heads, classes),
        }
        if bias:
            weights |= {"conv1.bias": zeros(noise, heads * hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GAT, with twice the weights, and a value for every edge and unit of a layer, not only for every head."""
        heads, output_heads = options.get("heads", cls.heads), options.get("output_heads", cls.output_heads)
        width, edges = heads * hidden, 2 * graph.num_edges + graph.num_nodes
        return replace(
            super().footprint(graph, hidden, classes, **options),
            hidden_width=width,
            logits_width=2 * output_heads * classes,
            inner_weights=width * graph.num_features + width + output_heads * classes,
            hidden_states=16,
            entries=edges * max(width, output_heads * classes),
        )

    def first_weight(self, graph: GraphLike) -> Tensor:
        """W and V side by side."""
        return self._weight("conv1", graph)

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute ELU of the first layer: `[trials, nodes, heads * hidden]`."""
        mapped = linear(x, self.first_weight(graph), self.input_dropout, noise)
        attended = self._attend(mapped, graph, "conv1", noise).flatten(2)
        return elu(add_bias(attended, self.weights.get("conv1.bias")))

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the second layer, the mean of its heads: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self._weight("conv2", graph))
        attended = self._attend(mapped, graph, "conv2", noise)
        return add_bias(attended.mean(dim=2), self.weights.get("conv2.bias"))

    def _weight(self, layer: str, graph: GraphLike) -> Tensor:
        """W and V side by side `[trials, in, 2 * out]`, for one product; without edges W alone."""
        values = self.weights[f"{layer}.weight"]
        return values if graph.num_edges == 0 else torch.cat([values, self.weights[f"{layer}.targets"]], dim=2)

    def _attend(self, mapped: Tensor, graph: GraphLike, layer: str, noise: Noise | None) -> Tensor:
        """Attend to neighbours: `[trials, nodes, 2 * heads * width]` to `[trials, nodes, heads, width]`."""
        attention = self.weights[f"{layer}.attention"]
        heads = attention.shape[1]
        if graph.num_edges == 0:
            values: Tensor = mapped.unflatten(2, (heads, -1))
            return values
        source, target = mapped.chunk(2, dim=2)
        neighbours = graph.derived(neighbours_and_self)
        joint = F.leaky_relu(at_edges(neighbours, target, source), SLOPE)
        scores = per_trial(joint, block_diagonal(attention))
        keep = None
        if noise is not None and self.attention_dropout > 0:
            keep = noise.keep(neighbours.matrix.nonzeros * heads, self.attention_dropout)
        return attend_by(neighbours, scores, source.unflatten(2, (heads, -1)), keep)
