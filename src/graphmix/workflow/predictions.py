"""Predictions: a table with a row for each node or link, its classes, and how certain they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmix.workflow.ensemble import Decisions
from graphmix.workflow.output import OutputTable

ALTERNATIVES = 2
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Predictions(OutputTable):
    """A prediction for each row.

    Attributes:
        columns: id, or source and target; label, predicted, probability, second, second_probability, third,
            third_probability, abstain, and set: the classes of the prediction set, the most probable first.
        notes: what was found in new tables, in sentences.
    """

    notes: tuple[str, ...] = ()

    @property
    def abstained(self) -> int:
        """Number of predictions that abstain."""
        return sum(self.columns["abstain"])


def tabulate(
    names: Mapping[str, Sequence[str]], decisions: Decisions, classes: Sequence[str], labels: Sequence[str | None]
) -> dict[str, list[Any]]:
    """Lay out decisions in columns, one row per node.

    Args:
        names: the columns that name the rows: "id", or "source" and "target".
        decisions: the predictions.
        classes: the names of the classes.
        labels: the given labels, None where there is none.
    """
    class_names = np.array(classes, dtype=object)
    columns: dict[str, list[Any]] = {name: list(values) for name, values in names.items()}
    columns["label"] = list(labels)
    headings = ("predicted", "second", "third")[: min(1 + ALTERNATIVES, len(classes))]
    for place, heading in enumerate(headings):
        chosen = decisions.order[:, place]
        columns[heading] = class_names[chosen].tolist()
        shares = np.take_along_axis(decisions.probabilities, chosen[:, None], axis=1)[:, 0]
        columns["probability" if place == 0 else f"{heading}_probability"] = shares.round(_DIGITS).tolist()
    columns["abstain"] = decisions.abstain.tolist()
    columns["set"] = [
        ";".join(class_names[order[held[order]]]) for order, held in zip(decisions.order, decisions.sets, strict=True)
    ]
    return columns
