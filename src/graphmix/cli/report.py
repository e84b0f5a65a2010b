"""graphmix report: results as a page to open in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmix.cli.screen import announce, say, tell
from graphmix.errors import RunError
from graphmix.files import check_output
from graphmix.storage.folders import DETAILS, PAGE
from graphmix.storage.found import require_there

PAGES = (".html", ".htm")
# What our pages have near their beginning; older ones only the second.
_MARKS = (b'name="generator" content="graphmix"', b"graphmix</title>")
_BEGINNING = 8192

if TYPE_CHECKING:
    from graphmix.data import Graph, Split
    from graphmix.storage.runs import Run


def report(
    source: Annotated[
        Path,
        typer.Argument(
            help="A model's folder, a run's, a search's, a demo's, a record SPEC.json, or a folder of records."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page.", show_default="report.html beside what it shows")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
) -> None:
    """Draw results as one HTML file that needs no network: tables, verdicts, curves, hidden states."""
    require_there(source)
    folder = source if source.is_dir() else source.parent
    out = folder / PAGE if out is None else out
    if out.suffix.lower() not in PAGES:
        raise RunError(f"{out} is not the name of a page; choose one that ends in {PAGES[0]}")
    # Only a link can have the name of a page and be results.
    linked = source.is_dir() and force and out.exists()
    shown = (path for path in source.rglob("*") if path.suffix.lower() not in PAGES) if linked else [source]
    check_output(out, inputs=shown, force=force)
    # Imported here: help and errors need neither the experiments nor the template.
    from graphmix.report import read, write

    write(read(source), out)
    tell(f"Report written to {out}")


def keep_details(run: "Run", graph: "Graph", split: "Split", pictures: bool, device: str) -> None:
    """Write what the pictures of a run need beside it; what takes seconds is computed only for a report."""
    from graphmix.analysis import details
    from graphmix.results.writer import to_json
    from graphmix.storage.files import write_json
    from graphmix.training.devices import choose_device

    if pictures:
        announce(f"laying out the hidden states of {run.results.method}")
    measures = ("sketch", "soft-rank") if pictures else ()
    write_json(run.folder / DETAILS, to_json(details(run.fit, graph, split, measures, choose_device(device))))


def write_report(folder: Path, quiet: bool = False) -> None:
    """Write the report of a folder into it; if that fails, only a message is shown: the results are stored already."""
    from graphmix.report import read, write

    out = folder / PAGE
    try:
        if out.exists() and not _is_ours(out):
            # A folder of results may hold other things of the person's.
            raise RunError(f"{out} is not a page of graphmix, and is left alone")
        write(read(folder), out)
    except RunError as error:
        say(f"graphmix: no report was written: {error}")
    else:
        if not quiet:
            tell(f"Report written to {out}")


def _is_ours(page: Path) -> bool:
    if not page.is_file():
        return False
    with page.open("rb") as stream:
        beginning = stream.read(_BEGINNING)
    return any(mark in beginning for mark in _MARKS)
