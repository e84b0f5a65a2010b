"""graphmix fit: from two tables to a model, predictions and a report."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphmix.cli.busy import busy
from graphmix.cli.durations import parse_duration
from graphmix.cli.executors import ADDRESS_HELP, EXECUTOR_HELP, opened
from graphmix.cli.fit_screen import fit_screen
from graphmix.cli.options import (
    CHECKPOINT_HELP,
    ESCAPE_HELP,
    LIMIT_HELP,
    NO_HEADER_HELP,
    Device,
    WritePage,
    option,
    settings_options,
)
from graphmix.cli.outcome_table import outcome_table
from graphmix.cli.paths import require_files
from graphmix.cli.processes import restarted, together
from graphmix.cli.report import write_report
from graphmix.cli.screen import output, resumable, say, tell
from graphmix.errors import ConfigError
from graphmix.executors import check_executor
from graphmix.executors.opening import IN_PROCESS
from graphmix.limits import Limits
from graphmix.models.registry import BACKBONES
from graphmix.results.outcome import outcome_lines
from graphmix.results.recommendation import recommend
from graphmix.results.writer import to_json
from graphmix.storage.folders import PREDICTIONS, check_can_be_made
from graphmix.tables.kinds import KINDS
from graphmix.training.checkpoint_minutes import MINUTES
from graphmix.training.config import AUTO, Config
from graphmix.training.config_file import read_config
from graphmix.training.methods import fit_methods
from graphmix.workflow.columns import Columns
from graphmix.workflow.options import FitOptions, check_backbone
from graphmix.workflow.places import check_predictions

if TYPE_CHECKING:
    from graphmix.workflow.model import TableModel

TABLES = "The tables"
TRAINING = "What is trained"
OUTCOME = "What comes out"
RUN = "The run"
# Options that say what the columns of tables are, for other commands on tables.
OF_COLUMNS = (
    "id_column",
    "feature",
    "keep",
    "ignore",
    "source",
    "target",
    "weight",
    "no_weight",
    "ignore_unknown",
)


@settings_options(
    "backbone",
    "trials",
    "epochs",
    "hidden",
    "input_dropout",
    "learning_rate",
    "alpha",
    "gamma",
    "batch_nodes",
    "batch_fanout",
    "batch_parts",
    "seed",
    before="target_accuracy",
    panel=TRAINING,
    choices={"backbone": (AUTO, *BACKBONES)},
    defaults={
        "backbone": f"{AUTO}: the held-out labels choose",
        "trials": "5, or 3 above 100,000 nodes",
        "epochs": "at most 400, fewer above 20,000 nodes",
        "hidden": "32, or 64 for many classes",
        "input_dropout": "0, or 0.2 with few features",
        "learning_rate": "0.01, or 0.005 with few features",
        "gamma": "1.0",
        "alpha": "1.0",
    },
)
def fit(
    edges: Annotated[Path, option("Table of edges: CSV, TSV or Parquet, plain or .gz.", TABLES)],
    out: Annotated[Path, option("The model's folder: new or empty.", OUTCOME, "--out", "-o")],
    nodes: Annotated[Path | None, option("Table of nodes: ids, labels and features.", TABLES)] = None,
    label: Annotated[str | None, option("Column of classes; empty cells are predicted.", TABLES)] = None,
    link_label: Annotated[
        str | None, option("Classify links: their column of classes in the table of edges.", TABLES)
    ] = None,
    id_column: Annotated[
        str | None, option("Column of ids (default: `id` or similar, else the first).", TABLES, "--id")
    ] = None,
    split: Annotated[
        str | None, option("Column of train, val or test (default: labels are split into folds).", TABLES)
    ] = None,
    feature: Annotated[
        list[str] | None,
        option(
            f"A column to use, NAME or NAME=KIND, repeatable; kinds: {', '.join(KINDS)} (default: all that fit).",
            TABLES,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        option("A column to use besides those that are found, NAME or NAME=KIND, repeatable.", TABLES),
    ] = None,
    ignore: Annotated[list[str] | None, option("A column not to use, repeatable.", TABLES)] = None,
    source: Annotated[
        str | None, option("Column of one end of edges (default: `source` or the first).", TABLES)
    ] = None,
    target: Annotated[str | None, option("Column of the other end (default: `target` or the second).", TABLES)] = None,
    weight: Annotated[str | None, option("Column of edge weights (default: `weight`, if it exists).", TABLES)] = None,
    no_weight: Annotated[
        bool, option("Ignore weights, even if the edges have a column of them.", TABLES, "--no-weight")
    ] = False,
    ignore_unknown: Annotated[
        bool, option("Leave out edges to nodes that the table of nodes lacks.", TABLES, "--ignore-unknown")
    ] = False,
    encoding: Annotated[str, option("Encoding of text files: utf-8, latin-1, … (default: utf-8).", TABLES)] = "utf-8",
    no_header: Annotated[list[str] | None, option(NO_HEADER_HELP, TABLES, "--no-header")] = None,
    limit: Annotated[list[str] | None, option(LIMIT_HELP, TABLES, "--limit")] = None,
    methods: Annotated[
        str | None,
        option(f"Methods to try, comma-separated (default: {', '.join(fit_methods())}).", TRAINING),
    ] = None,
    config: Annotated[
        Path | None,
        option(
            "File of hyperparameters for the method that it names, such as best.toml of graphmix tune; the other "
            "methods keep theirs.",
            TRAINING,
        ),
    ] = None,
    balanced: Annotated[
        bool,
        option("Every class counts the same, however rare.", TRAINING, "--balanced"),
    ] = False,
    time_limit: Annotated[
        str | None,
        option("How long it may take: 90s, 5m or 1h30m; cheap methods first, the best so far counts.", TRAINING),
    ] = None,
    target_accuracy: Annotated[
        float,
        option(f"Abstain where the accuracy would be lower (default: {FitOptions.target_accuracy}).", OUTCOME),
    ] = FitOptions.target_accuracy,
    coverage: Annotated[
        float,
        option(f"How often a prediction set must contain the correct class (default: {FitOptions.coverage}).", OUTCOME),
    ] = FitOptions.coverage,
    predictions: Annotated[
        Path | None, option("Predictions: .csv, .tsv or .parquet (default: predictions.csv in the folder).", OUTCOME)
    ] = None,
    force: Annotated[bool, option("Replace the file of --predictions if it exists.", OUTCOME, "--force")] = False,
    escape_formulas: Annotated[bool, option(ESCAPE_HELP, OUTCOME, "--escape-formulas")] = False,
    write_page: WritePage = True,
    device: Device = "auto",
    executor: Annotated[str, option(EXECUTOR_HELP, RUN)] = IN_PROCESS,
    address: Annotated[str | None, option(ADDRESS_HELP, RUN)] = None,
    resume: Annotated[bool, option("Continue an interrupted fit.", RUN, "--resume")] = False,
    checkpoint_minutes: Annotated[float, option(CHECKPOINT_HELP, RUN)] = MINUTES,
    as_json: Annotated[bool, option("Print one JSON object: the content of metrics.json.", RUN, "--json")] = False,
    **settings: Any,
) -> None:
    """Train on your own tables of nodes and edges: a model, calibrated predictions and a report."""
    # torchrun starts the same command again, without --resume.
    resume = resume or restarted()
    require_files(nodes, edges)
    tuned = None if config is None else read_config(config)
    check_can_be_made(out)
    check_predictions(predictions, out, (nodes, edges), resume=resume, force=force)
    chosen: dict[str, Any] = {} if methods is None else {"methods": tuple(part.strip() for part in methods.split(","))}
    options = FitOptions(
        balanced=balanced,
        target_accuracy=target_accuracy,
        coverage=coverage,
        predictions=predictions,
        force=force,
        escape_formulas=escape_formulas,
        resume=resume,
        ignore_unknown=ignore_unknown,
        device=device,
        limit=Limits.parse(limit or ()),
        time_limit=None if time_limit is None else parse_duration(time_limit, "time_limit"),
        checkpoint_minutes=checkpoint_minutes,
        **chosen,
    )
    columns = columns_of(
        {
            "id_column": id_column,
            "label": label,
            "split": split,
            "source": source,
            "target": target,
            "weight": weight,
            "no_weight": no_weight,
            "link_label": link_label,
            "feature": feature,
            "keep": keep,
            "ignore": ignore,
            "encoding": encoding,
            "no_header": no_header,
        }
    )
    columns.check_task(nodes is not None)
    # Only their values are checked here; those that are not given depend on the graph.
    check_backbone(settings["backbone"])
    Config(**{name: value for name, value in settings.items() if value not in (None, AUTO)})
    check_executor(executor, address)
    # Imported here: pyarrow and torch take seconds to import.
    with busy("starting"):
        from graphmix.workflow.fitting import fit_tables

    watching = fit_screen(quiet=as_json, limit=options.time_limit)
    resumes = resumable(f"the same command with --resume continues in {out}")
    with resumes, together(device, executor), opened(executor, address) as chosen_executor, watching as screen:
        told: dict[str, Any] = {"config": tuned, "watch": screen, "executor": chosen_executor}
        model = fit_tables(nodes, edges, out=out, columns=columns, options=options, **told, **settings)
    _show(model, out, predictions or out / PREDICTIONS, as_json=as_json)
    if write_page:
        write_report(out, quiet=as_json)


def columns_of(given: Mapping[str, Any]) -> Columns:
    """Return what the columns mean from the options that say so, by name."""
    same = ("label", "split", "source", "target", "weight", "no_weight", "link_label", "encoding")
    return Columns(
        id=given["id_column"],
        features=parse_features(given["feature"] or [], "feature"),
        keep=parse_features(given["keep"] or [], "keep"),
        ignore=tuple(given["ignore"] or ()),
        no_header=tuple(given["no_header"] or ()),
        **{name: given[name] for name in same},
    )


def parse_features(asked: list[str], option: str) -> dict[str, str | None]:
    """Parse NAME and NAME=KIND; a name may contain "=" unless a kind follows it."""
    chosen: dict[str, str | None] = {}
    for text in asked:
        name, equals, kind = text.rpartition("=")
        column, wanted = (name, kind) if equals and kind in KINDS else (text, None)
        if column in chosen:
            raise ConfigError(f"`{option}` {column} is given twice")
        chosen[column] = wanted
    return chosen


def _show(model: "TableModel", out: Path, predictions: Path, *, as_json: bool) -> None:
    """Say how good the model is, and where it and its predictions are."""
    for failure in model.failures:
        say(f"graphmix: {failure}")
    metrics = model.metrics
    assert metrics is not None  # a fit has just computed them
    if as_json:
        typer.echo(json.dumps(to_json(metrics) | {"out": str(out)}, allow_nan=False))
        return
    output.print(outcome_table(metrics, output.width))
    for line in (recommend(metrics), *outcome_lines(metrics)):
        tell(line)
    for note in metrics.notes:
        # Those of the problem were shown before the training.
        if note not in model.problem.notes:
            tell(f"· {note}")
    tell(f"Model written to {out}, predictions to {predictions}")
