"""graphmix explain: the reasons for predictions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graphmix.cli.busy import Busy
from graphmix.cli.models import read_model
from graphmix.cli.options import EscapeFormulas, Limit, NoHeader
from graphmix.cli.paths import require_files, require_model
from graphmix.cli.report import PAGES
from graphmix.cli.screen import announce, output, tell
from graphmix.errors import ConfigError
from graphmix.files import check_output
from graphmix.limits import Limits
from graphmix.text import name_for_screen
from graphmix.workflow.columns import Columns
from graphmix.workflow.output import ENDINGS
from graphmix.workflow.places import model_files

if TYPE_CHECKING:
    from graphmix.workflow.explanation import Explanation
    from graphmix.workflow.explanations import Explanations

_SHOWN = 6
_BAR = 20


def explain(
    model: Annotated[Path, typer.Argument(help="Folder of a model, from `graphmix fit` or a `save` in Python.")],
    ids: Annotated[
        list[str], typer.Argument(metavar="ID…", help="Ids of nodes; of a link model both ends, as SOURCE,TARGET.")
    ],
    nodes: Annotated[Path | None, typer.Option(help="Table of new nodes, whose ids may be asked for too.")] = None,
    edges: Annotated[
        Path | None, typer.Option(help="Table of new edges, to new and old nodes; of new links, for a link model.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="All numbers as .csv, .tsv or .parquet; as .html a page.", show_default="none"
        ),
    ] = None,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Leave out edges to nodes that are neither old nor new.")
    ] = False,
    no_header: NoHeader = None,
    limit: Limit = None,
    escape_formulas: EscapeFormulas = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Say why a model predicts what it does: which columns, words, neighbours and labels it comes from.

    Everything is found by leaving something out and predicting again. The words come first, then the numbers; a page
    (--out reasons.html) has pictures too.
    """
    limits = Limits.parse(limit or ())
    Columns(no_header=no_header or ())  # checks the names
    require_model(model)
    require_files(nodes, edges)
    _check_out(out, [nodes, edges, *model_files(model)], force)
    loaded = read_model(model)
    announce("explaining")
    with explaining() as line:
        found = loaded.explain(
            ids,
            nodes=nodes,
            edges=edges,
            ignore_unknown=ignore_unknown,
            limit=limits,
            no_header=no_header or (),
            tell=line,
        )
    if out is not None:
        _write(found, out, escape_formulas)
    for each in found:
        _show(each)
    if out is not None:
        tell(f"Reasons written to {out}")


@contextmanager
def explaining(what: str = "explaining") -> Iterator[Callable[[int, int], None]]:
    """Show a line while something runs; yield what shows how many predictions are explained, of how many."""
    line = Busy()
    line.show(what)
    try:
        yield lambda done, total: line.show("explaining", f"{done:,} of {total:,}")
    finally:
        line.stop()


def _check_out(out: Path | None, inputs: list[Path | None], force: bool) -> None:
    if out is None:
        return
    endings = (*ENDINGS, *PAGES)
    if out.suffix.lower() not in endings:
        raise ConfigError(f"{out}: choose a name that ends in {', '.join(endings)}")
    check_output(out, inputs=inputs, force=force)


def _write(found: "Explanations", out: Path, escape_formulas: bool) -> None:
    if out.suffix.lower() not in PAGES:
        found.write(out, escape_formulas=escape_formulas)
        return
    from graphmix.report.explained import write_explanations

    write_explanations(found, out)


def _show(each: "Explanation") -> None:
    from graphmix.workflow.explanation import percent, points

    for sentence in each.sentences:
        tell(name_for_screen(sentence, 2000))
    table = Table(title_justify="left")
    for heading in ("part", "what", "class"):
        table.add_column(heading, overflow="fold")
    table.add_column("points or percent", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for step in each.steps:
        table.add_row("used", step.name, "", percent(step.probability), _bar(step.probability))
    effects = [one.effect for one in each.neighbours] + [cell.effect for cell in each.cells]
    largest = max(map(abs, effects), default=0.0) or 1.0
    for one in each.neighbours[:_SHOWN]:
        far = "neighbour" if one.hops == 1 else f"{one.hops} hops away"
        names = _cells(one.name, one.label or f"({one.predicted})")
        table.add_row(far, *names, points(one.effect), _bar(one.effect / largest))
    for cell in each.cells[:_SHOWN]:
        part, name = ("column", cell.column) if cell.word is None else ("word", cell.word)
        table.add_row(part, *_cells(name, ""), points(cell.effect), _bar(cell.effect / largest))
    for label in each.labels[:_SHOWN]:
        table.add_row("label", *_cells(label.name, label.label), percent(label.share), "")
    output.print(table)


def _cells(*texts: str) -> list[str]:
    return [name_for_screen(text) for text in texts]


def _bar(share: float) -> str:
    """Draw a share as a bar; what speaks against it is light."""
    return ("█" if share >= 0 else "░") * round(_BAR * min(1.0, abs(share)) / 2)
