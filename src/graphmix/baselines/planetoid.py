"""Planetoid (Yang, Cohen and Salakhutdinov, 2016): embeddings that predict a node's context and its class.

A node i with features x has an embedding e. Two classifiers are joined by a third,

    k = softmax(x W₁ + b₁),  l = softmax(e W₂ + b₂),  p = softmax([k, l] W₃ + b₃),

and all three are trained on the labels (L_s). The embeddings must also predict contexts c, drawn with a sign γ from
random walks and from the labels (`contexts.py`), each with an embedding w_c of its own:

    L_u = -Σ log σ(γ ⟨w_c, e_i⟩).

In the transductive variant e is a free vector for each node; in the inductive one e = ReLU(x W₀ + b₀), and test nodes
are neither nodes nor contexts of pairs. Gradient descent takes steps of L_u with contexts from the labels, then with
those from walks, and then steps of L_s + λ L_u with walks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.baselines.contexts import Classes, Pairs, Walks, graph_pairs
from graphmix.baselines.descent import Trials, descend, in_parts, predict_best, sparse_rows
from graphmix.data import Graph, Split
from graphmix.errors import DataError
from graphmix.method import label_loss
from graphmix.models.backbone import add_bias, glorot, zeros
from graphmix.sparse import matmul, per_trial, rows
from graphmix.streams import Purpose


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Hyperparameters; those with a source are the paper's or its code's.

    Attributes:
        width: of an embedding (paper).
        walks: number of random walks in a step (paper: N₂), but at most a tenth of the nodes.
        length: of a walk, q (paper).
        window: d (paper).
        positive: r₁, the share of positive pairs (paper).
        label_pairs: number of positive pairs of labeled nodes in a step (code).
        label_steps: number of steps with these pairs.
        label_rate: learning rate of these steps.
        walk_steps: number of steps with pairs from walks.
        walk_rate: learning rate of these steps.
        epochs: number of steps of L_s + λ L_u.
        learning_rate: of these steps.
        weight: λ.
    """

    width: int = 50
    walks: int = 200
    length: int = 10
    window: int = 3
    positive: float = 5 / 6
    label_pairs: int = 100
    label_steps: int = 500
    label_rate: float = 0.1
    walk_steps: int = 300
    walk_rate: float = 0.01
    epochs: int = 150
    learning_rate: float = 5.0
    weight: float = 0.0


# Chosen by validation accuracy on the public splits: docs/design/0021-classics.md.
TRANSDUCTIVE = Settings()
INDUCTIVE = Settings(learning_rate=1.0)
INDUCTIVE_ON = {
    "citeseer": Settings(walk_rate=0.02, learning_rate=1.0, weight=0.01),
    "pubmed": Settings(label_steps=300, label_rate=0.01, walk_steps=600, learning_rate=0.3),
}


def planetoid(graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None) -> Tensor:
    """Train the transductive variant, on the graph's device.

    Args:
        graph: the graph; its features are scaled to rows of length 1.
        split: one split, or one per trial. Validation nodes choose the epoch.
        seeds: the seed of each trial's weights and pairs.
        watch: called before a trial with its index.

    Returns:
        Probabilities `[trials, nodes, classes]`, rows sum to 1.
    """
    return _train(graph, split, seeds, watch, TRANSDUCTIVE, inductive=False)


def planetoid_inductive(
    graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None
) -> Tensor:
    """Train the inductive variant with the settings of the graph's name; arguments and result as for `planetoid`."""
    return _train(graph, split, seeds, watch, INDUCTIVE_ON.get(graph.name, INDUCTIVE), inductive=True)


def _train(
    graph: Graph,
    split: Split,
    seeds: Sequence[int],
    watch: Callable[[int], None] | None,
    settings: Settings,
    *,
    inductive: bool,
) -> Tensor:
    if graph.edge_weights is not None:
        raise DataError("Planetoid does not use edge weights; leave the weights out")
    if graph.num_edges == 0:
        raise DataError("Planetoid needs edges to walk along, but the graph has none")

    def train(trials: Trials) -> Tensor:
        network = Planetoid(trials, settings, inductive=inductive)
        weights = list(network.weights.values())
        descend(torch.optim.SGD(weights, lr=settings.label_rate), network.label_context_loss, settings.label_steps)
        descend(torch.optim.SGD(weights, lr=settings.walk_rate), network.walk_context_loss, settings.walk_steps)
        optimizer = torch.optim.SGD(weights, lr=settings.learning_rate)
        return predict_best(network, optimizer, trials.val, settings.epochs)

    pairs = 4 * settings.walks * settings.length * settings.window
    tables = (2 * graph.num_nodes + graph.num_features) * 5
    return in_parts(graph, split, seeds, watch, train, settings.width * (tables + 4 * pairs))


class Planetoid:
    """The network and its objectives."""

    def __init__(self, trials: Trials, settings: Settings, *, inductive: bool):
        graph, noise = trials.graph, trials.streams.at(Purpose.WEIGHTS)
        self._trials, self._settings, self._inductive = trials, settings, inductive
        self._x, self._walks = graph.derived(sparse_rows), graph.derived(Walks.of)
        self._classes = Classes.of(trials.labeled, graph.num_classes)
        features, classes, width = graph.num_features, graph.num_classes, settings.width
        sizes = {
            "context": (graph.num_nodes, width),
            "embedding": (features if inductive else graph.num_nodes, width),
            "features": (features, classes),
            "embedded": (width, classes),
            "output": (2 * classes, classes),
        }
        self.weights: Mapping[str, Tensor] = {name: glorot(noise, *size) for name, size in sizes.items()} | {
            "embedding bias": zeros(noise, width),
            **{f"{name} bias": zeros(noise, classes) for name in ("features", "embedded", "output")},
        }

    def embed(self) -> Tensor:
        """Return e of all nodes: `[trials, nodes, width]`."""
        if not self._inductive:
            return self.weights["embedding"]
        return add_bias(matmul(self._x, self.weights["embedding"]), self.weights["embedding bias"]).relu()

    def label_context_loss(self, step: int) -> Tensor:
        """Return L_u of pairs of labeled nodes: `[trials]`."""
        noise = self._trials.streams.at(Purpose.MIXING_LABELED, step)
        return self._value(self.embed(), self._classes.draw(noise, self._settings.label_pairs))

    def walk_context_loss(self, step: int) -> Tensor:
        """Return L_u of pairs from walks: `[trials]`."""
        return self._walk_context_loss(self.embed(), step)

    def loss(self, epoch: int) -> Tensor:
        """Return L_s + λ L_u: `[trials]`."""
        embedding, labeled = self.embed(), self._trials.labeled
        losses = [label_loss(labeled.of(logits), labeled.labels, labeled.weight) for logits in self._logits(embedding)]
        if self._settings.weight > 0:
            # The steps before had the first pairs.
            step = self._settings.walk_steps + epoch
            losses.append(self._settings.weight * self._walk_context_loss(embedding, step))
        return torch.stack(losses).sum(dim=0)

    def logits(self) -> Tensor:
        """Return the logits of all nodes: `[trials, nodes, classes]`."""
        return self._logits(self.embed())[-1]

    def _logits(self, embedding: Tensor) -> list[Tensor]:
        """Return the logits of k, l and p: `[trials, nodes, classes]` each."""
        weights = self.weights
        own = add_bias(matmul(self._x, weights["features"]), weights["features bias"])
        embedded = add_bias(per_trial(embedding, weights["embedded"]), weights["embedded bias"])
        both = torch.cat([own.softmax(dim=2), embedded.softmax(dim=2)], dim=2)
        return [own, embedded, add_bias(per_trial(both, weights["output"]), weights["output bias"])]

    def _walk_context_loss(self, embedding: Tensor, step: int) -> Tensor:
        settings, nodes = self._settings, self._trials.graph.num_nodes
        noise = self._trials.streams.at(Purpose.UNLABELED_SUBSET, step)
        # On a small graph the gradients of a node that all walks meet would add up too far.
        walks = max(1, min(settings.walks, nodes // 10))
        paths = self._walks.draw(noise, walks, settings.length)
        return self._value(embedding, graph_pairs(paths, settings.window, noise, nodes, settings.positive))

    def _value(self, embedding: Tensor, pairs: Pairs) -> Tensor:
        """-Σ log σ(γ ⟨w_c, e_i⟩) over pairs with a sign: `[trials]`."""
        sign = pairs.sign
        if self._inductive:
            hidden = self._trials.test.expand(len(embedding), -1)
            sign = sign * ~(hidden.gather(1, pairs.node) | hidden.gather(1, pairs.context))
        product = (rows(embedding, pairs.node) * rows(self.weights["context"], pairs.context)).sum(dim=2)
        return -(F.logsigmoid(sign * product) * sign.abs()).sum(dim=1)
