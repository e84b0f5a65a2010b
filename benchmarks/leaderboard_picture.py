"""Draw accuracy against seconds for every dataset of the leaderboard from the files in results/; needs matplotlib.

    python benchmarks/leaderboard_picture.py [--out FOLDER]

One panel for each kind of split. Writes DATASET-light.svg and DATASET-dark.svg; benchmarks/tables.py writes the page.
"""

import math
from itertools import pairwise
from typing import Any

import matplotlib

from dataset_pictures import as_svg, plain, style, write_pictures
from front_picture import Theme
from leaderboard_page import datasets
from leaderboard_rows import SPLITS, TRIALS, Place, best_first, read_places

# As narrow as a phone.
SIZE = (5.0, 7.4)
OWN = "GraphMix"
TITLES = {"public": "public split", "random": "random splits"}
# Where a name may stand, in points from its dot, with its alignment; the first place that is free is taken.
SIDES = (
    (6, 0, "left", "center"),
    (-6, 0, "right", "center"),
    (0, 6, "center", "bottom"),
    (0, -6, "center", "top"),
    (4, 4, "left", "bottom"),
    (4, -4, "left", "top"),
    (-4, 4, "right", "bottom"),
    (-4, -4, "right", "top"),
)
# A dot's half width in pixels, and how much wider a name may be in another font.
DOT, WIDER = 5.0, 1.08


def main() -> None:
    """Draw every dataset in both themes."""
    found = read_places()
    write_pictures(__doc__, "leaderboard", datasets(found), lambda dataset, theme: draw(found, dataset, theme))


def draw(found: list[Place], dataset: str, theme: Theme) -> bytes:
    """Return the picture of a dataset as SVG; the same results give the same bytes."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(style(dataset, theme)):
        figure, panels = plt.subplots(len(SPLITS), 1, figsize=SIZE, sharex=True, facecolor=theme.page)
        figure.subplots_adjust(left=0.09, right=0.985, top=0.965, bottom=0.065, hspace=0.13)
        drawn = [points(found, dataset, split) for split in SPLITS.values()]
        for panel, split, here in zip(panels, SPLITS.values(), drawn, strict=True):
            _panel(panel, here, f"{dataset}, {TITLES[split]}: accuracy (%)", theme)
        _seconds(panels[-1], [place.seconds for here in drawn for place in here])
        # Names are placed when the axes no longer change.
        for panel, here in zip(panels, drawn, strict=True):
            _names(panel, here)
        picture = as_svg(figure, theme)
        plt.close(figure)
    return picture


def points(found: list[Place], dataset: str, split: str) -> list[Place]:
    """The places that have both an accuracy and seconds, best first."""
    here = [place for place in found if (place.result.column, place.split) == (dataset, split)]
    return best_first(place for place in here if place.mean is not None and place.seconds is not None)


def front(here: list[Place]) -> list[Place]:
    """The places that no other beats in both accuracy and time, the fastest first; only times that can be compared."""
    kept: list[Place] = []
    for place in sorted((each for each in here if not each.incomparable), key=lambda each: (each.seconds, -each.mean)):
        if not kept or place.mean > kept[-1].mean:
            kept.append(place)
    return kept


def _panel(panel: Any, here: list[Place], title: str, theme: Theme) -> None:
    """Draw the dots of one kind of split, and the line through the front."""
    best = front(here)
    panel.plot(*_steps(best), color=theme.ours, linewidth=1.2, alpha=0.55, zorder=1)
    for place in here:
        colour = _colour(place, theme)
        face = theme.page if place.incomparable else colour
        look = {"marker": "s" if place.on_cpu else "o", "facecolor": face, "edgecolor": colour}
        panel.scatter(place.seconds, place.mean, s=34, linewidths=1.5, zorder=3, **look)
    plain(panel, title, theme, margin=0.09, ticks=7)


def _seconds(panel: Any, seconds: list[float]) -> None:
    """The axis that both panels share: powers of ten, and room for names at both ends."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    panel.set_xscale("log")
    right = max(seconds, default=100) * 2.2
    last = 10.0 ** math.floor(math.log10(right))
    # The label of the last power of ten needs room on its right.
    panel.set_xlim(min(seconds, default=1) / 2.2, max(right, 2 * last))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel(f"seconds for {TRIALS} trials")


def _steps(best: list[Place]) -> tuple[list[float], list[float]]:
    """The line of the front: along one accuracy until the next, then up."""
    across, up = [], []
    for place in best:
        across += [place.seconds] if not up else [place.seconds, place.seconds]
        up += [place.mean] if not up else [up[-1], place.mean]
    return across, up


def _colour(place: Place, theme: Theme) -> str:
    return theme.ours if OWN in place.result.row else theme.peers


def _names(panel: Any, here: list[Place]) -> None:
    """Write names where they cover nothing: those of the front first, then ours, then the others by accuracy."""
    from matplotlib.transforms import Bbox

    best = front(here)
    at = panel.transData.transform([(place.seconds, place.mean) for place in here]) if here else []
    taken = [Bbox.from_bounds(x - DOT, y - DOT, 2 * DOT, 2 * DOT) for x, y in at]
    corners = panel.transData.transform(list(zip(*_steps(best), strict=True))) if best else []
    taken += [Bbox([one, two]) for one, two in pairwise(corners)]
    renderer = panel.figure.canvas.get_renderer()
    for place in sorted(here, key=lambda each: (each not in best, OWN not in each.result.row)):
        for x, y, across, up in SIDES:
            name = panel.annotate(
                place.result.row,
                (place.seconds, place.mean),
                (x, y),
                textcoords="offset points",
                ha=across,
                va=up,
                fontsize=9,
                fontweight="bold" if place in best else "normal",
            )
            box = name.get_window_extent(renderer).expanded(WIDER, 1.0)
            inside = panel.bbox.x0 <= box.x0 and box.x1 <= panel.bbox.x1 and panel.bbox.y0 <= box.y0
            if inside and box.y1 <= panel.bbox.y1 and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            name.remove()


if __name__ == "__main__":
    main()
