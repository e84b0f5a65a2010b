"""From a model's folder, as `graphmix fit` writes it, to what a report shows of it."""

from dataclasses import replace
from pathlib import Path

from graphmix.errors import RunError
from graphmix.report.contents import Contents, ModelFolder
from graphmix.report.runs import runs_record
from graphmix.results import formats
from graphmix.results.details import Details
from graphmix.results.fit import FitMetrics, ModelFile
from graphmix.results.names import candidate_title
from graphmix.results.reader import read_file
from graphmix.results.record import CellResult, Outcome, Record
from graphmix.results.run import RunResult
from graphmix.storage.folders import CONFIG, DETAILS, METRICS, MODEL, PAGE, PREDICTIONS, RESULTS, WEIGHTS

# What the files of a model's folder are, in the order to read them in.
FILES = {
    PAGE: "this page",
    PREDICTIONS: "what the model predicts, one row for each",
    METRICS: "the numbers on this page",
    MODEL: "what the model is: its methods with their shares and settings, classes, calibration and checksums",
    WEIGHTS: "what its methods learned: the weights of networks, the trees of a forest",
    "encoders.json": "how columns become features",
    "ids.json": "the ids of the nodes, in order",
    "graph.safetensors": "features, edges, labels and splits",
    "heldout.safetensors": "what the model and each method predicted for labels they had not seen",
    CONFIG: "what was asked for, and the checksums of the tables",
    "candidates": "a folder for each method that was tried, for --resume; the model does not need it",
}


def read_fitted(path: Path) -> Contents:
    """Read and check a model's folder.

    Raises:
        RunError: a file is missing, damaged or of a newer format.
    """
    if not (path / METRICS).exists():
        raise RunError(
            f"{path} holds a model without {METRICS}, as GraphMixClassifier.save writes it; only graphmix fit measures "
            "what a report shows"
        )
    shown = ModelFolder(
        metrics=read_file(FitMetrics, path / METRICS, formats.METRICS),
        model=read_file(ModelFile, path / MODEL, formats.MODEL),
        folder=str(path),
        files=tuple(name for name in FILES if name == PAGE or (path / name).exists()),
    )
    record = _read_candidates(path, shown.metrics)
    title = f"A model for {shown.metrics.dataset}"
    return Contents(title, () if record is None else (record,), shown, of_runs=True)


def _read_candidates(path: Path, metrics: FitMetrics) -> Record | None:
    """The runs of the networks that were tried, for their curves; None without any, as in newer folders."""
    cells = []
    for candidate in metrics.candidates:
        folder = path / "candidates" / candidate.method
        if not (folder / RESULTS).exists():
            continue
        held = folder / DETAILS
        details = read_file(Details, held) if held.exists() else None
        # Its confidence is that of single networks before calibration; the page shows the model's.
        details = None if details is None else replace(details, reliability=None)
        outcome = Outcome(run=read_file(RunResult, folder / RESULTS), details=details)
        name = candidate_title(candidate, metrics)
        cells.append(CellResult(name, metrics.dataset, None, "done", outcome=outcome))
    return runs_record("candidates", cells, "test_accuracy") if cells else None
