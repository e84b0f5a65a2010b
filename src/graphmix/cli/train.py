"""graphmix train: one method on one dataset, many trials."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from graphmix import data
from graphmix.baselines import BASELINES, judge
from graphmix.cli.data import DataRoot
from graphmix.cli.report import keep_details, write_report
from graphmix.cli.screen import (
    Bar,
    fresh_folder,
    metrics_of,
    output,
    report,
    results_table,
    resumable,
    same_folder,
    warn_of_divergence,
)
from graphmix.errors import ConfigError
from graphmix.models import BACKBONES
from graphmix.storage import runs as engine
from graphmix.training import Config
from graphmix.training.devices import choose_device
from graphmix.training.methods import METHODS

DATA = "The data"
METHOD = "The method"
GNN = "The network"
RUN = "The run"
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.", rich_help_panel=RUN)]

WritePage = Annotated[
    bool, typer.Option("--report/--no-report", help="Write report.html into the run folder.", rich_help_panel=RUN)
]


def _option(help: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False)


def train(
    dataset: Annotated[str, typer.Argument(help="A name from `graphmix data list`, or a graph in an .npz file.")],
    split: Annotated[
        str | None,
        _option(
            "public, random, balanced, benchmark, 5-per-class, …, or a saved one (default: the dataset's usual).", DATA
        ),
    ] = None,
    splits: Annotated[
        int | None,
        _option("Different splits, which the trials take in turn (default: 10, or one for each trial if fewer).", DATA),
    ] = None,
    split_seed: Annotated[int, _option("Seed of the first split (default: 0).", DATA)] = 0,
    data_root: DataRoot = None,
    method: Annotated[str, _option(f"{', '.join(METHODS)} (default: graphmix).", METHOD)] = "graphmix",
    reading: Annotated[
        str, _option("Whose defaults: paper, or released for the authors' code (default: paper).", METHOD)
    ] = "paper",
    alpha: Annotated[
        float | None, _option("α of Beta(α, α); 0 switches mixup off (default: by dataset, mostly 1.0).", METHOD)
    ] = None,
    gamma: Annotated[
        float | None,
        _option("γ, peak weight of the predicted targets; 0 switches them off (default: by dataset).", METHOD),
    ] = None,
    optimisation: Annotated[
        str | None, _option("GraphMix's FCN and GNN: alternate, or joint in every step (default: alternate).", METHOD)
    ] = None,
    joint_weight: Annotated[
        float | None, _option("Weight of the FCN's loss when joint (default: 1.0).", METHOD)
    ] = None,
    predictor: Annotated[
        str | None, _option("Which network predicts: gnn or fcn (default: gnn, but fcn for method fcn).", METHOD)
    ] = None,
    temperature: Annotated[
        float | None, _option("T of sharpening (default: 0.1).", METHOD, "--temperature", "-T")
    ] = None,
    perturbations: Annotated[
        int | None,
        _option("K, dropout passes averaged into a target (default: 10).", METHOD, "--perturbations", "-K"),
    ] = None,
    rampup_start: Annotated[
        int | None, _option("Epoch at which γ's ramp begins (default: mostly epochs / 4).", METHOD)
    ] = None,
    rampup_end: Annotated[
        int | None, _option("Epoch at which γ is reached (default: mostly epochs / 2).", METHOD)
    ] = None,
    rampup_before: Annotated[float | None, _option("Share of γ before the ramp (default: by reading).", METHOD)] = None,
    unlabeled: Annotated[
        str | None,
        _option("Unlabeled nodes in a step: all, labeled (as many), or a number (default: by reading).", METHOD),
    ] = None,
    fcn_loss: Annotated[
        str | None, _option("cross-entropy or binary-cross-entropy (default: by reading).", METHOD)
    ] = None,
    lambda_per: Annotated[str | None, _option("One λ per pair or per batch (default: by reading).", METHOD)] = None,
    select_by: Annotated[
        str | None,
        _option("Validation score an epoch is chosen by: accuracy or macro-f1 (default: by dataset).", METHOD),
    ] = None,
    ties: Annotated[
        str | None,
        _option("Which of equally good epochs counts: first or last (default: by reading).", METHOD),
    ] = None,
    class_weight: Annotated[
        str | None, _option("Loss on the labels: balanced lets every class count alike (default: none).", METHOD)
    ] = None,
    target_weight: Annotated[
        str | None, _option("Predicted targets: balanced lets every class count alike (default: none).", METHOD)
    ] = None,
    backbone: Annotated[str | None, _option(f"{', '.join(BACKBONES)} (default: gcn).", GNN)] = None,
    hidden: Annotated[
        int | None, _option("Hidden units, per head in a gat (default: by dataset and backbone).", GNN)
    ] = None,
    heads: Annotated[int | None, _option("Attention heads of a gat (default: 8).", GNN)] = None,
    output_heads: Annotated[
        int | None, _option("Attention heads of its last layer, averaged (default: 1).", GNN)
    ] = None,
    pool_ratios: Annotated[
        str | None, _option("Share of nodes that each pooling of a unet keeps (default: 0.5,0.5).", GNN)
    ] = None,
    input_dropout: Annotated[float | None, _option("Dropout on the input (default: mostly 0.5).", GNN)] = None,
    hidden_dropout: Annotated[
        float | None, _option("Dropout on the hidden layer (default: by backbone; gcn 0.0).", GNN)
    ] = None,
    attention_dropout: Annotated[
        float | None, _option("Dropout on a gat's attention (default: mostly 0.5).", GNN)
    ] = None,
    bias: Annotated[bool | None, _option("Biases in the layers (default: no).", GNN, "--bias/--no-bias")] = None,
    binarise: Annotated[
        bool | None,
        _option("Features to 0 or 1 first (default: by reading).", GNN, "--binarise/--no-binarise"),
    ] = None,
    epochs: Annotated[int | None, _option("Parameter updates (default: by dataset, mostly 2000).", RUN)] = None,
    learning_rate: Annotated[
        float | None,
        _option("Adam's step size (default: by dataset and backbone; 0.01).", RUN, "--learning-rate", "--lr"),
    ] = None,
    weight_decay: Annotated[float | None, _option("L2 penalty (default: by dataset, mostly 0.0005).", RUN)] = None,
    trials: Annotated[int | None, _option("Trials, trained side by side (default: 10).", RUN)] = None,
    seed: Annotated[int | None, _option("Trial i uses seed + i (default: 0).", RUN)] = None,
    chunk: Annotated[int | None, _option("Trials at once (default: from the device and its memory).", RUN)] = None,
    device: Device = "auto",
    out: Annotated[
        Path | None, _option("Run folder; a killed run goes on in it (default: a new one in runs/).", RUN)
    ] = None,
    write_page: WritePage = True,
    as_json: Annotated[bool, _option("Print one JSON object, accuracies in percent.", RUN, "--json")] = False,
) -> None:
    """Train on a dataset and report how good each trial is on the test nodes, at its best validation epoch."""
    given = {name: value for name, value in locals().items() if name in Config.__dataclass_fields__}
    given["unlabeled"] = int(unlabeled) if unlabeled is not None and unlabeled.isdecimal() else unlabeled
    given["pool_ratios"] = None if pool_ratios is None else [_number(part) for part in pool_ratios.split(",")]
    if method not in METHODS:
        raise ConfigError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    # A baseline takes of the hyperparameters the trials and the seed; the others are held to their ranges all the same.
    config = Config.for_dataset(data.resolve(dataset), **(given | {"method": None} if method in BASELINES else given))
    choose_device(device)
    seeds = data.split_seeds(config.trials, splits, split_seed)
    graph, masks = data.load(dataset, split=split, seeds=seeds, data_root=data_root, report=report)
    folder = out or fresh_folder(f"{graph.name}-{method}")
    if method in BASELINES:
        engine.check_empty(folder)
        results = judge(
            method,
            graph,
            masks,
            trials=config.trials,
            seed=config.seed,
            watch=lambda trial: report(f"{method} on {graph.name}: trial {trial + 1} of {config.trials}"),
        )
        engine.record(folder, results)
    else:
        with resumable(same_folder(folder)), Bar(f"{method} on {graph.name}", config.trials, config.epochs) as bar:
            run = engine.train(graph, masks, config, folder, device=device, chunk=chunk, watch=bar.watch)
        results = run.results
        keep_details(run, graph, masks, write_page)
        warn_of_divergence(results)
    if as_json:
        typer.echo(json.dumps(results | {"out": str(folder)}, allow_nan=False))
        if write_page:
            write_report(folder, folder / "report.html", quiet=True)
        return
    different = "" if masks.num_splits == 1 else f" ({len(set(masks.seeds or seeds))} different)"
    reading_note = "" if method in BASELINES else f", reading “{config.reading}”"
    title = f"{graph.name}, {masks.name} split{different}{reading_note}"
    output.print(results_table([results], title, metrics_of(dataset)))
    output.print(f"Run written to {folder}", markup=False, soft_wrap=True)
    if write_page:
        write_report(folder, folder / "report.html")


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # the config says what is wrong with it
