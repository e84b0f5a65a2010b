"""fit_tables: from tables to a model."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from graphmix.errors import ConfigError
from graphmix.executors import LOCAL, Executor
from graphmix.machine import peak_memory
from graphmix.results.survey import Survey
from graphmix.storage.folders import PREDICTIONS
from graphmix.tables.files import checksum, is_path, limited
from graphmix.tables.table import quoted
from graphmix.training.checkpoint_minutes import idle_minutes
from graphmix.training.config import AUTO, Config
from graphmix.training.config_file import read_config
from graphmix.training.division import for_team
from graphmix.training.estimates import check_runs
from graphmix.workflow.columns import TABLES, Columns
from graphmix.workflow.folder import CANDIDATES, begin, check_folder
from graphmix.workflow.metrics import describe
from graphmix.workflow.model import TableModel
from graphmix.workflow.options import FitOptions, check_backbone
from graphmix.workflow.outcome import Outcome, find_mixture
from graphmix.workflow.pieces import PredictionPieces
from graphmix.workflow.places import FILES, NOTED, check_predictions, write_predictions
from graphmix.workflow.plan import Candidate, epoch_notes, in_memory, make_plan
from graphmix.workflow.problem import Problem, Source
from graphmix.workflow.problems import read_problem
from graphmix.workflow.room import device_of, expect, make_split
from graphmix.workflow.stages import Stages
from graphmix.workflow.survey import survey
from graphmix.workflow.trying import Budget
from graphmix.workflow.watching import Watcher


def fit_tables(
    nodes: Source,
    edges: Source,
    *,
    label: str | None = None,
    out: Path | str | None = None,
    columns: Columns | None = None,
    options: FitOptions | None = None,
    config: Mapping[str, Any] | Path | str | None = None,
    watch: Watcher | None = None,
    executor: Executor = LOCAL,
    **settings: Any,
) -> TableModel:
    """Train a model on a table of nodes and a table of edges.

    It tries several methods, averages them with weights that labels held out of training choose, and calibrates the
    result. Without a `split` column the labels are split into five folds, and each is held out once.

    Args:
        nodes: the nodes, one per row: a path to a CSV, TSV or Parquet file, a pandas DataFrame or a pyarrow Table. May
            be None if links are classified.
        edges: the edges, one per row, in the same forms.
        label: the column of classes; empty cells are predicted.
        out: the folder of the model, new or empty; None to keep the model in memory, from where it can be saved later.
        columns: what the other columns mean; found by their names and contents if None.
        options: methods to try, metric, targets, files, device; defaults if None.
        config: hyperparameters for the method that they name, or a TOML file of them as `graphmix tune` writes it. The
            method is tried besides the others, which keep their own.
        watch: callbacks that tell how far the fit is.
        executor: where candidates train, from `graphmix.executors.open_executor`; in this process by default.
        settings: hyperparameters of the networks, fields of `Config`; chosen by the size of the graph if not given.
            The `backbone` may be "auto": the folds choose it.

    Raises:
        DataError: a table is invalid; the message names the table and the line, column or node.
        ConfigError: an option or a hyperparameter is invalid.
        RunError: the folder cannot be used, or no method gave finite predictions.

    Example:
        >>> import pandas as pd, graphmix
        >>> nodes = pd.DataFrame({"id": range(30), "topic": ["a", "b", None] * 10, "size": [1.5, 3.5, 2.5] * 10})
        >>> edges = pd.DataFrame({"source": range(30), "target": [(3 * i) % 30 for i in range(30)]})
        >>> model = graphmix.fit_tables(nodes, edges, label="topic", trials=3, epochs=10)
        >>> len(model.predict().to_pandas())
        30
    """
    options, watch, columns = options or FitOptions(), watch or Watcher(), with_label(columns or Columns(), label)
    _check_settings(settings)
    device_of(options.device, executor)
    tuned = None if config is None else read_config(config)
    tables = (limited(nodes, options.limit), limited(edges, options.limit))
    if out is None:
        if options.resume:
            raise ConfigError("`resume` continues the fit in a folder; give that folder as `out`")
        with tempfile.TemporaryDirectory() as folder:
            return _fit_into(Path(folder) / "model", tables, columns, options, watch, executor, settings, tuned)
    check_folder(Path(out), resume=options.resume)
    return _fit_into(Path(out), tables, columns, options, watch, executor, settings, tuned)


def _fit_into(
    folder: Path,
    tables: tuple[Source, Source],
    columns: Columns,
    options: FitOptions,
    watch: Watcher,
    executor: Executor,
    settings: dict[str, Any],
    tuned: Mapping[str, Any] | None,
) -> TableModel:
    check_predictions(
        None if options.predictions is None else Path(options.predictions),
        folder,
        [Path(table) for table in tables if table is not None and is_path(table)],
        resume=options.resume,
        force=options.force,
    )
    stages, budget = Stages(watch), Budget(options.time_limit)
    expect(tables, columns, folder, watch)
    problem = read_problem(*tables, columns, ignore_unknown=options.ignore_unknown, stage=stages.begin, tell=watch.rows)
    place = executor.device(options.device)
    plan = make_plan(problem.graph, options.methods, options.settings() | settings, tuned, place)
    asked = {"columns": columns.to_json(), "tables": [None if table is None else checksum(table) for table in tables]}
    files = {
        name: str(Path(table))
        for name, table in zip(TABLES, tables, strict=True)
        if table is not None and is_path(table)
    }
    told: dict[str, Any] = {"stages": stages, "watch": watch, "budget": budget, "executor": executor}
    return fit_problem(problem, plan, options, folder, asked=asked, files=files, **told)


def fit_problem(
    problem: Problem,
    plan: Sequence[Candidate],
    options: FitOptions,
    folder: Path,
    *,
    asked: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    stages: Stages | None = None,
    watch: Watcher | None = None,
    budget: Budget | None = None,
    executor: Executor = LOCAL,
) -> TableModel:
    """Try the candidates of a plan, average and calibrate them, and write the model and its predictions into a folder.

    Args:
        problem: the graph.
        plan: the candidates, as `graphmix.workflow.plan.make_plan` returns them.
        options: what to aim at.
        folder: new or empty, or with `options.resume` one where the same fit was begun.
        asked: what else the result depends on, as JSON values: the columns, and checksums of the tables.
        files: the files of the tables by name, as they were given; `graphmix label` looks for them there.
        stages: those of reading the tables; training and writing are added.
        watch: callbacks.
        budget: how long it may take, counted from when it was made; that of the options if None.
        executor: where candidates train.

    Raises:
        RunError: the folder cannot be used, or no candidate gave finite predictions in time.
    """
    watch, budget = watch or Watcher(), budget or Budget(options.time_limit)
    stages = stages or Stages(watch)
    plan, notes = in_memory(plan, problem.graph, device_of(options.device, executor))
    plan = [replace(each, config=for_team(each.config)) for each in plan]
    notes += idle_minutes(options.checkpoint_minutes, here=executor.here)
    problem = replace(problem, notes=(*problem.notes, *epoch_notes(plan), *notes))
    found = _look_at(problem, options, watch)
    split = make_split(problem, plan, device_of(options.device, executor))
    wanted = {"plan": [each.to_json() for each in plan], "wishes": options.to_json(), **(asked or {})}
    stages.begin("training")
    noted: dict[str, Any] = {} if options.predictions is None else {NOTED: str(options.predictions)}
    noted |= {FILES: files} if files else {}
    with begin(folder, wanted, resume=options.resume, noted=noted):
        told: dict[str, Any] = {"watch": watch, "budget": budget, "executor": executor}
        outcome = find_mixture(problem, split, plan, options, folder / CANDIDATES, **told)
        stages.begin("writing")
        return _write(outcome, problem, found, options, folder, stages, watch)


def _look_at(problem: Problem, options: FitOptions, watch: Watcher) -> Survey:
    """Survey the graph, and show what was understood before anything is trained."""
    watch.step("looking at the graph")
    found = survey(problem.graph, problem.known, balanced=options.balanced)
    found = replace(found, warnings=(*problem.warnings, *found.warnings))
    watch.understood(problem, found)
    return found


def _write(
    outcome: Outcome,
    problem: Problem,
    found: Survey,
    options: FitOptions,
    folder: Path,
    stages: Stages,
    watch: Watcher,
) -> TableModel:
    """Predict every row, measure how good that is, and write both with the model."""
    mixture = outcome.mixture
    watch.step("predicting every row")
    decisions = mixture.decide(mixture.probabilities(problem.learned), options.target_accuracy, options.coverage)
    predictions = PredictionPieces(problem.rows(), decisions, problem.classes, problem.graph.y.numpy())
    path = folder / PREDICTIONS if options.predictions is None else Path(options.predictions)
    write_predictions(predictions, path, options)
    watch.step("measuring the calibration")
    metrics = describe(outcome, decisions, found, problem, options)
    stages.end()
    metrics = replace(
        metrics,
        notes=(*problem.notes, *predictions.formula_notes(path, escape_formulas=options.escape_formulas)),
        columns=problem.uses or None,
        failures=outcome.failures,
        seconds=stages.seconds,
        peak_memory_gib=peak_memory(),
    )
    watch.step("writing the model")
    model = TableModel(
        mixture=mixture,
        problem=problem,
        held=outcome.held | outcome.fcn_held,
        target_accuracy=options.target_accuracy,
        coverage=options.coverage,
        stored_metrics=metrics,
    )
    model.write_into(folder)
    return model


def with_label(columns: Columns, label: str | None) -> Columns:
    """Return the columns with a label that was given beside them, if one was."""
    if label is None:
        return columns
    if columns.label not in (None, label):
        raise ConfigError(
            f"`label` is {quoted(label)}, but the columns say {quoted(columns.label or '')}; give it once"
        )
    return replace(columns, label=label)


def _check_settings(settings: dict[str, Any]) -> None:
    known = [each.name for each in fields(Config) if each.name != "method"]
    for name in settings:
        if name not in known:
            hint = "; `options` chooses the methods" if name == "method" else f"; there are {', '.join(known)}"
            raise ConfigError(f"there is no hyperparameter {name!r}{hint}")
    check_backbone(settings.get("backbone"))
    # The number of epochs follows from the graph if it is not given.
    given = {name: value for name, value in settings.items() if value is not None and value != AUTO}
    check_runs(Config(**{"epochs": 1} | given))
