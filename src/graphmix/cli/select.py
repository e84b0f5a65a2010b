"""graphmix select: α and γ chosen by validation accuracy, then judged with fresh seeds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from graphmix import data
from graphmix.cli.board import Board
from graphmix.cli.data import DataRoot
from graphmix.cli.report import write_report
from graphmix.cli.screen import fresh_folder, metrics_of, output, report, results_table, resumable, same_folder
from graphmix.errors import ConfigError, DataError
from graphmix.experiments.cells import Asked
from graphmix.experiments.records import source_commit
from graphmix.experiments.runner import loader, reproduce
from graphmix.experiments.selection import search_spec
from graphmix.experiments.spec import Spec, load_spec
from graphmix.models import BACKBONES
from graphmix.results.record import Choice, GridPoint
from graphmix.results.wording import spread
from graphmix.results.writer import to_json
from graphmix.training import Config


def _listed(axis: str) -> str:
    """The paper's values of a grid's axis, as they are written on the command line."""
    return ",".join(f"{value:g}" for value in load_spec("selection").grid[axis])


def select(
    dataset: Annotated[str, typer.Argument(help="A name from `graphmix data list`, or a graph in an .npz file.")],
    alphas: Annotated[str, typer.Option(help="Values of α to try.")] = _listed("alphas"),
    gammas: Annotated[str, typer.Option(help="Values of γ to try.")] = _listed("gammas"),
    backbone: Annotated[str, typer.Option(help=f"{', '.join(BACKBONES)}.")] = "gcn",
    reading: Annotated[str, typer.Option(help="Whose other hyperparameters: paper or released.")] = "paper",
    split: Annotated[str | None, typer.Option(help="A split by name.", show_default="the dataset's usual")] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Different splits, taken in turn.", show_default="10, or one a trial")
    ] = None,
    trials: Annotated[int, typer.Option(min=2, help="Trials at each point, and of the choice.")] = 20,
    epochs: Annotated[int | None, typer.Option(min=1, help="Parameter updates.", show_default="by dataset")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Trial i of the search uses seed + i; the choice others.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Results folder; what is in it is not computed again.", show_default="in runs/")
    ] = None,
    write_page: Annotated[bool, typer.Option("--report/--no-report", help="Write report.html there.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of the tables.")] = False,
    data_root: DataRoot = None,
) -> None:
    """Choose GraphMix's α and γ as the paper did: best mean validation accuracy, then fresh seeds for the test."""
    name = data.resolve(dataset)
    if data.is_file(name) and not Path(name).is_file():
        raise DataError(f"{name} is not there")
    grid = {"alphas": _values("alphas", alphas), "gammas": _values("gammas", gammas)}
    spec = search_spec(name, grid, backbone=backbone, reading=reading, split=split, splits=splits, trials=trials)
    asked = Asked(trials=trials, epochs=epochs, seed=seed)
    folder = out or fresh_folder(f"{Path(name).stem}-select")
    with resumable(same_folder(folder)), Board([spec], asked) as board:
        (record,) = reproduce(
            [spec],
            asked,
            folder,
            device=device,
            load=loader(data_root, report),
            commit=source_commit(),
            watch=board.watch,
            command=_command(dataset, spec, asked, alphas, gammas),
        )
    (cell,) = record.cells
    found = cell.outcome.selection
    if cell.run is None or found is None or found.chosen is None:
        raise ConfigError(f"the search could not be done: {cell.error}")
    if as_json:
        written = {"chosen": found.chosen, "grid": found.grid, "run": cell.run, "out": str(folder)}
        typer.echo(json.dumps(to_json(written)))
        return
    output.print(_grid_table(found.grid, found.chosen, name))
    output.print(f"Chosen: --alpha {found.chosen.alpha:g} and --gamma {found.chosen.gamma:g}", markup=False)
    output.print(results_table([cell.run], "The choice, with fresh seeds", metrics_of(dataset)))
    output.print(f"Record written to {folder}", markup=False, soft_wrap=True)
    if write_page:
        write_report(folder, folder / "report.html")


def _command(dataset: str, spec: Spec, asked: Asked, alphas: str, gammas: str) -> str:
    """What makes the record again."""
    settings = dict(spec.rows[0].settings) | dict(spec.columns[0].settings)
    command = f"graphmix select {dataset} --alphas {alphas} --gammas {gammas} --backbone {settings['backbone']}"
    command += f" --trials {asked.trials} --reading {spec.readings[0]} --split {settings['split']} --seed {asked.seed}"
    command += f" --splits {spec.splits}" if isinstance(spec.splits, int) else ""
    return command + (f" --epochs {asked.epochs}" if asked.epochs else "")


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
            shown.append(f"[bold]→ {text}[/bold]" if (alpha, gamma) == best else text)
        table.add_row(f"{alpha:g}", *shown)
    return table


def _values(name: str, text: str) -> tuple[float, ...]:
    try:
        values = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError as error:
        raise ConfigError(f"{name} must be numbers with commas between them, say 0,0.1,1; not {text!r}") from error
    for value in values:
        # Held to its range before anything is trained.
        Config(alpha=value, gamma=value)
    return values
