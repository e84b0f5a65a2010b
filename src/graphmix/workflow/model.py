"""A model: the winner's networks as one ensemble, its calibration, and what it does with a graph."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines import propagate
from graphmix.data import Graph
from graphmix.errors import ConfigError, DataError
from graphmix.evaluation.calibration import (
    FEWEST_FITTED,
    abstention_threshold,
    apply_temperature,
    conformal_sets,
    conformal_threshold,
    fit_temperature,
)
from graphmix.evaluation.heldout import HeldOut, ensemble
from graphmix.models import BACKBONES
from graphmix.streams import Streams
from graphmix.training import Config
from graphmix.training.loop import predict_proba
from graphmix.workflow.candidates import PROPAGATION, Candidate


@dataclass(frozen=True, eq=False)
class Model:
    """A trained classifier of nodes.

    Attributes:
        method: what was trained, a name of `graphmix.workflow.candidates.CANDIDATES`.
        config: the hyperparameters.
        classes: their names, in the order of the probabilities.
        weights: name to tensor `[trials, ...]`; none for label propagation.
        held: what it predicted of labels it had not seen, before calibration.
        temperature: what its logits are divided by.
    """

    method: str
    config: Config
    classes: tuple[str, ...]
    weights: dict[str, Tensor]
    held: HeldOut
    temperature: float

    @classmethod
    def from_candidate(cls, candidate: Candidate, config: Config, classes: tuple[str, ...]) -> "Model":
        """Make a model of a candidate and calibrate it on the labels it had not seen."""
        held = candidate.held
        # What four fifths of the labels are too few for, by which the error is measured, all of them are too.
        enough = 4 * len(held.labels) >= 5 * FEWEST_FITTED
        temperature = fit_temperature(held.probabilities, held.labels) if enough else 1.0
        weights = {} if candidate.fit is None else candidate.fit.weights
        own = config if candidate.fit is None else candidate.fit.config
        return cls(candidate.method, own, classes, weights, candidate.held, temperature)

    def probabilities(self, graph: Graph) -> NDArray[np.float64]:
        """Calibrated class probabilities of every node: `[nodes, classes]`, rows sum to 1.

        Label propagation spreads the labels that `graph.y` holds.
        """
        return self.calibrate(ensemble(self._predict(graph)))

    def calibrate(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide the logits of an ensemble's prediction `[nodes, classes]` by the temperature."""
        return apply_temperature(probabilities, self.temperature)

    @cached_property
    def held_calibrated(self) -> NDArray[np.float64]:
        """The calibrated probabilities of the held-out labels: `[held, classes]`."""
        return self.calibrate(self.held.probabilities)

    def decide(self, probabilities: NDArray[np.float64], target: float, coverage: float) -> "Decisions":
        """Say what to do about each node, given its calibrated probabilities `[nodes, classes]`.

        Args:
            probabilities: as `probabilities` gives.
            target: the accuracy that predictions that are not abstained from shall have.
            coverage: how often a node's set of classes shall hold the right one.
        """
        for name, value in (("target accuracy", target), ("coverage", coverage)):
            if not 0 < value < 1:
                raise ConfigError(f"the {name} must lie between 0 and 1, not {value}")
        level = abstention_threshold(self.held_calibrated, self.held.labels, target)
        threshold = conformal_threshold(self.held_calibrated, self.held.labels, coverage)
        order = np.argsort(-probabilities, axis=1, kind="stable")
        confidence = np.take_along_axis(probabilities, order[:, :1], axis=1)[:, 0]
        abstain = np.ones(len(probabilities), dtype=np.bool_) if level is None else confidence < level
        return Decisions(order, probabilities, abstain, conformal_sets(probabilities, threshold), level, threshold)

    def check_weights(self, features: int) -> None:
        """Hold weights that come from a file to what the hyperparameters say of the networks.

        Raises:
            DataError: they are another network's.
        """
        expected: dict[str, tuple[int, ...]] = {}
        if self.method != PROPAGATION:
            sizes = (features, self.config.hidden, len(self.classes))
            # A device that holds shapes alone.
            streams = Streams.from_seeds(range(self.config.trials), "meta")
            network = BACKBONES[self.config.backbone]
            drawn = network.create(streams, sizes, bias=self.config.bias, **self.config.options())
            expected = {name: tuple(weight.shape) for name, weight in drawn.weights.items()}
        if {name: tuple(weight.shape) for name, weight in self.weights.items()} != expected:
            raise DataError(f"the weights are not those of such a {self.config.backbone}")

    def _predict(self, graph: Graph) -> Tensor:
        if self.method == PROPAGATION:
            return propagate(graph, (graph.y >= 0)[None])
        network = BACKBONES[self.config.backbone](self.weights, **self.config.options())
        return predict_proba(network, self.config, graph)


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is predicted of nodes, and how far to believe it.

    Attributes:
        order: int64 `[nodes, classes]`, the classes of each node, the most probable first.
        probabilities: float64 `[nodes, classes]`.
        abstain: bool `[nodes]`, where the confidence is too low for the target accuracy.
        sets: bool `[nodes, classes]`, the classes that together cover the right one as often as asked for.
        level: the confidence from which the target accuracy is met; None where no level meets it.
        threshold: the largest 1 - probability of a class in a set.
    """

    order: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    abstain: NDArray[np.bool_]
    sets: NDArray[np.bool_]
    level: float | None
    threshold: float
