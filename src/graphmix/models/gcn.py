"""The graph convolutional network (Kipf and Welling, 2017): σ(Â X W₁), then Â H W₂."""

from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from graphmix.models.backbone import Backbone, GraphLike, add_bias, drop, linear, two_layers_of
from graphmix.sparse import SparseMatrix, fuses, mean_predictions, per_trial, propagate, two_layers
from graphmix.streams import Noise, Purpose, Streams


class GCN(Backbone):
    """Two graph convolutions with ReLU between them; on the null graph, a net with one hidden layer."""

    reads_rows: ClassVar[bool] = True
    reads_hops: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 1
    decode_hops: ClassVar[int | None] = 1

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases, if asked for, start at zero."""
        return cls(two_layers_of(streams.at(Purpose.WEIGHTS), sizes, bias=bias), **options)

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H = ReLU(Â X W₁): `[trials, nodes, hidden]`."""
        if noise is not None and self.input_dropout == 0:
            # Without dropout a trial's copies are equal so far: one product with Â serves all.
            return self.encode(x, graph).repeat_interleave(noise.keys.shape[0] // self.trials, dim=0)
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        return self._convolve(mapped, graph, "conv1.bias").relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute Â H W₂: `[trials, nodes, classes]`."""
        weight = self.weights["conv2.weight"]
        dropped = drop(hidden, self.hidden_dropout, noise)
        if weight.shape[1] < weight.shape[2]:
            # (Â H) W₂: with more classes than hidden units, propagating first is the narrower product.
            return add_bias(per_trial(self._propagate(dropped, graph), weight), self.weights.get("conv2.bias"))
        return self._convolve(per_trial(dropped, weight), graph, "conv2.bias")

    def __call__(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute logits `[trials, nodes, classes]`, in one pass over both layers where there is one."""
        if not self._predicts_in_one_pass(x, graph, noise):
            return super().__call__(x, graph, noise)
        assert isinstance(x, SparseMatrix)
        assert isinstance(graph.propagation, SparseMatrix)
        first, second = (
            (self.weights[f"{layer}.weight"], self.weights.get(f"{layer}.bias")) for layer in ("conv1", "conv2")
        )
        keep = None if noise is None else noise.keep(x.nonzeros, self.input_dropout)
        return two_layers(x, graph.propagation, first, second, keep)

    def _predicts_in_one_pass(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None) -> bool:
        if type(self) is not GCN:  # a subclass may have other layers
            return False
        first, second = (self.weights[f"{layer}.weight"] for layer in ("conv1", "conv2"))
        if torch.is_grad_enabled() or not fuses(x, graph.propagation, first.shape[2]):
            return False
        # The pass maps before it propagates, and drops nothing but features.
        return second.shape[1] >= second.shape[2] and (
            noise is None or (self.input_dropout > 0 and self.hidden_dropout == 0)
        )

    def mean_predictions(
        self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise, index: Tensor
    ) -> Tensor | None:
        """Average probabilities by fused kernels, on CUDA, if features and graph are sparse matrices."""
        if type(self) is not GCN or self.hidden_dropout > 0 or self.input_dropout == 0:
            return None
        names = ("conv1.weight", "conv2.weight", "conv1.bias", "conv2.bias")
        return mean_predictions(
            x, graph.propagation, [self.weights.get(name) for name in names], noise, self.input_dropout, index
        )

    def _convolve(self, mapped: Tensor, graph: GraphLike, bias: str) -> Tensor:
        return add_bias(self._propagate(mapped, graph), self.weights.get(bias))

    def _propagate(self, values: Tensor, graph: GraphLike) -> Tensor:
        return values if graph.propagation is None else propagate(graph.propagation, values)
