"""What pictures with one file for each dataset and theme share; needs matplotlib to draw."""

import argparse
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from front_picture import STATIC, THEMES, Theme
from graphmix.storage.files import write_bytes


def write_pictures(about: str, folder: str, datasets: Iterable[str], draw: Callable[[str, Theme], bytes]) -> None:
    """Write DATASET-light.svg and DATASET-dark.svg for every dataset, below docs/_static or --out.

    Args:
        about: the text of --help.
        folder: the folder below docs/_static.
        datasets: their names.
        draw: returns the picture of a dataset in a theme.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=STATIC / folder)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for dataset in datasets:
        for name, theme in THEMES.items():
            path = options.out / f"{dataset.lower()}-{name}.svg"
            write_bytes(path, draw(dataset, theme))
            print(path)


def style(dataset: str, theme: Theme) -> dict[str, Any]:
    """Settings of matplotlib, by which the same results give the same bytes."""
    inks = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color")
    fixed = {"svg.fonttype": "none", "svg.hashsalt": dataset, "font.family": "sans-serif", "font.size": 10.5}
    return fixed | dict.fromkeys(inks, theme.text)


def plain(axes: Any, title: str, theme: Theme, *, margin: float, ticks: int) -> None:
    """A panel with a title and a grid, and without a frame."""
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.set_facecolor(theme.page)
    axes.grid(color=theme.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, which="both")
    axes.margins(y=margin)
    axes.locator_params(axis="y", nbins=ticks)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def as_svg(figure: Any, theme: Theme) -> bytes:
    """The bytes of a figure."""
    held = io.BytesIO()
    figure.savefig(held, format="svg", facecolor=theme.page, metadata={"Date": None, "Creator": None})
    return held.getvalue()
