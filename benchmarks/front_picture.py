"""Draw the picture of the front page from the results files of wild.py; needs matplotlib.

    python benchmarks/front_picture.py [--out FOLDER]

One row for each graph: `graphmix fit`, the best other method, and the rest, with 20 labels a class. Writes
front-light.svg and front-dark.svg. The sentence below the picture is written by benchmarks/tables.py.
"""

import argparse
import io
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

from graphmix.storage.files import write_bytes
from wild_names import MANY, OURS
from wild_rows import ACCURACY, Rows, Setting

STATIC = Path(__file__).parents[1] / "docs" / "_static"
# As narrow as a phone: text must be readable at half this width.
SIZE = (5.6, 4.6)
SETTING = Setting(MANY)


class Theme(NamedTuple):
    """The colours of a picture."""

    page: str
    text: str
    grid: str
    ours: str
    peers: str


THEMES = {
    "light": Theme("#ffffff", "#1c2430", "#dfe4ea", "#d9480f", "#5b6675"),
    "dark": Theme("#131416", "#e6eaf0", "#343a42", "#ff8a3d", "#a7b1be"),
}


def main() -> None:
    """Draw the picture in both themes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=STATIC)
    options = parser.parse_args()
    rows = Rows.read()
    if rows is None:
        print("nothing to draw: there is no results file of wild.py yet")
        return
    for name, theme in THEMES.items():
        path = options.out / f"front-{name}.svg"
        write_bytes(path, draw(rows, theme))
        print(path)


def draw(rows: Rows, theme: Theme) -> bytes:
    """Return the picture as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    style = {"svg.fonttype": "none", "svg.hashsalt": "front", "font.family": "sans-serif", "font.size": 11.5}
    inks = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    with plt.rc_context(style | dict.fromkeys(inks, theme.text)):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained", facecolor=theme.page)
        reached = means(rows)
        graphs = sorted(reached, key=lambda graph: -reached[graph][OURS])
        for place, graph in enumerate(graphs):
            _row(axes, place, reached[graph], theme)
        axes.set_yticks(range(len(graphs)), graphs)
        axes.set_ylim(len(graphs) - 0.5, -0.5)
        axes.set_xlabel("accuracy (%)")
        _plain(axes, theme)
        figure.legend(*_legend(axes), loc="outside upper left", ncols=3, frameon=False, handletextpad=0.1, fontsize=11)
        held = io.BytesIO()
        figure.savefig(held, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return held.getvalue()


def means(rows: Rows) -> dict[str, dict[str, float]]:
    """The mean of every system over the draws of each graph on which ours and another were run."""
    found = {}
    for graph in rows.graphs:
        spreads = {system: rows.spread(ACCURACY, graph, SETTING, system) for system in rows.systems}
        known = {system: spread.mean for system, spread in spreads.items() if spread is not None}
        if OURS in known and len(known) > 1:
            found[graph] = known
    return found


def _row(axes: Any, place: int, reached: dict[str, float], theme: Theme) -> None:
    others = sorted(value for system, value in reached.items() if system != OURS)
    axes.plot([others[0], others[-1]], [place, place], color=theme.peers, linewidth=1.2, alpha=0.5, zorder=1)
    axes.scatter(others[:-1], [place] * len(others[:-1]), s=22, color=theme.peers, linewidths=0, label="others")
    axes.scatter(
        others[-1], place, s=62, facecolor=theme.page, edgecolor=theme.peers, linewidths=1.8, label="best other"
    )
    axes.scatter(reached[OURS], place, s=62, color=theme.ours, linewidths=0, label="graphmix fit", zorder=3)


def _legend(axes: Any) -> tuple[list[Any], list[str]]:
    handles, labels = axes.get_legend_handles_labels()
    kept = dict(zip(labels, handles, strict=True))
    names = ["graphmix fit", "best other", "others"]
    return [kept[name] for name in names], names


def _plain(axes: Any, theme: Theme) -> None:
    axes.set_facecolor(theme.page)
    axes.grid(axis="x", color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
