"""Draw neighbours: a vectorised sampler over the rows of a graph's adjacency matrix.

Random numbers are an argument, and there is no loop over nodes. Everything stays on the device of the graph.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphmix.data.graph import Graph
from graphmix.streams import Noise


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The neighbours of every node, in CSR form.

    Attributes:
        crow: int64 `[nodes + 1]`, where the neighbours of each node start in `col`.
        col: int64 `[entries]`, sorted for each node.
        weights: float32 `[entries]`; None if all are 1.
        strengths: float64 `[nodes]`, the sum of the weights of each node's edges.
    """

    crow: Tensor
    col: Tensor
    weights: Tensor | None
    strengths: Tensor

    @classmethod
    def of(cls, graph: Graph) -> "Adjacency":
        """List the neighbours in a graph; compute it once with `graph.derived(Adjacency.of)`."""
        row, col = graph.edge_index
        count = torch.bincount(row, minlength=graph.num_nodes)
        crow = torch.cat([count.new_zeros(1), count.cumsum(0)])
        strengths = torch.from_numpy(graph.structure.strengths).to(row.device)
        return cls(crow, col, graph.edge_weights, strengths)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.strengths.shape[0]

    def all_of(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """List all entries of nodes, int64 `[picks]`: the place of each one's node in `nodes`, and its own in `col`.

        Returns:
            int64 `[found]` twice, in the order of the nodes.
        """
        start = self.crow[nodes]
        count = self.crow[nodes + 1] - start
        place = torch.arange(len(nodes), device=nodes.device).repeat_interleave(count)
        first = count.cumsum(0) - count
        return place, torch.arange(len(place), device=nodes.device) + (start - first)[place]

    def some_of(self, nodes: Tensor, fanout: int, noise: Noise) -> tuple[Tensor, Tensor]:
        """Draw `fanout` entries of each node without replacement; a node with no more than that has them all.

        Returns:
            As `all_of`, in any order.
        """
        count = self.crow[nodes + 1] - self.crow[nodes]
        few, many = ((count <= fanout).nonzero()[:, 0], (count > fanout).nonzero()[:, 0])
        place, entry = self.all_of(nodes[few])
        drawn = self.crow[nodes[many]][:, None] + draw_distinct(count[many], fanout, noise)
        return torch.cat([few[place], many.repeat_interleave(fanout)]), torch.cat([entry, drawn.flatten()])


def draw_distinct(counts: Tensor, picks: int, noise: Noise) -> Tensor:
    """Draw different numbers below each count, int64 `[rows]`, none of them less than `picks`: int64 `[rows, picks]`.

    Floyd's algorithm (Bentley and Floyd, 1987), for all rows at once: pick k is a number t up to count - picks + k, or
    that bound itself if t was picked before. Every set is equally likely.
    """
    words = noise.words(len(counts) * picks)[0].view(len(counts), picks)
    drawn = torch.empty_like(words)
    for pick in range(picks):
        bound = counts - picks + pick
        number = (words[:, pick] >> 1 & _POSITIVE) % (bound + 1)
        taken = (drawn[:, :pick] == number[:, None]).any(dim=1)
        drawn[:, pick] = torch.where(taken, bound, number)
    return drawn


def shuffled(count: int, noise: Noise) -> Tensor:
    """Draw an order of `count` things: int64 `[count]`."""
    # Stable: equal words, however unlikely, come in the same order on every device.
    return noise.words(count)[0].argsort(stable=True)


# A word without its sign.
_POSITIVE = 2**63 - 1
