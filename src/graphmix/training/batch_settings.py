"""The hyperparameters of mini-batches (docs/design/0026-mini-batches.md). Importing this does not import torch."""

from dataclasses import dataclass

from graphmix.errors import ConfigError
from graphmix.models.registry import NETWORKS
from graphmix.training.methods import METHODS
from graphmix.training.settings import RUN, setting


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """Hyperparameters that say how much of a graph a step trains on."""

    batch_nodes: int = setting(
        0,
        at_least=0,
        added=True,
        group=RUN,
        help="Nodes whose losses a step computes, drawn for each step with some of their neighbours; 0 takes the whole "
        "graph",
    )
    batch_fanout: int = setting(
        10, at_least=1, added=True, group=RUN, help="Neighbours that a node draws in each of two hops, with batch_nodes"
    )
    batch_parts: int = setting(
        1,
        at_least=1,
        added=True,
        group=RUN,
        default_text="1, or with torchrun the number of processes",
        help="Samples of batch_nodes whose gradients a step averages; the processes of torchrun divide them",
    )
    evaluate_every: int = setting(
        0,
        at_least=0,
        added=True,
        group=RUN,
        default_text="0: after every epoch, or with batch_nodes when the steps since took as long as an evaluation",
        help="After how many epochs the whole graph is predicted to look for the best epoch; above 1 only with "
        "batch_nodes",
    )

    def check_batch(self, method: str, backbone: str, *, kept: bool) -> None:
        """Raise ConfigError if there are mini-batches and something else needs the whole graph.

        Args:
            method: the name of the method.
            backbone: the name of the network.
            kept: whether targets are kept between steps.
        """
        if self.batch_nodes == 0:
            if self.evaluate_every > 1:
                raise ConfigError("`evaluate_every` above 1 needs `batch_nodes`: a full batch is evaluated every time")
            return
        if self.batch_nodes == 1:
            raise ConfigError("`batch_nodes` must be at least 2, a labeled and an unlabeled node, or 0, not 1")
        if METHODS[method].rule is not None:
            raise ConfigError(f"`batch_nodes` must be 0 for {method}, whose steps need the whole graph")
        reason = NETWORKS[backbone].needs_whole
        if reason:
            raise ConfigError(f"`batch_nodes` must be 0 for the network {backbone}: {reason}")
        if kept:
            raise ConfigError("`target_every` must be 1 with `batch_nodes`: every step has other unlabeled nodes")
