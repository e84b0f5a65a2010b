"""Confidence against accuracy, by bins of the confidence."""

from torch import Tensor

from graphmix.results.details import Reliability
from graphmix.results.schema import Shares


def reliability_diagram(counts: Tensor) -> Reliability:
    """Confidence and accuracy of every bin over all trials, and the expected calibration error, in percent.

    Args:
        counts: `[trials, bins, 3]`, as `graphmix.method.reliability` gives.
    """
    count, confidence, right = counts.sum(dim=0).T
    gap = (confidence - right).abs().sum() / count.sum()
    return Reliability(
        count=tuple(count.long().tolist()),
        confidence=_shares(confidence, count),
        accuracy=_shares(right, count),
        ece=None if gap != gap else round(100 * gap.item(), 3),
    )


def _shares(part: Tensor, whole: Tensor) -> Shares:
    shares = (100 * part / whole).tolist()
    return tuple(None if share != share else round(share, 2) for share in shares)
