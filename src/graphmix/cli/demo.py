"""graphmix demo: what GraphMix gains over a plain GCN, in a minute."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmix.cli.busy import busy
from graphmix.cli.options import DataRoot, Device, WritePage
from graphmix.cli.report import keep_details, write_report
from graphmix.cli.screen import (
    Bar,
    announce,
    fresh_folder,
    output,
    results_table,
    resumable,
    same_folder,
    say,
    tell,
    warn_of_divergence,
)
from graphmix.results.writer import to_json
from graphmix.storage.folders import RESULTS, check_run_folder, lacks_details
from graphmix.training.config import Config
from graphmix.training.estimates import check_runs
from graphmix.training.expectations import few_epochs

if TYPE_CHECKING:
    from graphmix.data import Dataset


def demo(
    trials: Annotated[int, typer.Option(help="Trials of each method.")] = 5,
    epochs: Annotated[int, typer.Option(help="Parameter updates (training steps) of each trial.")] = 2000,
    seed: Annotated[int, typer.Option(help="Trial i uses seed + i.")] = 0,
    device: Device = "auto",
    data_root: DataRoot = None,
    out: Annotated[Path | None, typer.Option(help="Run folder.", show_default="a new one in runs/")] = None,
    write_page: WritePage = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Train a plain GCN and GraphMix(GCN) on Citeseer and compare them."""
    # Checked before anything is downloaded.
    configs = [
        Config.for_dataset("citeseer", method=method, trials=trials, epochs=epochs, seed=seed)
        for method in ("supervised", "graphmix")
    ]
    check_runs(configs[0], len(configs))
    for place in [] if out is None else [out / config.method for config in configs]:
        # A finished run is used again, if it is the same.
        if not (place / RESULTS).exists():
            check_run_folder(place)
    # Here, not on top: torch takes seconds to import, and the help does not need it.
    with busy("starting"):
        from graphmix.storage import runs as engine
        from graphmix.training.devices import choose_device

    choose_device(device)
    graph, split = _citeseer_or_synthetic(data_root)
    folder = out or fresh_folder("demo")
    results = []
    for config in configs:
        place = folder / config.method
        if engine.holds(place, graph, split, config) and not lacks_details(place):
            # Done by a demo that was interrupted later.
            results.append(engine.load_run(place).results)
            continue
        if note := few_epochs(config):
            say(f"graphmix: {note}")
        with resumable(same_folder(folder)), Bar(f"{config.method:>10} on {graph.name}", trials, epochs) as bar:
            run = engine.train_once(graph, split, config, place, device=device, watch=bar.watch)
        keep_details(run, graph, split, write_page, device)
        results.append(run.results)
        warn_of_divergence(results[-1])
    title = f"{graph.name}, {split.name} split: {int(split.train.sum())} labels for {graph.num_nodes:,} nodes"
    if as_json:
        typer.echo(json.dumps({"title": title, "runs": to_json(results), "out": str(folder)}, allow_nan=False))
    else:
        output.print(results_table(results, title))
        tell(f"Runs written to {folder}")
    if write_page:
        write_report(folder, quiet=as_json)


def _citeseer_or_synthetic(data_root: Path | None) -> "Dataset":
    from graphmix.data import SourceUnavailable, load

    try:
        return load("citeseer", data_root=data_root, report=announce)
    except SourceUnavailable as error:
        say(f"{error}; running on the built-in synthetic graph instead")
        return load("synthetic")
