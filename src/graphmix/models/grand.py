"""The network of GRAND (Feng et al., 2020): a net with one hidden layer on features that were propagated at random.

    X̄ = Σₖ γₖ Âᵏ M X, k = 0 … K,   H = ReLU(X̄ W₁),   logits = H W₂

In training the diagonal matrix M leaves out whole nodes at random; in prediction it is (1 - δ) I, the mean. The weights
γₖ are 1/(K+1), or learned.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import (
    Backbone,
    Footprint,
    GraphLike,
    GraphSizes,
    add_bias,
    drop,
    linear,
    two_layers_of,
    zeros,
)
from graphmix.sparse import SparseMatrix, per_trial, product, sum_of_powers
from graphmix.sparse.ops import unpack
from graphmix.streams import Noise, Purpose, Streams

# X̄ is written out, one for each pass and trial, up to this many entries; Citeseer has 12 million.
MOST_WRITTEN = 2**25
_EPSILON, _MOMENTUM = 1e-5, 0.1
_PARTS = ("scale", "shift", "mean", "variance")
_HOPS = "hops"


@dataclass(frozen=True, eq=False)
class Grand(Backbone):
    """A net with one hidden layer on the mean of the propagated features; on the null graph, on the features.

    Dropout of the input belongs to X̄, which is dense, unless `input_dropout_at` is "features": then the non-zeros of X
    are dropped before they are propagated. So they are if X̄ is larger than `MOST_WRITTEN`.

    Attributes:
        hops: K, how many times the features are propagated.
        node_dropout: δ, the share of the nodes left out of a pass; none on the null graph.
        batch_norm: whether X̄ and H are normalised over all nodes, with running means for prediction.
        input_dropout_at: what dropout of the input drops: "propagated" or "features", which is far cheaper.
        hop_weights: whether γₖ stays 1/(K+1), "equal", or is trained from there, "learned", without weight decay. On
            the null graph X is multiplied by the sum of the weights.
    """

    reads_rows: ClassVar[bool] = True
    decode_hops: ClassVar[int | None] = 0

    hops: int = 10
    node_dropout: float = 0.5
    batch_norm: bool = False
    input_dropout_at: str = "propagated"
    hop_weights: str = "equal"

    @property
    def reach(self) -> int | None:
        """K hops."""
        return self.hops

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases start at zero, and batch norm as the identity."""
        features, hidden, _ = sizes
        noise = streams.at(Purpose.WEIGHTS)
        weights = two_layers_of(noise, sizes, bias=bias)
        if options.get("batch_norm", cls.batch_norm):
            weights |= _norm(noise, "norm1", features) | _norm(noise, "norm2", hidden)
        model = cls(weights, **options)
        if model.hop_weights == "learned":
            start = torch.full((len(noise.keys), model.hops + 1), 1 / (model.hops + 1), device=noise.keys.device)
            weights[_HOPS] = start.requires_grad_()
        return model

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN, and X̄ with what its gradient needs if it is written out."""
        usual = super().footprint(graph, hidden, classes, **options)
        norm = options.get("batch_norm", cls.batch_norm)
        written = graph.num_nodes * graph.num_features
        early = options.get("input_dropout_at", cls.input_dropout_at) == "features"
        whole = options.get("input_dropout", cls.input_dropout) == 0 or early or written > MOST_WRITTEN
        if whole and not norm:
            return usual
        # Twelve numbers are counted for an entry: there are about five copies of X̄, and three more if normalised.
        entries = max(usual.entries, written * (8 if norm else 5) // 12)
        inner = 4 * (graph.num_features + hidden) if norm else 0
        return replace(usual, entries=entries, inner_weights=inner)

    def decay_of(self, name: str, usual: float) -> float:
        """Leave the weights of the hops without decay."""
        return 0.0 if name == _HOPS else usual

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H = ReLU(X̄ W₁): `[trials, nodes, hidden]`."""
        if noise is not None and graph.num_edges and (self.batch_norm or self._writes(x)):
            spread = self._normalise(self._spread(x, graph, noise), "norm1", noise)
            mapped = per_trial(drop(spread, self.input_dropout, noise), self.weights["conv1.weight"])
        else:
            # X W₁ first: it is narrow.
            weight, shift = self._first()
            mapped = self._propagate(linear(x, weight, self.input_dropout, noise), graph, noise)
            mapped = add_bias(mapped, shift)
        hidden = add_bias(mapped, self.weights.get("conv1.bias")).relu()
        return self._normalise(hidden, "norm2", noise)

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H W₂, node by node: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self.weights["conv2.weight"])
        return add_bias(mapped, self.weights.get("conv2.bias"))

    def _writes(self, x: SparseMatrix | Tensor) -> bool:
        late = self.input_dropout > 0 and self.input_dropout_at == "propagated"
        return late and x.shape[0] * x.shape[1] <= MOST_WRITTEN

    def _spread(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise) -> Tensor:
        """X̄ of every pass: `[trials * copies, nodes, features]`; only weights of hops have a gradient."""
        dense = x.written_out if isinstance(x, SparseMatrix) else x
        return self._propagate(dense.expand(noise.keys.shape[0], -1, -1), graph, noise)

    def _propagate(self, values: Tensor, graph: GraphLike, noise: Noise | None) -> Tensor:
        """Leave out nodes of values `[trials * copies, nodes, width]`, and sum the powers of Â by their weights."""
        propagation, weights = graph.propagation, self._hop_weights(values)
        if propagation is None:
            # Â is the identity, and so are its powers.
            return values if weights is None else values * weights.sum(dim=1)[:, None, None]
        if noise is None or self.node_dropout == 0:
            kept = values * (1 - self.node_dropout)
        else:
            keep = noise.keep(values.shape[1], self.node_dropout)
            kept = values * unpack(keep.words, values.shape[1])[..., None]
        if weights is None:
            weights = values.new_full((values.shape[0], self.hops + 1), 1 / (self.hops + 1))
        return sum_of_powers(propagation, weights, kept)

    def _hop_weights(self, values: Tensor) -> Tensor | None:
        """The learned weights of the hops for values `[trials * copies, …]`: `[trials * copies, hops + 1]`."""
        weights = self.weights.get(_HOPS)
        return None if weights is None else weights.repeat_interleave(len(values) // len(weights), dim=0)

    def _first(self) -> tuple[Tensor, Tensor | None]:
        """W₁ and, if the input is normalised by running means, W₁ with that in it and what it adds."""
        weight = self.weights["conv1.weight"]
        if not self.batch_norm:
            return weight, None
        scale, shift, mean, variance = (self.weights[f"norm1.{part}"] for part in _PARTS)
        factor = scale * (variance + _EPSILON).rsqrt()
        return weight * factor.mT, product(shift - mean * factor, weight)

    def _normalise(self, values: Tensor, name: str, noise: Noise | None) -> Tensor:
        """Batch norm over the nodes, of each pass by itself in training, by running means otherwise."""
        if not self.batch_norm:
            return values
        scale, shift, mean, variance = (self.weights[f"{name}.{part}"] for part in _PARTS)
        copies, nodes = values.shape[0] // scale.shape[0], values.shape[1]
        if noise is not None:
            running = mean, variance
            mean = values.mean(dim=1, keepdim=True)
            variance = (values - mean).square().mean(dim=1, keepdim=True)
            _follow(running[0], mean, copies)
            _follow(running[1], variance * (nodes / max(1, nodes - 1)), copies)
        scale, shift = (part.repeat_interleave(copies, dim=0) for part in (scale, shift))
        return (values - mean) * ((variance + _EPSILON).rsqrt() * scale) + shift


def _norm(noise: Noise, name: str, width: int) -> dict[str, Tensor]:
    """The weights of a batch norm, and its running mean and variance, which are not trained."""
    shift, mean = zeros(noise, width), zeros(noise, width).detach()
    scale = torch.ones_like(mean).requires_grad_()
    return {f"{name}.scale": scale, f"{name}.shift": shift, f"{name}.mean": mean, f"{name}.variance": mean + 1}


@torch.no_grad()
def _follow(running: Tensor, measured: Tensor, copies: int) -> None:
    """Move a running mean `[trials, 1, width]`, in place, to what each of a trial's copies measured, one by one."""
    for single in measured.unflatten(0, (-1, copies)).unbind(1):
        running.lerp_(single, _MOMENTUM)
