"""The interface of a network that GraphMix can train."""

import abc
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import torch
from torch import Tensor

from graphmix.models.mixed import Mixed
from graphmix.models.shifted import Mapped, Shifted
from graphmix.sparse import Chain, PickedRows, SparseMatrix, dropout, dropout_matmul, matmul, picked_dropout_matmul
from graphmix.streams import Noise, Streams

Value = TypeVar("Value")


class GraphLike(Protocol):
    """The part of a graph that networks see."""

    @property
    def edge_index(self) -> Tensor:
        """Both directions of every edge: int64 `[2, 2 * edges]`."""

    @property
    def edge_weights(self) -> Tensor | None:
        """Weight of each direction of an edge: float32 `[2 * edges]`; None if they have none, and all count as 1."""

    @property
    def propagation(self) -> SparseMatrix | Chain | None:
        """The GCN's normalised adjacency matrix; None on the null graph, where it is the identity."""

    @property
    def neighbour_mean(self) -> SparseMatrix | Chain | None:
        """The matrix that takes the mean of each node's neighbours; None on the null graph."""

    @property
    def normalised_adjacency(self) -> SparseMatrix | Chain | None:
        """D^-1/2 A D^-1/2, without self-loops; None on the null graph, where it is 0."""

    @property
    def num_edges(self) -> int:
        """How many undirected edges there are; 0 on the null graph."""

    def derived(self, make: Callable[[Any], Value]) -> Value:
        """Return `make(graph)`, computed once and kept with the graph."""


class GraphSizes(Protocol):
    """The sizes of a graph that decide how much memory a network uses."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""

    @property
    def num_features(self) -> int:
        """Number of features of a node."""

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""

    @property
    def num_propagated(self) -> int:
        """Number of entries that a product with the graph's propagation matrix reads."""


@dataclass(frozen=True)
class Footprint:
    """The sizes that decide how much memory one trial of a network uses in training.

    Attributes:
        hidden_width: width of the hidden state of a node.
        logits_width: width of the output of a node, before heads are averaged.
        inner_weights: number of weights besides those of the first and the last layer, at most.
        hidden_states: number of hidden states, and of gradients and mixed copies of them, kept at a time.
        entries: number of entries read per pass over the edges.
    """

    hidden_width: int
    logits_width: int
    inner_weights: int
    hidden_states: int
    entries: int


@dataclass(frozen=True, eq=False)
class Backbone(abc.ABC):
    """A network in two halves, with one set of weights per trial.

    A backbone has two properties, and a test checks both. On the null graph it is node-wise: row i of the output
    depends on row i of the input alone, which makes it the paper's FCN. And `decode(encode(x, g), g)` is the whole
    network; manifold mixup happens between the two halves.

    Every field except the weights is an option with a default, and the run's config has a field of the same name.

    Attributes:
        reads_rows: whether `encode` on the null graph takes any number of rows, not only those of the graph.
        reads_hops: whether `encode` and `decode` each read nothing of the graph but one product with its propagation,
            so that a rectangular one, from the nodes that matter to those that depend on them, will do, and so will
            one with other edges in every trial.
        reads_x_once: whether `encode` reads the features in one `linear` alone, with `first_weight`.
        encode_hops: how far `encode` looks: 0 if it is node-wise on any graph, 1 if a node reads its neighbours; None
            if it looks further, or reads more of the graph.
        decode_hops: the same of `decode`.
        weights: name to tensor `[trials, ...]`.
        input_dropout: the share of the input dropped in training.
        hidden_dropout: the share of the hidden state dropped in training.
    """

    first: ClassVar[str] = "conv1.weight"
    reads_rows: ClassVar[bool] = False
    reads_hops: ClassVar[bool] = False
    reads_x_once: ClassVar[bool] = False
    encode_hops: ClassVar[int | None] = None
    decode_hops: ClassVar[int | None] = None

    weights: dict[str, Tensor]
    input_dropout: float = 0.5
    hidden_dropout: float = 0.0

    @classmethod
    @abc.abstractmethod
    def create(cls, streams: Streams, sizes: tuple[int, int, int], *, bias: bool = False, **options: Any) -> Self:
        """Draw initial weights for every trial; `sizes` are (features, hidden units, classes), `options` the fields."""

    @classmethod
    def footprint(cls, graph: GraphSizes, hidden: int, classes: int, **options: Any) -> Footprint:
        """Return the sizes of one trial in training, by default of two layers as in a GCN; `options` are the fields."""
        return Footprint(hidden, classes, inner_weights=0, hidden_states=12, entries=graph.num_propagated)

    @abc.abstractmethod
    def encode(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Map features `[nodes, features]` to hidden states `[trials, nodes, hidden]`.

        With noise, dropout is on, a mask per trial; without, this is inference. Noise of `trials * copies` streams
        gives each trial several masks, and hidden states and logits `[trials * copies, nodes, …]`.
        """

    @abc.abstractmethod
    def decode(self, hidden: Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Map hidden states `[trials, nodes, hidden]` to logits `[trials, nodes, classes]`."""

    def __call__(self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise | None = None) -> Tensor:
        """Compute logits `[trials, nodes, classes]`: the GNN on a graph, the FCN on its null graph."""
        return self.decode(self.encode(x, graph, noise), graph, noise)

    def mean_predictions(
        self, x: SparseMatrix | Tensor, graph: GraphLike, noise: Noise, index: Tensor
    ) -> Tensor | None:
        """Average the probabilities of nodes over the masks of each trial, if there is a fast way to do it.

        Args:
            x: features `[nodes, features]`.
            graph: the graph.
            noise: `trials * copies` streams.
            index: int64 `[trials or 1, picks]`, the nodes.

        Returns:
            `[trials, picks, classes]`, or None if there is no fast way: then nothing was drawn.
        """
        return None

    def logits_of_hidden(self, hidden: Tensor) -> Tensor | None:
        """Map hidden states node by node, if `decode` is a weighted sum of that over nodes: `[trials, nodes, classes]`.

        None if it is not; then there are no `weights_at` either.
        """
        return None

    def weights_at(self, marks: Tensor, graph: GraphLike) -> Tensor:
        """Return the weight of every node in the sum of the logits of marked nodes: `[trials, nodes]`.

        Args:
            marks: `[nodes]`, 1 for marked nodes and 0 for others.
            graph: the graph.
        """
        raise NotImplementedError("decode is not a weighted sum over nodes")

    @property
    def trials(self) -> int:
        """How many trials the weights hold."""
        return next(iter(self.weights.values())).shape[0]

    @property
    def features(self) -> int:
        """How many features it takes; its first weight must be `[trials, features, width]`."""
        return self.weights[self.first].shape[1]

    def first_weight(self, graph: GraphLike) -> Tensor:
        """W of the product X W through which the features are read, if there is one: `[trials, features, width]`."""
        return self.weights[self.first]

    @property
    def reach(self) -> int | None:
        """How many hops away a node may be that a prediction depends on; None if every node may matter."""
        if self.encode_hops is None or self.decode_hops is None:
            return None
        return self.encode_hops + self.decode_hops

    @property
    def options(self) -> dict[str, Any]:
        """The fields by name, without the weights."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "weights"}

    @property
    def description(self) -> str:
        """The class and the options, as a text that differs between different networks."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.options.items())})"

    @property
    def stays_sparse(self) -> bool:
        """Whether a custom model computes with sparse features as they are; otherwise they are written out."""
        return False

    @property
    def heeds_weights(self) -> bool:
        """Whether the weights of edges change what a custom model computes."""
        return False

    @property
    def notes(self) -> dict[str, str]:
        """How a custom model is run, by topic; whoever runs it adds to them."""
        return {}

    def decay_of(self, name: str, usual: float) -> float:
        """Return the weight decay of a weight, given the config's: by default that."""
        return usual

    def parameters(self) -> Iterator[Tensor]:
        """The tensors an optimizer updates."""
        return iter(self.weights.values())

    def select(self, trials: Tensor) -> Self:
        """Keep only the given trials (int64 indices); gradients flow back to this model's weights."""
        return replace(self, weights={name: weight.index_select(0, trials) for name, weight in self.weights.items()})


def linear(
    x: SparseMatrix | Tensor | Shifted | Mixed | Mapped, weight: Tensor, rate: float, noise: Noise | None
) -> Tensor:
    """Multiply dropped-out features with each trial's weight `[trials, features, width]`, copy by copy.

    A perturbation of the features is not dropped out. Rows are mixed after dropout, and after the product, which is the
    same.
    """
    if isinstance(x, Mapped):
        return x.values
    if isinstance(x, Mixed):
        return x.mix(linear(x.x, weight, rate, noise))
    if isinstance(x, Shifted):
        return linear(x.x, weight, rate, noise) + x.shift(weight)
    if noise is None:
        return matmul(x, weight)
    if rate == 0:
        # Without dropout a trial's copies are equal here; dropout in later layers may still make them differ.
        return matmul(x, weight).repeat_interleave(noise.keys.shape[0] // weight.shape[0], dim=0)
    if isinstance(x, PickedRows):
        return picked_dropout_matmul(x, noise.keep(x.entries, rate), weight)
    # Dense features may be each trial's own, `[trials, nodes, features]`.
    entries = x.nonzeros if isinstance(x, SparseMatrix) else x.shape[-2] * x.shape[-1]
    return dropout_matmul(x, noise.keep(entries, rate), weight)


def drop(hidden: Tensor, rate: float, noise: Noise | None) -> Tensor:
    """Drop entries of hidden states `[trials, nodes, width]` at a rate."""
    if noise is None or rate == 0:
        return hidden
    return dropout(hidden, noise.keep(hidden[0].numel(), rate))


def add_bias(values: Tensor, bias: Tensor | None) -> Tensor:
    """Add each trial's bias `[trials, 1, width]`, if any, to values `[trials * copies, nodes, width]`."""
    if bias is None:
        return values
    return values + bias.repeat_interleave(values.shape[0] // bias.shape[0], dim=0)


def glorot(noise: Noise, fan_in: int, fan_out: int) -> Tensor:
    """Draw weights `[trials, fan_in, fan_out]` uniformly (Glorot and Bengio, 2010)."""
    bound = math.sqrt(6.0 / (fan_in + fan_out))
    drawn: Tensor = noise.uniform(fan_in * fan_out).view(-1, fan_in, fan_out)
    return ((2 * drawn - 1) * bound).requires_grad_()


def zeros(noise: Noise, width: int) -> Tensor:
    """Start biases at zero: `[trials, 1, width]`."""
    return torch.zeros(noise.keys.shape[0], 1, width, device=noise.keys.device, requires_grad=True)


def two_layers_of(noise: Noise, sizes: tuple[int, int, int], *, bias: bool) -> dict[str, Tensor]:
    """Draw Glorot weights of two layers by name, for (features, hidden units, classes); biases start at zero."""
    features, hidden, classes = sizes
    weights = {"conv1.weight": glorot(noise, features, hidden), "conv2.weight": glorot(noise, hidden, classes)}
    if bias:
        weights |= {"conv1.bias": zeros(noise, hidden), "conv2.bias": zeros(noise, classes)}
    return weights
