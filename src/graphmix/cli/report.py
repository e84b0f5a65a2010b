"""graphmix report: results as a page to open in a browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmix.cli.screen import announce, say, tell
from graphmix.errors import RunError

if TYPE_CHECKING:
    from graphmix.data import Graph, Split
    from graphmix.storage.runs import Run


def report(
    source: Annotated[
        Path, typer.Argument(help="A model's folder, a run's, a demo's, a record SPEC.json, or a folder of records.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page.", show_default="report.html beside what it shows")
    ] = None,
) -> None:
    """Draw results as one HTML file that needs no network: tables, verdicts, curves, hidden states."""
    from graphmix.report import read, write

    if out is None:
        out = (source if source.is_dir() else source.parent) / "report.html"
    if out.suffix.lower() in (".json", ".safetensors"):
        raise RunError(f"{out} is a name for results, not for a page; choose one that ends in .html")
    write(read(source), out)
    tell(f"Report written to {out}")


def keep_details(run: "Run", graph: "Graph", split: "Split", pictures: bool) -> None:
    """Write what the pictures of a run need beside it; what takes seconds is computed only for a report."""
    from graphmix.analysis import details
    from graphmix.results.writer import to_json
    from graphmix.storage.files import write_json

    if pictures:
        announce(f"laying out the hidden states of {run.results.method}")
    measures = ("embedding", "soft-rank") if pictures else ()
    write_json(run.folder / "details.json", to_json(details(run.fit, graph, split, measures)))


def write_report(folder: Path, quiet: bool = False) -> None:
    """Write the report of a folder into it; if that fails, only a message is shown: the results are stored already."""
    from graphmix.report import read, write

    out = folder / "report.html"
    try:
        write(read(folder), out)
    except RunError as error:
        say(f"graphmix: no report was written: {error}")
    else:
        if not quiet:
            tell(f"Report written to {out}")
