"""Draw the grid of α and γ of the claim on sensitivity from the files in results/; needs matplotlib.

    python benchmarks/claims_picture.py [--out FOLDER]

Writes grid-light.svg and grid-dark.svg; benchmarks/tables.py writes the page.
"""

import argparse
import io
from pathlib import Path
from typing import Any

import matplotlib

from front_picture import STATIC, THEMES, Theme
from graphmix.results.record import CellResult
from graphmix.storage.files import write_bytes
from results_page import read_records

# As narrow as a phone.
WIDTH, HEIGHT = 5.0, 2.3
# Colours fall by this many points from the best; what is worse is as dark.
RANGE = 3.0


def main() -> None:
    """Draw the grid in both themes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=STATIC / "claims")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    (record,) = read_records("claim-sensitivity")
    cells = [cell for cell in record.cells if cell.outcome.selection is not None]
    for name, theme in THEMES.items():
        path = options.out / f"grid-{name}.svg"
        write_bytes(path, draw(cells, theme))
        print(path)


def draw(cells: list[CellResult], theme: Theme) -> bytes:
    """Return a panel for each dataset as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    style = {"svg.fonttype": "none", "svg.hashsalt": "grid", "font.family": "sans-serif", "font.size": 10.5}
    inks = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    with plt.rc_context(style | dict.fromkeys(inks, theme.text)):
        size = (WIDTH, HEIGHT * len(cells))
        figure, panels = plt.subplots(len(cells), 1, figsize=size, facecolor=theme.page, squeeze=False)
        figure.subplots_adjust(left=0.13, right=0.97, top=1 - 0.14 / len(cells), bottom=0.2 / len(cells), hspace=0.5)
        for panel, cell in zip(panels[:, 0], cells, strict=True):
            _panel(panel, cell)
        held = io.BytesIO()
        figure.savefig(held, format="svg", facecolor=theme.page, metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return held.getvalue()


def _panel(panel: Any, cell: CellResult) -> None:
    points = {(point.alpha, point.gamma): point.val_accuracy_mean for point in cell.outcome.selection.grid}
    alphas, gammas = (list(dict.fromkeys(key[place] for key in points)) for place in (0, 1))
    means = [[points[alpha, gamma] for gamma in gammas] for alpha in alphas]
    best, worst = max(points.values()), min(points.values())
    panel.imshow(means, cmap="Blues", vmin=best - RANGE, vmax=best + RANGE, aspect="auto")
    for row, line in enumerate(means):
        for column, mean in enumerate(line):
            # The middle of the colours and above is light enough for black on any page.
            panel.text(column, row, f"{mean:.1f}", ha="center", va="center", color="black")
    panel.set_title(f"{cell.column}: validation accuracy (%), range {best - worst:.2f}", fontsize=10.5, loc="left")
    panel.set_xticks(range(len(gammas)), [f"{gamma:g}" for gamma in gammas])
    panel.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    panel.set_xlabel("γ")
    panel.set_ylabel("α")
    panel.tick_params(length=0)
    for side in panel.spines.values():
        side.set_visible(False)


if __name__ == "__main__":
    main()
