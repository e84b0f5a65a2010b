"""graphmix train: one method on one dataset, many trials."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from graphmix import data
from graphmix.cli.data import DataRoot
from graphmix.cli.screen import Bar, fresh_folder, output, report, results_table, resumable, warn_of_divergence
from graphmix.training import Config
from graphmix.training import runs as engine
from graphmix.training.devices import choose_device

METHOD = "The method"
GNN = "The network"
RUN = "The run"
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.", rich_help_panel=RUN)]


def _option(help: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False)


def train(
    dataset: Annotated[str, typer.Argument(help="A name from `graphmix data list`, or a graph in an .npz file.")],
    method: Annotated[
        str, _option("graphmix, or supervised for the GNN alone (default: graphmix).", METHOD)
    ] = "graphmix",
    reading: Annotated[
        str, _option("Whose defaults: paper, or released for the authors' code (default: paper).", METHOD)
    ] = "paper",
    alpha: Annotated[
        float | None, _option("α of Beta(α, α) for mixup; 0 mixes nothing (default: 1.0).", METHOD)
    ] = None,
    gamma: Annotated[
        float | None, _option("γ, peak weight of the unsupervised loss (default: by dataset and reading).", METHOD)
    ] = None,
    temperature: Annotated[
        float | None, _option("T of sharpening (default: 0.1).", METHOD, "--temperature", "-T")
    ] = None,
    perturbations: Annotated[
        int | None,
        _option("K, dropout passes averaged into a target (default: 10).", METHOD, "--perturbations", "-K"),
    ] = None,
    rampup_start: Annotated[
        int | None, _option("Epoch at which γ's ramp begins (default: epochs / 4).", METHOD)
    ] = None,
    rampup_end: Annotated[int | None, _option("Epoch at which γ is reached (default: epochs / 2).", METHOD)] = None,
    rampup_before: Annotated[float | None, _option("Share of γ before the ramp (default: by reading).", METHOD)] = None,
    unlabeled: Annotated[
        str | None,
        _option("Unlabeled nodes in a step: all, labeled (as many), or a number (default: by reading).", METHOD),
    ] = None,
    fcn_loss: Annotated[
        str | None, _option("cross-entropy or binary-cross-entropy (default: by reading).", METHOD)
    ] = None,
    lambda_per: Annotated[str | None, _option("One λ per pair or per batch (default: by reading).", METHOD)] = None,
    ties: Annotated[
        str | None,
        _option("Which of equally good epochs counts: first or last (default: by reading).", METHOD),
    ] = None,
    backbone: Annotated[str | None, _option("The network (default: gcn).", GNN)] = None,
    hidden: Annotated[int | None, _option("Hidden units (default: 16).", GNN)] = None,
    input_dropout: Annotated[float | None, _option("Dropout on the input (default: 0.5).", GNN)] = None,
    hidden_dropout: Annotated[float | None, _option("Dropout on the hidden layer (default: 0.0).", GNN)] = None,
    bias: Annotated[bool | None, _option("Biases in the layers (default: no).", GNN, "--bias/--no-bias")] = None,
    binarise: Annotated[
        bool | None,
        _option("Features to 0 or 1 first (default: by reading).", GNN, "--binarise/--no-binarise"),
    ] = None,
    epochs: Annotated[int | None, _option("Parameter updates (default: 2000).", RUN)] = None,
    learning_rate: Annotated[
        float | None, _option("Adam's step size (default: 0.01).", RUN, "--learning-rate", "--lr")
    ] = None,
    weight_decay: Annotated[float | None, _option("L2 penalty (default: 0.0005).", RUN)] = None,
    trials: Annotated[int | None, _option("Trials, trained side by side (default: 10).", RUN)] = None,
    seed: Annotated[int | None, _option("Trial i uses seed + i (default: 0).", RUN)] = None,
    chunk: Annotated[int | None, _option("Trials at once (default: from the device and its memory).", RUN)] = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    out: Annotated[
        Path | None, _option("Run folder; a killed run goes on in it (default: a new one in runs/).", RUN)
    ] = None,
    as_json: Annotated[bool, _option("Print one JSON object, accuracies in percent.", RUN, "--json")] = False,
) -> None:
    """Train on a dataset and report test accuracy at each trial's best validation epoch."""
    given = {name: value for name, value in locals().items() if name in Config.__dataclass_fields__}
    given["unlabeled"] = int(unlabeled) if unlabeled is not None and unlabeled.isdecimal() else unlabeled
    config = Config.for_dataset(data.resolve(dataset), **given)
    choose_device(device)
    graph, split = data.load(dataset, data_root=data_root, report=report)
    folder = out or fresh_folder(f"{graph.name}-{config.method}")
    with resumable(folder), Bar(f"{config.method} on {graph.name}", config.trials, config.epochs) as bar:
        run = engine.train(graph, split, config, folder, device=device, chunk=chunk, watch=bar.watch)
    warn_of_divergence(run.results)
    if as_json:
        typer.echo(json.dumps(run.results | {"out": str(folder)}, allow_nan=False))
        return
    output.print(results_table([run.results], f"{graph.name}, {split.name} split, reading “{config.reading}”"))
    output.print(f"Run written to {folder}", markup=False, soft_wrap=True)
