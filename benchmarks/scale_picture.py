"""Draw what reading large tables takes, from results/table-scale.json; needs matplotlib.

    python benchmarks/scale_picture.py [--out FOLDER]

Two panels against the number of edges: seconds of a core, and memory at the peak, both with a line of what is in
proportion to the edges. Writes tables-light.svg and tables-dark.svg.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

from dataset_pictures import as_svg, plain, style, write_pictures
from front_picture import Theme

RESULTS = Path(__file__).parent / "results" / "table-scale.json"
NAME = "tables"
SIZE = (5.0, 5.6)
NAMES = {"parquet": ("Parquet", "o", "-"), "csv": ("CSV", "s", "--")}
TICKS = tuple(digit * 10.0**power for power in range(-2, 5) for digit in (1, 2, 5))
PANELS = (
    ("processor_seconds", 1.0, "seconds of a core"),
    ("peak_bytes", 2.0**30, "memory at the peak (GiB)"),
)


def main() -> None:
    """Draw the picture in both themes."""
    rows = json.loads(RESULTS.read_text())["rows"]
    write_pictures(__doc__, "scale", [NAME], lambda name, theme: draw(rows, theme))


def draw(rows: list[dict[str, Any]], theme: Theme) -> bytes:
    """Return the picture as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(style(NAME, theme)):
        figure, axes = plt.subplots(2, 1, figsize=SIZE, layout="constrained", facecolor=theme.page)
        for axis, (key, unit, title) in zip(axes, PANELS, strict=True):
            plain(axis, title, theme, margin=0.12, ticks=6)
            _panel(axis, rows, key, unit, theme)
        axes[-1].set_xlabel("edges (a tenth as many nodes, 10 columns of numbers)")
        figure.legend(
            *axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False, fontsize=10
        )
        drawn = as_svg(figure, theme)
        plt.close(figure)
    return drawn


def _panel(axis: Any, rows: list[dict[str, Any]], key: str, unit: float, theme: Theme) -> None:
    """Draw one measure of both formats, and a line through the last one of Parquet that is in proportion."""
    for ending, (name, marker, dashes) in NAMES.items():
        own = [row for row in rows if row["format"] == ending]
        colour = theme.ours if ending == "parquet" else theme.peers
        looks = {"color": colour, "marker": marker, "linestyle": dashes, "markersize": 6, "linewidth": 1.8}
        axis.plot([row["edges"] for row in own], [row[key] / unit for row in own], label=name, **looks)
    sizes = sorted({row["edges"] for row in rows})
    last = max((row for row in rows if row["format"] == "parquet"), key=lambda row: row["edges"])
    slope = last[key] / unit / last["edges"]
    axis.plot(sizes, [slope * size for size in sizes], color=theme.text, linestyle=":", label="in proportion")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(sizes, [f"{size / 10**6:g} M" for size in sizes])
    low, high = axis.get_ylim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


if __name__ == "__main__":
    main()
