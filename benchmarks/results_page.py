"""What the pages of docs/results/ show of each record in results/."""

import itertools
import math
from pathlib import Path

from graphmix.experiments.spec import paper_specs
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.record import CellResult, Record
from graphmix.results.wording import spread, spread_of
from graphmix.text import counted

RESULTS = Path(__file__).parents[1] / "results"
TSNE = Path(__file__).parents[1] / "docs" / "_static" / "t-sne"
# The methods whose hidden states are shown side by side.
ROWS = ("GCN", "GraphMix(GCN)")
METRICS = {"test_accuracy": "Test accuracy", "test_macro_f1": "Macro F1"}
MISSING = ("to do", "unavailable", "failed")


def table(record: Record) -> str:
    """Our numbers next to the paper's; numbers that the paper only quotes are in a separate table."""
    several = len(record.readings) > 1
    lines = [
        f"| {record_columns(several)} |",
        "|---" * (7 + several) + "|",
    ]
    for cell in record.cells:
        if cell.run is None:
            continue
        quoted = spread(cell.paper.mean, cell.paper.std)
        shown = [cell.column, cell.row, *([cell.reading or ""] if several else [])]
        shown += [spread_of(cell.run, record.metric), trials(cell), quoted, difference(cell), verdict(cell)]
        lines.append("| " + " | ".join(shown) + " |")
    return "\n".join([*lines, "", provenance(record), not_run(record), literature(record)])


def record_columns(several: bool) -> str:
    """The heads of a table's columns."""
    heads = [
        "dataset",
        "method",
        *(["reading"] if several else []),
        "ours (%)",
        "trials",
        "paper (%)",
        "difference",
        "verdict",
    ]
    return " | ".join(heads)


def literature(record: Record) -> str:
    """Rows that the paper quotes and that were not run here."""
    cells = {(cell.row, cell.column): cell.paper for cell in record.cells if cell.status == "quoted"}
    if not cells:
        return ""
    lines = ["Quoted by the paper from the literature, not run here:", ""]
    lines += ["| | " + " | ".join(record.columns) + " |", "|---" * (1 + len(record.columns)) + "|"]
    for row in dict.fromkeys(row for row, _ in cells):
        shown = []
        for column in record.columns:
            paper = cells.get((row, column))
            std = f" ± {paper.std:.1f}" if paper and paper.std is not None else ""
            shown.append(f"{paper.mean:.1f}{std}" if paper else "")
        lines.append(f"| {row} | " + " | ".join(shown) + " |")
    return "\n".join(lines) + "\n"


def figure(record: Record) -> str:
    """A figure as numbers."""
    done = [cell for cell in record.cells if cell.status == "done"]
    return {"soft-rank": soft_ranks, "curves": curves, "embedding": pictures}[record.charts[0]](record, done)


def pictures(record: Record, done: list[CellResult]) -> str:
    """The pictures there are."""
    lines = [
        "The colour is the true class. The number above each picture says how many of the nodes shown are predicted "
        'wrongly, training nodes included. In <a href="../report.html">the report</a> you can zoom into the same '
        f"pictures, and into those of {' and '.join(row for row in record.rows if row not in ROWS)}.\n"
    ]
    for column in dict.fromkeys(cell.column for cell in done):
        cells = drawn(record, column)
        if cells and TSNE.joinpath(f"{column.lower()}-light.png").exists():
            both = f"{picture(column, 'light')}\n{picture(column, 'dark')}"
            lines.append(f"## {column}\nReading `{cells[0].reading}`.\n\n{both}")
    return "\n".join([*lines, provenance(record), not_run(record)])


def drawn(record: Record, column: str) -> list[CellResult] | None:
    """The cells of a dataset under the reading that both methods were run with; None if one is missing."""
    for reading in record.readings:
        found = {cell.row: cell for cell in record.cells if (cell.column, cell.reading) == (column, reading)}
        cells = [found.get(row) for row in ROWS]
        if all(cell and cell.details and cell.details.embedding for cell in cells):
            return cells
    return None


def picture(column: str, theme: str) -> str:
    """A picture of the hidden states on a dataset, for one theme."""
    shown = f"Hidden states of the GCN and of GraphMix(GCN) on {column}, by t-SNE"
    image = f"../_static/t-sne/{column.lower()}-{theme}.png"
    return f"```{{image}} {image}\n:class: figure wide only-{theme}\n:alt: {shown}\n```\n"


def soft_ranks(record: Record, done: list[CellResult]) -> str:
    """Mean soft-rank over the classes, and in how many classes GraphMix's is the lowest."""
    lines = ["| | " + " | ".join(record.rows) + " |", "|---" * (1 + len(record.rows)) + "|"]
    for column, reading in itertools.product(record.columns, record.readings):
        cells = {cell.row: cell for cell in done if (cell.column, cell.reading) == (column, reading)}
        if len(cells) < len(record.rows):
            continue
        means = {row: class_means(cell.details.soft_rank) for row, cell in cells.items()}
        shown = " | ".join(f"{sum(means[row]) / len(means[row]):.3f}" for row in record.rows)
        lines.append(f"| {column} (reading {reading}) | {shown} |")
        lowest = sum(
            means["GraphMix(GCN)"][place] < min(means[row][place] for row in record.rows if row != "GraphMix(GCN)")
            for place in range(len(means["GCN"]))
        )
        lines.append(f"| classes of {len(means['GCN'])} where GraphMix(GCN) is lowest | | | {lowest} |")
    lines += ["", "Soft-rank, mean over the classes and trials.", ""]
    return "\n".join([*lines, provenance(record), not_run(record)])


def class_means(ranks: list) -> list:
    """Mean over the trials of every class's soft-rank `[trials][classes]`."""
    known = [[trial[place] for trial in ranks if trial[place] is not None] for place in range(len(ranks[0]))]
    return [sum(each) / len(each) if each else math.nan for each in known]


def curves(record: Record, done: list[CellResult]) -> str:
    """The results of alternate and joint optimisation."""
    lines = [
        "| dataset | method | best validation accuracy (%) | test accuracy there (%) | trials |",
        "|---|---|---|---|---|",
    ]
    for column in record.columns:
        for cell in [cell for cell in done if cell.column == column]:
            shown = [spread_of(cell.run, metric) for metric in ("val_accuracy", "test_accuracy")]
            lines.append(f"| {column} | {cell.row} | {' | '.join(shown)} | {trials(cell)} |")
    return "\n".join([*lines, "", provenance(record), not_run(record)])


def selection(record: Record) -> str:
    """The grid of validation accuracies, the chosen point, and its result."""
    parts = []
    for cell in [cell for cell in record.cells if cell.status == "done"]:
        found = cell.outcome.selection
        points = {(point.alpha, point.gamma): point for point in found.grid}
        gammas = list(dict.fromkeys(gamma for _, gamma in points))
        lines = [f"| {cell.column}, α \\ γ | " + " | ".join(f"{gamma:g}" for gamma in gammas) + " |"]
        lines.append("|---" * (1 + len(gammas)) + "|")
        chosen = (found.chosen.alpha, found.chosen.gamma)
        for alpha in dict.fromkeys(alpha for alpha, _ in points):
            shown = []
            for gamma in gammas:
                point = points[alpha, gamma]
                text = spread(point.val_accuracy_mean, point.val_accuracy_std)
                shown.append(f"**{text}**" if (alpha, gamma) == chosen else text)
            lines.append(f"| {alpha:g} | " + " | ".join(shown) + " |")
        theirs, ours = found.paper_chosen, found.chosen
        lines += [
            "",
            f"Validation accuracy in percent. Chosen here: α = {ours.alpha:g}, γ = {ours.gamma:g}; the paper chose "
            f"α = {theirs.alpha:g}, γ = {theirs.gamma:g}. With fresh seeds ({trials(cell)} trials) the test "
            f"accuracy is {spread_of(cell.run, record.metric)}, the paper's "
            f"{spread(cell.paper.mean, cell.paper.std)}: "
            f"{verdict(cell)} ({difference(cell)}).",
            "",
        ]
        parts.append("\n".join(lines))
    return "\n".join([*parts, provenance(record), not_run(record)])


def bound(record: Record) -> str:
    """V at every point of the grid, and the other terms."""
    parts = []
    for cell in [cell for cell in record.cells if cell.status == "done"]:
        terms = cell.outcome.bound
        points = {(point.alpha, point.gamma): point for point in terms.points}
        gammas = list(dict.fromkeys(gamma for _, gamma in points))
        lines = [f"| V on {cell.column}, α \\ γ | " + " | ".join(f"{gamma:g}" for gamma in gammas) + " |"]
        lines.append("|---" * (1 + len(gammas)) + "|")
        for alpha in dict.fromkeys(alpha for alpha, _ in points):
            lines.append(
                f"| {alpha:g} | " + " | ".join(f"{points[alpha, gamma].excess:.3f}" for gamma in gammas) + " |"
            )
        positive = sum(point.excess > 0 for point in points.values())
        lines += [
            "",
            f"m = {terms.m} labels, |Γ| = {terms.grid}, δ = {terms.delta:g}: threshold "
            f"{terms.threshold:.3f}, concentration {terms.concentration:.3f}, R found "
            f"{terms.rademacher.mean:.3f}. V is positive at "
            f"{positive} of {len(points)} points, estimated from {len(terms.rademacher.trials)} training sets.",
            "",
        ]
        parts.append("\n".join(lines))
    explained = "[What the terms are and how they are estimated](../theorem.md).\n"
    return "\n".join([*parts, explained, provenance(record), not_run(record)])


def provenance(record: Record) -> str:
    """Where and at which commits a record's cells were computed, and how to compute them again."""
    made = []
    for cell in [cell for cell in record.cells if cell.status == "done"]:
        run = cell.run
        # The theorem's terms have no run.
        where = f"{run.device}, torch {run.versions['torch']}, " if run else ""
        made.append(f"{where}{commit_of(cell.outcome.commit)}")
    shown = [f"{place} ({counted(made.count(place), 'cell')})" for place in dict.fromkeys(made)]
    measured = f"{METRICS[record.metric]} in percent. " if record.kind in ("table", "selection") else ""
    return f"{measured}{'; '.join(shown)}. `graphmix reproduce {record.name}`.\n"


def commit_of(commit: str | None) -> str:
    """The commit that computed a number, or a note that it was not recorded."""
    return "commit not recorded" if commit is None else f"commit {commit}"


def not_run(record: Record) -> str:
    """Which cells failed and why, and which were not run for lack of time or data."""
    missing = [cell for cell in record.cells if cell.status in MISSING]
    reasons = {"to do": "Not run", "unavailable": "Not available", "failed": "Failed"}
    lines = []
    for status, sentence in dict.fromkeys((cell.status, cell.error) for cell in missing):
        grouped: dict[str, list[str]] = {}
        for cell in missing:
            if (cell.status, cell.error) == (status, sentence):
                grouped.setdefault(cell.row, []).append(f"{cell.column} ({cell.reading})")
        shown = "; ".join(f"{row} on {', '.join(places)}" for row, places in grouped.items())
        lines.append(f"{reasons[status]}: {shown}{f' ({sentence})' if sentence else ''}.\n")
    return "\n".join(lines)


def trials(cell: CellResult) -> str:
    """How many trials a cell has, and how many failed."""
    failed = len(cell.run.failed)
    return f"{cell.run.trials}" + (f" ({failed} failed)" if failed else "")


def signed(cell: CellResult) -> str:
    """The difference from the paper."""
    return f"{cell.verdict.difference:+.2f}"


def difference(cell: CellResult) -> str:
    """The difference from the paper and its interval."""
    if cell.verdict.interval is None:
        return signed(cell)
    low, high = cell.verdict.interval
    return f"{signed(cell)} [{low:+.2f}, {high:+.2f}]"


def verdict(cell: CellResult) -> str:
    """A cell's verdict in a word."""
    return cell.verdict.word if cell.verdict else cell.status


def read_records(*wanted: str) -> list[Record]:
    """Read the records of these names; without any, those of the paper in its order."""
    paths = [RESULTS / f"{name}.json" for name in wanted or [spec.name for spec in paper_specs()]]
    return [read_file(Record, path, formats.RECORD) for path in paths if path.exists()]


KINDS = {"table": table, "figure": figure, "selection": selection, "bound": bound}


def images(folder: str, dataset: str, alt: str) -> list[str]:
    """Markdown of a dataset's picture, for both themes."""
    places = [(name, f"_static/{folder}/{dataset.lower()}-{name}.svg") for name in ("light", "dark")]
    return [f"```{{image}} {path}\n:class: figure only-{name}\n:alt: {alt}\n```\n" for name, path in places]
