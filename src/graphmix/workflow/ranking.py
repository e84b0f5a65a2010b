"""Ranking: which candidate to use, and whether its lead is statistically significant."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from graphmix.evaluation.comparison import Difference, compare, compare_macro_f1
from graphmix.evaluation.heldout import HeldOut
from graphmix.method import f1
from graphmix.training.methods import METHODS
from graphmix.workflow.candidates import Candidate
from graphmix.workflow.options import ACCURACY


@dataclass(frozen=True)
class Placing:
    """The place of a candidate.

    Attributes:
        method: its name.
        accuracy: the share of held-out labels that it predicts correctly.
        macro_f1: its mean F1 over the classes on held-out labels.
        behind: how much better the best candidate is, by the selection metric; None for the best.
    """

    method: str
    accuracy: float
    macro_f1: float
    behind: Difference | None


def rank(candidates: Sequence[Candidate], classes: int, metric: str = ACCURACY) -> list[Placing]:
    """Order candidates by their score on held-out labels, the best first; of equals the simplest.

    Args:
        candidates: judged on the same nodes.
        classes: the number of classes.
        metric: the selection metric, "accuracy" or "macro-f1".
    """

    def score(candidate: Candidate) -> float:
        return accuracy(candidate.held) if metric == ACCURACY else macro_f1(candidate.held, classes)

    def rank_key(candidate: Candidate) -> tuple[float, int]:
        return -round(score(candidate), 9), METHODS[candidate.method].report_place

    ordered = sorted(candidates, key=rank_key)
    best = ordered[0]

    def behind(candidate: Candidate) -> Difference | None:
        if candidate is best:
            return None
        if metric == ACCURACY:
            return compare(best.held.right, candidate.held.right)
        return compare_macro_f1(best.held.predicted, candidate.held.predicted, best.held.labels, classes)

    return [
        Placing(candidate.method, accuracy(candidate.held), macro_f1(candidate.held, classes), behind(candidate))
        for candidate in ordered
    ]


def accuracy(held: HeldOut) -> float:
    """Return the share of held-out labels that are predicted correctly."""
    return float(held.right.mean())


def macro_f1(held: HeldOut, classes: int) -> float:
    """Return the mean F1 over the classes that occur as labels or predictions."""
    each = f1(torch.from_numpy(held.predicted)[None], torch.from_numpy(held.labels)[None], classes)
    return float(each.nanmean())
