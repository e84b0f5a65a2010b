"""Networks of baselines, trained by gradient descent over the trial axis; the best validation epoch predicts."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        test: bool `[trials or 1, nodes]`, the test nodes.
    """

    graph: Graph
    streams: Streams
    labeled: Picks
    val: Picks
    test: Tensor


class Network(Protocol):
    """A network with its trials' weights, and what it minimises."""

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """Name to weights `[trials, ...]`."""

    def loss(self, epoch: int) -> Tensor:
        """Return what each trial minimises in an epoch: `[trials]`."""

    def logits(self) -> Tensor:
        """Return the logits of all nodes: `[trials, nodes, classes]`."""


def descend(optimizer: torch.optim.Optimizer, loss: Callable[[int], Tensor], steps: int) -> None:
    """Minimise a loss `[trials]` of the number of the step."""
    for step in range(steps):
        optimizer.zero_grad()
        loss(step).sum().backward()
        optimizer.step()


def predict_best(network: Network, optimizer: torch.optim.Optimizer, val: Picks, epochs: int) -> Tensor:
    """Train; return each trial's probabilities at its best validation epoch, the first of equal ones.

    Args:
        network: the network.
        optimizer: of its weights. It must update each number by itself, so that trials stay apart.
        val: validation nodes.
        epochs: number of steps.

    Returns:
        `[trials, nodes, classes]`, rows sum to 1.
    """
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
    # On the CPU a batch is hardly faster, and torch's batched products round in another way than those of one trial.
    at_once = max(1, _CUDA_NUMBERS // numbers) if device.type == "cuda" else 1
    labeled, val = (Picks.build(mask.to(device), graph.y) for mask in (split.train, split.val))
    test = split.test.to(device)
    results = []
    with _one_thread():
        for start in range(0, len(seeds), at_once):
            if watch is not None:
                watch(start)
            places = torch.arange(start, min(start + at_once, len(seeds)), device=device)
            streams = Streams.from_seeds([seeds[place] for place in places.tolist()], device)
            held = test if test.shape[0] == 1 else test[places]
            results.append(train(Trials(graph, streams, labeled.select(places), val.select(places), held)).cpu())
    return torch.cat(results)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread of the CPU: steps are short, and threads that wait for one another stall busy cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sparse_rows(graph: Graph) -> SparseMatrix:
    """Return the features, each row scaled to length 1, on the graph's device: `[nodes, features]`."""
    return SparseMatrix.from_scipy(unit_rows(graph)).to(graph.y.device)
