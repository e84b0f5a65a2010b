"""graphmix tune: search for hyperparameters by validation scores, on a dataset or on the user's tables."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphmix.cli.busy import busy
from graphmix.cli.durations import parse_duration
from graphmix.cli.executors import Address, ExecutorName, opened
from graphmix.cli.fit import OF_COLUMNS, columns_of, fit
from graphmix.cli.options import DataRoot, Device, WritePage, option, options_of, settings_options
from graphmix.cli.paths import require_files, require_graphs
from graphmix.cli.report import write_report
from graphmix.cli.screen import announce, fresh_folder, output, resumable, say, tell
from graphmix.cli.tune_screen import TuneScreen, points_table, space_table
from graphmix.distribution import importing
from graphmix.errors import ConfigError
from graphmix.executors import Executor, check_executor
from graphmix.executors.opening import IN_PROCESS
from graphmix.limits import Limits
from graphmix.results.tuned_wording import say_best, say_checked, say_counts
from graphmix.results.writer import to_json
from graphmix.storage.folders import BEST, STUDY, check_tune_folder, make_folder
from graphmix.text import counted, name_for_screen
from graphmix.training.config import Config
from graphmix.training.estimates import check_runs
from graphmix.training.expectations import few_epochs, unused_seeds
from graphmix.training.settings import RUN
from graphmix.tuning.options import CHECK_TRIALS, POINTS, TRIALS, TuneOptions
from graphmix.tuning.space import Space, check_space, idle, read_space, space_text
from graphmix.workflow.columns import Columns
from graphmix.workflow.options import FitOptions

if TYPE_CHECKING:
    from graphmix.results.tuned import TuneResult
    from graphmix.tuning.search import Target

SEARCH = "The search"
DATA = "The data"
# Options of a fit that say what is in its tables.
_OF_TABLES = ("nodes", "edges", "label", "link_label", *OF_COLUMNS, "encoding", "no_header", "balanced")


@settings_options(
    before="device",
    defaults={"method": "graphmix, or graphmix-steady for tables", "trials": f"{TRIALS} at each point"},
)
@options_of(fit, *_OF_TABLES, before="space")
def tune(
    dataset: Annotated[
        str | None,
        typer.Argument(help="A name from `graphmix data list`, or a graph in an .npz file; none for tables."),
    ] = None,
    split: Annotated[
        str | None,
        option("A split by name, as for `train`; for tables their column of train, val or test.", DATA),
    ] = None,
    splits: Annotated[
        int | None,
        option("Different splits, which the trials take in turn (default: 10, or one per trial if fewer).", DATA),
    ] = None,
    split_seed: Annotated[int | None, option("Seed of the first split (default: 0).", DATA)] = None,
    data_root: DataRoot = None,
    limit: Annotated[list[str] | None, option("How large files may be, NAME=VALUE, as for `fit`.", DATA)] = None,
    space: Annotated[
        Path | None, option("TOML file of what to try (default: the usual space, as --print-space shows).", SEARCH)
    ] = None,
    print_space: Annotated[
        bool, option("Print the space as a TOML file, and do nothing else.", SEARCH, "--print-space")
    ] = False,
    points: Annotated[
        int, option(f"Points to try, the defaults first, by all processes together (default: {POINTS}).", SEARCH)
    ] = POINTS,
    check_trials: Annotated[
        int,
        option(
            "Trials with fresh seeds and other splits of the same labels that compare the best point with the "
            f"defaults in the end; 0 for none (default: {CHECK_TRIALS}).",
            SEARCH,
        ),
    ] = CHECK_TRIALS,
    time_limit: Annotated[
        str | None,
        option("How long it may take: 90s, 5m or 1h30m; the study can go on later.", SEARCH, "--time-limit", "--time"),
    ] = None,
    storage: Annotated[
        str | None,
        option(
            "Where the study is kept: a URL that Optuna takes, such as sqlite:///study.db or postgresql://…, or a "
            f"file; processes that name the same one share the study (default: {STUDY} in the folder).",
            SEARCH,
        ),
    ] = None,
    study: Annotated[
        str | None, option("Name of the study in the storage (default: the name of the graph).", SEARCH)
    ] = None,
    device: Device = "auto",
    executor: ExecutorName = IN_PROCESS,
    address: Address = None,
    out: Annotated[
        Path | None,
        option("Folder of the search; a killed one goes on in it (default: a new one in runs/).", RUN),
    ] = None,
    write_page: WritePage = True,
    as_json: Annotated[bool, option("Print one JSON object: the content of tune.json.", RUN, "--json")] = False,
    **given: Any,
) -> None:
    """Search for hyperparameters: Optuna proposes points, validation nodes or folds judge them, never test nodes."""
    tables = {name: given.pop(name) for name in _OF_TABLES}
    of_dataset = {"splits": splits, "split_seed": split_seed, "data_root": data_root}
    notes = _check_source(dataset, tables, of_dataset)
    options = TuneOptions(
        points=points,
        trials=_trials(given),
        check_trials=check_trials,
        seed=given["seed"] or 0,
        time_limit=None if time_limit is None else parse_duration(time_limit, "time_limit"),
        storage=storage,
        study=study,
        device=device,
    )
    fixed = {name: value for name, value in given.items() if name not in ("trials", "seed") and value is not None}
    check_runs(Config.for_dataset(dataset or "", **{"epochs": 1, **fixed, "trials": options.trials}), points)
    check_executor(executor, address)
    chosen = None if space is None else read_space(space)
    if out is not None:
        check_tune_folder(out)
    limits = Limits.parse(limit or ())
    with busy("starting"):
        _require_optuna()
    # Nothing is computed to print a space.
    with opened(*(IN_PROCESS, None) if print_space else (executor, address)) as where:
        with busy("starting"):
            target, implied = _target(dataset, tables, split, of_dataset, limits, options, where.device(device), notes)
            from graphmix.tuning.api import space_for
            from graphmix.workflow.room import device_of
        fixed = implied | fixed
        tried = space_for(target, chosen, fixed)
        check_space(tried, target.make, fixed)
        if print_space:
            typer.echo(space_text(tried, (f"What graphmix tune tries on {target.graph.name}.",)), nl=False)
            return
        device_of(device, where)  # checks it, before there is a folder
        folder = out or fresh_folder(f"{target.graph.name}-tune")
        found = _run(target, tried, fixed, options, folder, where, notes, quiet=as_json)
    _show(found, folder, as_json=as_json)
    if write_page:
        write_report(folder, quiet=as_json)


def _trials(given: Mapping[str, Any]) -> int:
    return TRIALS if given["trials"] is None else int(given["trials"])


def _check_source(dataset: str | None, tables: Mapping[str, Any], of_dataset: Mapping[str, Any]) -> list[str]:
    """Raise ConfigError unless there is a dataset or there are tables; return a note on options without effect."""
    if dataset is None:
        if tables["edges"] is None:
            raise ConfigError("a search needs a dataset, or your tables: `nodes`, `edges` and `label`")
        require_files(tables["nodes"], tables["edges"])
        idle_options = [name for name, value in of_dataset.items() if value is not None]
        columns_of({"split": None, **tables}).check_task(tables["nodes"] is not None)
    else:
        if tables["nodes"] is not None or tables["edges"] is not None:
            raise ConfigError("a search is of a dataset or of tables; give one of them")
        require_graphs(dataset)
        usual = {"encoding": "utf-8", "no_weight": False, "ignore_unknown": False, "balanced": False}
        idle_options = [name for name, value in tables.items() if value != usual.get(name)]
    if not idle_options:
        return []
    named = ", ".join(f"`{name}`" for name in idle_options)
    source = "tables" if dataset is None else f"the dataset {name_for_screen(dataset)}"
    return [f"{named} {'has' if len(idle_options) == 1 else 'have'} no effect with {source}"]


def _require_optuna() -> None:
    with importing("graphmix tune", "tune"):
        import optuna  # noqa: F401 - before anything is read


def _target(
    dataset: str | None,
    tables: Mapping[str, Any],
    split: str | None,
    of_dataset: Mapping[str, Any],
    limits: Limits,
    options: TuneOptions,
    device: str,
    notes: list[str],
) -> "tuple[Target, dict[str, Any]]":
    """Read the graph; return what the search is about, and the hyperparameters that the options imply; add to notes."""
    from graphmix.data import check_split_name, is_file, load, split_seeds
    from graphmix.tuning.api import balanced_settings, graph_target, table_target

    if dataset is None:
        given = FitOptions(balanced=tables["balanced"], ignore_unknown=tables["ignore_unknown"], limit=limits)
        columns: Columns = columns_of({**tables, "split": split})
        return table_target(tables["nodes"], tables["edges"], columns, given, device), balanced_settings(given)
    if split is not None and not is_file(split):
        check_split_name(split)

    def draw(trials: int, seed: int) -> Any:
        # Splits that the run of the choice does not have, and then those that it has.
        seeds = split_seeds(trials, of_dataset["splits"], (of_dataset["split_seed"] or 0) + seed - options.seed)
        root = of_dataset["data_root"]
        return load(dataset, split=split, seeds=seeds, data_root=root, report=announce, limit=limits)

    graph, masks = draw(options.trials, options.seed)
    masks.require_validation()
    fixed = "saved" if split is not None and is_file(split) else masks.name if masks.seeds is None else None
    if fixed is not None:
        notes += unused_seeds(fixed, {name: of_dataset[name] for name in ("splits", "split_seed")})
    target = graph_target(graph, lambda trials, seed: draw(trials, seed).split)
    return target, {}


def _run(
    target: "Target",
    tried: Space,
    fixed: dict[str, Any],
    options: TuneOptions,
    folder: Path,
    executor: Executor,
    notes: list[str],
    *,
    quiet: bool,
) -> "TuneResult":
    from graphmix.tuning.api import check_search, write_tuned
    from graphmix.tuning.search import Search

    check_search(folder, options.study_of(target.graph.name))
    if options.storage is None:
        make_folder(folder)
        options = replace(options, storage=folder / STUDY)
    with resumable(f"the same command with --out {folder} goes on with the study"), TuneScreen() as screen:
        # Opened before anything is shown: it may be another study, or locked.
        held = Search(target, tried, fixed, options, watch=screen, executor=executor)
        if others := held.other_devices:
            notes.append(f"points of this study were computed on {' and '.join(others)}; scores differ a little there")
        _introduce(target, tried, fixed, notes, quiet=quiet)
        held.try_points()
        found = held.result()
    if held.running:
        say(f"graphmix: another process computes {counted(held.running, 'point')} of the study, and ends it")
    write_tuned(found, folder)
    return found


def _introduce(target: "Target", tried: Space, fixed: Mapping[str, Any], notes: list[str], *, quiet: bool) -> None:
    """Show the space, warn of what has no effect, and tell of mini-batches that nobody asked for."""
    from graphmix.workflow.plan import part_note

    usual, unused = target.make(**fixed), idle(tried, target.make, fixed)
    if unused:
        named = ", ".join(f"`{name}`" for name in unused)
        notes.append(f"{named} of the space {'has' if len(unused) == 1 else 'have'} no effect here")
    if "epochs" in fixed and (note := few_epochs(usual)):
        notes.append(note)
    if usual.batch_nodes and "batch_nodes" not in fixed:
        notes.append(part_note(usual))
    for note in notes:
        say(f"graphmix: {note}")
    if not quiet:
        output.print(space_table(tried, usual))


def _show(found: "TuneResult", folder: Path, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(to_json(found) | {"out": str(folder)}, allow_nan=False))
        return
    output.print(points_table(found))
    for line in (f"{say_counts(found)}.", say_best(found), say_checked(found)):
        if line:
            tell(line)
    if len(found.points) < found.asked:
        tell(
            f"{counted(found.asked - len(found.points), 'point')} to come: the same command with --out {folder} goes on"
        )
    if found.best is not None:
        tell(f"Best settings written to {folder / BEST}, for `graphmix train` and `graphmix fit` with --config")
