"""docs/results/claims.md: the paper's claims, each with its verdict, from the records in results/."""

from graphmix.experiments.spec import load_spec, names
from graphmix.results.claim import Claim
from graphmix.results.claim_wording import QUANTITIES, SIGNS, by_column, expectation, seen
from graphmix.results.record import CellResult, Record
from graphmix.results.wording import spread_of
from results_page import not_run, provenance, read_records, trials

NAME = "claims"
HEAD = """# The paper's claims

The paper says more than its tables show. Each claim below has a spec of its own, and the software computes its verdict
from the spec's cells. Trials are compared by Welch's test: a comparison *holds* if the difference is as the claim says
and significant at the 5 % level. It *does not hold* if it is significant the other way round, or not significant and
its whole 95 % interval too small to matter. Otherwise it is *undecided*. Memory and time are measured once for a run,
and compared with a bound of ours. A claim holds if all its comparisons do, and *in part* if some do
([why so](../design/0023-claims.md)). The cells are in no tally of the paper's numbers.
"""


def claim_records() -> list[Record]:
    """The records of claims, in the order of the specs."""
    wanted = [name for name in names() if load_spec(name).compares]
    return [record for record in read_records(*wanted) if record.claim is not None]


def page(written: str) -> str:
    """The whole page."""
    records = claim_records()
    lines = ["| claim | in the paper | verdict | comparisons as it says |", "|---|---|---|---|"]
    for record in records:
        claim = record.claim
        place = f"[{record.title}](#{record.name})"
        lines.append(f"| {place} | {record.source} | {word(claim)} | {by_column(claim)} |")
    return "\n".join([f"{written}{HEAD}", *lines, "", *map(section, records)])


def section(record: Record) -> str:
    """A claim: the quotation, the verdict, what was found, and what does hold."""
    claim = record.claim
    head = (
        f"({record.name})=\n## {record.title}\n\n*{record.source}.* {claim.says}\n\n**{word(claim)}.** {record.about}\n"
    )
    lines = ["| dataset | what | expected | found | verdict |", "|---|---|---|---|---|"]
    for each in claim.findings:
        cells = (each.column, QUANTITIES[each.asked.quantity], expectation(each.asked), seen(each), each.word)
        lines.append(f"| {' | '.join(cells)} |")
    made = provenance(record) if any(cell.status == "done" for cell in record.cells) else ""
    return "\n".join([head, *lines, "", *details(record), made, not_run(record)])


def details(record: Record) -> list[str]:
    """What the cells themselves show: the grid, or every row's accuracy."""
    done = [cell for cell in record.cells if cell.status == "done" and cell.run is not None]
    if record.kind == "selection":
        return [*map(grid, done), *([PICTURE] if done else [])]
    if not done or record.claim.findings[0].asked.quantity == "memory":
        return []
    lines = ["| dataset | row | test accuracy (%) | trials |", "|---|---|---|---|"]
    lines += [
        f"| {cell.column} | {cell.row} | {spread_of(cell.run, record.metric)} | {trials(cell)} |" for cell in done
    ]
    return [*lines, ""]


def grid(cell: CellResult) -> str:
    """Which part of the grid is within a point of the best."""
    points = cell.outcome.selection.grid
    best = max(point.val_accuracy_mean for point in points)
    near = [point for point in points if best - point.val_accuracy_mean <= 1.0]
    low = min(point.val_accuracy_mean for point in points)
    far = ", ".join(f"({point.alpha:g}, {point.gamma:g})" for point in points if point not in near)
    left = f" The others, as (α, γ): {far}." if far else ""
    return (
        f"{cell.column}: validation accuracy from {low:.2f} to {best:.2f}; {len(near)} of {len(points)} points are "
        f"within one point of the best ({points[0].trials} trials each).{left}\n"
    )


def word(claim: Claim) -> str:
    """The verdict with its sign."""
    return f"{SIGNS[claim.word]} {claim.word}"


PICTURE = "\n".join(
    f"```{{image}} ../_static/claims/grid-{theme}.svg\n:class: figure wide only-{theme}\n"
    ":alt: Validation accuracy at every point of the grid of α and γ\n```\n"
    for theme in ("light", "dark")
)
