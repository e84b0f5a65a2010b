"""Pairs of a node and its context, as Planetoid draws them (Yang, Cohen and Salakhutdinov, 2016, Algorithm 1).

A context is a node near it on a random walk, or a labeled node of its class; a negative one is any node, or a labeled
node of another class.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.data import Graph
from graphmix.streams import Noise
from graphmix.training.task import Picks


@dataclass(frozen=True, eq=False)
class Pairs:
    """Nodes and contexts of each trial.

    Attributes:
        node: int64 `[trials, pairs]`.
        context: int64 `[trials, pairs]`.
        sign: float32 `[trials or 1, pairs]`, γ: 1, or -1 for a negative context, or 0 for a pair that does not count.
    """

    node: Tensor
    context: Tensor
    sign: Tensor


@dataclass(frozen=True, eq=False)
class Walks:
    """Where random walks can go: the neighbours of each node, one after the other.

    Attributes:
        neighbours: int64 `[2 * edges + 1]`; the last entry is not used.
        start: int64 `[nodes]`, where a node's neighbours begin.
        degree: int64 `[nodes]`.
    """

    neighbours: Tensor
    start: Tensor
    degree: Tensor

    @classmethod
    def of(cls, graph: Graph) -> "Walks":
        """Return the walks of a graph; `graph.derived(Walks.of)` makes them once."""
        row, col = graph.edge_index
        degree = torch.bincount(row, minlength=graph.num_nodes)
        return cls(F.pad(col, (0, 1)), degree.cumsum(0) - degree, degree)

    def draw(self, noise: Noise, walks: int, length: int) -> Tensor:
        """Walk from random nodes: int64 `[trials, walks, 1 + length]`; without neighbours a walk stays in place."""
        here = (noise.uniform(walks).double() * len(self.degree)).long()
        path = [here]
        for _ in range(length):
            degree = self.degree[here]
            chosen = self.start[here] + (noise.uniform(walks).double() * degree).long()
            here = torch.where(degree > 0, self.neighbours[chosen], here)
            path.append(here)
        return torch.stack(path, dim=2)


def graph_pairs(paths: Tensor, window: int, noise: Noise, nodes: int, positive: float) -> Pairs:
    """Pair nodes within a window on a walk, both ways, and add pairs with any node.

    Args:
        paths: int64 `[trials, walks, steps]`.
        window: the largest distance on a walk.
        noise: for the negative contexts.
        nodes: number of nodes of the graph.
        positive: r₁, the share of positive pairs.
    """
    steps = [(paths[:, :, :-gap].flatten(1), paths[:, :, gap:].flatten(1)) for gap in range(1, window + 1)]
    first = torch.cat([part for pair in steps for part in pair], dim=1)
    second = torch.cat([part for before, after in steps for part in (after, before)], dim=1)
    count = round(first.shape[1] * (1 - positive) / positive)
    # The negative contexts belong to nodes of the walks in turn.
    turn = torch.arange(count, device=first.device) % first.shape[1]
    drawn = (noise.uniform(count).double() * nodes).long()
    sign = torch.ones(1, first.shape[1] + count, device=first.device)
    sign[:, first.shape[1] :] = -1
    return Pairs(torch.cat([first, first[:, turn]], dim=1), torch.cat([second, drawn], dim=1), sign)


@dataclass(frozen=True, eq=False)
class Classes:
    """The labeled nodes of each trial, class by class.

    Attributes:
        order: int64 `[trials or 1, labeled]`, the nodes sorted by class, padding last.
        labels: int64 `[trials or 1, labeled]`, their classes; -1 for padding.
        count: int64 `[trials or 1, classes]`.
    """

    order: Tensor
    labels: Tensor
    count: Tensor

    @classmethod
    def of(cls, labeled: Picks, classes: int) -> "Classes":
        """Sort the labeled nodes."""
        last = torch.where(labeled.labels < 0, classes, labeled.labels)
        place = last.argsort(dim=1, stable=True)
        count = F.one_hot(last, classes + 1).sum(dim=1)[:, :classes]
        return cls(labeled.index.gather(1, place), labeled.labels.gather(1, place), count)

    def draw(self, noise: Noise, pairs: int) -> Pairs:
        """Pair labeled nodes with one of their class, and with one of another class: `2 * pairs` pairs."""
        trials = noise.keys.shape[0]
        order, labels, count = (part.expand(trials, -1) for part in (self.order, self.labels, self.count))
        total = count.sum(dim=1, keepdim=True)
        first = _below(noise, pairs, total)
        own = labels.gather(1, first)
        size = count.gather(1, own)
        start = (count.cumsum(1) - count).gather(1, own)
        same = start + _below(noise, pairs, size)
        other = _below(noise, pairs, total - size)
        # Positions of the node's own class are skipped. If there is no other class, the pair does not count.
        other = torch.where(other < start, other, other + size).clamp_max(order.shape[1] - 1)
        sign = torch.cat([torch.ones_like(size), -(total > size).long()], dim=1).float()
        node = order.gather(1, first).repeat(1, 2)
        return Pairs(node, torch.cat([order.gather(1, same), order.gather(1, other)], dim=1), sign)


def _below(noise: Noise, draws: int, limit: Tensor) -> Tensor:
    """Draw numbers from 0 up to below a limit `[trials, draws or 1]`: int64 `[trials, draws]`; 0 if the limit is 0."""
    # Float64: in float32 the product with a large limit could round up to the limit.
    return (noise.uniform(draws).double() * limit).long()
