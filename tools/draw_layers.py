"""Draw the layers of the library, from the contract of import-linter in pyproject.toml, as docs/_static/layers.svg.

python tools/draw_layers.py
"""

import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "_static" / "layers.svg"
# What each layer is for, in a few words, and the colour of its group.
PEOPLE, FITS, PAPER, CORE, GROUND = "#d9e7fb", "#dcf1de", "#fbe9d0", "#f3dcef", "#e4e4e4"
LAYERS = {
    "cli": ("one module per command", PEOPLE),
    "labeling": ("a page to label on", PEOPLE),
    "report": ("results as one HTML page", PEOPLE),
    "experiments": ("the paper's tables as data", PAPER),
    "tuning": ("searches for hyperparameters", FITS),
    "estimator": ("GraphMixClassifier", FITS),
    "workflow": ("from tables to a model", FITS),
    "analysis": ("the paper's figures and bound", PAPER),
    "evaluation": ("held-out labels", FITS),
    "baselines": ("no network", FITS),
    "storage": ("files, locks, run folders", FITS),
    "results": ("what a result is; one reader", FITS),
    "training": ("configs, methods, the loop", CORE),
    "tables": ("a person's CSV, TSV, Parquet", FITS),
    "data": ("graphs, splits", CORE),
    "models": ("backbones, wrap", CORE),
    "sparse": ("products with a trial axis", CORE),
    "method": ("the paper's equations", CORE),
    "streams": ("random numbers of a trial", CORE),
    "triton_streams": ("one kernel", CORE),
    "numba_streams": ("native code", CORE),
    "native": ("whether numba compiles", CORE),
    "cuda_grid": ("how kernels are started", CORE),
    "executors": ("this process, or Ray", CORE),
    "lazy": ("imports on first use", GROUND),
    "limits": ("sizes", GROUND),
    "files": ("writes", GROUND),
    "machine": ("RAM", GROUND),
    "notebook": ("objects in a notebook", GROUND),
    "text": ("text in messages", GROUND),
    "distribution": ("name, version, extras", GROUND),
    "errors": ("what may be raised", GROUND),
}
WIDTH, ROW, GAP, MARGIN = 420, 30, 6, 22


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(draw(contract()), encoding="utf-8")


def contract() -> list[list[str]]:
    """Return the layers, high to low; siblings are in one list."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (each["layers"] for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers")
    return [[name.strip().removeprefix("graphmix.") for name in line.split("|")] for line in layers]


def draw(rows: list[list[str]]) -> str:
    """Return the picture: a box for each layer, and an arrow down for "imports"."""
    height = len(rows) * (ROW + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" font-size="13" font-family="system-ui, sans-serif">',
        "<title>The layers of graphmix: each imports only from those below it</title>",
        f'<path d="M11 {GAP} V{height - 12} M5 {height - 22} l6 10 l6 -10" fill="none" stroke="#888888" '
        'stroke-width="2"/>',
    ]
    for place, names in enumerate(rows):
        top, width = GAP + place * (ROW + GAP), (WIDTH - MARGIN - GAP * len(names)) / len(names)
        for column, name in enumerate(names):
            parts.append(_box(name, MARGIN + column * (width + GAP), top, width))
    return "\n".join([*parts, "</svg>", ""])


def _box(name: str, left: float, top: float, width: float) -> str:
    about, colour = LAYERS[name]
    return (
        f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{ROW}" rx="5" fill="{colour}"/>'
        f'<text x="{left + 8:.0f}" y="{top + 20}" fill="#1c1c1c"><tspan font-weight="700">{name}</tspan> '
        f"{escape(about)}</text>"
    )


if __name__ == "__main__":
    main()
