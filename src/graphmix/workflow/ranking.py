"""Ranking: how good the model and its candidates are on held-out labels, and whether its lead is significant."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from graphmix.evaluation.comparison import Difference, compare, compare_macro_f1
from graphmix.evaluation.heldout import HeldOut
from graphmix.method import f1
from graphmix.workflow.options import ACCURACY


@dataclass(frozen=True)
class Placing:
    """The place of a candidate, or of the model.

    Attributes:
        name: its name.
        accuracy: the share of held-out labels that it predicts correctly.
        macro_f1: its mean F1 over the classes on held-out labels.
        behind: how much better the model is, by the metric; below 0 if it is worse, and None for the model.
    """

    name: str
    accuracy: float
    macro_f1: float
    behind: Difference | None


def rank(model: str, held: Mapping[str, HeldOut], classes: int, metric: str = ACCURACY) -> list[Placing]:
    """Compare candidates with the model on the same held-out labels: the model first, then the best first.

    Args:
        model: the name of the model.
        held: name to held-out predictions of the model and of every candidate, cheap ones first: of equally good
            candidates, the cheaper comes first.
        classes: the number of classes.
        metric: "accuracy" or "macro-f1".
    """

    def score(one: HeldOut) -> float:
        return accuracy(one) if metric == ACCURACY else macro_f1(one, classes)

    def behind(name: str) -> Difference | None:
        if name == model:
            return None
        if metric == ACCURACY:
            return compare(held[model].right, held[name].right)
        return compare_macro_f1(held[model].predicted, held[name].predicted, held[name].labels, classes)

    others = sorted((name for name in held if name != model), key=lambda name: -round(score(held[name]), 9))
    return [
        Placing(name, accuracy(held[name]), macro_f1(held[name], classes), behind(name)) for name in (model, *others)
    ]


def accuracy(held: HeldOut) -> float:
    """Return the share of held-out labels that are predicted correctly."""
    return float(held.right.mean())


def macro_f1(held: HeldOut, classes: int) -> float:
    """Return the mean F1 over the classes that occur as labels or predictions."""
    each = f1(torch.from_numpy(held.predicted)[None], torch.from_numpy(held.labels)[None], classes)
    return float(each.nanmean())
