"""Draw the hidden states of the GCN and of GraphMix(GCN) side by side, from results/t-sne.json; needs matplotlib.

    python benchmarks/tsne_picture.py [--out FOLDER]

One picture for each dataset and theme. Colour is the true class. Run benchmarks/tables.py afterwards: the page shows
the pictures that are there.
"""

import argparse
import io
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from front_picture import THEMES, Theme
from graphmix.data import DATASETS
from graphmix.results.record import CellResult
from graphmix.storage.files import write_bytes
from results_page import TSNE, drawn, read_records

# Told apart by those who see few colours, on white and on black (Okabe and Ito, darker yellow).
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#b3a400", "#0072b2", "#d55e00", "#cc79a7")


def main() -> None:
    """Draw every dataset in both themes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TSNE)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    (record,) = read_records("t-sne")
    for column in record.columns:
        cells = drawn(record, column)
        if cells is None:
            continue
        for name, theme in THEMES.items():
            path = options.out / f"{column.lower()}-{name}.png"
            write_bytes(path, draw(cells, theme))
            print(path)


def draw(cells: list[CellResult], theme: Theme) -> bytes:
    """Return the picture as PNG: one panel for each method, the classes below."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"font.size": 14, "text.color": theme.text}):
        figure, panels = plt.subplots(1, len(cells), figsize=(7.2, 5.2), layout="constrained", facecolor=theme.page)
        for panel, cell in zip(panels, cells, strict=True):
            marks = _panel(panel, cell)
        names = class_names(cells[0])
        figure.legend(
            marks, names, loc="outside lower center", ncols=2, markerscale=3, frameon=False, handletextpad=0.1
        )
        held = io.BytesIO()
        figure.savefig(held, format="png", dpi=110, metadata={"Software": None})
        plt.close(figure)
    return held.getvalue()


def class_names(cell: CellResult) -> list[str]:
    """The names of a cell's classes; "class 0" where they are not known."""
    known = DATASETS[cell.run.dataset].class_names
    return list(known) if known else [f"class {name}" for name in cell.details.classes]


def _panel(panel: Any, cell: CellResult) -> list[Any]:
    held = cell.details.embedding
    x, y, label = (np.array(values) for values in (held.x, held.y, held.label))
    wrong = np.mean([one != two for one, two in zip(held.label, held.predicted, strict=True) if one >= 0])
    panel.set_title(f"{cell.row}: {100 * wrong:.0f} % wrong", fontsize=15)
    # A square around the cloud, so that the panels have one size.
    half = 0.52 * max(np.ptp(x), np.ptp(y))
    for limit, axis in ((panel.set_xlim, x), (panel.set_ylim, y)):
        middle = (axis.min() + axis.max()) / 2
        limit(middle - half, middle + half)
    panel.set_aspect("equal")
    panel.axis("off")
    marks = []
    for place in range(len(cell.details.classes)):
        here = label == place
        marks.append(panel.scatter(x[here], y[here], s=9, color=COLOURS[place % len(COLOURS)], linewidths=0))
    return marks


if __name__ == "__main__":
    main()
