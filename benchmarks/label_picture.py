"""Draw accuracy against the number of labels for every dataset from the files in results/; needs matplotlib.

    python benchmarks/label_picture.py [--out FOLDER]

One panel for each way in which splits are drawn. Writes DATASET-light.svg and DATASET-dark.svg; benchmarks/tables.py
writes the page.
"""

from typing import Any

import matplotlib

from dataset_pictures import as_svg, plain, style, write_pictures
from front_picture import Theme
from label_rows import PANELS, RIVAL, Point, in_panel, read_points

# As narrow as a phone; inches of a panel, of the legend with the first title, and of the last axis.
WIDTH, PANEL, LEGEND, FOOT = 5.0, 2.6, 1.55, 0.75
OWN = "GraphMix"
# Methods differ in these, not only in colour.
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")


def main() -> None:
    """Draw every dataset in both themes."""
    found = read_points()
    datasets = dict.fromkeys(point.dataset for point in found)
    write_pictures(__doc__, "labels", datasets, lambda dataset, theme: draw(found, dataset, theme))


def draw(found: list[Point], dataset: str, theme: Theme) -> bytes:
    """Return the picture of a dataset as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    panels = [panel for panel in PANELS if in_panel(found, dataset, panel)]
    styles = line_styles(found, theme)
    height = LEGEND + PANEL * len(panels) + FOOT
    with plt.rc_context(style(dataset, theme)):
        figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, height), squeeze=False, facecolor=theme.page)
        figure.subplots_adjust(left=0.1, right=0.975, top=1 - LEGEND / height, bottom=FOOT / height, hspace=0.5)
        for axis, panel in zip(axes[:, 0], panels, strict=True):
            _panel(axis, in_panel(found, dataset, panel), styles)
            plain(axis, f"{dataset}, {PANELS[panel]}: accuracy (%)", theme, margin=0.12, ticks=6)
        axes[-1, 0].set_xlabel("labels")
        _legend(figure, styles, dataset, found)
        drawn = as_svg(figure, theme)
        plt.close(figure)
    return drawn


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


def _panel(axis: Any, here: list[Point], styles: dict[str, dict[str, Any]]) -> None:
    """Draw the lines of one way to split."""
    for row in dict.fromkeys(point.row for point in here):
        known = [point for point in here if point.row == row and point.mean is not None]
        axis.plot([point.labels for point in known], [point.mean for point in known], **styles[row])
    ticks = dict.fromkeys((point.labels, point.amount) for point in here)
    axis.set_xscale("log")
    axis.set_xticks([labels for labels, _ in ticks], [f"{labels}\n({amount})" for labels, amount in ticks])
    axis.set_xlim(min(ticks)[0] / 1.15, max(ticks)[0] * 1.15)
    axis.minorticks_off()


def _legend(figure: Any, styles: dict[str, dict[str, Any]], dataset: str, found: list[Point]) -> None:
    """Name the methods that have a line, above the panels."""
    from matplotlib.lines import Line2D

    drawn = {point.row for point in found if point.dataset == dataset and point.mean is not None}
    lines = [Line2D([], [], label=row, **style) for row, style in styles.items() if row in drawn]
    if lines:
        figure.legend(handles=lines, loc="upper left", ncols=2, frameon=False, fontsize=9.5, handlelength=3.2)


if __name__ == "__main__":
    main()
