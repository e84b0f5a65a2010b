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
ROUNDS = 50
# A candidate of less weight is left out: training it would take time and change little.
LEAST_WEIGHT = 0.05
# Points are compared by at most so many labels, at these temperatures.
_MOST_COMPARED = 2000
_TEMPERATURES = np.geomspace(0.25, 4.0, 9)
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


def select_greedily(
    candidates: Mapping[str, Floats], labels: Ints, label_weights: Floats, rounds: int = ROUNDS
) -> dict[str, float]:
    """Add the candidate that lowers the average's log loss most, again and again; return the shares at the best round.

    Without a label all have the same share.

    Args:
        candidates: name to probabilities `[held, classes]`.
        labels: int64 `[held]`.
        label_weights: `[held]`.
        rounds: how many candidates are added, with repeats.
    """
    names = list(candidates)
    if not len(labels):
        return dict.fromkeys(names, 1 / len(names))
    # The loss needs the probability of the label alone, and the mean of candidates is linear in it.
    own = np.stack([candidates[name][np.arange(len(labels)), labels] for name in names])
    total, counts = np.zeros(len(labels)), np.zeros(len(names))
    best, shares = np.inf, counts
    for size in range(1, rounds + 1):
        losses = -(np.log(np.maximum((total + own) / size, _FLOOR)) * label_weights).sum(axis=1)
        added = int(losses.argmin())
        total, counts = total + own[added], counts + (np.arange(len(names)) == added)
        if losses[added] < best - 1e-9 * abs(best if np.isfinite(best) else 0.0):
            best, shares = float(losses[added]), counts / size
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}


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
        """Choose the last point whose log loss is the least, or larger by less than its standard error.

        With few labels the least loss is often an early one by chance. Networks that train longer are more confident
        than right, which the temperature mends; their classes are as good or better.
        """
        if not len(labels):
            return cls(len(held) - 1, 1.0)
        point = 0
        if len(held) > 1:
            some = slice(None, None, -(-len(labels) // _MOST_COMPARED))
            point = _last_good(_smoothed(_losses(held[:, some], labels[some]) * weights[some]))
        return cls(point, fit_temperature(held[point], labels))

    def apply(self, held: Floats) -> Floats:
        """Return the probabilities `[held, classes]` of the point at the temperature."""
        return apply_temperature(held[self.point], self.temperature)


def _losses(held: Floats, labels: Ints) -> Floats:
    """The log loss of each label at each point `[points, held]`, at the best of a few temperatures of the point."""
    logs = np.log(np.maximum(np.nan_to_num(held, nan=0.0), _FLOOR))
    losses = np.stack([_scaled_losses(logs / temperature, labels) for temperature in _TEMPERATURES])
    best: Floats = losses[losses.mean(axis=2).argmin(axis=0), np.arange(len(held))]
    return best


def _scaled_losses(logs: Floats, labels: Ints) -> Floats:
    top = logs.max(axis=2)
    norm = top + np.log(np.exp(logs - top[:, :, None]).sum(axis=2))
    own: Floats = norm - logs[:, np.arange(len(labels)), labels]
    return own


def _smoothed(losses: Floats) -> Floats:
    """The mean over each point and its neighbours: with few labels a single point is best by chance."""
    padded = np.concatenate([losses[:1], losses, losses[-1:]])
    smooth: Floats = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return smooth


def _last_good(losses: Floats) -> int:
    """The last point whose mean loss exceeds the least one by at most the standard error of the difference."""
    behind = losses - losses[losses.mean(axis=1).argmin()]
    error = behind.std(axis=1) / np.sqrt(losses.shape[1])
    return int(np.flatnonzero(behind.mean(axis=1) <= error)[-1])


def _prune(weights: Mapping[str, float]) -> dict[str, float]:
    """Leave out small weights, at most those below the largest; the others sum to 1, the largest first."""
    least = min(LEAST_WEIGHT, max(weights.values()))
    kept = {name: share for name, share in weights.items() if share >= least and share > 0}
    total = sum(kept.values())
    return {name: kept[name] / total for name in sorted(kept, key=lambda name: -kept[name])}
