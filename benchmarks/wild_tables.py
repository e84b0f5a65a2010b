"""The tables of docs/wild.md, from the results file of wild.py."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path

from wild_checks import AUC, BALANCED, ERROR, WORDS, beside, checks, kept_accuracy, losses, said
from wild_names import (
    ANY,
    BY_CLASS,
    COUNTIES,
    COUNTIES_LABELS,
    FEW,
    GRAPHS,
    LABELS,
    MANY,
    OURS,
    TITLES,
    labels_a_class,
)
from wild_rows import ACCURACY, HERE, Lead, Rows, Setting

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PLOTS = Path(__file__).parents[1] / "docs" / "_static" / "wild"
MISSING = "Not measured yet: `python benchmarks/wild.py --out benchmarks/results/wild-h200.json`.\n"
SETTINGS = tuple(Setting(amount, drawn) for drawn in (BY_CLASS, ANY) for amount in (MANY, FEW))
HEADS = dict(zip(SETTINGS, ("20 a class", "5 a class", "20, any class", "5, any class"), strict=True))


def suite(rows: Rows) -> str:
    """Every peer's mean over the suite, and that of `fit` on the same graphs and draws."""
    run = [setting for setting in SETTINGS if any(rows.lead(setting, peer, ranked=False) for peer in rows.peers)]
    if not run:
        return MISSING
    heads = [f"{HEADS[setting]}: it | `fit` there | graphs" for setting in run]
    lines = [f"| accuracy (%), mean over the graphs | {' | '.join(heads)} |", "|---" * (1 + 3 * len(run)) + "|"]
    for peer in rows.peers:
        shown = [_lead(rows.lead(setting, peer, ranked=False)) for setting in run]
        lines.append(f"| {TITLES[peer]} | {' | '.join(shown)} |")
    lines += [
        "",
        "Labels a class; counties have twice as many. A peer and `graphmix fit` are compared on the graphs and draws "
        f"that both were run on, so `fit` has another mean beside each. {rows.made()}",
    ]
    return "\n".join(lines) + "\n"


def _lead(lead: Lead | None) -> str:
    if lead is None:
        return "– | – | –"
    ours, theirs = f"{lead.ours:.1f}", f"{lead.peer:.1f}"
    return (
        f"{theirs} | **{ours}** | {lead.graphs}" if lead.ours > lead.peer else f"**{theirs}** | {ours} | {lead.graphs}"
    )


def front(rows: Rows) -> str:
    """What the picture of the front page shows, and on how many graphs `fit` is ahead."""
    setting = Setting(MANY)
    found = {graph: rows.behind(ACCURACY, graph, setting) for graph in rows.graphs}
    behind = {graph: pair for graph, pair in found.items() if pair is not None}
    lost = [f"{graph} ({TITLES[peer]}, by {ahead:.1f} points)" for graph, (peer, ahead) in behind.items() if ahead > 0]
    most = max((len(rows.values(ACCURACY, graph, setting, OURS)) for graph in behind), default=0)
    others = NUMBERS[len(rows.peers)]
    rest = f" Another method is more accurate on {', and on '.join(lost)}." if lost else ""
    return (
        f"`graphmix fit` with its defaults and {others} other methods, with {LABELS[MANY]} labels a class "
        f"({COUNTIES}: {COUNTIES_LABELS[MANY]}), each dot the mean of up to {NUMBERS[most]} draws. "
        f"`fit` is the most accurate on {len(behind) - len(lost)} of {len(behind)} graphs.{rest} "
        "Some defaults of `fit` [were chosen](choices.md) by looking at graphs of this suite. "
        f"[Every graph, every method, and fewer labels](wild.md).\n\n{rows.made()}\n"
    )


def goals(rows: Rows) -> str:
    """What was to be reached, and whether it is."""
    more = [str(check) for check in beside(rows) if check.found]
    heading = ["", "Beside it, with labels drawn regardless of class:", ""] if more else []
    return "\n".join([*map(str, checks(rows)), *heading, *more]) + "\n"


def lost(rows: Rows) -> str:
    """Where a peer is better."""
    lines = []
    for setting in SETTINGS:
        for graph, measure, peer, points in losses(rows, setting):
            lines.append(f"| {said(setting)} | {graph} | {WORDS[measure]} | {TITLES[peer]} | {points:.1f} |")
    if not any(rows.values(ACCURACY, graph, setting, OURS) for graph in rows.graphs for setting in SETTINGS):
        return MISSING
    if not lines:
        return "Nowhere in these runs.\n"
    heads = ["| labels | graph | by | the best peer | points ahead |", "|---" * 5 + "|"]
    return "\n".join([*heads, *lines]) + "\n"


def certainty(rows: Rows) -> str:
    """How far the certainty of `fit` can be believed."""
    heads = "calibration error (%) | coverage of 90 % sets | classes in a set | not abstained (%) | right of these (%)"
    lines = [f"| graph | labels a class | {heads} |", "|---" * 7 + "|"]
    for graph in rows.graphs:
        for amount in (MANY, FEW):
            setting = Setting(amount)
            if not rows.values(ACCURACY, graph, setting, OURS):
                continue
            found = [rows.spread(name, graph, setting, OURS) for name in (ERROR, "coverage", "set_size", "kept")]
            right = kept_accuracy(rows, graph, setting)
            shown = [_shown(spread) for spread in found] + ["–" if right is None else f"{right:.1f}"]
            lines.append(f"| {graph} | {labels_a_class(graph, amount)} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else MISSING


def mixtures(rows: Rows) -> str:
    """Who is in the mixtures, with what weight on average."""
    asked = {graph: rows.values("members", graph, Setting(MANY), OURS) for graph in rows.graphs}
    asked = {graph: members for graph, members in asked.items() if members}
    names = list(dict.fromkeys(name for members in asked.values() for each in members for name in each))
    if not names:
        return MISSING
    lines = [f"| graph | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for graph, members in asked.items():
        weights = [statistics.fmean(each.get(name, 0.0) for each in members) for name in names]
        lines.append(f"| {graph} | {' | '.join(f'{weight:.2f}' if weight else '–' for weight in weights)} |")
    return "\n".join(lines) + "\n"


def graphs(rows: Rows) -> str:
    """A section for each graph: what it is, a plot, and every system's figures."""
    parts = []
    for graph in rows.graphs:
        lines = [f"### {graph}", f"{GRAPHS[graph][0].upper()}{GRAPHS[graph][1:]}.", ""]
        if (PLOTS / f"{graph}.svg").exists():
            lines += [f"![Every system on {graph}](_static/wild/{graph}.svg)", ""]
        for drawn in (BY_CLASS, ANY):
            if any(row["graph"] == graph and row["drawn"] == drawn for row in rows.rows):
                words = "Drawn by class:" if drawn == BY_CLASS else "As many, drawn regardless of class:"
                lines += [words, "", *graph_table(rows, graph, drawn), ""]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def graph_table(rows: Rows, graph: str, drawn: str) -> list[str]:
    """Every system on a graph, mean ± standard deviation over the draws."""
    measures = (ACCURACY, BALANCED, *((AUC,) if rows.has_two_classes(graph) else ()))
    columns = [(Setting(amount, drawn), name) for amount in (MANY, FEW) for name in measures]
    columns += [(Setting(MANY, drawn), ERROR), (Setting(MANY, drawn), "seconds")]
    drawn_words = "a class" if drawn == BY_CLASS else "a class on average"
    heads = [
        f"{labels_a_class(graph, setting.amount)} {drawn_words}: {WORDS.get(name, name)}" for setting, name in columns
    ]
    lines = [f"| in percent | {' | '.join(heads)} |", "|---" * (len(columns) + 1) + "|"]
    best = {}
    for setting, name in columns:
        means = [rows.spread(name, graph, setting, system) for system in rows.systems]
        choose: Callable[..., float] = min if name in (ERROR, "seconds") else max
        best[setting, name] = choose((round(spread.mean, 1) for spread in means if spread), default=0.0)
    for system in rows.systems:
        shown = []
        for column in columns:
            spread = rows.spread(column[1], graph, column[0], system)
            bold = "**" if spread and column[1] != "seconds" and round(spread.mean, 1) == best[column] else ""
            shown.append(f"{bold}{_shown(spread)}{bold}")
        if any(text != "–" for text in shown):
            lines.append(f"| {TITLES[system]} | {' | '.join(shown)} |")
    return lines


def _shown(spread: object) -> str:
    return "–" if spread is None else str(spread)


def from_rows(write: Callable[[Rows], str]) -> Callable[[], str]:
    """Fill a block from the results file, or say that there is none."""

    def block() -> str:
        rows = Rows.read()
        return MISSING if rows is None else write(rows)

    return block


TIMES = ("wild-times-cpu.json", "wild-times-h200.json")


def times(_: Rows) -> str:
    """How long `graphmix fit` takes from two files to predictions and a report."""
    records = [json.loads((HERE / name).read_text()) for name in TIMES]
    lines = ["| graph | labels a class | device | seconds | allowed | accuracy (%) |", "|---" * 6 + "|"]
    for record in records:
        for row in record["rows"]:
            cells = (row["graph"], row["per_class"], record["device"], f"{row['seconds']:.0f}", row["allowed"])
            lines.append(f"| {' | '.join(map(str, cells))} | {row['accuracy']:.1f} |")
    where = "; ".join(
        f"{record['device']}, {record['cores']} cores, torch {record['versions']['torch']}, commit {record['commit']}"
        for record in records
    )
    said = "From two CSV files to predictions, one draw each; on the CPU with a report."
    lines += ["", f"{said} {where}; `{records[0]['command']}`."]
    return "\n".join(lines) + "\n"


WILD_TABLES = {
    f"wild_{write.__name__}": from_rows(write)
    for write in (suite, front, goals, lost, certainty, mixtures, graphs, times)
}
