"""Mini-batches: each step trains on a part of the graph, given to it as a smaller task (0026-mini-batches.md)."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from graphmix.data import Graph
from graphmix.data.dual_graph import MOST_LISTED
from graphmix.data.parts import sample
from graphmix.data.sampling import Adjacency, shuffled
from graphmix.data.structure import Edges
from graphmix.errors import ConfigError
from graphmix.streams import Purpose, Streams
from graphmix.training.config import Config

# Layers of the paper's networks. Networks that read more hops read the edges of a part several times.
HOPS = 2
# A step leaves at least this part of its nodes to those without labels.
_LEFT_TO_OTHERS = 16


@dataclass(frozen=True, eq=False)
class Seeds:
    """Draws the nodes whose losses a step computes: by the run's seed and the epoch, the same for all trials.

    A step has all labeled nodes if they leave a sixteenth of the batch to others. Otherwise they take turns, as other
    nodes do, in a random order. It is drawn anew when fewer are left than a step needs, which have no turn in this
    round.

    Attributes:
        labeled: int64 `[labeled]`, nodes that are labeled in some trial of the run.
        others: int64 `[others]`, all other nodes.
        size: how many nodes to draw.
        streams: two streams, for the orders of both lists.
    """

    labeled: Tensor
    others: Tensor
    size: int
    streams: Streams
    _orders: dict[tuple[int, int], Tensor] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, train: Tensor, config: Config) -> "Seeds":
        """Prepare the lists, given the training nodes of all trials, bool `[trials or 1, nodes]`."""
        known = train.any(dim=0)
        streams = Streams.from_seeds([config.seed], train.device).copies(0, 2)
        return cls(known.nonzero()[:, 0], (~known).nonzero()[:, 0], config.batch_nodes, streams)

    def at(self, epoch: int) -> Tensor:
        """Return the nodes of an epoch: int64 `[picks]`, increasing."""
        most = self.size - max(1, self.size // _LEFT_TO_OTHERS)
        labeled = self._turn(0, self.labeled, max(most, self.size - len(self.others)), epoch)
        others = self._turn(1, self.others, self.size - len(labeled), epoch)
        return torch.cat([labeled, others]).sort().values

    def _turn(self, which: int, nodes: Tensor, size: int, epoch: int) -> Tensor:
        if len(nodes) <= size:
            return nodes
        turns = len(nodes) // size
        round_, turn = divmod(epoch, turns)
        return nodes[self._order(which, len(nodes), round_)[turn * size : (turn + 1) * size]]

    def _order(self, which: int, count: int, round_: int) -> Tensor:
        # Threads share the dict: at worst an order is drawn twice.
        order = self._orders.get((which, round_))
        if order is None:
            own = replace(self.streams, keys=self.streams.keys[which : which + 1])
            order = shuffled(count, own.at(Purpose.PART_SEEDS, round_))
            for old in [key for key in list(self._orders) if key[0] == which and key[1] < round_ - 1]:
                self._orders.pop(old, None)
            self._orders[which, round_] = order
        return order


def lists_edges(graph: Graph) -> bool:
    """Whether the edges of a graph are listed, or few enough for it."""
    return isinstance(graph.structure, Edges) or graph.num_edges <= MOST_LISTED


@dataclass(frozen=True, eq=False)
class Drawn:
    """The part of a graph that a step trains on.

    Attributes:
        graph: the part, with whole neighbourhoods' weights.
        train: bool `[trials or 1, nodes of the part]`, nodes whose labels are trained on.
        unlabeled: bool `[trials or 1, nodes of the part]`, nodes that are trained on with predicted targets.
    """

    graph: Graph
    train: Tensor
    unlabeled: Tensor


@dataclass(frozen=True, eq=False)
class Parts:
    """Draws the part of a graph for each step.

    Attributes:
        graph: the whole graph.
        train: bool `[trials or 1, nodes]`, training nodes of all trials of the run.
        trials: int64, the trials of a batch; None for all.
        seeds: draws the nodes whose losses are computed.
        fanouts: for each hop, how many neighbours a node draws.
        streams: one stream, for neighbours.
    """

    graph: Graph
    train: Tensor
    trials: Tensor | None
    seeds: Seeds
    fanouts: tuple[int, ...]
    streams: Streams

    @classmethod
    def of(cls, graph: Graph, train: Tensor, config: Config) -> "Parts":
        """Prepare parts of a graph, given the training nodes of all trials of the run, bool `[trials or 1, nodes]`.

        Raises:
            ConfigError: the edges of the graph are too many to list.
        """
        if not lists_edges(graph):
            raise ConfigError(
                f"`batch_nodes` needs a list of edges, and {graph.num_edges:,} pairs of links that share an end are "
                "too many for one; leave `batch_nodes` out"
            )
        reads_edges = config.trains_gnn or config.predicts_targets
        fanouts = (config.batch_fanout,) * (HOPS if reads_edges else 0)
        streams = Streams.from_seeds([config.seed], train.device)
        return cls(graph, train, None, Seeds.of(train, config), fanouts, streams)

    def select(self, trials: Tensor) -> "Parts":
        """Keep only the given trials; what is drawn stays the same."""
        return replace(self, trials=trials if self.trials is None else self.trials[trials])

    def at(self, epoch: int) -> Drawn:
        """Draw the part of an epoch."""
        seeds = self.seeds.at(epoch)
        adjacency = self.graph.derived(Adjacency.of)
        part = sample(adjacency, seeds, self.fanouts, self.streams.at(Purpose.PARTS, epoch))
        # Other nodes of the part do not have their whole neighbourhoods, or samples of them.
        seeded = torch.zeros_like(part.nodes, dtype=torch.bool).index_fill_(0, part.places(seeds), True)
        train = self.train[:, part.nodes]
        return Drawn(part.of(self.graph), train & seeded, ~train & seeded)
