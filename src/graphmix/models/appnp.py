"""APPNP (Gasteiger, Bojchevski and Günnemann, 2019): a node-wise net whose logits a random walk with restarts spreads.

    H = ReLU(X W₁) W₂,    Z₀ = H,    Zₖ₊₁ = (1 - α) Â Zₖ + α H,    logits Z_K.

Training drops entries of the input, of the hidden layer, and in every step of the walk others of Â. The L2 penalty is
on the first layer alone.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, linear, two_layers_of
from graphmix.models.gpr import page_rank, sum_over_hops
from graphmix.sparse import Chain, SparseMatrix, dropout_matmul, matmul, per_trial
from graphmix.streams import Noise, Purpose, Streams


@dataclass(frozen=True, eq=False)
class APPNP(Backbone):
    """A net with one hidden layer, then K steps of personalised PageRank; on the null graph the net alone.

    Attributes:
        hops: K, how many steps the walk takes.
        teleport: α, the probability of a restart.
        propagation_dropout: the share of the entries of Â dropped in each step of training; none on the null graph.
    """

    reads_rows: ClassVar[bool] = True
    reads_x_once: ClassVar[bool] = True
    encode_hops: ClassVar[int | None] = 0

    hops: int = 10
    teleport: float = 0.1
    propagation_dropout: float = 0.5

    @property
    def reach(self) -> int | None:
        """K hops."""
        return self.hops

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights; biases, if asked for, start at zero."""
        return cls(two_layers_of(streams.at(Purpose.WEIGHTS), sizes, bias=bias), **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """As a GCN; to drop entries of Â, all of them are written out."""
        usual = super().footprint(graph, hidden, classes, **options)
        if options.get("propagation_dropout", cls.propagation_dropout) == 0:
            return usual
        return replace(usual, entries=2 * graph.num_edges + graph.num_nodes)

    def decay_of(self, name: str, usual: float) -> float:
        """Decay the first layer alone, as the paper does."""
        return usual if name.startswith("conv1.") else 0.0

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute ReLU(X W₁), node by node: `[trials, nodes, hidden]`."""
        mapped = linear(x, self.weights["conv1.weight"], self.input_dropout, noise)
        return add_bias(mapped, self.weights.get("conv1.bias")).relu()

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Map to logits and let them walk: `[trials, nodes, classes]`."""
        start = self.logits_of_hidden(drop(hidden, self.hidden_dropout, noise))
        if graph.propagation is None:
            # Â is the identity: the walk stays where it is.
            return start
        walked = start
        for _ in range(self.hops):
            walked = (1 - self.teleport) * self._step(walked, graph, noise) + self.teleport * start
        return walked

    def logits_of_hidden(self, hidden: Tensor) -> Tensor:
        """Compute H W₂, node by node."""
        return add_bias(per_trial(hidden, self.weights["conv2.weight"]), self.weights.get("conv2.bias"))

    def weights_at(self, marks: Tensor, graph: GraphLike) -> Tensor:
        """Compute what K steps of the walk give of the marks: the weights of the hops are PageRank's."""
        weights = page_rank(self.hops, self.teleport).to(marks)
        return sum_over_hops(weights.repeat(self.trials, 1), marks, graph)

    def _step(self, values: Tensor, graph: GraphLike, noise: Noise | None) -> Tensor:
        """Compute Â Z, in training with some entries of Â dropped."""
        assert graph.propagation is not None, "the null graph has no steps"
        if noise is None or self.propagation_dropout == 0:
            return matmul(graph.propagation, values)
        written = graph.derived(_written_out)
        return dropout_matmul(written, noise.keep(written.nonzeros, self.propagation_dropout), values)


def _written_out(graph: GraphLike) -> SparseMatrix:
    """Â with every entry, which dropout needs; on a graph of links it is otherwise a product of two matrices."""
    propagation = graph.propagation
    if isinstance(propagation, Chain):
        row, col = graph.edge_index.cpu().numpy()
        nodes = propagation.shape[0]
        adjacency = sp.csr_array((np.ones(len(row)), (row, col)), shape=(nodes, nodes)) + sp.eye_array(nodes)
        scale = sp.diags_array(adjacency.sum(axis=1) ** -0.5)
        return SparseMatrix.from_scipy(scale @ adjacency @ scale).to(graph.edge_index.device)
    assert propagation is not None, "only the null graph has no propagation matrix"
    return propagation
