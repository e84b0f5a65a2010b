"""Words for claims, the same on the terminal, on a page and in the docs."""

from collections import Counter
from collections.abc import Sequence

from graphmix.results.claim import Claim, Comparison, Finding
from graphmix.results.wording import MARKS
from graphmix.text import signed

NOT_RUN = "not run"
SIGNS = {"holds": "✓", "does not hold": "✕", "holds in part": "◐", "undecided": "?", NOT_RUN: MARKS[NOT_RUN]}
RULE = (
    "Trials are compared by Welch's test: a comparison holds if the difference is as the claim says and significant at "
    "the 5 % level. It does not hold if it is significant the other way round, or not significant and its whole 95 % "
    "interval too small to matter. Otherwise it is undecided. Memory, time and the range over a grid are compared with "
    "a bound of ours, without a test. A claim holds if all its comparisons do, and in part if some do."
)
_PLURAL = {"holds": "hold", "does not hold": "do not hold", "holds in part": "hold in part"}


def word(judged: Claim | Finding) -> str:
    """The verdict, a key of `SIGNS`; "not run" where there is nothing to judge by."""
    findings = judged.findings if isinstance(judged, Claim) else (judged,)
    return NOT_RUN if all(each.ours is None for each in findings) else judged.word


def verdict(judged: Claim | Finding) -> str:
    """The verdict after its sign."""
    return f"{SIGNS[word(judged)]} {word(judged)}"


def expectation(asked: Comparison) -> str:
    """What a claim expects, as a clause.

    Example:
        >>> expectation(Comparison(row="A", against="B", quantity="seconds", expects="at most", bound=1.5))
        'A: at most 1.5 times B'
    """
    if asked.bound is None:
        return f"{asked.row}: {asked.expects} than {asked.against}"
    bound = f"{asked.expects} {asked.bound:g}"
    return f"{asked.row}: {bound}" if asked.against is None else f"{asked.row}: {bound} times {asked.against}"


def seen(finding: Finding) -> str:
    """What was found: the numbers, their difference with its interval, or their ratio."""
    return ": ".join(part for part in (numbers(finding), effect(finding)) if part)


def numbers(finding: Finding) -> str:
    """The number that was found, and the one that it is compared with."""
    if finding.ours is None:
        return NOT_RUN
    known = [_number(each) for each in (finding.ours, finding.other) if each is not None]
    return f"{' and '.join(known)}{' (estimated)' if finding.estimated else ''}"


def effect(finding: Finding) -> str:
    """The difference of the two numbers with its interval, or their ratio; empty for a single number."""
    if finding.asked.bound is not None:
        return "" if finding.ratio is None else f"{finding.ratio:.2f} times"
    return "" if finding.difference is None else f"{signed(finding.difference)}{_interval(finding)}"


def by_column(claim: Claim) -> str:
    """How many comparisons that were run are as the claim says: "Cora 2 of 2, Citeseer 1 of 2, Pubmed not run"."""
    parts = []
    for column in dict.fromkeys(each.column for each in claim.findings):
        words = [each.word for each in claim.findings if each.column == column and each.ours is not None]
        parts.append(f"{column} {words.count('holds')} of {len(words)}" if words else f"{column} {NOT_RUN}")
    return ", ".join(parts)


def summarise_claims(claims: Sequence[Claim]) -> str:
    """What became of claims: "7 claims: 6 hold in part, 1 undecided"; of a single one also what was found where."""
    if len(claims) == 1:
        where = by_column(claims[0])
        return f"1 claim: {word(claims[0])}{f' ({where})' if where else ''}"
    counts = Counter(map(word, claims))
    held = [each for each in SIGNS if counts[each]]
    said = [f"{counts[each]} {_PLURAL.get(each, each) if counts[each] > 1 else each}" for each in held]
    return f"{len(claims)} claims: {', '.join(said)}"


def _interval(finding: Finding) -> str:
    if finding.interval is None:
        return ""
    low, high = finding.interval
    return f" [{signed(low)}, {signed(high)}]"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}"
