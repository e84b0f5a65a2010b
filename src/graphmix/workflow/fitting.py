"""fit_tables: from tables to a model."""

import sys
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch

from graphmix.data import Graph
from graphmix.errors import ConfigError
from graphmix.storage.folders import PREDICTIONS
from graphmix.tables.files import checksum, is_path, limited
from graphmix.tables.table import quoted
from graphmix.training import Config
from graphmix.training.devices import check_memory, choose_device, free_memory
from graphmix.training.estimates import check_runs
from graphmix.workflow.candidates import check_weights, epoch_notes, held_by_method, try_methods, usual_config
from graphmix.workflow.columns import Columns
from graphmix.workflow.ensemble import Ensemble
from graphmix.workflow.folder import begin, check_folder
from graphmix.workflow.metrics import describe
from graphmix.workflow.model import TableModel
from graphmix.workflow.options import FitOptions
from graphmix.workflow.output import formula_notes
from graphmix.workflow.places import NOTED, check_predictions, write_predictions
from graphmix.workflow.predictions import Predictions, tabulate
from graphmix.workflow.problem import Problem, Source
from graphmix.workflow.problems import read_problem
from graphmix.workflow.ranking import rank
from graphmix.workflow.survey import survey
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

    It tries several methods, chooses the best by labels held out of training, and calibrates its probabilities. Without
    a `split` column the labels are split into five folds, and each is held out once.

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
    stages = Stages(watch)
    problem = read_problem(*tables, columns, ignore_unknown=options.ignore_unknown, stage=stages.begin)
    config = usual_config(problem.graph, **(options.settings() | settings))
    asked = {"columns": columns.to_json(), "tables": [None if table is None else checksum(table) for table in tables]}
    return fit_problem(problem, config, options, folder, asked=asked, stages=stages, watch=watch)


def fit_problem(
    problem: Problem,
    config: Config,
    options: FitOptions,
    folder: Path,
    *,
    asked: dict[str, Any] | None = None,
    stages: Stages | None = None,
    watch: Watcher | None = None,
) -> TableModel:
    """Try the methods, choose and calibrate the best, and write the model and its predictions into a folder.

    Args:
        problem: the graph.
        config: the hyperparameters of the networks, and the seed of the folds if no split was given.
        options: what to try and to aim at.
        folder: new or empty, or with `options.resume` one where the same fit was begun.
        asked: what else the result depends on, as JSON values: the columns, and checksums of the tables.
        stages: those of reading the tables; training and writing are added.
        watch: callbacks.

    Raises:
        RunError: the folder cannot be used, or no method gave finite predictions.
    """
    watch = watch or Watcher()
    stages = stages or Stages(watch)
    problem = replace(problem, notes=(*problem.notes, *epoch_notes(config, options.methods)))
    watch.step("looking at the graph")
    found = survey(problem.graph, problem.known, balanced=options.balanced)
    found = replace(found, warnings=(*problem.warnings, *found.warnings))
    watch.understood(problem, found)
    path = folder / PREDICTIONS if options.predictions is None else Path(options.predictions)
    graph = problem.graph
    # Checked before the folder is made, and before the split, which takes memory for every trial.
    check_weights(options.methods, graph, config)
    check_memory(graph, config, choose_device(options.device), shared_split=problem.split is not None)
    _check_room(graph, config)
    split = problem.splits(config.trials, config.seed)
    wanted = {"config": config.to_dict(), "wishes": options.to_json(), **(asked or {})}
    stages.begin("training")
    noted = {} if options.predictions is None else {NOTED: str(options.predictions)}
    with begin(folder, wanted, resume=options.resume, noted=noted):
        candidates, failures = try_methods(
            options.methods,
            graph,
            split,
            config,
            folder / "candidates",
            device=options.device,
            watch=lambda method: watch.method(method, config),
            tell=watch.step,
        )
        stages.begin("writing")
        watch.step("comparing the methods")
        placings = rank(candidates, graph.num_classes, options.metric)
        (winner,) = (candidate for candidate in candidates if candidate.method == placings[0].method)
        watch.step("calibrating the probabilities")
        ensemble = Ensemble.from_candidate(winner, config, problem.classes)
        watch.step("predicting every row")
        decisions = ensemble.decide(ensemble.probabilities(problem.learned), options.target_accuracy, options.coverage)
        names = problem.row_names()
        predictions = Predictions(tabulate(names, decisions, problem.classes, problem.labels), tuple(names))
        write_predictions(predictions, path, options)
        watch.step("measuring the calibration")
        metrics = describe(ensemble, placings, candidates, decisions, found, problem, split, options)
        stages.end()
        metrics = replace(
            metrics,
            notes=(*problem.notes, *formula_notes(path, predictions, escape_formulas=options.escape_formulas)),
            columns=problem.uses or None,
            failures=tuple(failures),
            seconds=stages.seconds,
            peak_memory_gib=peak_memory(),
        )
        watch.step("writing the model")
        model = TableModel(
            ensemble=ensemble,
            problem=problem,
            held=held_by_method(candidates),
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
    # The number of epochs follows from the graph if it is not given.
    check_runs(Config(**{"epochs": 1} | {name: value for name, value in settings.items() if value is not None}))


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
