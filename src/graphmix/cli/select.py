"""graphmix select: choose α and γ by validation accuracy, then test them with fresh seeds."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from graphmix.cli.board import Board
from graphmix.cli.busy import busy
from graphmix.cli.executors import Address, ExecutorName, opened
from graphmix.cli.options import DataRoot, DatasetName, Device, Limit, WritePage, settings_options
from graphmix.cli.paths import require_graphs
from graphmix.cli.report import write_report
from graphmix.cli.screen import (
    announce,
    fresh_folder,
    metrics_of,
    output,
    results_table,
    resumable,
    same_folder,
    say,
    tell,
)
from graphmix.errors import ConfigError
from graphmix.executors import check_executor
from graphmix.executors.opening import IN_PROCESS
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.selection import search_spec
from graphmix.experiments.spec import Spec, load_spec
from graphmix.limits import Limits
from graphmix.results.commands import option
from graphmix.results.record import Choice, GridPoint
from graphmix.results.wording import spread
from graphmix.results.writer import to_json
from graphmix.storage.folders import check_results_folder
from graphmix.training.config import HYPERPARAMETERS, Config
from graphmix.training.estimates import check_runs
from graphmix.training.expectations import few_epochs
from graphmix.training.settings import check_value


def _paper_values(axis: str) -> str:
    """The paper's values of a grid's axis, as they are written on the command line."""
    return ",".join(f"{value:g}" for value in load_spec("selection").grid[axis])


@settings_options("backbone", "reading", "epochs", "seed", before="device", panel="Options")
def select(
    dataset: DatasetName,
    alphas: Annotated[str, typer.Option(help="Values of α to try.")] = _paper_values("alphas"),
    gammas: Annotated[str, typer.Option(help="Values of γ to try.")] = _paper_values("gammas"),
    split: Annotated[str | None, typer.Option(help="A split by name.", show_default="the dataset's usual")] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Different splits, taken in turn.", show_default="10, or one per trial")
    ] = None,
    trials: Annotated[int, typer.Option(min=2, help="Trials at each point, and of the chosen one.")] = 20,
    device: Device = "auto",
    executor: ExecutorName = IN_PROCESS,
    address: Address = None,
    out: Annotated[
        Path | None, typer.Option(help="Results folder; results in it are not computed again.", show_default="in runs/")
    ] = None,
    write_page: WritePage = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the tables.")] = False,
    data_root: DataRoot = None,
    limit: Limit = None,
    **given: Any,
) -> None:
    """Choose GraphMix's α and γ as the paper did: best mean validation accuracy, then fresh seeds for the test."""
    from graphmix.data import resolve

    name = resolve(dataset)
    require_graphs(name)
    limits = Limits.parse(limit or ())
    grid = {"alphas": _values("alphas", "alpha", alphas), "gammas": _values("gammas", "gamma", gammas)}
    usual = Config.for_dataset(name, **given)
    check_runs(replace(usual, trials=check_value("trials", trials, HYPERPARAMETERS["trials"])), _points(grid))
    spec = search_spec(
        name, grid, backbone=usual.backbone, reading=usual.reading, split=split, splits=splits, trials=trials
    )
    asked = Asked(trials=trials, epochs=given["epochs"], seed=usual.seed)
    folder = out or fresh_folder(f"{Path(name).stem}-select")
    check_results_folder(folder)
    check_executor(executor, address)
    # Only now: these import torch, which takes seconds, and the checks above do not need it.
    with busy("starting"):
        from graphmix.experiments.records import source_commit
        from graphmix.experiments.runner import loader, reproduce

    load = loader(data_root, announce, limits)
    # A graph that cannot be read is refused before the folder is made; one that can is not read again.
    load(plan(spec, asked)[0])
    few = None if given["epochs"] is None else few_epochs(usual)
    with resumable(same_folder(folder)), opened(executor, address) as where, Board([spec], asked) as board:
        if few is not None:
            say(f"graphmix: {few}")
        (record,) = reproduce(
            [spec],
            asked,
            folder,
            device=device,
            load=load,
            commit=source_commit(),
            watch=board.watch,
            command=_command(dataset, spec, asked, alphas, gammas),
            executor=where,
        )
    (cell,) = record.cells
    found = cell.outcome.selection
    if cell.run is None or found is None or found.chosen is None:
        raise ConfigError(f"the search failed: {cell.error}")
    if as_json:
        written = {"chosen": found.chosen, "grid": found.grid, "run": cell.run, "out": str(folder)}
        typer.echo(json.dumps(to_json(written)))
    else:
        output.print(_grid_table(found.grid, found.chosen, name))
        tell(f"Chosen: --alpha {found.chosen.alpha:g} and --gamma {found.chosen.gamma:g}")
        output.print(results_table([cell.run], "The choice, with fresh seeds", metrics_of(dataset)))
        tell(f"Record written to {folder}")
    if write_page:
        write_report(folder, quiet=as_json)


def _command(dataset: str, spec: Spec, asked: Asked, alphas: str, gammas: str) -> str:
    """The command that writes the record again."""
    settings = dict(spec.rows[0].settings) | dict(spec.columns[0].settings)
    chosen = {
        "alphas": alphas,
        "gammas": gammas,
        "backbone": settings["backbone"],
        "trials": asked.trials,
        "reading": spec.readings[0],
        "split": settings["split"],
        "seed": asked.seed,
    }
    chosen |= {"splits": spec.splits} if isinstance(spec.splits, int) else {}
    chosen |= {"epochs": asked.epochs} if asked.epochs else {}
    words = [word for name, value in chosen.items() for word in option(name, value)]
    return shlex.join(["graphmix", "select", dataset, *words])


def _grid_table(grid: Sequence[GridPoint], chosen: Choice, dataset: str) -> Table:
    table = Table(title=f"Validation accuracy (%) on {dataset}", title_justify="left")
    table.add_column("α \\ γ")
    by = {(point.alpha, point.gamma): point for point in grid}
    gammas = list(dict.fromkeys(gamma for _, gamma in by))
    for gamma in gammas:
        table.add_column(f"{gamma:g}", justify="right")
    best = (chosen.alpha, chosen.gamma)
    for alpha in dict.fromkeys(alpha for alpha, _ in by):
        shown = []
        for gamma in gammas:
            text = spread(by[alpha, gamma].val_accuracy_mean, by[alpha, gamma].val_accuracy_std)
            shown.append(Text(f"→ {text}", style="bold") if (alpha, gamma) == best else Text(text))
        table.add_row(f"{alpha:g}", *shown)
    return table


def _points(grid: Mapping[str, Sequence[float]]) -> int:
    """Return how many runs a search takes: one at each point, and the last."""
    return prod(map(len, grid.values())) + 1


def _values(name: str, hyperparameter: str, text: str) -> tuple[float, ...]:
    try:
        values = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"`{name}` must be numbers separated by commas, such as 0,0.1,1; not {text!r}") from error
    # Checked before anything is trained.
    return tuple(check_value(name, value, HYPERPARAMETERS[hyperparameter]) for value in values)
