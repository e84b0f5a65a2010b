"""graphmix reproduce: compute the paper's tables and figures, with a verdict on each number."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from graphmix.cli.board import Board, claim_table, verdict_tables
from graphmix.cli.busy import busy
from graphmix.cli.executors import Address, ExecutorName, opened
from graphmix.cli.options import DataRoot, Device, WritePage
from graphmix.cli.report import write_report
from graphmix.cli.screen import announce, output, resumable, say, tell
from graphmix.errors import ConfigError
from graphmix.executors import check_executor
from graphmix.executors.opening import IN_PROCESS
from graphmix.experiments.cells import Asked, fits, plan
from graphmix.experiments.spec import Spec, load_spec, names, paper_specs
from graphmix.results.record import CellResult
from graphmix.results.wording import tally
from graphmix.storage.folders import check_results_folder

ALL = "all"


def reproduce(
    spec: Annotated[
        str | None, typer.Argument(help="A name from --list, or all for the whole paper.", show_default=False)
    ] = None,
    list_specs: Annotated[bool, typer.Option("--list", help="List the tables and figures and exit.")] = False,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials of each cell.", show_default="the paper's")] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Parameter updates of each trial.", show_default="the paper's")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Trial i uses seed + i.")] = 0,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="ROW/COLUMN",
            help="Compute only these cells; * matches anything, a part may be empty, a third part names the reading.",
            show_default=False,
        ),
    ] = None,
    device: Device = "auto",
    executor: ExecutorName = IN_PROCESS,
    address: Address = None,
    out: Annotated[Path, typer.Option(help="Results folder; results in it are not computed again.")] = Path(
        "reproduction"
    ),
    write_page: WritePage = True,
    commit: Annotated[
        str | None, typer.Option(help="Commit of the code, for the record.", show_default="from git")
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Compute tables and figures of the paper again; each number gets a verdict: reproduced, higher or lower.

    Specs named claim-… try what the paper says in passing, and end with a verdict on it.
    """
    if list_specs:
        output.print(_listing())
        return
    if spec is None:
        raise ConfigError("name a table or figure, or all; `graphmix reproduce --list` shows them")
    asked = Asked(trials=trials, epochs=epochs, seed=seed, only=only)
    specs = _wanted(spec, asked)
    check_results_folder(out)
    check_executor(executor, address)
    # Only now: these import torch, which takes seconds, and the checks above do not need it.
    with busy("starting"):
        from graphmix.experiments.records import source_commit
        from graphmix.experiments.runner import loader
        from graphmix.experiments.runner import reproduce as compute

    resumes = resumable("the same command continues with the missing trials")
    with resumes, opened(executor, address) as where, Board(specs, asked) as board:
        records = compute(
            specs,
            asked,
            out,
            device=device,
            load=loader(data_root, announce),
            commit=commit or source_commit(),
            watch=board.watch,
            executor=where,
        )
    for record in records:
        if record.kind in ("table", "selection"):
            output.print(*verdict_tables(record), sep="\n")
        if record.claim is not None and record.claim.findings:
            output.print(Text(record.claim.says), claim_table(record, record.claim), sep="\n")
    tell(tally(records))
    if any(cell.short for each in specs for cell in plan(each, asked)):
        tell(f"Trained for {epochs} epochs, which is not the paper's number: no verdicts.")
    tell(f"Records written to {out}")
    if write_page:
        write_report(out)
    _say_what_failed([cell for record in records for cell in record.cells])


def _wanted(name: str, asked: Asked) -> list[Spec]:
    """Return the spec of a name; for all, every spec of the paper that has a wanted cell."""
    if name != ALL:
        return [load_spec(name)]
    whole = replace(asked, only=None)
    fitting = [spec for spec in paper_specs() if any(fits(cell, asked.only) for cell in plan(spec, whole))]
    if not fitting:
        raise ConfigError(f"no table or figure has a cell {asked.only!r}; give ROW/COLUMN, say 'GCN/Cora'")
    return fitting


def _listing() -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in ("name", "what, and where in the paper"):
        table.add_column(column, no_wrap=column == "name")
    for column in ("cells", "trials"):
        table.add_column(column, justify="right")
    for spec in map(load_spec, names()):
        cells = [cell for cell in plan(spec, Asked()) if cell.method is not None]
        what = Text.assemble(f"{spec.title}\n", (spec.source, "dim"))
        table.add_row(spec.name, what, str(len(cells)), str(spec.trials))
    return table


def _say_what_failed(cells: list[CellResult]) -> None:
    """Say which cells failed and why, and exit with code 1; with 2 if no cell could be computed."""
    missing = [cell for cell in cells if cell.error is not None]
    for sentence in dict.fromkeys(cell.error for cell in missing):
        names = [f"{cell.row} / {cell.column}" for cell in missing if cell.error == sentence]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        say(f"graphmix: {', '.join(names[:3])}{more}: {sentence}")
    if any(cell.status == "failed" for cell in missing):
        raise typer.Exit(1)
    if missing and not any(cell.status == "done" for cell in cells):
        raise typer.Exit(2)
