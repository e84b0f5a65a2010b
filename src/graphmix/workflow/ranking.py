"""Which candidate to use, and whether it is better than the others or only luckier."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from graphmix.evaluation.comparison import Difference, compare, compare_macro_f1
from graphmix.evaluation.heldout import HeldOut
from graphmix.method import f1
from graphmix.workflow.candidates import FCN, GRAPHMIX, PROPAGATION, SUPERVISED, Candidate

ACCURACY, MACRO_F1 = "accuracy", "macro-f1"
# Among equals the simplest is chosen.
_SIMPLEST = (PROPAGATION, FCN, SUPERVISED, GRAPHMIX)


@dataclass(frozen=True)
class Placing:
    """How a candidate did.

    Attributes:
        method: its name.
        accuracy: the share of held-out labels it predicted.
        macro_f1: the mean over the classes of its F1 on them.
        behind: how much better the winner is, by what was chosen by; None for the winner.
    """

    method: str
    accuracy: float
    macro_f1: float
    behind: Difference | None


def rank(candidates: Sequence[Candidate], classes: int, metric: str = ACCURACY) -> list[Placing]:
    """Order candidates by their score on labels they had not seen, the best first.

    Args:
        candidates: judged on the same nodes.
        classes: how many classes there are.
        metric: what they are chosen by, "accuracy" or "macro-f1".
    """

    def score(candidate: Candidate) -> float:
        return accuracy(candidate.held) if metric == ACCURACY else macro_f1(candidate.held, classes)

    ordered = sorted(candidates, key=lambda candidate: (-round(score(candidate), 9), _SIMPLEST.index(candidate.method)))
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
    """The share of predictions of held-out labels that are right."""
    return float(held.right.mean())


def macro_f1(held: HeldOut, classes: int) -> float:
    """The mean F1 over the classes that are labels or predicted."""
    each = f1(torch.from_numpy(held.predicted)[None], torch.from_numpy(held.labels)[None], classes)
    return float(each.nanmean())
