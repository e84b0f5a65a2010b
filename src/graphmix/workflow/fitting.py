"""fit_tables: from tables to a model."""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError
from graphmix.results.survey import Survey
from graphmix.storage.folders import PREDICTIONS
from graphmix.tables.files import checksum, is_path, limited
from graphmix.tables.table import quoted
from graphmix.training.config import AUTO, Config
from graphmix.training.devices import check_memory, choose_device, free_memory
from graphmix.training.estimates import check_runs
from graphmix.workflow.columns import Columns
from graphmix.workflow.folder import CANDIDATES, begin, check_folder
from graphmix.workflow.metrics import describe
from graphmix.workflow.model import TableModel
from graphmix.workflow.options import FitOptions, check_backbone
from graphmix.workflow.outcome import Outcome, find_mixture
from graphmix.workflow.output import formula_notes
from graphmix.workflow.places import NOTED, check_predictions, write_predictions
from graphmix.workflow.plan import Candidate, epoch_notes, in_memory, make_plan
from graphmix.workflow.predictions import Predictions, tabulate
from graphmix.workflow.problem import Problem, Source
from graphmix.workflow.problems import read_problem
from graphmix.workflow.survey import survey
from graphmix.workflow.trying import Budget
from graphmix.workflow.watching import Watcher


class Stages:
    """The stages of a fit: tells a watcher when one begins, and counts the seconds of each."""

    def __init__(self, watch: Watcher) -> None:
        self.seconds: dict[str, float] = {}
        self._watch, self._stage, self._since = watch, "", time.perf_counter()

    def begin(self, stage: str) -> None:
        """Begin a stage, and end the one before."""
        self.end()
        self._stage = stage
        self._watch.stage(stage)

    def end(self) -> None:
        """End the stage that was begun last."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = round(now - self._since, 3)
        self._stage, self._since = "", now


def fit_tables(
    nodes: Source,
    edges: Source,
    *,
    label: str | None = None,
    out: Path | str | None = None,
    columns: Columns | None = None,
    options: FitOptions | None = None,
    watch: Watcher | None = None,
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
        watch: callbacks that tell how far the fit is.
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
    options, watch, columns = options or FitOptions(), watch or Watcher(), _with_label(columns or Columns(), label)
    _check_settings(settings)
    choose_device(options.device)
    tables = (limited(nodes, options.limit), limited(edges, options.limit))
    if out is None:
        if options.resume:
            raise ConfigError("`resume` continues the fit in a folder; give that folder as `out`")
        with tempfile.TemporaryDirectory() as folder:
            return _fit_into(Path(folder) / "model", tables, columns, options, watch, settings)
    check_folder(Path(out), resume=options.resume)
    return _fit_into(Path(out), tables, columns, options, watch, settings)


def _fit_into(
    folder: Path,
    tables: tuple[Source, Source],
    columns: Columns,
    options: FitOptions,
    watch: Watcher,
    settings: dict[str, Any],
) -> TableModel:
    check_predictions(
        None if options.predictions is None else Path(options.predictions),
        folder,
        [Path(table) for table in tables if table is not None and is_path(table)],
        resume=options.resume,
        force=options.force,
    )
    stages, budget = Stages(watch), Budget(options.time_limit)
    problem = read_problem(*tables, columns, ignore_unknown=options.ignore_unknown, stage=stages.begin)
    plan = make_plan(problem.graph, options.methods, options.settings() | settings)
    asked = {"columns": columns.to_json(), "tables": [None if table is None else checksum(table) for table in tables]}
    return fit_problem(problem, plan, options, folder, asked=asked, stages=stages, watch=watch, budget=budget)


def fit_problem(
    problem: Problem,
    plan: Sequence[Candidate],
    options: FitOptions,
    folder: Path,
    *,
    asked: dict[str, Any] | None = None,
    stages: Stages | None = None,
    watch: Watcher | None = None,
    budget: Budget | None = None,
) -> TableModel:
    """Try the candidates of a plan, average and calibrate them, and write the model and its predictions into a folder.

    Args:
        problem: the graph.
        plan: the candidates, as `graphmix.workflow.plan.make_plan` returns them.
        options: what to aim at.
        folder: new or empty, or with `options.resume` one where the same fit was begun.
        asked: what else the result depends on, as JSON values: the columns, and checksums of the tables.
        stages: those of reading the tables; training and writing are added.
        watch: callbacks.
        budget: how long it may take, counted from when it was made; that of the options if None.

    Raises:
        RunError: the folder cannot be used, or no candidate gave finite predictions in time.
    """
    watch, budget = watch or Watcher(), budget or Budget(options.time_limit)
    stages = stages or Stages(watch)
    plan, notes = in_memory(plan, problem.graph, choose_device(options.device))
    problem = replace(problem, notes=(*problem.notes, *epoch_notes(plan), *notes))
    found = _look_at(problem, options, watch)
    split = _make_split(problem, plan, options)
    wanted = {"plan": [each.to_json() for each in plan], "wishes": options.to_json(), **(asked or {})}
    stages.begin("training")
    noted = {} if options.predictions is None else {NOTED: str(options.predictions)}
    with begin(folder, wanted, resume=options.resume, noted=noted):
        outcome = find_mixture(problem, split, plan, options, folder / CANDIDATES, watch=watch, budget=budget)
        stages.begin("writing")
        return _write(outcome, problem, found, options, folder, stages, watch)


def _look_at(problem: Problem, options: FitOptions, watch: Watcher) -> Survey:
    """Survey the graph, and show what was understood before anything is trained."""
    watch.step("looking at the graph")
    found = survey(problem.graph, problem.known, balanced=options.balanced)
    found = replace(found, warnings=(*problem.warnings, *found.warnings))
    watch.understood(problem, found)
    return found


def _make_split(problem: Problem, plan: Sequence[Candidate], options: FitOptions) -> Split:
    """Return what each trial trains on and holds out, after checking that there is memory for it."""
    graph, device = problem.graph, choose_device(options.device)
    config = plan[0].config
    # Before the split, which takes memory for every trial; very many classes are the first reason to name.
    _check_room(graph, config)
    for candidate in plan:
        check_memory(graph, candidate.config, device, shared_split=problem.split is not None)
    return problem.splits(config.trials, config.seed)


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
    names = problem.row_names()
    predictions = Predictions(tabulate(names, decisions, problem.classes, problem.labels), tuple(names))
    path = folder / PREDICTIONS if options.predictions is None else Path(options.predictions)
    write_predictions(predictions, path, options)
    watch.step("measuring the calibration")
    metrics = describe(outcome, decisions, found, problem, options)
    stages.end()
    metrics = replace(
        metrics,
        notes=(*problem.notes, *formula_notes(path, predictions, escape_formulas=options.escape_formulas)),
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


def peak_memory() -> float | None:
    """Return the most memory this process has used so far, in GiB; None on Windows, where it is not known."""
    if sys.platform == "win32":
        return None
    import resource

    # Kilobytes on Linux, bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30, 3)


def _with_label(columns: Columns, label: str | None) -> Columns:
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


def _check_room(graph: Graph, config: Config) -> None:
    """Raise ConfigError if there are so many classes that the probabilities do not fit into memory.

    For each class of a node there are about four float32 numbers per trial, and five float64 numbers for decisions.
    """
    needed = graph.num_nodes * graph.num_classes * (4 * 4 * config.trials + 5 * 8)
    free = free_memory(torch.device("cpu"))
    if needed > free:
        raise ConfigError(
            f"the probabilities of {graph.num_nodes:,} nodes for {graph.num_classes:,} classes need about "
            f"{needed / 2**30:,.0f} GiB in {config.trials} trials, and {free / 2**30:,.0f} are free; merge rare "
            "classes or lower `trials`"
        )
