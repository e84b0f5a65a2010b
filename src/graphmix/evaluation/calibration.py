"""Calibrated probabilities and their uses: temperature scaling, conformal sets, abstention.

All functions take held-out nodes: probabilities float64 `[nodes, classes]` from networks that did not train on the
node, and labels int64 `[nodes]`. A fit looks too good on the nodes it was fitted to. `cross_fitted` and
`conformal_coverage` therefore evaluate each node with a fit to other nodes.
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
from graphmix.results.evidence import FEWEST_KEPT, interval
from graphmix.results.fit import AbstentionCurve

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

COLDEST, HOTTEST = 0.05, 20.0
# With fewer nodes a temperature depends more on the nodes than on the network.
FEWEST_FITTED = 10
MOST_POINTS = 100
_FLOOR = 1e-12
_ENTRIES = 2**16
# How many standard errors the accuracy of predictions that do not abstain must be above the target.
_MARGIN = 1.0
# Steps for a relative precision of 1e-8.
_HALVINGS = 30


class Coverage(NamedTuple):
    """How good conformal sets are on nodes that did not set their threshold.

    Attributes:
        coverage: share of the nodes whose set contains the label.
        mean_size: mean number of classes in a set.
        single: share of the nodes whose set has exactly one class.
    """

    coverage: float
    mean_size: float
    single: float


class Kept(NamedTuple):
    """How good predictions are that do not abstain, on nodes that did not choose the level.

    Attributes:
        accuracy: share of these predictions that are right.
        nodes: number of these predictions.
    """

    accuracy: float
    nodes: int


def fit_temperature(probabilities: Floats, labels: Ints) -> float:
    """Choose T in [0.05, 20] so that softmax(log(p) / T) has the least mean negative log-likelihood.

    Temperature scaling (Guo et al., 2017). The loss is convex in 1 / T, so bisection by the sign of its slope finds the
    minimum. With fewer than 10 nodes T is 1. If every prediction is right, the loss alone would choose the smallest T
    allowed; T is then chosen so that the mean confidence is (n + 1) / (n + 2), the probability of a success after n
    successes in n tries (Laplace's rule).

    Args:
        probabilities: `[nodes, classes]`, rows sum to 1; values below 1e-12, or NaN, count as 1e-12.
        labels: int64 `[nodes]`.
    """
    probabilities = _checked(probabilities, labels)
    if len(labels) < FEWEST_FITTED or probabilities.shape[1] < 2:
        return 1.0
    logs = _logs(probabilities)
    own = float(logs[np.arange(len(labels)), labels].mean())

    def slope(inverse: float) -> float:
        return _mean(logs, lambda rows: (_softmax(inverse * rows) * rows).sum(axis=1)) - own

    def sureness(inverse: float) -> float:
        sure = (len(labels) + 1) / (len(labels) + 2)
        return _mean(logs, lambda rows: _softmax(inverse * rows).max(axis=1)) - sure

    all_right = bool((probabilities.argmax(axis=1) == labels).all())
    return 1.0 / _root(sureness if all_right else slope, 1.0 / HOTTEST, 1.0 / COLDEST)


def apply_temperature(probabilities: Floats, temperature: float) -> Floats:
    """softmax(log(p) / T): `[nodes, classes]`, rows sum to 1; the most probable class stays the most probable."""
    if not 0 < temperature < math.inf:
        raise ConfigError(f"a temperature must be a number above 0, not {temperature}")
    return _softmax(_logs(probabilities) / temperature)


def cross_fitted(probabilities: Floats, labels: Ints, parts: int = 5, seed: int = 0) -> Floats:
    """Calibrate each random part of the nodes with the temperature fitted to the other parts: `[nodes, classes]`.

    Measures of the result, such as the expected calibration error, show how calibration works on new nodes.
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
    """The largest score of a class in a node's set, for sets that contain the label with probability `coverage`.

    A class's score is 1 - p (Sadinle, Lei and Wasserman, 2019). The threshold is the ⌈(n + 1) · coverage⌉-th smallest
    of the labels' scores. This guarantees the coverage for a new node that is exchangeable with these n, whatever the
    network (Vovk, Gammerman and Shafer, 2005). If n is too small the threshold is infinite: every set has all classes.

    Args:
        probabilities: `[nodes, classes]`.
        labels: int64 `[nodes]`.
        coverage: above 0 and below 1.
    """
    probabilities = _checked(probabilities, labels)
    if not 0 < coverage < 1:
        raise ConfigError(f"the coverage of prediction sets must be above 0 and below 1, not {coverage}")
    # Slightly less, because 0.55 · 100 is 55.000000000000007 in floating point.
    rank = math.ceil((len(labels) + 1) * coverage - 1e-9)
    if rank > len(labels):
        return math.inf
    scores = 1 - probabilities[np.arange(len(labels)), labels]
    return float(np.partition(scores, rank - 1)[rank - 1])


def conformal_sets(probabilities: Floats, threshold: float) -> Mask:
    """Which classes are in each node's set; the most probable class always is: bool `[nodes, classes]`."""
    held: Mask = 1 - probabilities <= threshold
    held[np.arange(len(held)), probabilities.argmax(axis=1)] = True
    return held


def conformal_coverage(
    probabilities: Floats, labels: Ints, coverage: float, parts: int = 5, seed: int = 0
) -> Coverage | None:
    """Make each part's sets with the threshold of the other parts, and count how often they contain the label.

    None if the other parts are too few to promise the coverage: their sets would hold all classes.
    """
    probabilities = _checked(probabilities, labels)
    held = np.zeros(probabilities.shape, dtype=np.bool_)
    for part in _parts(len(labels), parts, seed):
        threshold = conformal_threshold(probabilities[~part], labels[~part], coverage)
        if threshold == math.inf:
            return None
        held[part] = conformal_sets(probabilities[part], threshold)
    if not len(labels):
        return None
    size = held.sum(axis=1)
    covered = held[np.arange(len(labels)), labels]
    return Coverage(float(covered.mean()), float(size.mean()), float((size == 1).mean()))


def abstention_threshold(probabilities: Floats, labels: Ints, target: float) -> float | None:
    """The lowest confidence at and above which a share of at least `target` of the predictions is right.

    The share counts less one standard error, the lower end of Wilson's interval: the level is the best of many by the
    same nodes, so without a margin other nodes would meet the target less than half of the time. At least 20 held-out
    nodes must have this confidence. None if no confidence meets the target. 0 if all nodes together meet it: then there
    is no reason to abstain.

    With fewer than 20 held-out nodes no level can be chosen. Then it is None if the accuracy is below the target even
    at the upper end of its 95 % interval, and otherwise 0: abstaining everywhere would be as unfounded as the target.

    Args:
        probabilities: `[nodes, classes]`.
        labels: int64 `[nodes]`.
        target: above 0, at most 1.
    """
    if not 0 < target <= 1:
        raise ConfigError(f"the target accuracy must be above 0 and at most 1, not {target}")
    confidence, kept, right = _by_confidence(probabilities, labels)
    if len(labels) < FEWEST_KEPT:
        missed = len(labels) > 0 and interval(100 * right[-1] / len(labels), len(labels))[1] < 100 * target - 1e-9
        return None if missed else 0.0
    shares = (100 * right / kept).tolist()
    surely = [interval(share, nodes, _MARGIN)[0] for share, nodes in zip(shares, kept.tolist(), strict=True)]
    good = (kept >= FEWEST_KEPT) & (np.array(surely) >= 100 * target - 1e-9)
    if not good.any():
        return None
    lowest = int(np.flatnonzero(good)[-1])
    return 0.0 if lowest == len(confidence) - 1 else float(confidence[lowest])


def abstention_accuracy(
    probabilities: Floats, labels: Ints, target: float, parts: int = 5, seed: int = 0
) -> Kept | None:
    """The accuracy of predictions that do not abstain, if each part uses the abstention level of the other parts.

    The nodes that a level was chosen on always meet the target; other nodes may not. None if all abstain, or if the
    other parts are too few to choose a level.
    """
    probabilities = _checked(probabilities, labels)
    kept = np.zeros(len(labels), dtype=np.bool_)
    for part in _parts(len(labels), parts, seed):
        if (~part).sum() < FEWEST_KEPT:
            return None
        level = abstention_threshold(probabilities[~part], labels[~part], target)
        if level is not None:
            kept |= part & (probabilities.max(axis=1) >= level)
    right = (probabilities.argmax(axis=1) == labels)[kept]
    return Kept(float(right.mean()), len(right)) if len(right) else None


def abstention_curve(probabilities: Floats, labels: Ints) -> AbstentionCurve:
    """Kept share and accuracy if nodes below a confidence abstain, in percent; at most 100 points, surest first."""
    confidence, kept, right = _by_confidence(probabilities, labels)
    chosen = np.unique(np.linspace(0, len(confidence) - 1, min(len(confidence), MOST_POINTS)).round().astype(np.int64))
    columns = (confidence, kept / max(len(labels), 1), right / kept)
    threshold, kept_share, accuracy = (
        tuple(round(100 * value, 2) for value in column[chosen].tolist()) for column in columns
    )
    return AbstentionCurve(threshold, kept_share, accuracy)


def _by_confidence(probabilities: Floats, labels: Ints) -> tuple[Floats, Ints, Ints]:
    """The different confidences, decreasing; how many nodes are at or above each, and how many of these are right."""
    probabilities = _checked(probabilities, labels)
    confidence = probabilities.max(axis=1)
    order = np.argsort(-confidence, kind="stable")
    confidence = confidence[order]
    right = np.cumsum((probabilities.argmax(axis=1) == labels)[order])
    # Nodes with equal confidence are kept together, so the last of them counts.
    last = np.flatnonzero(np.diff(confidence, append=-1.0) < 0)
    return confidence[last], last + 1, right[last]


def _counts(probabilities: Floats, labels: Ints, bins: int) -> Tensor:
    probabilities = _checked(probabilities, labels)
    return reliability(torch.from_numpy(probabilities)[None], torch.from_numpy(labels.astype(np.int64))[None], bins)


def _parts(nodes: int, parts: int, seed: int) -> Iterator[Mask]:
    """Divide the nodes at random: a mask bool `[nodes]` for each part that has nodes."""
    if parts < 2:
        raise ConfigError(f"cross-fitting needs at least 2 parts, not {parts}")
    dealt = np.random.Generator(np.random.PCG64(seed)).permutation(nodes) % parts
    for part in range(min(parts, nodes)):
        yield dealt == part


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    """The zero of a non-decreasing function, or the end of the range nearest to it."""
    for _ in range(_HALVINGS):
        # The geometric mean: 1 is in the middle of 1/20 and 20.
        middle = math.sqrt(low * high)
        if rising(middle) > 0:
            high = middle
        else:
            low = middle
    return math.sqrt(low * high)


def _mean(table: Floats, measure: Callable[[Floats], Floats]) -> float:
    """The mean of a measure of each row, computed for a few rows at a time, which stay in the cache."""
    size = max(1, _ENTRIES // table.shape[1])
    return float(np.concatenate([measure(table[at : at + size]) for at in range(0, len(table), size)]).mean())


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
    # A network that diverged gives NaN: its probabilities count as 0.
    cleaned: Floats = np.nan_to_num(probabilities.astype(np.float64), nan=0.0)
    return cleaned
