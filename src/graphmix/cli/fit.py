"""graphmix fit: from two tables to a model, predictions and a page."""

import json
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from rich.markup import escape
from rich.table import Table

from graphmix.cli.report import write_report
from graphmix.cli.screen import Bar, errors, output, report, resumable, say
from graphmix.cli.train import Device, WritePage
from graphmix.errors import ConfigError
from graphmix.models import BACKBONES
from graphmix.results.names import method_title
from graphmix.results.recommendation import recommend
from graphmix.results.writer import to_json
from graphmix.training.devices import choose_device

if TYPE_CHECKING:
    from graphmix.results.fit import FitMetrics
    from graphmix.results.survey import Survey
    from graphmix.workflow.problem import Problem

TABLES = "The tables"
TRAINING = "What is trained"
OUTCOME = "What comes out"
RUN = "The run"
KINDS = "number, category, text, tokens or embedding"
_MOST_CLASSES_SHOWN = 20


def _option(help: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, show_default=False)


def fit(
    edges: Annotated[Path, _option("Table of edges: CSV, TSV or Parquet, plain or .gz.", TABLES)],
    out: Annotated[Path, _option("The model's folder: new or empty.", OUTCOME, "--out", "-o")],
    nodes: Annotated[Path | None, _option("Table of nodes: ids, labels and features.", TABLES)] = None,
    label: Annotated[str | None, _option("Column of the classes; empty cells are to be predicted.", TABLES)] = None,
    link_label: Annotated[
        str | None, _option("Classify links: column of their classes in the table of edges.", TABLES)
    ] = None,
    id_column: Annotated[
        str | None, _option("Column of the ids (default: `id` or the like, else the first).", TABLES, "--id")
    ] = None,
    split: Annotated[
        str | None, _option("Column that says train, val or test (default: labels are cut into folds).", TABLES)
    ] = None,
    feature: Annotated[
        list[str] | None,
        _option(
            f"A column to use, NAME or NAME=KIND, as often as needed; kinds: {KINDS} (default: all that fit).", TABLES
        ),
    ] = None,
    ignore: Annotated[list[str] | None, _option("A column not to use, as often as needed.", TABLES)] = None,
    source: Annotated[str | None, _option("Column where edges begin (default: `source` or the first).", TABLES)] = None,
    target: Annotated[str | None, _option("Column where edges end (default: `target` or the second).", TABLES)] = None,
    weight: Annotated[str | None, _option("Column of edge weights (default: `weight`, if there).", TABLES)] = None,
    ignore_unknown: Annotated[
        bool, _option("Leave out edges to nodes that are not in the table of nodes.", TABLES, "--ignore-unknown")
    ] = False,
    encoding: Annotated[str, _option("Of text files: utf-8, latin-1, … (default: utf-8).", TABLES)] = "utf-8",
    methods: Annotated[
        str | None,
        _option("What to try, by commas (default: graphmix,supervised,label-propagation,fcn).", TRAINING),
    ] = None,
    balanced: Annotated[
        bool,
        _option("Every class counts alike, however rare, and the best is chosen by macro F1.", TRAINING, "--balanced"),
    ] = False,
    backbone: Annotated[str | None, _option(f"{', '.join(BACKBONES)} (default: gcn).", TRAINING)] = None,
    trials: Annotated[
        int | None, _option("Networks of each method, an ensemble (default: 5, or 3 beyond 100,000 nodes).", TRAINING)
    ] = None,
    epochs: Annotated[
        int | None, _option("Parameter updates (default: 2000, fewer beyond 20,000 nodes).", TRAINING)
    ] = None,
    hidden: Annotated[int | None, _option("Hidden units (default: 16, or 64 for many classes).", TRAINING)] = None,
    input_dropout: Annotated[
        float | None, _option("Dropout on features (default: 0.5, or 0.2 where they are few).", TRAINING)
    ] = None,
    learning_rate: Annotated[
        float | None, _option("Adam's step size (default: 0.01).", TRAINING, "--learning-rate", "--lr")
    ] = None,
    alpha: Annotated[float | None, _option("GraphMix's α: of Beta(α, α) (default: 1).", TRAINING)] = None,
    gamma: Annotated[
        float | None, _option("GraphMix's γ: weight of the loss on predicted targets (default: 1).", TRAINING)
    ] = None,
    seed: Annotated[int, _option("Of the folds and the networks (default: 0).", TRAINING)] = 0,
    target_accuracy: Annotated[
        float, _option("Abstain where predictions are right less often than that (default: 0.9).", OUTCOME)
    ] = 0.9,
    coverage: Annotated[
        float, _option("How often a set of classes holds the right one (default: 0.9).", OUTCOME)
    ] = 0.9,
    predictions: Annotated[
        Path | None, _option("Predictions: .csv, .tsv or .parquet (default: predictions.csv in the folder).", OUTCOME)
    ] = None,
    write_page: WritePage = True,
    device: Device = "auto",
    resume: Annotated[bool, _option("Go on with a fit that was killed.", RUN, "--resume")] = False,
    as_json: Annotated[bool, _option("Print one JSON object: what metrics.json holds.", RUN, "--json")] = False,
) -> None:
    """Train on your own tables of nodes and edges: a model, calibrated predictions and a picture of what happened."""
    # Here, not on top: tables need pyarrow, which other commands do not wait for.
    from graphmix.workflow.candidates import CANDIDATES, epoch_notes, usual_config
    from graphmix.workflow.fitting import Clock, checksum, fit_problem
    from graphmix.workflow.folder import check_free
    from graphmix.workflow.nodes import read_problem
    from graphmix.workflow.options import Wishes
    from graphmix.workflow.predictions import check_place
    from graphmix.workflow.problem import Columns
    from graphmix.workflow.ranking import ACCURACY, MACRO_F1
    from graphmix.workflow.survey import survey

    choose_device(device)
    wishes = Wishes(
        methods=CANDIDATES if methods is None else tuple(part.strip() for part in methods.split(",")),
        metric=MACRO_F1 if balanced else ACCURACY,
        target=target_accuracy,
        coverage=coverage,
    )
    columns = Columns(
        id=id_column,
        label=label,
        split=split,
        source=source,
        target=target,
        weight=weight,
        link_label=link_label,
        features=parse_features(feature or []),
        ignore=tuple(ignore or ()),
        encoding=encoding,
    )
    if link_label is not None and (weight is not None or ignore_unknown):
        raise ConfigError("--weight and --ignore-unknown are for edges, and with --link-label there are only links")
    check_free(out, resume=resume)
    if predictions is not None and not resume:
        check_place(predictions, out)
    clock = Clock()
    report("reading the tables")
    problem = read_problem(nodes, edges, columns, ignore_unknown=ignore_unknown, stage=clock.begin)
    balance = "balanced" if balanced else None
    config = usual_config(
        problem.graph,
        backbone=backbone,
        trials=trials,
        epochs=epochs,
        hidden=hidden,
        input_dropout=input_dropout,
        learning_rate=learning_rate,
        alpha=alpha,
        gamma=gamma,
        seed=seed,
        class_weight=balance,
        target_weight=balance,
        select_by=MACRO_F1 if balanced else None,
    )
    problem = replace(problem, notes=(*problem.notes, *epoch_notes(config, wishes.methods)))
    found = survey(problem.graph, problem.known)
    if balanced:
        told = (warning.replace("; try --balanced", "") for warning in found.warnings)
        found = replace(found, warnings=tuple(told))
    if not as_json:
        _show_problem(problem, found)
    asked = {"tables": [None if path is None else checksum(path) for path in (nodes, edges)]}
    with resumable(f"the same command with --resume goes on in {out}"), Bars(config.trials, config.epochs) as bars:
        fitted = fit_problem(
            problem,
            found,
            config,
            wishes,
            out,
            predictions=predictions,
            asked=asked,
            resume=resume,
            device=device,
            clock=clock,
            watch=bars.watch,
        )
    for failure in fitted.failures:
        say(f"graphmix: {failure}")
    if as_json:
        typer.echo(json.dumps(to_json(fitted.metrics) | {"out": str(out)}, allow_nan=False))
    else:
        _show_outcome(fitted.metrics)
        where = predictions or out / "predictions.csv"
        output.print(f"Model written to {out}, predictions to {where}", markup=False, soft_wrap=True)
    if write_page:
        write_report(out, out / "report.html", quiet=as_json)


def parse_features(asked: list[str]) -> dict[str, str | None]:
    """Read NAME and NAME=KIND; a name may hold "=" as long as no kind comes after it."""
    kinds = [kind.strip() for kind in KINDS.replace(" or ", ", ").split(",")]
    chosen: dict[str, str | None] = {}
    for text in asked:
        name, equals, kind = text.rpartition("=")
        column, wanted = (name, kind) if equals and kind in kinds else (text, None)
        if column in chosen:
            raise ConfigError(f"--feature {column} is given twice")
        chosen[column] = wanted
    return chosen


class Bars:
    """A progress bar for each method in turn; where nobody watches, a line as each begins."""

    def __init__(self, trials: int, epochs: int):
        self._trials, self._epochs = trials, epochs
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def watch(self, method: str) -> Any:
        """Begin a method; what is returned takes in its epochs."""
        self._stop()
        if method == "label-propagation" or not errors.is_terminal:
            say(f"training {method}")
            return None
        self._bar = Bar(method, self._trials, self._epochs)
        self._bar.__enter__()
        return self._bar.watch

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            self._bar = None


def _show_problem(problem: "Problem", found: "Survey") -> None:
    """Print what was understood, before anything is trained."""
    table = Table(title=escape(f"What {problem.graph.name} holds"), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in survey_rows(problem.task, found):
        table.add_row(name, escape(value))
    output.print(table)
    for note in problem.notes:
        output.print(f"· {note}", markup=False, soft_wrap=True)
    for warning in found.warnings:
        output.print(f"! {warning}", markup=False, soft_wrap=True, style="yellow")


def survey_rows(task: str, found: "Survey") -> list[tuple[str, str]]:
    """What a survey found, as names and values for people."""
    counts = [f"{name} {count:,}" for name, count in zip(found.class_names, found.class_counts, strict=True)]
    shown = ", ".join(counts[:_MOST_CLASSES_SHOWN])
    more = len(counts) - _MOST_CLASSES_SHOWN
    homophily = "not known: no edge joins two labels"
    if found.homophily is not None and found.chance is not None:
        homophily = f"{found.homophily:.0%} of {found.labeled_edges:,} edges between labels join one class"
        homophily += f" ({found.chance:.0%} by chance)"
    return [
        (task, f"{found.nodes:,}, {found.labeled:,} of them labeled"),
        ("labels", shown + (f" and {more:,} classes more" if more > 0 else "")),
        (
            "edges",
            f"{found.edges:,}, {found.mean_degree:.1f} neighbours on average; {found.isolated:,} {task} have none",
        ),
        ("features", f"{found.features:,}"),
        ("homophily", homophily),
        ("reach", "-" if found.reached is None else f"{found.reached:.0%} of the rest are within two steps of a label"),
    ]


def _show_outcome(metrics: "FitMetrics") -> None:
    output.print(outcome_table(metrics))
    output.print(recommend(metrics), markup=False, soft_wrap=True)
    for line in outcome_lines(metrics):
        output.print(line, markup=False, soft_wrap=True)


def outcome_table(metrics: "FitMetrics") -> Table:
    """Lay out how the methods did, the best first."""
    judged = "held-out labels" if metrics.judged_on == "held-out folds" else "validation labels"
    table = Table(title=f"Percent of {metrics.held:,} {judged}", title_justify="left")
    for name in ("method", "accuracy", "macro F1", "behind the best", "seconds"):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for place in metrics.candidates:
        behind = "{:.1f} ({:+.1f} to {:+.1f})".format(*place.behind) if place.behind else ""
        name = method_title(place.method, metrics.backbone)
        scores = (f"{place.accuracy:.1f}", f"{place.macro_f1:.1f}")
        table.add_row(name, *scores, behind.replace("-", "−"), f"{place.seconds:.1f}")
    return table


def outcome_lines(metrics: "FitMetrics") -> list[str]:
    """Calibration, prediction sets, abstention and test nodes, in a sentence each."""
    calibration, sets, abstention = metrics.calibration, metrics.conformal, metrics.abstention
    before, after = calibration.before.ece, calibration.after.ece
    judged = "held-out labels" if metrics.judged_on == "held-out folds" else "validation labels"
    lines = [
        f"Calibrated with temperature {calibration.temperature:.2f}: expected calibration error {before:.1f} % "
        f"before, {after:.1f} % after.",
    ]
    if sets.empirical is not None:
        lines.append(
            f"Sets for {sets.coverage:.0f} % coverage hold {sets.mean_size:.2f} classes on average and cover "
            f"{sets.empirical:.1f} % of {judged}."
        )
    if abstention.level is None:
        lines.append(f"No confidence reaches {abstention.target:.0f} % accuracy: every prediction abstains.")
    elif abstention.level == 0 or abstention.accuracy is None:
        lines.append(f"All predictions together meet {abstention.target:.0f} % accuracy: none abstains.")
    else:
        lines.append(
            f"Predictions abstain below {abstention.level:.2f} confidence; {abstention.kept:.1f} % do not. Above "
            f"levels so chosen, {abstention.accuracy:.1f} % of other {judged} were predicted rightly."
        )
    if metrics.test is not None:
        lines.append(f"On {metrics.test.nodes:,} test nodes, looked at last: {metrics.test.accuracy:.1f} %.")
    return lines
