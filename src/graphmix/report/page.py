"""The page itself: one HTML file with everything in it."""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphmix.distribution import importing
from graphmix.errors import RunError
from graphmix.files import write_whole
from graphmix.report.charts import chart_data
from graphmix.report.claims import claim_values
from graphmix.report.contents import Contents
from graphmix.report.fitted_page import chart_numbers, page_values
from graphmix.report.tables import bound_tables, origins, result_table, run_tiles, setting_rows, tally_bar
from graphmix.report.tuned_page import tuned_numbers, tuned_values
from graphmix.report.wording import headline
from graphmix.results.claim_wording import RULE
from graphmix.results.names import METRICS
from graphmix.results.record import NOT_IN_PAPER, Record
from graphmix.results.wording import summarise
from graphmix.text import for_screen

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_SCRIPTS = ("drawing.js", "numbers.js", "pictures.js", "figure.js", "mixture.js", "fitted.js", "tuned.js", "page.js")
# The charts over all experiments, in order, and what a cell must have for one where its name does not say so.
_EXPLORERS = ("distribution", "curves", "embedding", "soft-rank", "confusion")
_EXPLORERS_OF_FITTED = ("curves", "confusion")
_NEEDS = {"distribution": "scores", "soft-rank": "softRank", "selection": "grid"}


def render(contents: Contents) -> str:
    """Make the page.

    Raises:
        RunError: plotly, whose JavaScript draws the charts, or jinja2 is not installed.
    """
    data = chart_data(contents)
    explorers = _drawable(_EXPLORERS, data["cells"])
    if contents.tuned is not None:
        template, values = "tuned.html.j2", tuned_values(*contents.tuned)
        data["tuned"] = tuned_numbers(contents.tuned[0])
    elif contents.fitted is None:
        template, values = "page.html.j2", _values(contents, data)
    else:
        template, values = "fitted.html.j2", page_values(contents, contents.fitted)
        data["fitted"] = chart_numbers(contents.fitted.metrics)
        explorers = [name for name in explorers if name in _EXPLORERS_OF_FITTED]
    theme, scripts = own_text("theme.js"), [_plotly(), *(own_text(name) for name in _SCRIPTS)]
    return (
        environment()
        .get_template(template)
        .render(
            title=contents.title,
            explorers=explorers,
            policy=policy([theme, *scripts]),
            style=own_text("style.css"),
            theme=theme,
            scripts=scripts,
            data=_embed(data),
            **values,
        )
    )


def write(contents: Contents, path: Path) -> None:
    """Write the page whole or not at all.

    Raises:
        RunError: it cannot be written, or plotly or jinja2 is not installed.
    """
    page = render(contents)
    try:
        write_whole(path, page.encode("utf-8", "replace"))
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from error


def _drawable(charts: Iterable[str], cells: list[dict[str, Any]]) -> list[str]:
    """The charts that some cell has numbers for."""
    return [name for name in charts if any(_NEEDS.get(name, name) in cell for cell in cells)]


def _values(contents: Contents, data: dict[str, Any]) -> dict[str, Any]:
    sections = [_section(number, record, contents.of_runs, data) for number, record in enumerate(contents.records)]
    claims = [section for section in sections if section["claim"]]
    return {
        "headline": headline(contents),
        "records": sections,
        "claims": claims,
        "rule": RULE,
        "several": len(contents.records) > 1,
        "runs_only": contents.of_runs,
        # A claim's cells have no number of the paper to be compared with.
        "tally": tally_bar(contents.records) if len(claims) < len(sections) else [],
        "run_tiles": run_tiles(contents.records[0]) if contents.of_runs else [],
        "differences": sum("difference" in cell for cell in data["cells"]),
        "without_details": _without_details(contents),
        "settings": setting_rows(contents.records),
        "origins": origins(contents.records),
    }


def _section(number: int, record: Record, of_runs: bool, data: dict[str, Any]) -> dict[str, Any]:
    # What a record is about is drawn where it stands, not only among the rest.
    charts = {"selection": ("selection",), "bound": ("bound",), "figure": record.charts}.get(record.kind, ())
    return {
        "id": f"record-{number}",
        "number": number,
        "record": record,
        "metric": METRICS[record.metric],
        "summary": None if of_runs or record.kind == "bound" else summarise([record]),
        "table": None if record.kind == "bound" else result_table(record),
        "bounds": bound_tables(record) if record.kind == "bound" else [],
        "charts": _drawable(charts, [cell for cell in data["cells"] if cell["record"] == number]),
        # What is not in this paper has numbers of others beside it.
        "theirs": "paper" if record.source != NOT_IN_PAPER else "published",
        "compared": any(cell.paper is not None for cell in record.cells),
        "claim": claim_values(record),
    }


def _without_details(contents: Contents) -> list[str]:
    return [
        f"{record.label(cell)} on {cell.column}"
        for record in contents.records
        for cell in record.cells
        if cell.run is not None and cell.details is None
    ]


def _shown(value: Any) -> Any:
    """Cut a text that is too long, and show characters that would be hidden; what is marked as safe is ours."""
    return for_screen(value) if type(value) is str else value


def _shown_inside(value: Any) -> Any:
    if isinstance(value, dict):
        return {_shown(name): _shown_inside(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        # Numbers are most of a chart, and there may be millions.
        return [item if type(item) in (float, int) else _shown_inside(item) for item in value]
    return _shown(value)


def _embed(data: dict[str, Any]) -> str:
    text = json.dumps(_shown_inside(data), separators=(",", ":"), ensure_ascii=False)
    # Names are the user's: one that closes the script element must not.
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def policy(scripts: list[str]) -> str:
    """What a browser may do with the page: run these scripts and no others, and load or send nothing."""
    sums = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in sums)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def environment() -> "Environment":
    """Return what fills our templates: everything is escaped, cut where it is too long, and made visible."""
    with importing("a report", "report"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    made = Environment(
        loader=FunctionLoader(own_text),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_shown,
    )
    made.filters["prose"] = _prose
    return made


def _prose(text: str) -> "Markup":
    """Text with what stands between backticks as code, and between asterisks as emphasis."""
    from markupsafe import Markup, escape

    coded = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(_shown(text))))
    return Markup(re.sub(r"(?<!\w)\*(\w[^*]*)(?<!\s)\*(?!\w)", r"<em>\1</em>", coded))


def _plotly() -> str:
    with importing("a report", "report"):
        from plotly.offline import get_plotlyjs
    return str(get_plotlyjs()).replace("</script", "<\\/script")


def own_text(name: str) -> str:
    """Return a file of this package."""
    return files("graphmix.report").joinpath(name).read_text(encoding="utf-8")
