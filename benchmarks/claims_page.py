"""docs/results/claims.md: the paper's claims, each with its verdict, from the records in results/."""

import textwrap

from graphmix.experiments.spec import load_spec, names
from graphmix.results.claim import QUANTITIES
from graphmix.results.claim_wording import RULE, by_column, expectation, seen, verdict
from graphmix.results.record import CellResult, Record
from graphmix.results.wording import spread_of
from results_page import not_run, provenance, read_records, trials

NAME = "claims"
NONE = "–"
INTRODUCTION = f"""The paper says more than its tables show. Each claim below has a spec of its own, and the software \
computes its verdict from the spec's cells. {RULE} [The design note](../design/0023-claims.md) says why. The cells are \
in no tally of the paper's numbers."""
HEAD = f"# The paper's claims\n\n{textwrap.fill(INTRODUCTION, 120)}\n"


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
        lines.append(f"| {place} | {record.source} | {verdict(claim)} | {by_column(claim)} |")
    return "\n".join([f"{written}{HEAD}", *lines, "", *map(section, records)])


def section(record: Record) -> str:
    """A claim: the quotation, the verdict, what was found, and what does hold."""
    claim = record.claim
    told = f"*{record.source}.* {claim.says}\n\n**{verdict(claim)}.** {record.about}"
    head = f"({record.name})=\n## {record.title}\n\n{told}\n"
    lines = ["| dataset | what | expected | found | verdict |", "|---|---|---|---|---|"]
    for each in claim.findings:
        found = (seen(each), NONE if each.ours is None else each.word)
        cells = (each.column, QUANTITIES[each.asked.quantity], expectation(each.asked), *found)
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


PICTURE = "\n".join(
    f"```{{image}} ../_static/claims/grid-{theme}.svg\n:class: figure wide only-{theme}\n"
    ":alt: Validation accuracy at every point of the grid of α and γ\n```\n"
    for theme in ("light", "dark")
)
