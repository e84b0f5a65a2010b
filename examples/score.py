"""Score predictions against answers that the model has not seen.

    python examples/score.py model/predictions.csv answers.csv

answers.csv has two columns: an id, and the correct class.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path


def score(predictions: Path, answers: Path) -> str:
    """Say how often predictions are right, with and without abstentions, and how often sets contain the answer."""
    with answers.open(newline="", encoding="utf-8") as stream:
        right = dict(list(csv.reader(stream))[1:])
    with predictions.open(newline="", encoding="utf-8") as stream:
        # The first column holds the ids, under the name that the table of nodes gives them.
        rows = [{"id": next(iter(row.values())), **row} for row in csv.DictReader(stream)]
    rows = [row for row in rows if row["id"] in right]
    if not rows:
        sys.exit(f"{predictions} and {answers} have no id in common")
    kept = [row for row in rows if row["abstain"] == "false"]
    hits = sum(row["predicted"] == right[row["id"]] for row in rows)
    kept_hits = sum(row["predicted"] == right[row["id"]] for row in kept)
    # A set is a row of CSV that is separated by semicolons.
    sets = csv.reader((row["set"] for row in rows), delimiter=";")
    covered = sum(right[row["id"]] in held for row, held in zip(rows, sets, strict=True))
    lines = [
        f"right on {hits / len(rows):.1%} of {len(rows):,}",
        f"right on {kept_hits / max(len(kept), 1):.1%} of the {len(kept):,} that do not abstain",
        f"sets hold the answer for {covered / len(rows):.1%}",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    """Score two files."""
    if len(arguments) != 2:
        print("usage: python examples/score.py PREDICTIONS ANSWERS", file=sys.stderr)
        return 2
    print(score(Path(arguments[0]), Path(arguments[1])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
