"""Mixture: trained members, averaged and calibrated, and what they decide."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphmix.data import Graph
from graphmix.errors import DataError
from graphmix.evaluation.calibration import (
    abstention_threshold,
    apply_temperature,
    conformal_sets,
    conformal_threshold,
    fit_temperature,
)
from graphmix.evaluation.heldout import HeldOut
from graphmix.evaluation.selection import average
from graphmix.results.evidence import FEWEST_CALIBRATED, FEWEST_KEPT
from graphmix.results.fit import MIXTURE
from graphmix.results.outcome import undecided, unpromised
from graphmix.tables.stored import positive
from graphmix.training import Config
from graphmix.workflow.members import Member, pack_members, unpack_members
from graphmix.workflow.options import check_methods, check_shares


def can_calibrate(held: HeldOut) -> bool:
    """Whether the held-out labels are enough to fit a temperature, and to measure what it does."""
    return len(held.labels) >= FEWEST_CALIBRATED and held.probabilities.shape[1] > 1


# How many probabilities are sorted at a time.
_SORTED = 2**18
# Shares are stored with all their digits, but their sum is rounded.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Mixture:
    """A weighted average of trained members, whose prediction is calibrated. It may have a single member.

    Attributes:
        members: the members, the one with the largest share first.
        classes: the names of the classes, in the order of the probabilities.
        held: held-out predictions of such a mixture, before calibration; other labels chose it.
        temperature: what the logits of the average are divided by.
    """

    members: tuple[Member, ...]
    classes: tuple[str, ...]
    held: HeldOut
    temperature: float

    @classmethod
    def calibrated(cls, members: tuple[Member, ...], classes: tuple[str, ...], held: HeldOut) -> "Mixture":
        """Calibrate members on the held-out predictions of such a mixture."""
        temperature = fit_temperature(held.probabilities, held.labels) if can_calibrate(held) else 1.0
        return cls(members, classes, held, temperature)

    @property
    def method(self) -> str:
        """The method of a single member; "mixture" if there are several."""
        return self.members[0].method if len(self.members) == 1 else MIXTURE

    @property
    def config(self) -> Config:
        """The hyperparameters of the networks with the largest share; of the first member if there are no networks."""
        return next((each for each in self.members if each.is_network), self.members[0]).config

    def describe(self) -> dict[str, Any]:
        """Return what model.json says of the mixture."""
        return {"members": [each.describe() for each in self.members], "temperature": self.temperature}

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of all members."""
        return pack_members(self.members)

    @classmethod
    def from_parts(
        cls, described: Any, tensors: dict[str, Tensor], held: dict[str, HeldOut], graph: Graph
    ) -> "Mixture":
        """Read back what `describe` and `tensors` returned, with held-out predictions by name.

        Raises:
            KeyError: a value is missing.
            ValueError: a value is invalid, or the tensors are those of another member.
        """
        classes, temperature = graph.class_names or (), positive(described, "temperature")
        if "members" not in described:
            return cls((_only_member(described, tensors, graph),), classes, held[described["method"]], temperature)
        members = unpack_members(described["members"], tensors, graph)
        if abs(sum(each.share for each in members) - 1) > _ROUNDING:
            raise ValueError("the shares of the members do not sum to 1")
        return cls(members, classes, held[MIXTURE], temperature)

    def probabilities(self, graph: Graph) -> NDArray[np.float64]:
        """Return calibrated class probabilities of every node: `[nodes, classes]`, rows sum to 1.

        Label propagation uses the labels in `graph.y`.
        """
        predicted = {each.name: each.probabilities(graph) for each in self.members}
        return self.calibrate(average(predicted, {each.name: each.share for each in self.members}))

    def inductive(self) -> "Mixture":
        """Return the mixture for another graph: without label propagation, which only knows the nodes of the fit.

        Raises:
            DataError: there is no other member.
        """
        kept = [each for each in self.members if not each.is_transductive]
        if not kept:
            raise DataError("label propagation only knows the nodes of the fit; leave X out, or fit on all nodes")
        total = sum(each.share for each in kept)
        return replace(self, members=tuple(replace(each, share=each.share / total) for each in kept))

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


def _only_member(described: Any, tensors: dict[str, Tensor], graph: Graph) -> Member:
    """Read the model of an older version, which had the networks of one method."""
    (method,) = check_methods(described["method"])
    config = Config.from_dict(described["config"])
    return Member(method, method, config, tensors).checked(graph)


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
