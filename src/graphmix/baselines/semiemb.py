"""SemiEmb (Weston, Ratle, Mobahi and Collobert, 2012): a network whose hidden layer embeds neighbours alike.

A network with one hidden layer h(x) = htanh(x W + b) and f(x) = softmax(h(x) V + c) minimises

    Σ_labeled -log f(x_i)_{y_i} / l  +  λ ( E_{edges} ‖h_i - h_j‖²  +  E_{pairs} max(0, m - ‖h_i - h_j‖)² ):

neighbours are drawn together, and nodes drawn at random are pushed apart up to a margin m. In the paper a step is for
one labeled node, one pair of neighbours and one pair of any nodes in turn. Here a step takes all labels, all edges by
their weights, and one random partner for every node. The network sees features only, so it can predict new nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.baselines.descent import Trials, in_parts, predict_best, sparse_rows
from graphmix.data import Graph, Split
from graphmix.method import draw_positions, label_loss
from graphmix.models.backbone import add_bias, glorot, zeros
from graphmix.sparse import matmul, per_trial, rows
from graphmix.streams import Purpose


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Hyperparameters.

    Attributes:
        hidden: width of the hidden layer.
        weight: λ.
        margin: m.
        epochs: number of steps.
        learning_rate: of Adam.
        weight_decay: of Adam.
    """

    hidden: int = 50
    weight: float = 10.0
    margin: float = 1.0
    epochs: int = 200
    learning_rate: float = 0.01
    weight_decay: float = 5e-4


_TINY = 1e-12
# Chosen by validation accuracy on the public splits: docs/design/0021-classics.md.
SETTINGS = {
    "cora": Settings(weight=100.0),
    "citeseer": Settings(weight=1.0),
    "pubmed": Settings(weight=100.0),
}


def semiemb(graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None = None) -> Tensor:
    """Train the network with the settings of the graph's name, on the graph's device.

    Args:
        graph: the graph; its features are scaled to rows of length 1, its edge weights are heeded.
        split: one split, or one per trial. Validation nodes choose the epoch.
        seeds: the seed of each trial's weights and pairs.
        watch: called before a trial with its index.

    Returns:
        Probabilities `[trials, nodes, classes]`, rows sum to 1.
    """
    settings = SETTINGS.get(graph.name, Settings())

    def train(trials: Trials) -> Tensor:
        network = SemiEmb(trials, settings)
        optimizer = torch.optim.Adam(
            network.weights.values(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
            capturable=graph.y.is_cuda,
        )
        return predict_best(network, optimizer, trials.val, settings.epochs)

    numbers = 8 * settings.hidden * graph.num_nodes + 4 * settings.hidden * graph.num_features
    return in_parts(graph, split, seeds, watch, train, numbers)


class SemiEmb:
    """The network and its objective."""

    def __init__(self, trials: Trials, settings: Settings):
        graph, noise = trials.graph, trials.streams.at(Purpose.WEIGHTS)
        self._trials, self._settings = trials, settings
        self._x = graph.derived(sparse_rows)
        self.weights = {
            "hidden": glorot(noise, graph.num_features, settings.hidden),
            "hidden bias": zeros(noise, settings.hidden),
            "output": glorot(noise, settings.hidden, graph.num_classes),
            "output bias": zeros(noise, graph.num_classes),
        }

    def loss(self, epoch: int) -> Tensor:
        """Return the objective, with random pairs of the epoch: `[trials]`."""
        hidden, labeled = self.embed(), self._trials.labeled
        graph = self._trials.graph
        noise = self._trials.streams.at(Purpose.UNLABELED_SUBSET, epoch)
        nodes = torch.tensor([graph.num_nodes], device=hidden.device)
        partners = rows(hidden, draw_positions(noise, nodes, graph.num_nodes))
        apart = push_apart(hidden, partners, self._settings.margin)
        embedding = draw_together(hidden, graph) + apart
        return label_loss(labeled.of(self._classify(hidden)), labeled.labels, labeled.weight) + (
            self._settings.weight * embedding
        )

    def logits(self) -> Tensor:
        """Return the logits of all nodes: `[trials, nodes, classes]`."""
        return self._classify(self.embed())

    def embed(self) -> Tensor:
        """Return h of all nodes: `[trials, nodes, hidden]`."""
        return F.hardtanh(add_bias(matmul(self._x, self.weights["hidden"]), self.weights["hidden bias"]))

    def _classify(self, hidden: Tensor) -> Tensor:
        return add_bias(per_trial(hidden, self.weights["output"]), self.weights["output bias"])


def draw_together(hidden: Tensor, graph: Graph) -> Tensor:
    """E ‖h_i - h_j‖² over the edges, drawn by their weights: `[trials]` of hidden `[trials, nodes, width]`.

    With M the mean over neighbours and d_i a node's share of all weights this is 2 Σ_i d_i (‖h_i‖² - ⟨h_i, (Mh)_i⟩).
    """
    if graph.neighbour_mean is None:
        return hidden.new_zeros(hidden.shape[0])
    around = matmul(graph.neighbour_mean, hidden)
    return 2 * ((hidden * (hidden - around)).sum(dim=2) * graph.derived(_shares)).sum(dim=1)


def push_apart(first: Tensor, second: Tensor, margin: float) -> Tensor:
    """E max(0, m - ‖h_i - h_j‖)² over pairs: `[trials]` of two `[trials, pairs, width]`."""
    # The root has no gradient at 0: a node may be its own partner.
    distance = ((first - second).square().sum(dim=2) + _TINY).sqrt()
    return (margin - distance).clamp_min(0).square().mean(dim=1)


def _shares(graph: Graph) -> Tensor:
    strengths = torch.from_numpy(graph.structure.strengths).to(graph.y.device)
    return (strengths / strengths.sum()).float()
