"""Ensemble: the networks of one method, averaged and calibrated."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphmix.baselines import propagate
from graphmix.data import Graph
from graphmix.errors import DataError
from graphmix.evaluation.calibration import (
    abstention_threshold,
    apply_temperature,
    conformal_sets,
    conformal_threshold,
    fit_temperature,
)
from graphmix.evaluation.heldout import HeldOut, ensemble
from graphmix.models import BACKBONES
from graphmix.results.evidence import FEWEST_CALIBRATED, FEWEST_KEPT
from graphmix.results.outcome import undecided, unpromised
from graphmix.streams import Streams
from graphmix.tables.stored import positive
from graphmix.training import Config
from graphmix.training.loop import predict_proba
from graphmix.training.methods import METHODS
from graphmix.workflow.candidates import Candidate
from graphmix.workflow.options import check_methods, check_shares


def can_calibrate(held: HeldOut) -> bool:
    """Whether the held-out labels are enough to fit a temperature, and to measure what it does."""
    return len(held.labels) >= FEWEST_CALIBRATED and held.probabilities.shape[1] > 1


# How many probabilities are sorted at a time.
_SORTED = 2**18


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The networks of one method, whose mean prediction is calibrated.

    Attributes:
        method: what was trained, one of `graphmix.workflow.options.CANDIDATES`.
        config: the hyperparameters.
        classes: the names of the classes, in the order of the probabilities.
        weights: name to tensor `[trials, ...]`; empty for label propagation.
        held: its held-out predictions, before calibration.
        temperature: what the logits are divided by.
    """

    method: str
    config: Config
    classes: tuple[str, ...]
    weights: dict[str, Tensor]
    held: HeldOut
    temperature: float

    @classmethod
    def from_candidate(cls, candidate: Candidate, config: Config, classes: tuple[str, ...]) -> "Ensemble":
        """Calibrate the networks of a candidate on its held-out predictions."""
        held = candidate.held
        temperature = fit_temperature(held.probabilities, held.labels) if can_calibrate(held) else 1.0
        weights = {} if candidate.fit is None else candidate.fit.weights
        own = config if candidate.fit is None else candidate.fit.config
        return cls(candidate.method, own, classes, weights, candidate.held, temperature)

    def describe(self) -> dict[str, Any]:
        """Return what model.json says of the ensemble."""
        return {"method": self.method, "config": self.config.to_dict(), "temperature": self.temperature}

    @classmethod
    def from_parts(
        cls, described: Any, weights: dict[str, Tensor], held: dict[str, HeldOut], graph: Graph
    ) -> "Ensemble":
        """Read back what `describe` returned, with the weights and the held-out predictions by method.

        Raises:
            KeyError: a value is missing.
            ValueError: a value is invalid, or the weights are those of another network.
        """
        (method,) = check_methods(described["method"])
        config = Config.from_dict(described["config"])
        temperature = positive(described, "temperature")
        made = cls(method, config, graph.class_names or (), weights, held[method], temperature)
        made._check_weights(graph.num_features)
        return made

    def probabilities(self, graph: Graph) -> NDArray[np.float64]:
        """Return calibrated class probabilities of every node: `[nodes, classes]`, rows sum to 1.

        Label propagation uses the labels in `graph.y`.
        """
        return self.calibrate(ensemble(self._predict(graph)))

    def calibrate(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide the logits of averaged probabilities `[nodes, classes]` by the temperature."""
        return apply_temperature(probabilities, self.temperature)

    @cached_property
    def held_calibrated(self) -> NDArray[np.float64]:
        """Calibrated probabilities of the held-out labels: `[held, classes]`."""
        return self.calibrate(self.held.probabilities)

    def decide(self, probabilities: NDArray[np.float64], target: float, coverage: float) -> "Decisions":
        """Decide what to predict of each node, and whether to abstain.

        Args:
            probabilities: calibrated, `[nodes, classes]`, as `probabilities` returns them.
            target: the accuracy that predictions must have, or else abstain; above 0 and below 1.
            coverage: the share of nodes whose prediction set must contain their class; above 0 and below 1.
        """
        check_shares(target_accuracy=target, coverage=coverage)
        level = abstention_threshold(self.held_calibrated, self.held.labels, target)
        threshold = conformal_threshold(self.held_calibrated, self.held.labels, coverage)
        order = _sorted_classes(probabilities)
        confidence = np.take_along_axis(probabilities, order[:, :1], axis=1)[:, 0]
        abstain = np.ones(len(probabilities), dtype=np.bool_) if level is None else confidence < level
        return Decisions(order, probabilities, abstain, conformal_sets(probabilities, threshold), level, threshold)

    def doubts(self, decisions: "Decisions", target: float, coverage: float) -> tuple[str, ...]:
        """Say what the held-out labels are too few for, a sentence each."""
        labels, kind = len(self.held.labels), "held-out label"
        said = []
        if labels < FEWEST_KEPT and decisions.level is not None:
            said.append(undecided(labels, kind, 100 * target))
        if not np.isfinite(decisions.threshold):
            said.append(unpromised(labels, kind, 100 * coverage, len(self.classes)))
        return tuple(said)

    def _check_weights(self, features: int) -> None:
        """Raise a `DataError` unless the weights have the shapes that the hyperparameters imply."""
        expected: dict[str, tuple[int, ...]] = {}
        if not METHODS[self.method].baseline:
            # First, because a false number of trials would take memory.
            trials = [weight.shape[:1] for weight in self.weights.values()]
            if not trials or any(found != (self.config.trials,) for found in trials):
                raise DataError(f"the weights are not those of {self.config.trials:,} trials")
            sizes = (features, self.config.hidden, len(self.classes))
            # The meta device has shapes and no values.
            streams = Streams.from_seeds(range(self.config.trials), "meta")
            network = BACKBONES[self.config.backbone]
            drawn = network.create(streams, sizes, bias=self.config.bias, **self.config.options())
            expected = {name: tuple(weight.shape) for name, weight in drawn.weights.items()}
        if {name: tuple(weight.shape) for name, weight in self.weights.items()} != expected:
            raise DataError(f"the weights are not those of such a {self.config.backbone}")

    def _predict(self, graph: Graph) -> Tensor:
        if METHODS[self.method].baseline:
            return propagate(graph, (graph.y >= 0)[None])
        network = BACKBONES[self.config.backbone](self.weights, **self.config.options())
        if graph.num_edges == 0:
            # Without edges a row's prediction depends on that row alone. In float32 it would also depend, by about
            # 1e-8, on the row's place: matrix products sum rows at the edge of a block in another order.
            network = replace(network, weights={name: weight.double() for name, weight in self.weights.items()})
            x = graph.x
            graph = graph.with_x(x.double() if isinstance(x, Tensor) else replace(x, values=x.values.double()))
        return predict_proba(network, self.config, graph)


def _sorted_classes(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Sort the classes of each row, the most probable first: int64 `[nodes, classes]`."""
    # A few rows at a time: numpy keeps every other thread waiting while it sorts.
    order = np.empty(probabilities.shape, dtype=np.int64)
    size = max(1, _SORTED // max(1, probabilities.shape[1]))
    for start in range(0, len(order), size):
        order[start : start + size] = np.argsort(-probabilities[start : start + size], axis=1, kind="stable")
    return order


@dataclass(frozen=True, eq=False)
class Decisions:
    """What is predicted of nodes, and how certain it is.

    Attributes:
        order: int64 `[nodes, classes]`, the classes of each node, the most probable first.
        probabilities: float64 `[nodes, classes]`.
        abstain: bool `[nodes]`, where the confidence is too low for the target accuracy.
        sets: bool `[nodes, classes]`, the prediction sets.
        level: the lowest confidence that meets the target accuracy; None if none does.
        threshold: the largest 1 - probability of a class in a set.
    """

    order: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    abstain: NDArray[np.bool_]
    sets: NDArray[np.bool_]
    level: float | None
    threshold: float
