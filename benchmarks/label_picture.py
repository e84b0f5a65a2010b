"""Draw accuracy against the number of labels for every dataset from the files in results/; needs matplotlib.

    python benchmarks/label_picture.py [--out FOLDER]

One panel for each way in which splits are drawn. Writes DATASET-light.svg and DATASET-dark.svg; benchmarks/tables.py
writes the page.
"""

import argparse
import io
from pathlib import Path
from typing import Any

import matplotlib

from front_picture import STATIC, THEMES, Theme
from graphmix.storage.files import write_bytes
from label_rows import PANELS, RIVAL, Point, in_panel, read_points

# As narrow as a phone; inches of a panel, of the legend with the first title, and of the last axis.
WIDTH, PANEL, LEGEND, FOOT = 5.0, 2.6, 1.55, 0.75
OWN = "GraphMix"
# Methods differ in these, not only in colour.
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")


def main() -> None:
    """Draw every dataset in both themes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=STATIC / "labels")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    found = read_points()
    for dataset in dict.fromkeys(point.dataset for point in found):
        for name, theme in THEMES.items():
            path = options.out / f"{dataset.lower()}-{name}.svg"
            write_bytes(path, draw(found, dataset, theme))
            print(path)


def draw(found: list[Point], dataset: str, theme: Theme) -> bytes:
    """Return the picture of a dataset as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    panels = [panel for panel in PANELS if in_panel(found, dataset, panel)]
    styles = line_styles(found, theme)
    style = {"svg.fonttype": "none", "svg.hashsalt": dataset, "font.family": "sans-serif", "font.size": 10.5}
    inks = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    height = LEGEND + PANEL * len(panels) + FOOT
    with plt.rc_context(style | dict.fromkeys(inks, theme.text)):
        figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, height), squeeze=False, facecolor=theme.page)
        figure.subplots_adjust(left=0.1, right=0.975, top=1 - LEGEND / height, bottom=FOOT / height, hspace=0.5)
        for axis, panel in zip(axes[:, 0], panels, strict=True):
            _panel(axis, in_panel(found, dataset, panel), styles, theme)
            axis.set_title(f"{dataset}, {PANELS[panel]}: accuracy (%)", loc="left", fontsize=10.5)
        axes[-1, 0].set_xlabel("labels")
        _legend(figure, styles, dataset, found)
        held = io.BytesIO()
        figure.savefig(held, format="svg", facecolor=theme.page, metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return held.getvalue()


def line_styles(found: list[Point], theme: Theme) -> dict[str, dict[str, Any]]:
    """How each method's line looks: the same in all pictures."""
    styles: dict[str, dict[str, Any]] = {}
    for place, row in enumerate(dict.fromkeys(point.row for point in found)):
        colour = theme.ours if OWN in row else theme.peers
        styles[row] = {
            "color": theme.text if row == RIVAL else colour,
            "marker": MARKERS[place % len(MARKERS)],
            "linestyle": DASHES[place % len(DASHES)],
            "markerfacecolor": theme.page if row == RIVAL else colour,
            "linewidth": 2.0 if OWN in row else 1.4,
            "markersize": 6,
        }
    return styles


def _panel(axis: Any, here: list[Point], styles: dict[str, dict[str, Any]], theme: Theme) -> None:
    """Draw the lines of one way to split."""
    for row in dict.fromkeys(point.row for point in here):
        known = [point for point in here if point.row == row and point.mean is not None]
        axis.plot([point.labels for point in known], [point.mean for point in known], **styles[row])
    ticks = dict.fromkeys((point.labels, point.amount) for point in here)
    axis.set_xscale("log")
    axis.set_xticks([labels for labels, _ in ticks], [f"{labels}\n({amount})" for labels, amount in ticks])
    axis.set_xlim(min(ticks)[0] / 1.15, max(ticks)[0] * 1.15)
    axis.minorticks_off()
    axis.set_facecolor(theme.page)
    axis.grid(color=theme.grid, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(length=0, which="both")
    axis.margins(y=0.12)
    axis.locator_params(axis="y", nbins=6)
    for side in ("top", "right", "left", "bottom"):
        axis.spines[side].set_visible(False)


def _legend(figure: Any, styles: dict[str, dict[str, Any]], dataset: str, found: list[Point]) -> None:
    """Name the methods that have a line, above the panels."""
    from matplotlib.lines import Line2D

    drawn = {point.row for point in found if point.dataset == dataset and point.mean is not None}
    lines = [Line2D([], [], label=row, **style) for row, style in styles.items() if row in drawn]
    if lines:
        figure.legend(handles=lines, loc="upper left", ncols=2, frameon=False, fontsize=9.5, handlelength=3.2)


if __name__ == "__main__":
    main()
