"""Round: what came of training on the labels so far, as rounds.jsonl has it."""

from dataclasses import dataclass
from typing import Any

LOOK, QUICK, THOROUGH = "look", "quick", "thorough"


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A node to ask about: its id, why, and the class that speaks against a given label."""

    node: str
    reason: str
    suggested: str | None = None


@dataclass(frozen=True, kw_only=True)
class Round:
    """What came of a round.

    Attributes:
        stage: "look", "quick" or "thorough".
        answers: how many records the log had when it began.
        labels: how many labels it trained on.
        classes: the classes, in the order of the probabilities.
        queue: the nodes to ask about, the best first.
        suspects: given labels that look wrong; None if this round did not look for them.
        needs: why there is no model yet; None if there is one.
        held: how many labels were held out.
        right: the percentage of them that the model predicts.
        low: the lower end of its 95 % interval.
        high: the upper end.
        unlabeled: how many nodes have no label.
        met: how many of these predictions meet the target accuracy.
        changed: how many of them differ from the round before.
        moves: the most frequent changes: from which class, to which, how many.
        members: the methods that the model averages, each with its share.
        seconds: how long it took.
    """

    stage: str
    answers: int
    labels: int
    classes: tuple[str, ...]
    queue: tuple[Ask, ...]
    suspects: tuple[Ask, ...] | None = None
    needs: str | None = None
    held: int = 0
    right: float | None = None
    low: float | None = None
    high: float | None = None
    unlabeled: int = 0
    met: int | None = None
    changed: int = 0
    moves: tuple[Any, ...] = ()
    members: tuple[Any, ...] = ()
    seconds: float = 0.0
