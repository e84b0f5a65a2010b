"""Whether probabilities mean what they say, and what to do with them: temperature, conformal sets, abstention.

Everything here is about held-out nodes: probabilities float64 `[nodes, classes]` from networks that did not train on
the node, and its label, int64 `[nodes]`. What is fitted on nodes looks better on them than it is; `cross_fitted` and
`conformal_coverage` judge each node by what was fitted on others.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmix.errors import ConfigError, DataError
from graphmix.evaluation.reliability import reliability_diagram
from graphmix.method import reliability
from graphmix.results.details import Reliability
from graphmix.results.fit import AbstentionCurve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

COLDEST, HOTTEST = 0.05, 20.0
# Below this many nodes a temperature says more about the nodes than about the network.
FEWEST_FITTED = 10
# A threshold that rests on fewer nodes rests on luck.
FEWEST_KEPT = 20
MOST_POINTS = 100
_FLOOR = 1e-12
# To a relative 1e-8.
_HALVINGS = 30


class Coverage(NamedTuple):
    """What conformal sets came to on nodes that their thresholds were not drawn from.

    Attributes:
        coverage: share of the nodes whose set holds the label.
        mean_size: classes in a set, on average.
        single: share of the nodes whose set is one class.
    """

    coverage: float
    mean_size: float
    single: float


def fit_temperature(probabilities: Floats, labels: Ints) -> float:
    """Choose T in [0.05, 20] so that softmax(log(p) / T) has the least mean negative log-likelihood.

    Temperature scaling (Guo et al., 2017). In 1 / T the loss is convex, so that halving the range by the sign of its
    slope finds the least. Fewer than 10 nodes leave the probabilities as they are, T = 1. Where every prediction is
    right the loss would have them as sure as the range allows; their mean confidence is then held to
    (n + 1) / (n + 2), what n successes in n tries say of the next (Laplace's rule).

    Args:
        probabilities: `[nodes, classes]`, rows sum to 1; what is below 1e-12, or no number, counts as 1e-12.
        labels: int64 `[nodes]`.
    """
    probabilities = _checked(probabilities, labels)
    if len(labels) < FEWEST_FITTED or probabilities.shape[1] < 2:
        return 1.0
    logs = _logs(probabilities)
    own = logs[np.arange(len(labels)), labels].mean()

    def slope(inverse: float) -> float:
        return float((_softmax(inverse * logs) * logs).sum(axis=1).mean() - own)

    def sureness(inverse: float) -> float:
        return float(_softmax(inverse * logs).max(axis=1).mean() - (len(labels) + 1) / (len(labels) + 2))

    all_right = bool((probabilities.argmax(axis=1) == labels).all())
    return 1.0 / _root(sureness if all_right else slope, 1.0 / HOTTEST, 1.0 / COLDEST)


def apply_temperature(probabilities: Floats, temperature: float) -> Floats:
    """softmax(log(p) / T): `[nodes, classes]`, rows sum to 1; the most probable class stays the most probable."""
    if not 0 < temperature < math.inf:
        raise ConfigError(f"a temperature must be a number above 0, not {temperature}")
    return _softmax(_logs(probabilities) / temperature)


def cross_fitted(probabilities: Floats, labels: Ints, parts: int = 5, seed: int = 0) -> Floats:
    """Calibrate each of so many random parts of the nodes by the temperature that fits the others: `[nodes, classes]`.

    What is measured on the result, the expected calibration error say, is what calibration does for nodes that it
    has not seen.
    """
    probabilities = _checked(probabilities, labels)
    calibrated = np.empty(probabilities.shape)
    for part in _parts(len(labels), parts, seed):
        temperature = fit_temperature(probabilities[~part], labels[~part])
        calibrated[part] = apply_temperature(probabilities[part], temperature)
    return calibrated


def expected_calibration_error(probabilities: Floats, labels: Ints, bins: int = 15) -> float:
    """Mean gap between confidence and accuracy over bins of the confidence (Guo et al., 2017); NaN without nodes.

    A share, not percent; bins as in `graphmix.method.reliability`.
    """
    count, confidence, right = _counts(probabilities, labels, bins)[0].T
    return float((confidence - right).abs().sum() / count.sum())


def reliability_table(probabilities: Floats, labels: Ints) -> Reliability:
    """Confidence and accuracy in 15 bins of the confidence."""
    return reliability_diagram(_counts(probabilities, labels, bins=15))


def conformal_threshold(probabilities: Floats, labels: Ints, coverage: float) -> float:
    """The score up to which a class is in a node's set, for sets that hold the label `coverage` of the time.

    A class's score is 1 - p (Sadinle, Lei and Wasserman, 2019). The threshold is the ⌈(n + 1) · coverage⌉-th smallest
    of the labels' scores, which makes the promise hold for the next node if it is like these n, whatever the network
    (Vovk, Gammerman and Shafer, 2005). Infinite, every class is in every set, where n is too small for the promise.

    Args:
        probabilities: `[nodes, classes]`.
        labels: int64 `[nodes]`.
        coverage: above 0 and below 1.
    """
    probabilities = _checked(probabilities, labels)
    if not 0 < coverage < 1:
        raise ConfigError(f"the coverage of prediction sets must be above 0 and below 1, not {coverage}")
    # Less a hair: 0.55 · 100 is 55.000000000000007 in floating point.
    rank = math.ceil((len(labels) + 1) * coverage - 1e-9)
    if rank > len(labels):
        return math.inf
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return float(np.partition(scores, rank - 1)[rank - 1])


def conformal_sets(probabilities: Floats, threshold: float) -> Mask:
    """Which classes are in each node's set, the most probable one always: bool `[nodes, classes]`."""
    held: Mask = 1 - probabilities <= threshold
    held[np.arange(len(held)), probabilities.argmax(axis=1)] = True
    return held


def conformal_coverage(
    probabilities: Floats, labels: Ints, coverage: float, parts: int = 5, seed: int = 0
) -> Coverage | None:
    """Make each part's sets with the threshold of the other parts, and count how often they hold the label.

    None where there are fewer than two nodes.
    """
    probabilities = _checked(probabilities, labels)
    if len(labels) < 2:
        return None
    held = np.zeros(probabilities.shape, dtype=np.bool_)
    for part in _parts(len(labels), parts, seed):
        threshold = conformal_threshold(probabilities[~part], labels[~part], coverage)
        held[part] = conformal_sets(probabilities[part], threshold)
    size = held.sum(axis=1)
    covered = held[np.arange(len(labels)), labels]
    return Coverage(float(covered.mean()), float(size.mean()), float((size == 1).mean()))


def abstention_threshold(probabilities: Floats, labels: Ints, target: float) -> float | None:
    """The lowest confidence from which on predictions are right at least `target` of the time.

    At least 20 held-out nodes, or all where there are fewer, must be at or above it: the few surest nodes being right
    is luck. None where no level meets the target; 0 where the nodes meet it all together, as nothing is gained
    by abstaining then.

    Args:
        probabilities: `[nodes, classes]`.
        labels: int64 `[nodes]`.
        target: above 0, at most 1.
    """
    if not 0 < target <= 1:
        raise ConfigError(f"the target accuracy must be above 0 and at most 1, not {target}")
    confidence, kept, right = _by_confidence(probabilities, labels)
    # Counts against counts: 19 of 20 meet 0.95, whatever 0.95 · 20 is in floating point.
    good = (kept >= min(FEWEST_KEPT, len(labels))) & (right >= target * kept - 1e-9)
    if not good.any():
        return None
    lowest = int(np.flatnonzero(good)[-1])
    return 0.0 if lowest == len(confidence) - 1 else float(confidence[lowest])


def abstention_accuracy(
    probabilities: Floats, labels: Ints, target: float, parts: int = 5, seed: int = 0
) -> float | None:
    """How often predictions are right that do not abstain, each part's level being that of the other parts.

    What the level itself is chosen by meets the target always; nodes it has not seen need not. None where all abstain.
    """
    probabilities = _checked(probabilities, labels)
    kept = np.zeros(len(labels), dtype=np.bool_)
    for part in _parts(len(labels), parts, seed):
        level = abstention_threshold(probabilities[~part], labels[~part], target)
        if level is not None:
            kept |= part & (probabilities.max(axis=1) >= level)
    return float((probabilities.argmax(axis=1) == labels)[kept].mean()) if kept.any() else None


def abstention_curve(probabilities: Floats, labels: Ints) -> AbstentionCurve:
    """What abstaining below a confidence leaves, in percent, at most 100 points, the most confident nodes first."""
    confidence, kept, right = _by_confidence(probabilities, labels)
    chosen = np.unique(np.linspace(0, len(confidence) - 1, min(len(confidence), MOST_POINTS)).round().astype(np.int64))
    columns = (confidence, kept / max(len(labels), 1), right / kept)
    threshold, kept_share, accuracy = (
        tuple(round(100 * value, 2) for value in column[chosen].tolist()) for column in columns
    )
    return AbstentionCurve(threshold, kept_share, accuracy)


def _by_confidence(probabilities: Floats, labels: Ints) -> tuple[Floats, Ints, Ints]:
    """Every confidence there is, falling; how many nodes are at or above it, and how many of them are right."""
    probabilities = _checked(probabilities, labels)
    confidence = probabilities.max(axis=1)
    order = np.argsort(-confidence, kind="stable")
    confidence = confidence[order]
    right = np.cumsum((probabilities.argmax(axis=1) == labels)[order])
    # Nodes of one confidence are kept or left together: the last of them counts.
    last = np.flatnonzero(np.diff(confidence, append=-1.0) < 0)
    return confidence[last], last + 1, right[last]


def _counts(probabilities: Floats, labels: Ints, bins: int) -> Tensor:
    probabilities = _checked(probabilities, labels)
    return reliability(torch.from_numpy(probabilities)[None], torch.from_numpy(labels.astype(np.int64))[None], bins)


def _parts(nodes: int, parts: int, seed: int) -> Iterator[Mask]:
    """Deal the nodes out at random: masks bool `[nodes]`, one for each part that gets any."""
    if parts < 2:
        raise ConfigError(f"cross-fitting needs at least 2 parts, not {parts}")
    dealt = np.random.Generator(np.random.PCG64(seed)).permutation(nodes) % parts
    for part in range(min(parts, nodes)):
        yield dealt == part


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that never falls passes 0, or the end of the range nearest to it."""
    for _ in range(_HALVINGS):
        # The geometric mean: half way between 1/20 and 20 is 1.
        middle = math.sqrt(low * high)
        if rising(middle) > 0:
            high = middle
        else:
            low = middle
    return math.sqrt(low * high)


def _logs(probabilities: Floats) -> Floats:
    logs: Floats = np.log(np.maximum(np.nan_to_num(probabilities, nan=0.0), _FLOOR))
    return logs


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _checked(probabilities: Floats, labels: Ints) -> Floats:
    if probabilities.ndim != 2 or labels.shape != probabilities.shape[:1]:
        shapes = f"{list(probabilities.shape)} and {list(labels.shape)}"
        raise DataError(f"probabilities must be [nodes, classes] and labels [nodes], but they are {shapes}")
    outside = np.flatnonzero((labels < 0) | (labels >= probabilities.shape[1]))
    if len(outside):
        node = int(outside[0])
        raise DataError(f"entry {node} has label {labels[node]}, outside the {probabilities.shape[1]} classes")
    # A network whose loss went out of numbers is sure of nothing.
    cleaned: Floats = np.nan_to_num(probabilities.astype(np.float64), nan=0.0)
    return cleaned
