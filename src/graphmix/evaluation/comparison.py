"""Whether the lead of one method over another on the same nodes is statistically significant."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 1000
_OUTSIDE = 0.05
# Where so few nodes differ, every way to exchange the two methods on them can be tried: 2^12 at most.
_MOST_EXCHANGED = 12


@dataclass(frozen=True)
class Difference:
    """How much better a is than b, with a 95 % interval; shares, not percent.

    Attributes:
        mean: a's score minus b's.
        low: lower end of the interval.
        high: upper end of the interval.
    """

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether 0 is outside the interval, so that the difference is significant."""
        return self.low > 0 or self.high < 0


def compare(right_a: Floats, right_b: Floats) -> Difference:
    """Compare two methods' accuracies on the same held-out nodes, node by node.

    The interval is Student's, from the standard error of the differences per node. So a node that is hard for both adds
    no noise. If there is only one node, or all nodes have the same difference, there is no spread to estimate from; the
    interval then allows for as many different nodes as could be missing by chance. If the methods differ on 12 nodes or
    fewer, it also includes 0 unless an exact test excludes it: see `_cautious`.

    Args:
        right_a: `[nodes]`, in [0, 1]: the share of a's held-out predictions of the node that are right.
        right_b: `[nodes]`, the same for b.

    Example:
        >>> compare(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).certain
        False
    """
    if right_a.shape != right_b.shape or right_a.ndim != 1 or not len(right_a):
        shapes = f"{list(right_a.shape)} and {list(right_b.shape)}"
        raise DataError(f"two methods must be compared on the same nodes, at least one, but their shapes are {shapes}")
    each = right_a.astype(np.float64) - right_b
    nodes, mean = len(each), float(each.mean())
    if nodes < 2 or np.ptp(each) == 0:
        return _unvaried(mean, nodes)
    # Imported here, because it is slow and a fit of one method does not need it.
    from scipy.special import stdtrit

    reach = float(stdtrit(nodes - 1, 1 - _OUTSIDE / 2) * each.std(ddof=1) / np.sqrt(nodes))
    found = Difference(mean, max(mean - reach, -1.0), min(mean + reach, 1.0))
    differing = each[each != 0]
    return _cautious(found, len(differing), lambda signs: float(signs @ differing) / nodes)


def compare_macro_f1(
    predicted_a: Ints, predicted_b: Ints, labels: Ints, classes: int, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Compare two methods' macro F1 on the same held-out nodes.

    The interval is between percentiles of the difference on nodes resampled with replacement (the paired bootstrap:
    Efron and Tibshirani, 1993). A class that is neither a label nor predicted does not count, as in
    `graphmix.method.f1`. Few nodes that differ are treated as in `compare`.

    Args:
        predicted_a: int64 `[nodes]`, a's predictions.
        predicted_b: int64 `[nodes]`, b's predictions.
        labels: int64 `[nodes]`.
        classes: how many classes there are.
        resamples: number of resamples.
        seed: seed of the resamples.
    """
    columns = np.stack([labels, predicted_a, predicted_b])
    if not len(labels) or columns.min() < 0 or columns.max() >= classes:
        raise DataError(f"macro F1 needs at least one node, and labels and predictions from 0 to {classes - 1}")
    # Nodes that agree in all three arrays are interchangeable, so it is enough to draw how many there are of each kind.
    kinds, counts = np.unique(columns, axis=1, return_counts=True)
    rng = np.random.Generator(np.random.PCG64(seed))
    share = counts / counts.sum()
    drawn = [_macro_f1_difference(kinds, rng.multinomial(len(labels), share), classes) for _ in range(resamples)]
    mean = _macro_f1_difference(kinds, counts, classes)
    if np.ptp(drawn) == 0:
        return _unvaried(mean, len(labels))
    low, high = np.quantile(drawn, [_OUTSIDE / 2, 1 - _OUTSIDE / 2])
    differing = np.flatnonzero(predicted_a != predicted_b)

    def exchanged(signs: Ints) -> float:
        mixed = columns.copy()
        turned = differing[signs < 0]
        mixed[1:, turned] = columns[:0:-1, turned]
        return _macro_f1_difference(mixed, np.ones(len(labels), dtype=np.int64), classes)

    return _cautious(Difference(mean, float(low), float(high)), len(differing), exchanged)


def _cautious(found: Difference, differing: int, exchanged: Callable[[Ints], float]) -> Difference:
    """Extend an interval to 0 if few nodes differ and the difference may be due to chance.

    If the methods are equally good, each may be called a or b on any node. The share of all ways to do so that give a
    difference at least as large is the p-value of an exact test; for accuracies it is McNemar's. With five nodes that
    all favour a it is 1 in 16, where Student's interval would exclude 0.

    Args:
        found: the interval.
        differing: number of nodes on which the methods differ.
        exchanged: gives the difference if a and b are exchanged where signs, int64 `[differing]`, are -1.
    """
    if not found.certain or differing > _MOST_EXCHANGED:
        return found
    ways = product((1, -1), repeat=differing)
    as_large = sum(abs(exchanged(np.array(signs, dtype=np.int64))) >= abs(found.mean) - 1e-9 for signs in ways)
    if as_large < _OUTSIDE * 2**differing:
        return found
    return replace(found, low=min(found.low, 0.0), high=max(found.high, 0.0))


def _unvaried(mean: float, nodes: int) -> Difference:
    """The interval if all nodes have the same difference: a share q of all nodes may differ as much as possible.

    That n drawn nodes include none of them has the probability (1 - q)^n; q is the largest share for which it is 2.5 %
    or more. This is the exact form of the rule of three (Hanley and Lippman-Hand, 1983).
    """
    other = 1 - (_OUTSIDE / 2) ** (1 / nodes)
    return Difference(mean, (1 - other) * mean - other, (1 - other) * mean + other)


def _macro_f1_difference(kinds: Ints, counts: Ints, classes: int) -> float:
    labels, *predictions = kinds
    scores = []
    for predicted in predictions:
        right = predicted == labels
        hits = np.bincount(labels[right], counts[right], minlength=classes)
        both = np.bincount(labels, counts, minlength=classes) + np.bincount(predicted, counts, minlength=classes)
        scores.append((2 * hits[both > 0] / both[both > 0]).mean())
    return float(scores[0] - scores[1])
