"""The report of the committed results, as report.html beside the other pages."""

from pathlib import Path

from sphinx.application import Sphinx

from graphmix.report import read, write

RESULTS = Path(__file__).parents[2] / "results"


def write_report(app: Sphinx, error: Exception | None) -> None:
    """Write it when the pages are done."""
    if error is None and app.builder.format == "html":
        write(read(RESULTS), Path(app.outdir) / "report.html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
