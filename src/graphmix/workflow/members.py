"""Members of a mixture: trained candidates that predict a graph, and are stored as tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines import propagate
from graphmix.baselines.neighbour_means import HOPS
from graphmix.baselines.tabular import TABULAR
from graphmix.data import Graph
from graphmix.errors import DataError
from graphmix.evaluation.calibration import apply_temperature
from graphmix.evaluation.heldout import ensemble
from graphmix.models import BACKBONES, Backbone
from graphmix.models.registry import NETWORKS
from graphmix.storage.files import tensors_under
from graphmix.streams import Streams
from graphmix.tables.stored import positive, text
from graphmix.training import Config
from graphmix.training.loop import predict_proba
from graphmix.training.methods import METHODS
from graphmix.workflow.options import check_methods

# Up to this many weights of one trial, drawing them takes a few hundredths of a second.
_FEW_WEIGHTS = 2**20


@dataclass(frozen=True, eq=False)
class Member:
    """A trained candidate and its share in the mixture.

    Attributes:
        name: its name, once in a mixture.
        method: the method.
        config: the hyperparameters.
        tensors: the weights of networks `[trials, ...]`, or what another method learned; empty for label propagation.
        share: its weight in the mixture, above 0; the shares of all members sum to 1.
        temperature: what its logits are divided by before they are averaged with others.
    """

    name: str
    method: str
    config: Config
    tensors: dict[str, Tensor]
    share: float = 1.0
    temperature: float = 1.0

    @property
    def is_network(self) -> bool:
        """Whether it consists of networks."""
        return not METHODS[self.method].baseline

    @property
    def is_transductive(self) -> bool:
        """Whether it only knows the nodes it was trained with: label propagation."""
        return METHODS[self.method].baseline and self.method not in TABULAR

    @property
    def uses_edges(self) -> bool:
        """Whether its predictions depend on the edges."""
        return METHODS[self.method].baseline or self.config.predicts_with_gnn

    def probabilities(self, graph: Graph) -> NDArray[np.float64]:
        """Predict every node of a graph, whose labels are those to learn from: `[nodes, classes]`, rows sum to 1."""
        return apply_temperature(self.uncalibrated(graph), self.temperature)

    def network(self) -> Backbone:
        """The networks; only for a member that consists of networks."""
        return BACKBONES[self.config.backbone](self.tensors, **self.config.options())

    @property
    def reach(self) -> int | None:
        """How many hops away a node may be that a prediction depends on; None if every node may matter."""
        if self.method in TABULAR:
            return HOPS
        if self.is_transductive:
            return None
        if not self.uses_edges:
            return 0
        return None if NETWORKS[self.config.backbone].needs_whole else self.network().reach

    def describe(self) -> dict[str, Any]:
        """Return what model.json says of the member."""
        return {
            "name": self.name,
            "method": self.method,
            "share": self.share,
            "temperature": self.temperature,
            "config": self.config.to_dict(),
        }

    @classmethod
    def from_parts(cls, described: Any, tensors: dict[str, Tensor], graph: Graph) -> "Member":
        """Read back what `describe` returned, with the tensors.

        Raises:
            KeyError: a value is missing.
            ValueError: a value is invalid, or the tensors are those of another member.
        """
        (method,) = check_methods(text(described, "method"))
        config = Config.from_dict(described["config"])
        share, temperature = (positive(described, name) for name in ("share", "temperature"))
        return cls(text(described, "name"), method, config, tensors, share, temperature).checked(graph)

    def checked(self, graph: Graph) -> "Member":
        """Return the member; raise a `DataError` unless its tensors are such as its hyperparameters imply."""
        self._check(graph)
        return self

    def uncalibrated(self, graph: Graph) -> NDArray[np.float64]:
        """Predict as `probabilities` does, before the temperature."""
        if self.method in TABULAR:
            kind = TABULAR[self.method]
            return kind.from_tensors(self.tensors, graph.num_features, graph.num_classes).predict(graph)
        if METHODS[self.method].baseline:
            return ensemble(propagate(graph, (graph.y >= 0)[None]))
        network = self.network()
        if graph.num_edges == 0:
            # Without edges a row's prediction depends on that row alone. In float32 it would also depend, by about
            # 1e-8, on the row's place: matrix products sum rows at the edge of a block in another order.
            network = replace(network, weights={name: weight.double() for name, weight in self.tensors.items()})
            x = graph.x
            graph = replace(graph, x=x.double() if isinstance(x, Tensor) else replace(x, values=x.values.double()))
        return ensemble(predict_proba(network, self.config, graph))

    def _check(self, graph: Graph) -> None:
        """Raise a `DataError` unless the tensors are such as the method and the hyperparameters imply."""
        if self.method in TABULAR:
            TABULAR[self.method].from_tensors(self.tensors, graph.num_features, graph.num_classes)
            return
        expected: dict[str, tuple[int, ...]] = {}
        if not METHODS[self.method].baseline:
            expected = self._network_shapes(graph)
        if {name: tuple(weight.shape) for name, weight in self.tensors.items()} != expected:
            raise DataError(f"the weights are not those of such a {self.config.backbone}")

    def _network_shapes(self, graph: Graph) -> dict[str, tuple[int, ...]]:
        # First, because a false number of trials would take memory.
        trials = [weight.shape[:1] for weight in self.tensors.values()]
        if not trials or any(found != (self.config.trials,) for found in trials):
            raise DataError(f"the weights are not those of {self.config.trials:,} trials")
        sizes = (graph.num_features, self.config.hidden, graph.num_classes)
        options = self.config.options()
        network = BACKBONES[self.config.backbone]
        found = network.footprint(graph, self.config.hidden, graph.num_classes, **options)
        count = (graph.num_features + found.logits_width) * found.hidden_width + found.inner_weights
        # The meta device has shapes and no values, whatever a damaged file says they are. But to compute on it torch
        # imports its compiler, which takes longer than to draw the weights of a small network.
        streams = Streams.from_seeds([0], "cpu" if count <= _FEW_WEIGHTS else "meta")
        drawn = network.create(streams, sizes, bias=self.config.bias, **options)
        return {name: (self.config.trials, *weight.shape[1:]) for name, weight in drawn.weights.items()}


def pack_members(members: tuple[Member, ...]) -> dict[str, Tensor]:
    """Return the tensors of all members, each under its place."""
    # Members that read the same columns share tensors, which safetensors refuses.
    return {
        f"{place}.{name}": tensor.clone() for place, each in enumerate(members) for name, tensor in each.tensors.items()
    }


def unpack_members(described: Any, tensors: Mapping[str, Tensor], graph: Graph) -> tuple[Member, ...]:
    """Read back members, as `describe` and `pack_members` returned them.

    Raises:
        KeyError: a value is missing.
        ValueError: a value is invalid, or there is a tensor too many.
    """
    if not isinstance(described, list) or not described:
        raise ValueError("missing or invalid: members")
    parts = [tensors_under(f"{place}.", tensors) for place in range(len(described))]
    if sum(map(len, parts)) != len(tensors):
        raise ValueError("there are weights of no member")
    return tuple(Member.from_parts(each, part, graph) for each, part in zip(described, parts, strict=True))
