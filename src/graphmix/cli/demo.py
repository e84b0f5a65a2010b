"""graphmix demo: what the method gains, in a minute."""

import json
from pathlib import Path
from typing import Annotated

import typer

from graphmix import data
from graphmix.cli.data import DataRoot
from graphmix.cli.report import keep_details, write_report
from graphmix.cli.screen import (
    Bar,
    fresh_folder,
    output,
    report,
    results_table,
    resumable,
    same_folder,
    say,
    warn_of_divergence,
)
from graphmix.cli.train import Device, WritePage
from graphmix.data import Dataset, SourceUnavailable
from graphmix.results.writer import to_json
from graphmix.storage import runs as engine
from graphmix.training import Config
from graphmix.training.devices import choose_device


def demo(
    trials: Annotated[int, typer.Option(help="Trials of each method.")] = 5,
    epochs: Annotated[int, typer.Option(help="Parameter updates of each trial.")] = 2000,
    seed: Annotated[int, typer.Option(help="Trial i uses seed + i.")] = 0,
    device: Device = "auto",
    data_root: DataRoot = None,
    out: Annotated[Path | None, typer.Option(help="Run folder.", show_default="a new one in runs/")] = None,
    write_page: WritePage = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of the table.")] = False,
) -> None:
    """Train a plain GCN and GraphMix(GCN) on Citeseer and compare them."""
    # Citeseer's hyperparameters are those of any other graph, so they are checked before anything is fetched.
    configs = [
        Config.for_dataset("citeseer", method=method, trials=trials, epochs=epochs, seed=seed)
        for method in ("supervised", "graphmix")
    ]
    choose_device(device)
    graph, split = _citeseer_or_synthetic(data_root)
    folder = out or fresh_folder("demo")
    results = []
    for config in configs:
        place = folder / config.method
        if engine.holds(place, graph, split, config):
            # An interrupted demo goes on where it stopped.
            results.append(engine.load_run(place).results)
            continue
        with resumable(same_folder(folder)), Bar(f"{config.method:>10} on {graph.name}", trials, epochs) as bar:
            run = engine.train(graph, split, config, place, device=device, watch=bar.watch)
        keep_details(run, graph, split, write_page)
        results.append(run.results)
        warn_of_divergence(results[-1])
    title = f"{graph.name}, {split.name} split: {int(split.train.sum())} labels for {graph.num_nodes:,} nodes"
    if as_json:
        typer.echo(json.dumps({"title": title, "runs": to_json(results), "out": str(folder)}, allow_nan=False))
        if write_page:
            write_report(folder, folder / "report.html", quiet=True)
        return
    output.print(results_table(results, title))
    output.print(f"Runs written to {folder}", markup=False, soft_wrap=True)
    if write_page:
        write_report(folder, folder / "report.html")


def _citeseer_or_synthetic(data_root: Path | None) -> Dataset:
    try:
        return data.load("citeseer", data_root=data_root, report=report)
    except SourceUnavailable as error:
        say(f"{error}; running on the built-in synthetic graph instead")
        return data.load("synthetic")
