"""Whether one method is better than another on the same nodes, or only luckier."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmix.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RESAMPLES = 1000
_OUTSIDE = 0.05


@dataclass(frozen=True)
class Difference:
    """How much better a is than b, with a 95 % interval; shares, not percent.

    Attributes:
        mean: a's score minus b's.
        low: the interval's lower end.
        high: its upper end.
    """

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether 0 is outside the interval: one of the two is better, and that is not noise."""
        return self.low > 0 or self.high < 0


def compare(right_a: Floats, right_b: Floats) -> Difference:
    """Compare two methods' accuracies on the same held-out nodes, node by node.

    The interval is Student's, from the standard error of the nodes' differences: what makes a node hard for both
    drops out. Where all nodes differ by the same, which has no spread to go by, or there is only one, the interval
    allows for as many nodes of another kind as could have been missed by chance.

    Args:
        right_a: `[nodes]`, in [0, 1]: the share of a's held-out predictions of the node that are right.
        right_b: `[nodes]`, likewise b's.

    Example:
        >>> compare(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).certain
        False
    """
    if right_a.shape != right_b.shape or right_a.ndim != 1 or not len(right_a):
        shapes = f"{list(right_a.shape)} and {list(right_b.shape)}"
        raise DataError(f"two methods are compared on the same nodes, at least one, but theirs are {shapes}")
    each = right_a.astype(np.float64) - right_b
    nodes, mean = len(each), float(each.mean())
    if nodes < 2 or np.ptp(each) == 0:
        return _unvaried(mean, nodes)
    # Imported here: it takes a while, and a fit of one method compares nothing.
    from scipy.special import stdtrit

    reach = float(stdtrit(nodes - 1, 1 - _OUTSIDE / 2) * each.std(ddof=1) / np.sqrt(nodes))
    return Difference(mean, max(mean - reach, -1.0), min(mean + reach, 1.0))


def compare_macro_f1(
    predicted_a: Ints, predicted_b: Ints, labels: Ints, classes: int, resamples: int = RESAMPLES, seed: int = 0
) -> Difference:
    """Compare two methods' macro F1 on the same held-out nodes.

    The interval is between the percentiles of the difference over nodes drawn anew with replacement (the paired
    bootstrap: Efron and Tibshirani, 1993). A class that is neither a label nor predicted does not count, as in
    `graphmix.method.f1`.

    Args:
        predicted_a: int64 `[nodes]`, a's prediction of each.
        predicted_b: int64 `[nodes]`, b's.
        labels: int64 `[nodes]`.
        classes: how many classes there are.
        resamples: how many times to draw.
        seed: of the draws.
    """
    columns = np.stack([labels, predicted_a, predicted_b])
    if not len(labels) or columns.min() < 0 or columns.max() >= classes:
        raise DataError(f"macro F1 needs nodes, with labels and predictions among the {classes} classes")
    # Nodes alike in all three are interchangeable: drawing how many there are of each kind is drawing nodes.
    kinds, counts = np.unique(columns, axis=1, return_counts=True)
    rng = np.random.Generator(np.random.PCG64(seed))
    share = counts / counts.sum()
    drawn = [_macro_f1_difference(kinds, rng.multinomial(len(labels), share), classes) for _ in range(resamples)]
    mean = _macro_f1_difference(kinds, counts, classes)
    if np.ptp(drawn) == 0:
        return _unvaried(mean, len(labels))
    low, high = np.quantile(drawn, [_OUTSIDE / 2, 1 - _OUTSIDE / 2])
    return Difference(mean, float(low), float(high))


def _unvaried(mean: float, nodes: int) -> Difference:
    """The interval where all nodes say the same: of another kind, and as different as can be, may be a share q.

    All n nodes being of one kind has a probability of at least 2.5 % as long as (1 - q)^n is: the exact form of the
    rule of three (Hanley and Lippman-Hand, 1983).
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
