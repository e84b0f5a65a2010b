"""Draw what large graphs take, from table-scale.json and training-scale.json in results/; needs matplotlib.

    python benchmarks/scale_picture.py [--out FOLDER]

Two pictures of two panels against the number of edges, seconds of a core and memory: reading tables (tables-light.svg,
tables-dark.svg), and training (training-light.svg, training-dark.svg).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

from dataset_pictures import as_svg, plain, style, write_pictures
from front_picture import Theme

RESULTS = Path(__file__).parent / "results"
SIZE = (5.0, 5.6)
TICKS = tuple(digit * 10.0**power for power in range(-4, 5) for digit in (1, 2, 5))
MOST_TICKS = 8


@dataclass(frozen=True)
class Line:
    """One line of a panel.

    Attributes:
        label: its name.
        colour: the field of the theme that has its colour.
        marker, dashes: how it is drawn.
        points: edges and value of each point.
    """

    label: str
    colour: str
    marker: str
    dashes: str
    points: Sequence[tuple[int, float]]


Panel = tuple[str, list[Line]]


def main() -> None:
    """Draw the pictures in both themes."""
    write_pictures(__doc__, "scale", PICTURES, lambda name, theme: draw(name, read(name), theme))


def read(name: str) -> list[dict[str, Any]]:
    """The rows of results that a picture shows."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / PICTURES[name][0]).read_text())["rows"]
    return rows


def draw(name: str, rows: list[dict[str, Any]], theme: Theme) -> bytes:
    """Return a picture as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    _, panels, below = PICTURES[name]
    with plt.rc_context(style(name, theme)):
        figure, axes = plt.subplots(2, 1, figsize=SIZE, layout="constrained", facecolor=theme.page)
        for axis, (title, lines) in zip(axes, panels(rows), strict=True):
            plain(axis, title, theme, margin=0.12, ticks=6)
            _panel(axis, lines, theme)
        axes[-1].set_xlabel(below)
        handles = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper left", ncols=2, frameon=False, fontsize=10
        )
        drawn = as_svg(figure, theme)
        plt.close(figure)
    return drawn


def tables(rows: list[dict[str, Any]]) -> list[Panel]:
    """Reading: both formats, and a line through the last point of Parquet that is in proportion."""
    looks = {"parquet": ("Parquet", "ours", "o", "-"), "csv": ("CSV", "peers", "s", "--")}

    def panel(title: str, key: str, unit: float) -> Panel:
        lines = [
            Line(*look, [(row["edges"], row[key] / unit) for row in rows if row["format"] == ending])
            for ending, look in looks.items()
        ]
        last, value = lines[0].points[-1]
        sizes = sorted({row["edges"] for row in rows})
        return title, [*lines, Line("in proportion", "text", "", ":", [(size, value / last * size) for size in sizes])]

    return [
        panel("seconds of a core", "processor_seconds", 1.0),
        panel("memory at the peak (GiB)", "peak_bytes", 2.0**30),
    ]


def training(rows: list[dict[str, Any]]) -> list[Panel]:
    """Training: steps and evaluations, and the memory of the graph and of both kinds of steps."""
    full, mini = ([row for row in rows if row["scheme"] == scheme] for scheme in ("full", "mini"))

    def of(own: list[dict[str, Any]], key: str, unit: float = 1.0) -> list[tuple[int, float]]:
        return [(row["edges"], row[key] / unit) for row in own]

    times = [
        Line("all nodes: step and evaluation", "peers", "s", "--", of(full, "epoch")),
        Line("mini-batch: step", "ours", "o", "-", of(mini, "step")),
        Line("mini-batch: evaluation", "ours", "^", ":", of(mini, "evaluation")),
    ]
    memory = [
        Line("all nodes: memory", "peers", "s", "--", of(full, "training_bytes", 2.0**30)),
        Line("mini-batch: memory", "ours", "o", "-", of(mini, "training_bytes", 2.0**30)),
        Line("the graph itself", "text", "", ":", of(mini, "graph_bytes", 2.0**30)),
    ]
    return [("seconds of a core", times), ("memory (GiB)", memory)]


PICTURES = {
    "tables": ("table-scale.json", tables, "edges (a tenth as many nodes, 10 columns of numbers)"),
    "training": ("training-scale.json", training, "edges (a tenth as many nodes, 50 features)"),
}


def _panel(axis: Any, lines: list[Line], theme: Theme) -> None:
    """Draw the lines of a panel, both axes logarithmic."""
    for line in lines:
        looks = {"color": getattr(theme, line.colour), "marker": line.marker, "linestyle": line.dashes}
        axis.plot(*zip(*line.points, strict=True), label=line.label, markersize=6, linewidth=1.8, **looks)
    axis.set_xscale("log")
    axis.set_yscale("log")
    sizes = sorted({size for line in lines for size, _ in line.points})
    axis.set_xticks(sizes, [f"{size / 10**6:g} M" for size in sizes])
    low, high = axis.get_ylim()
    within = [tick for tick in TICKS if low <= tick <= high]
    ticks = within if len(within) <= MOST_TICKS else [tick for tick in within if f"{tick:e}".startswith("1")]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


if __name__ == "__main__":
    main()
