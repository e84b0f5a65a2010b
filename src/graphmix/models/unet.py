"""The Graph U-Net (Gao and Ji, 2019): graph convolutions on ever coarser graphs, and back up with skip connections."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from torch import Tensor

from graphmix.models.backbone import Backbone, Footprint, GraphLike, GraphSizes, add_bias, drop, glorot, linear, zeros
from graphmix.models.pooling import Finest, Pooled, finest
from graphmix.models.ratios import check_ratios
from graphmix.sparse import SparseMatrix, per_trial
from graphmix.streams import Noise, Purpose, Streams


@dataclass(frozen=True, eq=False)
class GraphUNet(Backbone):
    """A convolution, then gated poolings and as many unpoolings, with a convolution after each.

    A node's score is s = x·p / |p|; kept nodes become x tanh(s). Every convolution but the last ends in ReLU. On the
    null graph pooling keeps every node, so that the network is node-wise; the gates stay. Hidden dropout is applied to
    the state that enters the last convolution; there is no dropout inside the U.

    Attributes:
        pool_ratios: one or two numbers: the share of nodes that each pooling keeps, rounded up to whole nodes.
    """

    first: ClassVar[str] = "down0.weight"
    reads_x_once: ClassVar[bool] = True

    pool_ratios: tuple[float, ...] = (0.5, 0.5)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pool_ratios", check_ratios(self.pool_ratios))

    @classmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw Glorot weights and uniform pooling vectors `[trials, hidden]`; biases, if asked for, start at zero."""
        features, hidden, classes = sizes
        noise = streams.at(Purpose.WEIGHTS)
        depth = len(check_ratios(options.get("pool_ratios", cls.pool_ratios)))
        # Layers are numbered by level; level 0 is the graph itself.
        layers = {"down0": (features, hidden)}
        layers |= {f"down{level}": (hidden, hidden) for level in range(1, depth + 1)}
        layers |= {f"up{level}": (hidden, hidden if level else classes) for level in reversed(range(depth))}
        weights = {f"{name}.weight": glorot(noise, *shape) for name, shape in layers.items()}
        for level in range(1, depth + 1):
            drawn = (2 * noise.uniform(hidden) - 1) / math.sqrt(hidden)
            weights[f"pool{level}.weight"] = drawn.requires_grad_()
        if bias:
            weights |= {f"{name}.bias": zeros(noise, width) for name, (_, width) in layers.items()}
        return cls(weights, **options)

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """Each level adds a square weight matrix and two hidden states on the way down, and as many on the way up."""
        depth = len(options.get("pool_ratios", cls.pool_ratios))
        plain = super().footprint(graph, hidden, classes, **options)
        return replace(
            plain,
            inner_weights=2 * depth * hidden**2,
            hidden_states=plain.hidden_states + 4 * depth,
            entries=2 * graph.num_edges + graph.num_nodes,
        )

    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the state that enters the last convolution: `[trials, nodes, hidden]`."""
        place: Finest | Pooled | None = graph.derived(finest)
        mapped = linear(x, self.weights["down0.weight"], self.input_dropout, noise)
        state = self._aggregate("down0", mapped, place).relu()
        finer = []
        count = state.shape[1]
        for level, ratio in enumerate(self.pool_ratios, 1):
            finer.append((state, place))
            count = share(ratio, count)
            scores = score(state, self.weights[f"pool{level}.weight"])
            if place is not None:
                place = place.pool(scores.detach(), count)
            state = self._convolve(f"down{level}", state * scores.tanh().unsqueeze(2), place).relu()
        for level in reversed(range(1, len(finer))):
            skipped, place = finer.pop()
            state = self._convolve(f"up{level}", skipped + state, place).relu()
        # Dropped nodes are already 0, so unpooling is just a sum.
        return finer[0][0] + state

    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute the last convolution: `[trials, nodes, classes]`."""
        return self._convolve("up0", drop(hidden, self.hidden_dropout, noise), graph.derived(finest))

    def _convolve(self, name: str, state: Tensor, place: Finest | Pooled | None) -> Tensor:
        return self._aggregate(name, per_trial(state, self.weights[f"{name}.weight"]), place)

    def _aggregate(self, name: str, mapped: Tensor, place: Finest | Pooled | None) -> Tensor:
        gathered = mapped if place is None else place.aggregate(mapped)
        bias = self.weights.get(f"{name}.bias")
        biased = add_bias(gathered, bias)
        # Dropped nodes must stay 0, so they get no bias.
        return biased * place.mask if bias is not None and isinstance(place, Pooled) else biased


def score(state: Tensor, vector: Tensor) -> Tensor:
    """Project states `[trials * copies, nodes, hidden]` on the trials' vectors `[trials, hidden]`: x·p / |p|.

    Returns:
        `[trials * copies, nodes]`.
    """
    unit: Tensor = vector / vector.norm(dim=1, keepdim=True)
    unit = unit.repeat_interleave(state.shape[0] // unit.shape[0], dim=0)
    # Not a matrix product: its rounding, and so the choice of nodes, would depend on the number of trials.
    return (state * unit.unsqueeze(1)).sum(dim=2)


def share(ratio: float, count: int) -> int:
    """Round ratio · count up, with the ratio as written: 0.07 of 100 is 7, although the product of floats is larger."""
    return math.ceil(Fraction(str(ratio)) * count)
