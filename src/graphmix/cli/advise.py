"""graphmix advise: what to label next, and which labels to check."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from graphmix.cli.fit_screen import fit_screen
from graphmix.cli.models import read_model
from graphmix.cli.options import Device, EscapeFormulas
from graphmix.cli.paths import require_model
from graphmix.cli.screen import output, tell
from graphmix.errors import ConfigError
from graphmix.files import check_not_read
from graphmix.storage.folders import check_can_be_made, make_folder
from graphmix.text import name_for_screen
from graphmix.workflow.output import formula_notes
from graphmix.workflow.places import check_table, model_files

if TYPE_CHECKING:
    from graphmix.workflow.output import OutputTable

FILES = ("label_next.csv", "suspects.csv")
_SHOWN = 10


def advise(
    model: Annotated[Path, typer.Argument(help="Folder of a model, from `graphmix fit` or a `save` in Python.")],
    count: Annotated[int, typer.Option(help="Rows of each table.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for label_next.csv and suspects.csv.", show_default="only shown"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace these files if they exist.")] = False,
    escape_formulas: EscapeFormulas = False,
    device: Device = "auto",
) -> None:
    """Say which nodes to label next, and which given labels look wrong, each with a reason.

    A node is worth labeling if it informs many others that have no label nearby, most of all uncertain ones. A label is
    suspect if the GNN and the FCN, neither of which trained on it, both contradict it and its neighbours do not support
    it.
    """
    if count < 1:
        raise ConfigError(f"`count` must be at least 1, not {count}")
    require_model(model)
    if out is not None:
        check_can_be_made(out)
        check_not_read(out, [model], "out")
        for name in FILES:
            check_table(out / name, inputs=model_files(model), force=force, later=out)
    loaded = read_model(model)
    with fit_screen() as screen:
        advice = loaded.advise(count, device=device, watch=screen)
    if out is not None:
        make_folder(out)
        for name, table in zip(FILES, (advice.label_next, advice.suspects), strict=True):
            table.write(out / name, escape_formulas=escape_formulas)
    if len(advice.label_next):
        _show("Label these next", advice.label_next, ("predicted", "reason"))
    else:
        tell("Everything has a label: there is nothing to label next.")
    if len(advice.suspects):
        _show("Check these labels", advice.suspects, ("label", "suggested", "reason"))
        for note in advice.notes:
            tell(f"· {note}")
    else:
        tell("No label looks wrong to both networks and to its neighbours.")
    if out is not None:
        for note in formula_notes(out / FILES[0], advice.label_next, advice.suspects, escape_formulas=escape_formulas):
            tell(f"· {note}")
        tell(f"Tables written to {out}")


def _show(title: str, table: "OutputTable", shown: tuple[str, ...]) -> None:
    wanted = [name for name in table.columns if name in (*table.keys, *shown)]
    rows = len(table)
    drawn = Table(title=title if rows <= _SHOWN else f"{title} (the first {_SHOWN} of {rows})", title_justify="left")
    for name in wanted:
        drawn.add_column(name, overflow="fold")
    for row in range(min(rows, _SHOWN)):
        drawn.add_row(*(name_for_screen(str(table.columns[name][row])) for name in wanted))
    output.print(drawn)
