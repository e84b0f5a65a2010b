"""The graph convolutional network (Kipf and Welling, 2017): σ(Â X W₁), then Â H W₂."""

from typing import Any, ClassVar, Self

from torch import Tensor

from graphmix.models.backbone import Backbone, GraphLike, add_bias, drop, glorot, linear, zeros
from graphmix.sparse import SparseMatrix, mean_predictions, per_trial, propagate
from graphmix.streams import Noise, Purpose, Streams


class GCN(Backbone):
    """Two graph convolutions with ReLU between them; on the null graph, a net with one hidden layer."""

    reads_rows: ClassVar[bool] = True
    reads_hops: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases, if asked for, start at zero."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        weights = {
            "conv1.weight": glorot(noise, features, hidden),
            "conv2.weight": glorot(noise, hidden, classes),
        }
        if bias:
            weights |= {"conv1.bias": zeros(noise, hidden), "conv2.bias": zeros(noise, classes)}
        return cls(weights, **options)

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute H = ReLU(Â X W₁): `[trials, nodes, hidden]`."""
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        return self._convolve(mapped, graph, "conv1.bias").relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute Â H W₂: `[trials, nodes, classes]`."""
        mapped = per_trial(drop(hidden, self.hidden_dropout, noise), self.weights["conv2.weight"])
        return self._convolve(mapped, graph, "conv2.bias")

    def mean_predictions(
        self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise, index: Tensor
    ) -> Tensor | None:
        """Average probabilities by fused kernels, on CUDA, if features and graph are sparse matrices."""
        if self.hidden_dropout > 0 or self.input_dropout == 0:
            return None
        names = ("conv1.weight", "conv2.weight", "conv1.bias", "conv2.bias")
        return mean_predictions(
            x, graph.propagation, [self.weights.get(name) for name in names], noise, self.input_dropout, index
        )

    def _convolve(self, mapped: Tensor, graph: GraphLike, bias: str) -> Tensor:
        propagation = graph.propagation
        gathered = mapped if propagation is None else propagate(propagation, mapped)
        return add_bias(gathered, self.weights.get(bias))
