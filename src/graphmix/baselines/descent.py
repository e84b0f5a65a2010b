"""Networks of baselines, trained by gradient descent over the trial axis; the best validation epoch predicts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from graphmix.baselines.neighbour_means import unit_rows
from graphmix.data import Graph, Split
from graphmix.method import accuracy
from graphmix.sparse import SparseMatrix
from graphmix.streams import Streams
from graphmix.training.task import Picks

# On CUDA, how many numbers of all trials' networks are kept at a time: 4 GB.
_CUDA_NUMBERS = 2**30


@dataclass(frozen=True, eq=False)
class Trials:
    """Some trials of a run, side by side, on the graph's device.

    Attributes:
        graph: the graph.
        streams: the trials' random streams.
        labeled: nodes whose labels are trained on.
        val: validation nodes.
    """

    graph: Graph
    streams: Streams
    labeled: Picks
    val: Picks


class Network(Protocol):
    """A network with its trials' weights, and what it minimises."""

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """Name to weights `[trials, ...]`."""

    def loss(self, epoch: int) -> Tensor:
        """Return what each trial minimises in an epoch: `[trials]`."""

    def logits(self) -> Tensor:
        """Return the logits of all nodes: `[trials, nodes, classes]`."""


def predict_best(network: Network, val: Picks, *, epochs: int, learning_rate: float, weight_decay: float) -> Tensor:
    """Train by Adam; return each trial's probabilities at its best validation epoch, the first of equal ones.

    Returns:
        `[trials, nodes, classes]`, rows sum to 1.
    """
    parameters = list(network.weights.values())
    optimizer = torch.optim.Adam(
        parameters, lr=learning_rate, weight_decay=weight_decay, fused=True, capturable=parameters[0].is_cuda
    )
    with torch.no_grad():
        kept = network.logits()
        # Without validation nodes the accuracy is NaN: never better, so the last epoch counts.
        best = torch.full(kept.shape[:1], -1.0, device=kept.device)
    for epoch in range(epochs):
        optimizer.zero_grad()
        network.loss(epoch).sum().backward()
        optimizer.step()
        with torch.no_grad():
            now = network.logits()
            score = accuracy(val.of(now), val.labels)
            better = (score > best) | score.isnan()
            best = torch.where(better, score, best)
            kept = torch.where(better[:, None, None], now, kept)
    return kept.softmax(dim=2)


def in_parts(
    graph: Graph,
    split: Split,
    seeds: Sequence[int],
    watch: Callable[[int], None] | None,
    train: Callable[[Trials], Tensor],
    numbers: int,
) -> Tensor:
    """Train all trials, on the graph's device: one by one on the CPU, as many as memory allows on CUDA.

    Args:
        graph: the graph.
        split: one split, or one per trial.
        seeds: one per trial.
        watch: called before each part with the index of its first trial.
        train: trains some trials and returns their probabilities `[trials, nodes, classes]`.
        numbers: how many numbers a trial keeps while it trains.

    Returns:
        Probabilities on the CPU, `[trials, nodes, classes]`.
    """
    device = graph.y.device
    # On the CPU a batch rounds its dense products in another way than a trial alone, and is hardly faster.
    at_once = max(1, _CUDA_NUMBERS // numbers) if device.type == "cuda" else 1
    labeled, val = (Picks.build(mask.to(device), graph.y) for mask in (split.train, split.val))
    results = []
    for start in range(0, len(seeds), at_once):
        if watch is not None:
            watch(start)
        places = torch.arange(start, min(start + at_once, len(seeds)), device=device)
        streams = Streams.from_seeds([seeds[place] for place in places.tolist()], device)
        results.append(train(Trials(graph, streams, labeled.select(places), val.select(places))).cpu())
    return torch.cat(results)


def sparse_rows(graph: Graph) -> SparseMatrix:
    """Return the features, each row scaled to length 1, on the graph's device: `[nodes, features]`."""
    return SparseMatrix.from_scipy(unit_rows(graph)).to(graph.y.device)
