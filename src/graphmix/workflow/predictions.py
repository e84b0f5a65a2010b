"""Predictions: a table with a row for each node or link, its classes, and how certain they are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphmix.files import check_not_read
from graphmix.workflow.mixture import Decisions
from graphmix.workflow.output import OutputTable

ALTERNATIVES = 2
_DIGITS = 6
_UNCLEAR = re.compile(r'[;"\r\n]|^\s|\s$')


@dataclass(frozen=True, eq=False)
class Predictions(OutputTable):
    """A prediction for each row.

    Attributes:
        columns: the user's ids under their own headings; label, predicted, probability, second, second_probability,
            third, third_probability, abstain, and set: the classes of the prediction set, the most probable first, as
            one row of a CSV file that is separated by semicolons.
        notes: what was found in new tables, in sentences.
        inputs: the files of new tables, which these predictions never replace.
    """

    notes: tuple[str, ...] = ()
    inputs: tuple[Path, ...] = ()

    def write(self, path: Path | str, *, escape_formulas: bool = False) -> None:
        """Write the predictions as `OutputTable.write` does, but not over a table that they were made of."""
        check_not_read(Path(path), self.inputs, "path")
        super().write(path, escape_formulas=escape_formulas)

    @property
    def abstained(self) -> int:
        """Number of predictions that abstain."""
        return sum(self.columns["abstain"])


def tabulate(
    names: Mapping[str, Sequence[Any]], decisions: Decisions, classes: Sequence[str], labels: Sequence[str | None]
) -> dict[str, list[Any]]:
    """Lay out decisions in columns, one row per node.

    Args:
        names: the columns that name the rows: the ids of the nodes, or of both ends of the links.
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
    quoted = np.array([_quote(name) for name in classes], dtype=object)
    columns["set"] = [
        ";".join(quoted[order[held[order]]]) for order, held in zip(decisions.order, decisions.sets, strict=True)
    ]
    return columns


def _quote(name: str) -> str:
    """Quote the name of a class, as CSV does, if it could be read as another or as two."""
    return '"{}"'.format(name.replace('"', '""')) if _UNCLEAR.search(name) else name
