"""GCNII (Chen et al., 2020): a deep GCN whose layers keep a share of the first state, and of their own input.

    H₀ = ReLU(X W₁),    Sₗ = (1 - α) Â Hₗ₋₁ + α H₀,    Hₗ = ReLU(Sₗ ((1 - βₗ) I + βₗ Uₗ)),    logits H_L W₂,

with l = 1 … L and βₗ = log(λ / l + 1). Training drops entries of the input and of every Hₗ. The layers' weights Uₗ have
an L2 penalty of their own.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.sparse import SparseMatrix, matmul, per_trial
from graphmix.streams import Noise, Purpose, Streams

_LAYERS = "layers.weight"


@dataclass(frozen=True, eq=False)
class GCN2(Backbone):
    """A layer for the features, L convolutions, a layer for the classes; on the null graph a deep node-wise net.

    The hidden state, where nodes are mixed, is H₀.

    Attributes:
        layers: L, number of convolutions.
        teleport: α, the share of H₀ in every convolution.
        layer_strength: λ, from which follows how far a convolution is from the identity.
        layer_decay: weight decay of the convolutions' weights, in place of the config's.
    """

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 0

    layers: int = 64
    teleport: float = 0.1
    layer_strength: float = 0.5
    layer_decay: float = 0.01

    @property
    def reach(self) -> int | None:
        """A hop for every convolution."""
        return self.layers

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases of the first and the last layer, if asked for, start at zero."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        weights = {
            "conv1.weight": glorot(noise, features, hidden),
            "conv2.weight": glorot(noise, hidden, classes),
        }
        drawn = [glorot(noise, hidden, hidden).detach() for _ in range(options.get("layers", cls.layers))]
        weights[_LAYERS] = torch.stack(drawn, dim=1).requires_grad_()
        if bias:
            weights |= {"conv1.bias": zeros(noise, hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN, with weights, states and a dropout mask for every layer."""
        layers = options.get("layers", cls.layers)
        usual = super().footprint(graph, hidden, classes, **options)
        return replace(usual, inner_weights=layers * hidden * hidden, hidden_states=12 + 4 * layers)

    def decay_of(self, name: str, usual: float) -> float:
        """Decay the convolutions by their own rate."""
        return self.layer_decay if name == _LAYERS else usual

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H₀ = ReLU(X W₁), node by node: `[trials, nodes, hidden]`."""
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        return add_bias(mapped, self.weights.get("conv1.bias")).relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the convolutions from H₀, and H_L W₂: `[trials, nodes, classes]`."""
        state, propagation = hidden, graph.propagation
        own = torch.eye(hidden.shape[2], device=hidden.device)
        for number, weight in enumerate(self.weights[_LAYERS].unbind(1), 1):
            state = drop(state, self.hidden_dropout, noise)
            gathered = state if propagation is None else matmul(propagation, state)
            support = (1 - self.teleport) * gathered + self.teleport * hidden
            share = math.log(self.layer_strength / number + 1)
            state = per_trial(support, (1 - share) * own + share * weight).relu()
        mapped = per_trial(drop(state, self.hidden_dropout, noise), self.weights["conv2.weight"])
        return add_bias(mapped, self.weights.get("conv2.bias"))
