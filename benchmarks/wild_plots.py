"""Draw a plot of every graph of docs/wild.md from the results file of wild.py; needs matplotlib.

    python benchmarks/wild_plots.py [RESULTS] [--out FOLDER]

A row for each system, a panel for each number of labels. Full dots: labels drawn by class; hollow dots: as many drawn
regardless of class. Large dots are means, small ones the draws. Run benchmarks/tables.py afterwards: the page shows the
plots that are there.
"""

import argparse
import io
from pathlib import Path
from typing import Any

import matplotlib

from graphmix.storage.files import write_bytes
from wild_names import (
    ANY,
    BOOSTED,
    BY_CLASS,
    FEW,
    LOGISTIC_MEANS,
    MANY,
    OURS,
    PYG_GCN,
    SMOOTHED,
    TITLES,
    labels_a_class,
)
from wild_rows import AUC, Rows, Setting
from wild_tables import PLOTS

OWN_COLOUR, PEER_COLOUR, GRID = "#c2410c", "#475569", "#e2e8f0"
# Where by-class and regardless-of-class dots lie in the row of a system.
OFFSETS = {BY_CLASS: -0.17, ANY: 0.17}
# Names that leave room for the dots.
SHORT = {
    LOGISTIC_MEANS: "logistic, neighbours",
    SMOOTHED: "Correct and Smooth",
    PYG_GCN: "GCN of PyG",
    BOOSTED: "trees, neighbours",
}
# One panel above the other, so that the text can be read on a phone.
SIZE = (5.8, 5.2)


def main() -> None:
    """Draw every graph of the results file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="?", default=None)
    parser.add_argument("--out", type=Path, default=PLOTS)
    options = parser.parse_args()
    rows = Rows.read(options.results)
    if rows is None:
        print(f"nothing to draw: there is no {options.results.name} yet")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for graph in rows.graphs:
        write_bytes(options.out / f"{graph}.svg", draw(rows, graph))
        print(options.out / f"{graph}.svg")


def draw(rows: Rows, graph: str) -> bytes:
    """Return the plot of a graph as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    found = {row["system"] for row in rows.rows if row["graph"] == graph}
    systems = [name for name in rows.systems if name in found]
    # Text stays text, so that a page's own font can draw it.
    style = {"svg.fonttype": "none", "svg.hashsalt": graph, "font.family": "sans-serif", "font.size": 11}
    with plt.rc_context(style):
        figure, panels = plt.subplots(2, 1, figsize=SIZE, sharex=True, layout="constrained")
        for panel, amount in zip(panels, (MANY, FEW), strict=True):
            _panel(panel, rows, graph, amount, systems)
        panels[1].set_xlabel("ROC AUC (%)" if rows.measures(graph)[-1] == AUC else "accuracy (%)")
        held = io.BytesIO()
        figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return held.getvalue()


def _panel(panel: Any, rows: Rows, graph: str, amount: str, systems: list[str]) -> None:
    """Draw one number of labels."""
    measure = rows.measures(graph)[-1]
    for place, system in enumerate(systems):
        for drawn, offset in OFFSETS.items():
            values = rows.values(measure, graph, Setting(amount, drawn), system)
            if values:
                _dots(panel, values, place + offset, system, drawn)
    panel.set_title(f"{labels_a_class(graph, amount)} labels a class", fontsize=11)
    panel.set_yticks(range(len(systems)), [SHORT.get(name, TITLES[name].replace("`", "")) for name in systems])
    panel.set_ylim(len(systems) - 0.5, -0.5)
    for name, label in zip(systems, panel.get_yticklabels(), strict=True):
        label.set_fontweight("bold" if name == OURS else "normal")
    panel.grid(axis="x", color=GRID, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.tick_params(length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)


def _dots(panel: Any, values: list[float], height: float, system: str, drawn: str) -> None:
    """Draw the draws of a system, a line over their spread, and their mean."""
    colour = OWN_COLOUR if system == OURS else PEER_COLOUR
    heights = [height] * len(values)
    panel.plot([min(values), max(values)], [height, height], color=colour, linewidth=1, alpha=0.35)
    panel.scatter(values, heights, s=9, color=colour, alpha=0.45, linewidths=0)
    face = colour if drawn == BY_CLASS else "white"
    panel.scatter(sum(values) / len(values), height, s=42, facecolor=face, edgecolor=colour, linewidths=1.3, zorder=3)


if __name__ == "__main__":
    main()
