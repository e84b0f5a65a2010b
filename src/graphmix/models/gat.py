"""The graph attention network (Veličković et al., 2018): two layers that weigh neighbours by attention."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.activations import elu
from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.models.neighbourhood import neighbours_and_self
from graphmix.sparse import SparseMatrix, attend, per_trial
from graphmix.streams import Noise, Purpose, Streams

SLOPE = 0.2


@dataclass(frozen=True, eq=False)
class GAT(Backbone):
    """Two attention layers with ELU between them; on the null graph, a net with one hidden layer.

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
            "conv1.source": glorot(noise, heads, hidden),
            "conv1.target": glorot(noise, heads, hidden),
            "conv2.weight": glorot(noise, heads * hidden, output_heads * classes),
            "conv2.source": glorot(noise, output_heads, classes),
            "conv2.target": glorot(noise, output_heads, classes),
        }
        if bias:
            weights |= {"conv1.bias": zeros(noise, heads * hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """Every head has its own hidden units and logits; every head of the first layer has a weight per edge."""
        heads, output_heads = options.get("heads", cls.heads), options.get("output_heads", cls.output_heads)
        return replace(
            super().footprint(graph, hidden, classes, **options),
            hidden_width=heads * hidden,
            logits_width=output_heads * classes,
            entries=heads * (2 * graph.num_edges + graph.num_nodes),
        )

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute ELU of the first layer: `[trials, nodes, heads * hidden]`."""
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        attended = self._attend(mapped, graph, "conv1", noise).flatten(2)
        return elu(add_bias(attended, self.weights.get("conv1.bias")))

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the second layer, the mean of its heads: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self.weights["conv2.weight"])
        attended = self._attend(mapped, graph, "conv2", noise)
        return add_bias(attended.mean(dim=2), self.weights.get("conv2.bias"))

    def _attend(self, mapped: Tensor, graph: GraphLike, layer: str, noise: Noise | None) -> Tensor:
        """Attend to neighbours: `[trials, nodes, heads * width]` to `[trials, nodes, heads, width]`."""
        source, target = self.weights[f"{layer}.source"], self.weights[f"{layer}.target"]
        heads = source.shape[1]
        values: Tensor = mapped.unflatten(2, (heads, -1))
        if graph.num_edges == 0:
            return values
        neighbours = graph.derived(neighbours_and_self)
        scores = per_trial(mapped, torch.cat([block_diagonal(source), block_diagonal(target)], dim=2))
        keep = None
        if noise is not None and self.attention_dropout > 0:
            keep = noise.keep(neighbours.matrix.nonzeros * heads, self.attention_dropout)
        return attend(neighbours, scores[..., :heads], scores[..., heads:], values, SLOPE, keep)


def block_diagonal(vectors: Tensor) -> Tensor:
    """Put each head's vector into its own column: `[trials, heads, width]` to `[trials, heads * width, heads]`.

    One product with this matrix is cheaper than products and sums head by head, most of all on a CPU.
    """
    own = torch.eye(vectors.shape[1], device=vectors.device, dtype=vectors.dtype)
    return (vectors[..., None] * own[:, None]).flatten(1, 2)
