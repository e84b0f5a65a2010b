"""A weighted average of candidates, chosen by labels held out of their training.

Three things are chosen for each candidate by the log loss of held-out labels: its point (for networks the number of
epochs, for a linear model the strength of its penalty), its temperature, and its weight in the average. The weights
come from greedy selection with replacement (Caruana, Niculescu-Mizil, Crew and Ksikes, 2004).

A choice looks too good on the labels that made it. `choose` therefore also predicts each fifth of the labels by what
the other four fifths choose; calibration, prediction sets, abstention and every reported score are computed from these
nested predictions. The final weights are the mean of the weights that the fifths chose, which varies less than one
selection by all labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmix.evaluation.calibration import apply_temperature, fit_temperature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTS = 5
# The average starts with so many candidates, the best alone, but at most half; one is added for every ten labels.
FIRST = 4
LABELS_A_ROUND = 10
MOST_ROUNDS = 50
# A temperature counts half if it was fitted to so many labels.
SHRINKING = 100
# A candidate of less weight is left out: training it would take time and change little.
LEAST_WEIGHT = 0.05
_FLOOR = 1e-12


@dataclass(frozen=True, eq=False)
class Chosen:
    """What held-out labels chose.

    Attributes:
        weights: candidate to its share in the average; candidates without a share are left out. They sum to 1.
        temperatures: candidate to the temperature of its probabilities before they are averaged.
        points: candidate to the number of its point.
        nested: float64 `[held, classes]`, the average's predictions of labels that did not choose it.
        alone: candidate to the same by itself, at the point and temperature that other labels chose.
    """

    weights: dict[str, float]
    temperatures: dict[str, float]
    points: dict[str, int]
    nested: Floats
    alone: dict[str, Floats]


def choose(
    candidates: Mapping[str, Floats], labels: Ints, *, seed: int = 0, label_weights: Floats | None = None
) -> Chosen:
    """Choose points, temperatures and weights by held-out labels.

    Args:
        candidates: name to held-out probabilities `[points, held, classes]`, rows sum to 1; the same labels for all.
        labels: int64 `[held]`.
        seed: deals the labels into parts.
        label_weights: `[held]`, how much each label counts; all the same if None.
    """
    counts = np.ones(len(labels)) if label_weights is None else label_weights
    dealt = np.random.Generator(np.random.PCG64(seed)).permutation(len(labels)) % PARTS
    nested = np.zeros((len(labels), next(iter(candidates.values())).shape[2]))
    alone = {name: np.zeros_like(nested) for name in candidates}
    selected: list[dict[str, float]] = []
    for part in range(min(PARTS, len(labels))):
        rest, own = dealt != part, dealt == part
        made = {name: _Single.fit(held[:, rest], labels[rest], counts[rest]) for name, held in candidates.items()}
        inside = {name: single.apply(candidates[name][:, rest]) for name, single in made.items()}
        weights = select_greedily(inside, labels[rest], counts[rest])
        outside = {name: single.apply(candidates[name][:, own]) for name, single in made.items()}
        nested[own] = average(outside, weights)
        for name, predicted in outside.items():
            alone[name][own] = predicted
        selected.append(weights)
    final = {name: _Single.fit(held, labels, counts) for name, held in candidates.items()}
    kept = _prune({name: float(np.mean([each.get(name, 0.0) for each in selected])) for name in candidates})
    return Chosen(
        weights=kept,
        temperatures={name: final[name].temperature for name in kept},
        points={name: final[name].point for name in candidates},
        nested=nested,
        alone=alone,
    )


def select_greedily(candidates: Mapping[str, Floats], labels: Ints, label_weights: Floats) -> dict[str, float]:
    """Average the best few candidates, then add the one that lowers the log loss most, again and again.

    Starting from several, and adding more the more labels there are, keeps a handful of labels from choosing one
    candidate by chance: both are what Caruana et al. advise.

    Args:
        candidates: name to probabilities `[held, classes]`.
        labels: int64 `[held]`.
        label_weights: `[held]`.

    Returns:
        Name to share, of candidates that have one; they sum to 1.
    """
    names = list(candidates)
    # The loss needs the probability of the label alone, and the mean of candidates is linear in it.
    own = np.stack([candidates[name][np.arange(len(labels)), labels] for name in names])
    counts = np.zeros(len(names))
    first = min(FIRST, -(-len(names) // 2))
    counts[np.argsort(_label_loss(own, label_weights), kind="stable")[:first]] = 1
    for _ in range(min(MOST_ROUNDS, -(-len(labels) // LABELS_A_ROUND))):
        mean = (counts @ own + own) / (counts.sum() + 1)
        counts[_label_loss(mean, label_weights).argmin()] += 1
    shares = counts / counts.sum()
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}


def _label_loss(own: Floats, label_weights: Floats) -> Floats:
    """The log loss of each row of probabilities of the labels `[rows, held]`."""
    loss: Floats = -(np.log(np.maximum(own, _FLOOR)) * label_weights).sum(axis=-1)
    return loss


def average(candidates: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """The weighted mean of probabilities `[rows, classes]`; rows sum to 1."""
    total: Floats = sum((share * candidates[name] for name, share in weights.items()), np.zeros(()))
    mean: Floats = total / total.sum(axis=1, keepdims=True)
    return mean


@dataclass(frozen=True)
class _Single:
    """The point and the temperature of one candidate."""

    point: int
    temperature: float

    @classmethod
    def fit(cls, held: Floats, labels: Ints, weights: Floats) -> "_Single":
        """Choose the point with the least log loss, smoothed over its neighbours, and a temperature there."""
        own = held[:, np.arange(len(labels)), labels]
        point = int(_smoothed(_label_loss(own, weights)).argmin())
        return cls(point, _shrunk(fit_temperature(held[point], labels), len(labels)))

    def apply(self, held: Floats) -> Floats:
        """Return the probabilities `[held, classes]` of the point at the temperature."""
        return apply_temperature(held[self.point], self.temperature)


def _smoothed(losses: Floats) -> Floats:
    """The mean over each point and its neighbours: with few labels a single point is best by chance."""
    padded = np.pad(losses, 1, mode="edge")
    smooth: Floats = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return smooth


def _shrunk(temperature: float, labels: int) -> float:
    """Move a temperature towards 1, the more the fewer labels it was fitted to: T^(n / (n + 100))."""
    return float(temperature ** (labels / (labels + SHRINKING)))


def _prune(weights: Mapping[str, float]) -> dict[str, float]:
    """Leave out small weights, at most those below the largest; the others sum to 1, the largest first."""
    least = min(LEAST_WEIGHT, max(weights.values()))
    kept = {name: share for name, share in weights.items() if share >= least and share > 0}
    total = sum(kept.values())
    return {name: kept[name] / total for name in sorted(kept, key=lambda name: -kept[name])}
