"""graphmix train: one method on one dataset, many trials."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphmix.cli.busy import busy
from graphmix.cli.executors import ADDRESS_HELP, EXECUTOR_HELP, opened
from graphmix.cli.options import (
    CHECKPOINT_HELP,
    CONFIG_HELP,
    LIMIT_HELP,
    DataRoot,
    DatasetName,
    Device,
    WritePage,
    option,
    settings_options,
)
from graphmix.cli.paths import require_graphs
from graphmix.cli.processes import check_folder_given, together
from graphmix.cli.report import keep_details, write_report
from graphmix.cli.screen import (
    Bar,
    announce,
    fresh_folder,
    metrics_of,
    output,
    results_table,
    resumable,
    same_folder,
    say,
    tell,
    warn_of_divergence,
)
from graphmix.errors import ConfigError
from graphmix.executors import check_executor
from graphmix.executors.opening import IN_PROCESS
from graphmix.limits import Limits
from graphmix.results.writer import to_json
from graphmix.storage.folders import check_run_folder, lacks_details
from graphmix.text import name_for_screen
from graphmix.training.checkpoint_minutes import MINUTES, check_minutes, idle_minutes
from graphmix.training.config import Config
from graphmix.training.config_file import read_config
from graphmix.training.estimates import check_runs
from graphmix.training.expectations import few_epochs, unused_seeds, unused_settings
from graphmix.training.methods import METHODS
from graphmix.training.settings import RUN

if TYPE_CHECKING:
    from graphmix.data import Graph, Split
    from graphmix.results.run import RunResult
    from graphmix.storage.runs import Run
    from graphmix.training import Progress

DATA = "The data"


@settings_options(before="config_file", choices={"method": tuple(METHODS)})
def train(
    dataset: DatasetName,
    split: Annotated[
        str | None,
        option(
            "public, random, balanced, benchmark, 5-per-class, 1-per-class-500-validation, 1-per-class-no-validation, "
            "0.5-percent, …, or a saved one (default: the dataset's usual).",
            DATA,
        ),
    ] = None,
    splits: Annotated[
        int | None,
        option("Different splits, which the trials take in turn (default: 10, or one per trial if fewer).", DATA),
    ] = None,
    split_seed: Annotated[int, option("Seed of the first split (default: 0).", DATA)] = 0,
    data_root: DataRoot = None,
    limit: Annotated[list[str] | None, option(LIMIT_HELP, DATA, "--limit")] = None,
    config_file: Annotated[Path | None, option(CONFIG_HELP, RUN, "--config")] = None,
    chunk: Annotated[int | None, option("Trials at once (default: by the device and its memory).", RUN)] = None,
    device: Device = "auto",
    executor: Annotated[str, option(EXECUTOR_HELP, RUN)] = IN_PROCESS,
    address: Annotated[str | None, option(ADDRESS_HELP, RUN)] = None,
    out: Annotated[
        Path | None, option("Run folder; a killed run continues in it (default: a new one in runs/).", RUN)
    ] = None,
    checkpoint_minutes: Annotated[float, option(CHECKPOINT_HELP, RUN)] = MINUTES,
    write_page: WritePage = True,
    as_json: Annotated[bool, option("Print one JSON object, accuracies in percent.", RUN, "--json")] = False,
    **given: Any,
) -> None:
    """Train on a dataset and report the test accuracy of each trial, at its best validation epoch."""
    from graphmix.data import check_split_name, is_file, resolve, split_seeds

    require_graphs(dataset, split)
    if split is not None and not is_file(split):
        check_split_name(split)
    limits = Limits.parse(limit or ())
    check_minutes(checkpoint_minutes)
    check_folder_given(out is not None)
    given = _with_file(given, config_file)
    method = given["method"] or Config.method
    config = _config(resolve(dataset), method, given)
    check_runs(config)
    seeds = split_seeds(config.trials, splits, split_seed)
    if out is not None and not lacks_details(out):
        check_run_folder(out)
    check_executor(executor, address)
    # Only now: these import torch, which takes seconds, and the checks above do not need it.
    with busy("starting"):
        from graphmix.data import load
        from graphmix.training.devices import choose_device, fitting, fitting_note

    # The memory of Ray's workers is taken to be that of this machine.
    here = executor == IN_PROCESS
    chosen = choose_device(device if here else "cpu")
    with busy(f"loading {name_for_screen(dataset)}"):
        graph, masks = load(dataset, split=split, seeds=seeds, data_root=data_root, report=announce, limit=limits)
    fixed = "saved" if split is not None and is_file(split) else masks.name if masks.seeds is None else None
    notes = [] if fixed is None else unused_seeds(fixed, {"splits": splits, "split_seed": split_seed})
    folder = out or fresh_folder(f"{graph.name}-{method}")
    if METHODS[method].baseline:
        minutes = {} if checkpoint_minutes == MINUTES else {"checkpoint_minutes": checkpoint_minutes}
        for note in notes:
            say(f"graphmix: {note}")
        _warn_of_unused(method, given | minutes | ({} if here else {"executor": executor, "address": address}))
        results = _run_baseline(method, graph, masks, config, folder, device)
    else:
        # Where nobody asks for other epochs, they are the paper's, however few.
        few = None if given["epochs"] is None else few_epochs(config)
        notes += [note for note in (few, unused_settings(config, given)) if note is not None]
        notes += idle_minutes(checkpoint_minutes, here=here)
        fits = fitting(graph, config, chosen)
        if fits is not config:
            notes.append(fitting_note(graph, config, chosen))
            config = fits
        with together(device, executor), opened(executor, address) as where:
            training = {"device": device, "executor": where, "checkpoint_minutes": checkpoint_minutes}
            run = _run_network(graph, masks, config, folder, training, chunk=chunk, notes=notes)
        results = run.results
        keep_details(run, graph, masks, write_page, device if here else "auto")
        warn_of_divergence(results)
    if as_json:
        typer.echo(json.dumps(to_json(results) | {"out": str(folder)}, allow_nan=False))
    else:
        different = "" if masks.num_splits == 1 else f" ({len(set(masks.seeds or seeds))} different)"
        reading = "" if METHODS[method].baseline else f", reading “{config.reading}”"
        title = f"{graph.name}, {masks.name} split{different}{reading}"
        output.print(results_table([results], title, metrics_of(dataset)))
        tell(f"Run written to {folder}")
    if write_page:
        write_report(folder, quiet=as_json)


def methods_table() -> str:
    """The methods and what each trains, a paragraph each, for the help."""
    # An epilog's paragraphs stand in lines of their own.
    lines = [f"{name}: {method.about}." for name, method in METHODS.items()]
    return "\n\n".join(["Methods:", *lines])


def _with_file(given: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """The options that are given, and for the others what a file says."""
    held = {} if path is None else read_config(path)
    return given | {name: value for name, value in held.items() if given[name] is None}


def _config(dataset: str, method: str, given: dict[str, Any]) -> Config:
    """The config of a run. A baseline uses only its trials and its seed, but all options are checked."""
    if method not in METHODS:
        raise ConfigError(f"`method` must be one of {', '.join(METHODS)}, not {method!r}")
    return Config.for_dataset(dataset, **(given | {"method": None} if METHODS[method].baseline else given))


def _warn_of_unused(method: str, given: dict[str, Any]) -> None:
    """Name the options that a baseline does not use."""
    unused = [name for name, value in given.items() if value is not None and name not in ("method", "trials", "seed")]
    if unused:
        named = ", ".join(f"`{name}`" for name in unused)
        say(f"graphmix: {named} {'has' if len(unused) == 1 else 'have'} no effect with the baseline {method}")


def _run_baseline(
    method: str, graph: "Graph", split: "Split", config: Config, folder: Path, device: str
) -> "RunResult":
    from graphmix.baselines import judge
    from graphmix.storage import runs as engine

    def watch(trial: int) -> None:
        announce(f"{method} on {graph.name}: trial {trial + 1} of {config.trials}")

    engine.check_empty(folder)
    results = judge(method, graph, split, trials=config.trials, seed=config.seed, watch=watch, device=device)
    engine.record(folder, results)
    return results


def _run_network(
    graph: "Graph",
    split: "Split",
    config: Config,
    folder: Path,
    training: dict[str, Any],
    *,
    chunk: int | None,
    notes: list[str],
) -> "Run":
    from graphmix.storage import runs as engine

    label = f"{config.method} on {graph.name}"

    def speak() -> None:
        while notes:
            say(f"graphmix: {notes.pop(0)}")

    def watch(step: "Progress") -> None:
        # Not before the first epoch: until then a run may still be refused, which takes one sentence.
        speak()
        bar.watch(step)

    with resumable(same_folder(folder)), Bar(label, config.trials, config.epochs) as bar:
        if lacks_details(folder):
            run = engine.train_once(graph, split, config, folder, watch=watch, **training)
        else:
            run = engine.train(graph, split, config, folder, watch=watch, chunk=chunk, **training)
    # A short run may end before a worker has told anything.
    speak()
    return run
