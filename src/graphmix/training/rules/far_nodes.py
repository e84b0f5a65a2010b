"""Nodes that are far from each other, drawn on the device."""

import torch
from torch import Tensor

from graphmix.streams import Noise
from graphmix.training.task import Picks

# Two layers see two hops, so nodes more than four hops apart share nothing.
HOPS = 4
# In each round all nodes become members that have the largest number of all within four hops.
ROUNDS = 6


def far_nodes(noise: Noise, edges: Tensor, nodes: int, most: int) -> Picks:
    """Draw up to `most` nodes of each trial, no two of them within four hops.

    Every node draws a number. Nodes whose number is the largest within four hops are taken, those within four hops of
    them leave, and so on: what taking nodes one by one, in random order, would give if there were enough rounds.

    Args:
        noise: the random numbers.
        edges: int64 `[2, entries]`, both directions of every edge.
        nodes: how many nodes there are.
        most: how many to draw at most.
    """
    number = noise.words(nodes).bitwise_and(2**62 - 1)
    open_ = torch.ones_like(number, dtype=torch.bool)
    taken = torch.zeros_like(open_)
    for _ in range(ROUNDS):
        rank = number.where(open_, -1)
        taken = taken | (open_ & (_reach(rank, edges) == rank))
        open_ = open_ & (_reach(taken.long(), edges) == 0)
    value, index = number.where(taken, -1).topk(min(most, nodes), dim=1)
    real = value >= 0
    count = real.sum(dim=1)
    return Picks(index, count, real / count.clamp_min(1)[:, None], torch.full_like(index, -1))


def _reach(values: Tensor, edges: Tensor) -> Tensor:
    """The largest of int64 values `[trials, nodes]` within four hops of each node."""
    row, col = edges
    place = row.expand(values.shape[0], -1)
    for _ in range(HOPS):
        values = values.scatter_reduce(1, place, values.index_select(1, col), "amax")
    return values
