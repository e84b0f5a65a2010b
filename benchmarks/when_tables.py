"""The tables of docs/when-to-use.md, from the results of when.py and wild.py."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results_page import commit_of
from wild_names import FEW, LABELS, LOGISTIC, MANY, PYG_GCN, labels_a_class
from wild_rows import ACCURACY, Rows, Setting

RESULTS = Path(__file__).parent / "results" / "when-cpu.json"
MISSING = "Not measured yet.\n"
SYSTEMS = {
    "fit": "`graphmix fit`",
    "gcn": "GCN",
    "graphmix": "GraphMix(GCN)",
    "logistic": "logistic regression, no edges",
}
OURS = "fit"
VARIED = {
    "homophily": "edges within a class",
    "labels_per_class": "labels a class",
    "topic": "words that tell the class",
}
Record = dict[str, Any]


def table(name: str) -> Callable[[], str]:
    """Return the function that writes the table of one thing that varies."""
    return lambda: _table(read(), name) if RESULTS.exists() else MISSING


def findings() -> str:
    """Where the mixture is ahead, and where it is behind."""
    return _findings(read()) if RESULTS.exists() else MISSING


def made() -> str:
    """How it was measured."""
    return _made(read()) if RESULTS.exists() else MISSING


def real() -> str:
    """On real graphs: the mixture, features without edges, a GCN, and the best of all peers."""
    rows = Rows.read()
    if rows is None:
        return MISSING
    shown = (OURS, LOGISTIC, PYG_GCN)
    heads = "fit | no edges | GCN | lead"
    lines = [f"| graph, labels | {heads} |", "|---" * 5 + "|"]
    for setting in (Setting(MANY), Setting(FEW)):
        for graph in rows.graphs:
            behind = rows.behind(ACCURACY, graph, setting)
            if behind is None:
                continue
            found = [rows.spread(ACCURACY, graph, setting, system) for system in shown]
            cells = " | ".join("–" if spread is None else f"{spread.mean:.1f}" for spread in found)
            labels = labels_a_class(graph, setting.amount)
            lines.append(f"| {graph}, {labels} | {cells} | {-behind[1]:+.1f} |")
    return "\n".join([*lines, "", _of_real(rows), ""])


def held_out() -> str:
    """How far a fit's own accuracy, on held-out labels, is from that on hidden nodes."""
    rows = Rows.read()
    if rows is None:
        return MISSING
    lines = []
    for setting in (Setting(MANY), Setting(FEW)):
        pairs = [
            pair
            for graph in rows.graphs
            for pair in zip(
                *(rows.values(measure, graph, setting, OURS) for measure in (ACCURACY, "held_out")), strict=True
            )
        ]
        above = [hidden - held for hidden, held in pairs]
        lines.append(
            f"- {LABELS[setting.amount]} labels of each class (counties: twice as many): "
            f"{statistics.fmean(above):+.1f} points on the mean of {len(above)} fits, "
            f"with a standard deviation of {statistics.stdev(above):.1f}; "
            f"higher in {sum(each > 0 for each in above)} of them."
        )
    return "\n".join([*lines, "", rows.made(), ""])


def _of_real(rows: Rows) -> str:
    return (
        "Accuracy in percent, means over up to five draws of labels, as many of each class as the first column says. "
        "*No edges* is a logistic regression on the features. The GCN is PyG's, five networks. *Lead* is that of "
        f"`fit` over the best peer of that graph, which is known only afterwards. {rows.made()}"
    )


def read() -> Record:
    """Read the results."""
    record: Record = json.loads(RESULTS.read_text())
    return record


def means(record: Record, setting: dict[str, float]) -> dict[str, float]:
    """Return the mean accuracy of every system in a setting."""
    return {system: statistics.fmean(accuracies(record, setting, system)) for system in SYSTEMS}


def accuracies(record: Record, setting: dict[str, float], system: str) -> list[float]:
    """Return a system's accuracy in each draw of a setting."""
    return [row["accuracy"] for row in record["rows"] if (row["setting"], row["system"]) == (setting, system)]


def settings(record: Record, name: str) -> list[dict[str, float]]:
    """Return the settings that differ in one thing."""
    return [record["base"] | {name: value} for value in record["varied"][name]]


def _table(record: Record, name: str) -> str:
    lines = [f"| {VARIED[name]} | {' | '.join(SYSTEMS.values())} |", "|---" * (1 + len(SYSTEMS)) + "|"]
    for setting in settings(record, name):
        best = max(means(record, setting).values())
        cells = [_cell(accuracies(record, setting, system), best) for system in SYSTEMS]
        lines.append(f"| {_value(name, setting[name])} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(values: list[float], best: float) -> str:
    mean = statistics.fmean(values)
    shown = f"{mean:.1f} ± {statistics.stdev(values):.1f}" if len(values) > 1 else f"{mean:.1f}"
    return f"**{shown}**" if mean == best else shown


def _value(name: str, value: float) -> str:
    return f"{value:g}" if name == "labels_per_class" else f"{value:.0%}".replace("%", " %")


def _findings(record: Record) -> str:
    """One line for each thing that varies: the mixture against the best of the others, at best and at worst."""
    lines = []
    for name in VARIED:
        leads = {}
        for setting in settings(record, name):
            found = means(record, setting)
            ours = found.pop(OURS)
            other = max(found, key=found.__getitem__)
            leads[_value(name, setting[name])] = (ours - found[other], SYSTEMS[other])
        (high, (most, above)), (low, (least, below)) = (
            pick(leads.items(), key=lambda lead: lead[1][0]) for pick in (max, min)
        )
        lines.append(
            f"- {VARIED[name].capitalize()}: from {least:+.1f} points (at {low}, against {below}) to {most:+.1f} "
            f"(at {high}, against {above})."
        )
    return "\n".join(lines) + "\n"


def _made(record: Record) -> str:
    base = ", ".join(f"{VARIED[name]} {_value(name, value)}" for name, value in record["base"].items())
    return (
        f"Accuracy in percent on all nodes without a label: means ± standard deviations over {record['draws']} "
        f"generated graphs of {record['nodes']} nodes in four equal classes, the best mean in bold. Where nothing else "
        f"is said: {base}. {record['device']}, {record['threads']} thread, torch {record['versions']['torch']}, "
        f"{commit_of(record['commit'])}; `{record['command']}`.\n"
    )


WHEN_TABLES = {
    "when_homophily": table("homophily"),
    "when_labels": table("labels_per_class"),
    "when_features": table("topic"),
    "when_findings": findings,
    "when_made": made,
    "when_real": real,
    "when_held_out": held_out,
}
