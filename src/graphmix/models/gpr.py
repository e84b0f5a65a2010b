"""GPR-GNN (Chien et al., 2021): a node-wise net whose logits are propagated, with a learned weight for every hop."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, linear, two_layers_of
from graphmix.sparse import SparseMatrix, matmul, per_trial, sum_of_powers
from graphmix.streams import Noise, Purpose, Streams

_HOPS = "hops"


@dataclass(frozen=True, eq=False)
class GPR(Backbone):
    """Σₖ γₖ Âᵏ Z with Z = ReLU(X W₁) W₂ and k = 0 … K; on the null graph Z Σₖ γₖ, a net with one hidden layer.

    Where neighbours mislead, the weights of far hops can become small or negative. They are not decayed: a penalty
    would pull the network away from the graph.

    Attributes:
        hops: K, how many times logits are propagated.
        teleport: α of the personalised PageRank whose weights are the initial γ.
    """

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 0

    hops: int = 10
    teleport: float = 0.1

    @property
    def reach(self) -> int | None:
        """K hops."""
        return self.hops

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; those of the hops start as PageRank's, biases at zero."""
        noise = streams.at(Purpose.WEIGHTS)
        weights = two_layers_of(noise, sizes, bias=bias)
        model = cls(weights, **options)
        start = page_rank(model.hops, model.teleport).to(noise.keys.device)
        return replace(model, weights=weights | {_HOPS: start.repeat(noise.keys.shape[0], 1).requires_grad_()})

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN, with a weight for every hop."""
        usual = super().footprint(graph, hidden, classes, **options)
        return replace(usual, inner_weights=options.get("hops", cls.hops) + 1)

    def decay_of(self, name: str, usual: float) -> float:
        """Leave the weights of the hops without decay."""
        return 0.0 if name == _HOPS else usual

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H = ReLU(X W₁), node by node: `[trials, nodes, hidden]`."""
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        return add_bias(mapped, self.weights.get("conv1.bias")).relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute Σₖ γₖ Âᵏ H W₂: `[trials, nodes, classes]`."""
        logits = self.logits_of_hidden(drop(hidden, self.hidden_dropout, noise))
        weights = self.weights[_HOPS]
        weights = weights.repeat_interleave(logits.shape[0] // weights.shape[0], dim=0)
        propagation = graph.propagation
        if propagation is None:
            # Â is the identity, and so are its powers.
            return logits * weights.sum(dim=1)[:, None, None]
        return sum_of_powers(propagation, weights, logits)

    def logits_of_hidden(self, hidden: Tensor) -> Tensor:
        """Compute H W₂, node by node."""
        return add_bias(per_trial(hidden, self.weights["conv2.weight"]), self.weights.get("conv2.bias"))

    def weights_at(self, marks: Tensor, graph: GraphLike) -> Tensor:
        """Compute Σₖ γₖ Âᵏ m for the marks m: Â is symmetric, so this is the sum of its powers' marked rows."""
        return sum_over_hops(self.weights[_HOPS], marks, graph)


def sum_over_hops(weights: Tensor, marks: Tensor, graph: GraphLike) -> Tensor:
    """Compute Σₖ wₖ Âᵏ m, given weights w `[trials, hops + 1]` and marks m `[nodes]`: `[trials, nodes]`."""
    if graph.propagation is None:
        return weights.sum(dim=1, keepdim=True) * marks
    spread = marks[None, :, None]
    total = weights[:, :1] * marks
    for hop in range(1, weights.shape[1]):
        spread = matmul(graph.propagation, spread)
        total = total + weights[:, hop : hop + 1] * spread[0, :, 0]
    return total


def page_rank(hops: int, teleport: float) -> Tensor:
    """Weights of 0 … K hops in personalised PageRank: α (1 - α)ᵏ, and (1 - α)ᴷ for the last; they sum to 1.

    Example:
        >>> page_rank(2, 0.5).tolist()
        [0.5, 0.25, 0.25]
    """
    left = (1 - teleport) ** torch.arange(hops + 1, dtype=torch.float32)
    return torch.cat([teleport * left[:-1], left[-1:]])
