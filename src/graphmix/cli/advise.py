"""graphmix advise: what to label next, and which labels to look at again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from graphmix.cli.fit import Bars
from graphmix.cli.screen import output, report
from graphmix.cli.train import Device
from graphmix.errors import ConfigError

if TYPE_CHECKING:
    from graphmix.workflow.folder import Stored

_SHOWN = 10


def advise(
    model: Annotated[Path, typer.Argument(help="A folder that `graphmix fit` made.")],
    count: Annotated[int, typer.Option(help="Rows of each table.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for label_next.csv and suspects.csv.", show_default="only shown"),
    ] = None,
    device: Device = "auto",
) -> None:
    """Say which nodes to label next, and which given labels look wrong, each with a reason.

    A node is worth labeling if it informs many others that no label is near, most of all those the model is unsure of.
    A label is suspect if the GNN and the FCN, neither having trained on it, both contradict it.
    """
    # Here, not on top: tables need pyarrow, which other commands do not wait for.
    from graphmix.workflow.advising import needs_training, suggest, suspect
    from graphmix.workflow.folder import read_model
    from graphmix.workflow.predictions import write_predictions

    if count < 1:
        raise ConfigError(f"--count must be at least 1, not {count}")
    report("reading the model")
    stored = read_model(model)
    config = stored.model.config
    report("choosing what to label")
    suggestions = suggest(stored, count)
    if needs_training(stored):
        report("the model's labels were not held out of its networks: training on folds of them")
    with Bars(max(5, config.trials), config.epochs) as bars:
        suspects = suspect(stored, count, device=device, watch=bars.watch)
    tables = {
        "label_next": _suggestion_columns(stored, suggestions),
        "suspects": _suspect_columns(stored, suspects),
    }
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, columns in tables.items():
            write_predictions(out / f"{name}.csv", columns)
    _show("Label these next", tables["label_next"], ("predicted", "reason"))
    if suspects:
        _show("Look at these labels again", tables["suspects"], ("label", "suggested", "reason"))
    else:
        output.print("No label is contradicted by both networks.")
    if out is not None:
        output.print(f"Tables written to {out}", markup=False, soft_wrap=True)


def _suggestion_columns(stored: "Stored", suggestions: list[Any]) -> dict[str, list[Any]]:
    return _names(stored, suggestions) | {
        "predicted": [stored.model.classes[each.predicted] for each in suggestions],
        "score": [round(each.score, 6) for each in suggestions],
        "uncertainty": [round(each.uncertainty, 4) for each in suggestions],
        "informs": [round(each.informs, 4) for each in suggestions],
        "reason": [each.reason for each in suggestions],
    }


def _suspect_columns(stored: "Stored", suspects: list[Any]) -> dict[str, list[Any]]:
    classes = stored.model.classes
    return _names(stored, suspects) | {
        "label": [classes[each.given] for each in suspects],
        "suggested": [classes[each.suggested] for each in suspects],
        "score": [round(each.score, 6) for each in suspects],
        "gnn_label": [round(each.gnn_given, 4) for each in suspects],
        "gnn_suggested": [round(each.gnn_suggested, 4) for each in suspects],
        "fcn_label": [round(each.fcn_given, 4) for each in suspects],
        "fcn_suggested": [round(each.fcn_suggested, 4) for each in suspects],
        "reason": [each.reason for each in suspects],
    }


def _names(stored: "Stored", found: list[Any]) -> dict[str, list[Any]]:
    from graphmix.workflow.fitting import name_rows

    return {name: [values[each.node] for each in found] for name, values in name_rows(stored.problem).items()}


def _show(title: str, columns: dict[str, list[Any]], shown: tuple[str, ...]) -> None:
    wanted = [name for name in columns if name in ("id", "source", "target", *shown)]
    rows = len(columns[wanted[0]])
    table = Table(title=title if rows <= _SHOWN else f"{title} (the first {_SHOWN} of {rows})", title_justify="left")
    for name in wanted:
        table.add_column(name, overflow="fold")
    for row in range(min(rows, _SHOWN)):
        table.add_row(*(escape(str(columns[name][row])) for name in wanted))
    output.print(table)
