"""The tables of docs/design/0017-steady-graphmix.md, from the results of steady.py."""

import json
import statistics
from pathlib import Path
from typing import Any

from results_page import commit_of

RESULTS = Path(__file__).parent / "results" / "steady-h200.json"
# The rows that a variant is compared with.
PLAIN = "gpr"
CHOSEN = {"loss": "by loss", "accuracy": "by accuracy", "last": "last epoch"}
MISSING = "Not measured yet.\n"

Row = dict[str, Any]


def means() -> str:
    """Every variant on every graph: means of the draws at the epoch that the folds' loss chooses."""
    rows = _rows()
    if not rows:
        return MISSING
    parts = []
    for place, labels in enumerate(("20 labels of each class; counties 40", "5 labels of each class; counties 10")):
        parts += [f"**{labels}**", "", _means([row for row in rows if _place(row, rows) == place]), ""]
    return "\n".join([*parts, _made(), ""])


def losses() -> str:
    """The mean held-out loss of every variant, by which the defaults were chosen."""
    rows = _rows()
    if not rows:
        return MISSING
    graphs = len({row["graph"] for row in rows})
    lines = ["| held-out loss | graphs | 20 labels; counties 40 | 5 labels; counties 10 |", "|---|---|---|---|"]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        own = [row for row in rows if row["variant"] == variant]
        means = [statistics.fmean(_held_out(row) for row in own if _place(row, rows) == place) for place in (0, 1)]
        count = len({row["graph"] for row in own})
        lines.append(f"| {variant} | {count} of {graphs} | {means[0]:.3f} | {means[1]:.3f} |")
    return "\n".join([*lines, ""])


def draws() -> str:
    """Every draw of every variant on every graph."""
    rows = _rows()
    if not rows:
        return MISSING
    parts = []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        for count in sorted({row["per_class"] for row in rows if row["graph"] == graph}, reverse=True):
            own = [row for row in rows if (row["graph"], row["per_class"]) == (graph, count)]
            measure = "ROC AUC" if _metric(own[0]) == "auc" else "accuracy"
            parts += [f"**{graph}, {count} labels of each class, {measure}**", "", _draws(own), ""]
    return "\n".join(parts)


def _means(rows: list[Row]) -> str:
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    by = {(row["variant"], row["graph"]): _mean(row) for row in rows}
    titles = [f"{graph} (AUC)" if _metric(row) == "auc" else graph for graph, row in _first_rows(rows, graphs)]
    lines = [f"| | {' | '.join(titles)} | mean | gain | worst |", "|---|" + "---|" * (len(graphs) + 3)]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        held = {graph: by[variant, graph] for graph in graphs if (variant, graph) in by}
        shown = [f"{held[graph]:.1f}" if graph in held else "–" for graph in graphs]
        lines.append(f"| {variant} | {' | '.join(shown)} | {' | '.join(_summary(held, by))} |")
    return "\n".join(lines)


def _summary(held: dict[str, float], by: dict[tuple[str, str], float]) -> list[str]:
    """The mean over the graphs, and against plain training the mean difference and that of the worst graph."""
    gains = [value - by[PLAIN, graph] for graph, value in held.items() if (PLAIN, graph) in by]
    return [f"{statistics.fmean(held.values()):.1f}", f"{statistics.fmean(gains):+.1f}", f"{min(gains):+.1f}"]


def _draws(rows: list[Row]) -> str:
    count = len(rows[0]["draws"])
    heads = [*(f"draw {number}" for number in range(1, count + 1)), *CHOSEN.values()]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for row in rows:
        metric = _metric(row)
        each = [f"{draw['loss'][metric]:.1f}" for draw in row["draws"]]
        lines.append(f"| {row['variant']} | {' | '.join(each + [f'{_mean(row, chosen):.1f}' for chosen in CHOSEN])} |")
    return "\n".join(lines)


def _first_rows(rows: list[Row], graphs: list[str]) -> list[tuple[str, Row]]:
    return [(graph, next(row for row in rows if row["graph"] == graph)) for graph in graphs]


def _place(row: Row, rows: list[Row]) -> int:
    """Whether a row has the most labels of its graph, 0, or fewer, 1."""
    return int(row["per_class"] < max(each["per_class"] for each in rows if each["graph"] == row["graph"]))


def _metric(row: Row) -> str:
    """ROC AUC where there are two classes, else accuracy."""
    return "auc" if "auc" in row["draws"][0]["loss"] else "accuracy"


def _mean(row: Row, chosen: str = "loss") -> float:
    return statistics.fmean(draw[chosen][_metric(row)] for draw in row["draws"])


def _held_out(row: Row) -> float:
    """The mean over the draws of the folds' loss at the epoch that it chooses."""
    return statistics.fmean(draw["held_out"][0] for draw in row["draws"])


def _rows() -> list[Row]:
    rows: list[Row] = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    return rows


def _made() -> str:
    record = json.loads(RESULTS.read_text())
    versions, epochs = record["versions"], record["epochs"]
    return (
        f"{epochs} epochs. Means of five draws, of three networks each that were trained on all labels up to the epoch "
        "at which the folds' mean loss was lowest; *gain* and *worst* are the mean difference from `gpr` and that of "
        f"the worst graph, in points. {record['device']}, torch {versions['torch']}, {commit_of(record['commit'])}; "
        "`benchmarks/steady.py`, `benchmarks/results/steady-h200.json`."
    )


STEADY_TABLES = {"steady_means": means, "steady_losses": losses, "steady_draws": draws}
