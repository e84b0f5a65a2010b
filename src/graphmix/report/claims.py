"""What a report shows of the paper's claims, as plain values for the template."""

from typing import Any

from graphmix.report.wording import say_p
from graphmix.results.claim import QUANTITIES, Claim, Finding
from graphmix.results.claim_wording import SIGNS, by_column, effect, expectation, numbers, word
from graphmix.results.record import Record


def claim_values(record: Record) -> dict[str, Any] | None:
    """What the paper says, the verdict, and comparisons by columns; None for a record that is about no claim."""
    claim = record.claim
    if claim is None:
        return None
    found = {(each.asked, each.column, each.reading): each for each in claim.findings}
    columns = list(dict.fromkeys((column, reading) for _, column, reading in found))
    rows = [
        {
            "expected": expectation(asked),
            "what": QUANTITIES[asked.quantity],
            "places": [_place(found.get((asked, *column))) for column in columns],
        }
        for asked in dict.fromkeys(asked for asked, _, _ in found)
    ]
    return {
        "says": claim.says,
        "chip": _chip(claim),
        "found": by_column(claim),
        "columns": [(name, reading if len(record.readings) > 1 else None) for name, reading in columns],
        "rows": rows,
    }


def _place(finding: Finding | None) -> dict[str, Any] | None:
    if finding is None:
        return None
    tips = [] if finding.p is None else [say_p(finding.p)]
    tips += [f"n = {' and '.join(map(str, finding.n))}"] if finding.n else []
    # Where it was not run, the verdict says so.
    return {
        "numbers": "" if finding.ours is None else numbers(finding),
        "effect": effect(finding),
        "chip": _chip(finding),
        "tip": "; ".join(tips),
    }


def _chip(judged: Claim | Finding) -> dict[str, str]:
    said = word(judged)
    return {"word": said, "mark": SIGNS[said], "class": said.replace(" ", "-"), "meaning": ""}
