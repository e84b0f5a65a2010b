"""Words for claims, the same on the terminal and in the docs."""

from graphmix.results.claim import Claim, Comparison, Finding
from graphmix.results.wording import points

QUANTITIES = {
    "test_accuracy": "test accuracy (%)",
    "soft_rank": "soft-rank",
    "separation": "separation",
    "centroid_accuracy": "accuracy of the nearest class mean (%)",
    "train_loss": "training loss",
    "seconds": "seconds a trial",
    "memory": "memory of a trial (GiB)",
    "grid": "range of validation accuracy over the grid (points)",
}
SIGNS = {"holds": "✓", "does not hold": "✕", "holds in part": "◐", "undecided": "?"}


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
    if finding.ours is None:
        return "not run"
    note = " (estimated)" if finding.estimated else ""
    if finding.other is None:
        return f"{_number(finding.ours)}{note}"
    both = f"{_number(finding.ours)} and {_number(finding.other)}{note}"
    if finding.asked.bound is not None:
        return f"{both}: {finding.ratio:.2f} times" if finding.ratio is not None else both
    if finding.difference is None:
        return both
    return f"{both}: {points(finding.difference)}{_interval(finding)}"


def by_column(claim: Claim) -> str:
    """How many comparisons that were run are as the claim says: "Cora 2 of 2, Citeseer 1 of 2, Pubmed not run"."""
    parts = []
    for column in dict.fromkeys(each.column for each in claim.findings):
        words = [each.word for each in claim.findings if each.column == column and each.ours is not None]
        parts.append(f"{column} {words.count('holds')} of {len(words)}" if words else f"{column} not run")
    return ", ".join(parts)


def _interval(finding: Finding) -> str:
    if finding.interval is None:
        return ""
    low, high = finding.interval
    return f" [{points(low)}, {points(high)}]"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.2f}"
