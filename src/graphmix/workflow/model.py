"""TableModel: a trained model with the graph it was trained on. It predicts, advises, and is stored in a folder."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import safetensors
from torch import Tensor

from graphmix.errors import GraphMixError, RunError
from graphmix.evaluation.heldout import HeldOut, pack_held, unpack_held
from graphmix.limits import Limits
from graphmix.machine import is_out_of_memory
from graphmix.results import formats
from graphmix.results.describe import versions
from graphmix.results.fit import MIXTURE, FitMetrics
from graphmix.results.writer import to_json
from graphmix.storage.files import tensor_bytes, write_json
from graphmix.storage.folders import CLASSIFIER, METRICS, MODEL
from graphmix.storage.lock import locked
from graphmix.storage.parts import write_parts
from graphmix.tables.files import is_path, limited
from graphmix.tables.stored import positive
from graphmix.workflow import old_classifier
from graphmix.workflow.advice import Advice, advise
from graphmix.workflow.explanations import Explanations
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.model_folder import (
    describe_folder,
    json_bytes,
    open_folder,
    parts_removed_unless_described,
    read_contents,
    read_metrics,
)
from graphmix.workflow.predictions import Predictions, tabulate
from graphmix.workflow.problem import Grown, Problem, Source
from graphmix.workflow.problems import stored_problem
from graphmix.workflow.reasons import explain, reason_column
from graphmix.workflow.summary import describe_model
from graphmix.workflow.watching import Watcher

# What reading an invalid file can raise.
DAMAGED = (
    AttributeError,
    GraphMixError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    safetensors.SafetensorError,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableModel:
    """A model trained on tables, with its graph. `fit_tables` and `load_model` return one.

    Attributes:
        mixture: the trained members, their shares, and the calibration of their average.
        problem: the graph, and what turned tables into it.
        held: held-out predictions by the name of the candidate, and of the "mixture"; under NAME-fcn are those of
            networks without their edges.
        target_accuracy: the accuracy below which predictions abstain.
        coverage: the coverage of prediction sets.
        estimator: what `GraphMixClassifier` needs besides; None if the model comes from tables.
        stored_metrics: what metrics.json holds, or why it cannot be read; None if the model has no metrics.
    """

    mixture: Mixture
    problem: Problem
    held: dict[str, HeldOut]
    target_accuracy: float
    coverage: float
    estimator: dict[str, Any] | None = None
    stored_metrics: FitMetrics | RunError | None = None

    def __repr__(self) -> str:
        rows, classes = self.problem.graph.num_nodes, len(self.mixture.classes)
        name, task = self.problem.graph.name, self.problem.task
        return f"TableModel({name!r}: {self.mixture.method}, {rows:,} {task}, {classes:,} classes)"

    def _repr_html_(self) -> str:
        return describe_model(self.problem, self.mixture, self.stored_metrics)

    @property
    def predictions(self) -> Any:
        """What the model predicts of the graph it was trained on, as a `pandas.DataFrame`; see `predict`.

        Raises:
            RunError: pandas is not installed.
        """
        return self.predict().to_pandas()

    def predict(
        self,
        nodes: Source = None,
        edges: Source = None,
        *,
        everything: bool = False,
        ignore_unknown: bool = False,
        target_accuracy: float | None = None,
        coverage: float | None = None,
        limit: Limits | None = None,
        no_header: Sequence[str] = (),
        reasons: Callable[[int, int], None] | bool = False,
    ) -> Predictions:
        """Predict new nodes or links; without tables, the graph that the model was trained on.

        Args:
            nodes: new nodes, with the columns of the table trained on: a path, a DataFrame or a pyarrow table.
            edges: new edges, between new and old nodes; of a link model, new links.
            everything: whether to predict the old nodes or links too.
            ignore_unknown: whether to leave out edges to unknown nodes instead of raising an error.
            target_accuracy: predictions abstain where the accuracy would be lower; the fit's if None.
            coverage: the share of nodes whose prediction set must contain their class; the fit's if None.
            limit: how large tables in files may be; the usual limits if None.
            no_header: the tables, "nodes" or "edges", whose files have no header, besides those of the fit.
            reasons: whether to add a column `reason`; or what to call with how many are explained, of how many.

        Raises:
            DataError: a table is invalid, or does not suit the model.
        """
        tables = [limited(table, limit or Limits()) for table in (nodes, edges)]
        grown = self.grow(*tables, ignore_unknown=ignore_unknown, no_header=no_header)
        first = 0 if everything else grown.first
        target = self.target_accuracy if target_accuracy is None else target_accuracy
        coverage = self.coverage if coverage is None else coverage
        decisions = self.mixture.decide(self.mixture.probabilities(grown.graph)[first:], target, coverage)
        doubts = self.mixture.doubts(decisions, target, coverage)
        classes = self.mixture.classes
        names = grown.names if everything else grown.new_names
        labels = [None if label < 0 else classes[label] for label in grown.graph.y.tolist()[first:]]
        files = tuple(Path(table) for table in tables if is_path(table))
        columns = tabulate(names, decisions, classes, labels)
        if reasons:
            columns["reason"] = reason_column(self, grown, first, reasons if callable(reasons) else None)
        return Predictions(columns, keys=tuple(names), notes=(*grown.notes, *doubts), inputs=files)

    def grow(
        self,
        nodes: Source = None,
        edges: Source = None,
        *,
        ignore_unknown: bool = False,
        no_header: Sequence[str] = (),
    ) -> Grown:
        """Add new tables to the graph, as `predict` does; without any, return the graph of the fit."""
        problem = replace(self.problem, columns=self.problem.columns.without_header(no_header))
        return problem.grow(nodes, edges, ignore_unknown=ignore_unknown)

    def explain(self, ids: Any, **options: Any) -> Explanations:
        """Give the reasons for predictions; see `graphmix.explain`."""
        return explain(self, ids, **options)

    def advise(self, count: int = 20, *, device: str = "auto", watch: Watcher | None = None) -> Advice:
        """Choose nodes to label next, and given labels to check.

        GraphMix trains on folds of the labels first, if the model's labels were not held out.

        Args:
            count: the number of rows of each table.
            device: where to train, if that is needed.
            watch: callbacks that tell how far it is.
        """
        return advise(self.mixture, self.problem, self.held, count, device=device, watch=watch or Watcher())

    def save(self, folder: Path | str) -> None:
        """Write the model into a folder: new, empty, or of a saved model, which is replaced.

        The folder holds JSON and safetensors, and the graph: features and labels can be read from it.

        Raises:
            RunError: the folder holds other files, or cannot be written.
        """
        folder, metrics = Path(folder), self.metrics
        was_there = folder.exists()
        open_folder(folder)
        try:
            contents, described = self._parts()
            with locked(folder), parts_removed_unless_described(folder):
                write_parts(folder / MODEL, described, contents, obsolete=[folder / METRICS])
                old_classifier.remove(folder)
                if metrics is not None:
                    write_json(folder / METRICS, to_json(metrics))
        except BaseException:
            if not was_there:
                # Only an empty folder can be removed: another process may be saving there.
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise

    def write_into(self, folder: Path) -> None:
        """Write the model into the folder of its fit; model.json comes last and marks the fit as finished."""
        contents, described = self._parts()
        write_json(folder / METRICS, to_json(self.metrics))
        write_parts(folder / MODEL, described, contents)

    @property
    def metrics(self) -> FitMetrics | None:
        """How good the methods are, as metrics.json has it; None for a model without.

        Raises:
            RunError: the file is damaged.
        """
        if isinstance(self.stored_metrics, RunError):
            raise self.stored_metrics
        return self.stored_metrics

    @property
    def failures(self) -> tuple[str, ...]:
        """A sentence for each method that could not be tried."""
        return () if self.metrics is None else self.metrics.failures

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found in the tables and done with them, in sentences."""
        return self.problem.notes if self.metrics is None else self.metrics.notes

    def _parts(self) -> tuple[dict[str, bytes], dict[str, Any]]:
        """Return the contents of the files by name, and the description."""
        problem, mixture = self.problem, self.mixture
        contents = {
            "weights.safetensors": tensor_bytes(mixture.tensors()),
            "graph.safetensors": tensor_bytes(problem.tensors()),
            # Models of one method, by older versions, have no other of that name.
            "heldout.safetensors": tensor_bytes(pack_held(self.held | {MIXTURE: mixture.held})),
            "encoders.json": json_bytes(problem.encoders_json()),
            "ids.json": json_bytes(problem.ids_json()),
        }
        described = {
            "format": formats.MODEL,
            "versions": versions(),
            **problem.describe(),
            **mixture.describe(),
            "target_accuracy": self.target_accuracy,
            "coverage": self.coverage,
            "estimator": self.estimator,
        }
        return contents, described


def load_model(folder: Path | str) -> TableModel:
    """Read a model that `fit_tables`, `graphmix fit` or a `save` wrote; every file must be the one written with it.

    Raises:
        RunError: there is no model, it was written by a newer version, or a file is missing or damaged.
    """
    folder = Path(folder)
    old = not (folder / MODEL).is_file() and (folder / CLASSIFIER).is_file()
    described = old_classifier.describe(folder) if old else describe_folder(folder)
    try:
        parts = old_classifier.read(folder, described) if old else read_contents(folder, described)
        return _assemble(described, *parts, metrics=read_metrics(folder / METRICS))
    except DAMAGED as error:
        if isinstance(error, RunError) or is_out_of_memory(error):
            raise
        raise RunError(f"{folder} does not hold a whole model: {error}") from error


def _assemble(
    described: Any,
    tensors: Mapping[str, dict[str, Tensor]],
    texts: Mapping[str, Any],
    metrics: FitMetrics | RunError | None,
) -> TableModel:
    """Put a model together, validating every part."""
    problem = stored_problem(described, tensors["graph"], texts["encoders"], texts["ids"])
    held = unpack_held(tensors["heldout"], len(described["classes"]))
    estimator = described.get("estimator")
    if estimator is not None and not isinstance(estimator, dict):
        raise ValueError("invalid: estimator")
    return TableModel(
        mixture=Mixture.from_parts(described, tensors["weights"], held, problem.graph),
        problem=problem,
        held=held,
        target_accuracy=positive(described, "target_accuracy", below=1),
        coverage=positive(described, "coverage", below=1),
        estimator=estimator,
        stored_metrics=metrics,
    )
