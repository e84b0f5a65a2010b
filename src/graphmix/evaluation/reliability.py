"""Confidence against accuracy, by bins of the confidence."""

from typing import Any

from torch import Tensor


def reliability_diagram(counts: Tensor) -> dict[str, Any]:
    """Confidence and accuracy of every bin over all trials, and the expected calibration error, in percent.

    Args:
        counts: `[trials, bins, 3]`, as `graphmix.method.reliability` gives.
    """
    count, confidence, right = counts.sum(dim=0).T
    gap = (confidence - right).abs().sum() / count.sum()
    return {
        "count": count.long().tolist(),
        "confidence": _shares(confidence, count),
        "accuracy": _shares(right, count),
        "ece": None if gap != gap else round(100 * gap.item(), 3),
    }


def _shares(part: Tensor, whole: Tensor) -> list[float | None]:
    shares = (100 * part / whole).tolist()
    return [None if share != share else round(share, 2) for share in shares]
