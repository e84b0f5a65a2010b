"""From a model's folder, as `graphmix fit` writes it, to what a report shows of it."""

from dataclasses import replace
from pathlib import Path

from graphmix.experiments.names import NETWORKS
from graphmix.report.contents import Abstention, Candidate, Cell, Contents, Fitted, Record, Sets, Tested
from graphmix.report.parsing import parse_details, parse_reliability, parse_run, texts_by_name
from graphmix.report.recommendation import method_title, recommend
from graphmix.report.values import Value, check_format, load
from graphmix.workflow.candidates import CANDIDATES
from graphmix.workflow.survey import Survey

FORMAT, MODEL_FORMAT = 1, 2
MODEL, METRICS = "model.json", "metrics.json"
# What the files of a model's folder are, in the order they are read in.
FILES = {
    "report.html": "this page",
    "predictions.csv": "what the model predicts, a row for each",
    "metrics.json": "the numbers of this page",
    "model.json": "what the model is: its method, settings, classes and calibration, and its files’ checksums",
    "weights.safetensors": "the weights of its networks",
    "encoders.json": "how columns become features",
    "ids.json": "the ids of the nodes, in order",
    "graph.safetensors": "features, edges, labels and splits",
    "heldout.safetensors": "what each method predicted of labels it had not seen",
    "config.json": "what was asked for, and the checksums of the tables",
    "candidates": "a folder for each network that was tried: its weights, results and curves",
}


def read_fitted(path: Path) -> Contents:
    """Read and check a model's folder.

    Raises:
        RunError: a file is missing, damaged or of a newer format.
    """
    fitted = _parse(load(path / METRICS), load(path / MODEL), path)
    record = _read_candidates(path, fitted)
    return Contents(f"A model for {fitted.dataset}", () if record is None else (record,), fitted)


def _parse(value: Value, model: Value, path: Path) -> Fitted:
    check_format(value, FORMAT)
    check_format(model, MODEL_FORMAT)
    task = model.field("task").word(("nodes", "links"))
    survey = _parse_survey(value.field("survey"))
    classes = value.field("classes").texts()
    if len(classes) != len(survey.class_names):
        value.field("classes").refuse(f"has {len(classes)} values where the survey has {len(survey.class_names)}")
    backbone = value.field("backbone").word(tuple(NETWORKS))
    judged_on = value.field("judged_on").word(("held-out folds", "validation nodes"))
    metric = value.field("chosen_by").word(("accuracy", "macro-f1"))
    calibration, test = value.field("calibration"), value.maybe("test")
    notes, failures, seconds, memory = (
        value.maybe(name) for name in ("notes", "failures", "seconds", "peak_memory_gib")
    )
    held, candidates = value.field("held").whole(1), _parse_candidates(value, backbone)
    return Fitted(
        headline=recommend(value.raw),
        dataset=value.field("dataset").text(),
        task=task,
        survey=survey,
        judged_on=judged_on,
        held=held,
        trials=value.field("trials").whole(1),
        epochs=value.field("epochs").whole(),
        backbone=backbone,
        metric=metric,
        candidates=candidates,
        temperature=calibration.field("temperature").number(),
        before=parse_reliability(calibration.field("before")),
        after=parse_reliability(calibration.field("after")),
        sets=_parse_sets(value.field("conformal"), len(classes)),
        abstention=_parse_abstention(value.field("abstention")),
        classes=classes,
        predicted=value.field("predicted").wholes(len(classes)),
        test=None if test is None else _parse_test(test),
        notes=() if notes is None else notes.texts(),
        failures=() if failures is None else failures.texts(),
        seconds={} if seconds is None else {name: part.number() for name, part in seconds.entries()},
        memory=None if memory is None else memory.number(),
        versions=texts_by_name(model.maybe("versions")),
        # Who wants to see a thousand classes or the checksums opens the file.
        settings={name: part for name, part in model.raw.items() if name not in ("checksums", "classes", "versions")},
        folder=str(path),
        files=tuple(name for name in FILES if name == "report.html" or (path / name).exists()),
    )


def _parse_survey(value: Value) -> Survey:
    names = value.field("class_names").texts()
    return Survey(
        class_names=names,
        class_counts=value.field("class_counts").wholes(len(names)),
        warnings=value.field("warnings").texts(),
        mean_degree=value.field("mean_degree").number(),
        nodes=value.field("nodes").whole(),
        labeled=value.field("labeled").whole(),
        edges=value.field("edges").whole(),
        isolated=value.field("isolated").whole(),
        components=value.field("components").whole(),
        features=value.field("features").whole(),
        labeled_edges=value.field("labeled_edges").whole(),
        homophily=value.field("homophily").number_or_none(),
        chance=value.field("chance").number_or_none(),
        adjusted_homophily=value.field("adjusted_homophily").number_or_none(),
        reached=value.field("reached").number_or_none(),
    )


def _parse_candidates(value: Value, backbone: str) -> tuple[Candidate, ...]:
    places = value.field("candidates").items()
    if not places:
        value.field("candidates").refuse("is empty")
    candidates = [_parse_candidate(place, backbone, first=place is places[0]) for place in places]
    if value.field("chosen").word(CANDIDATES) != candidates[0].method:
        value.field("chosen").refuse(f"is not {candidates[0].method}, the first of the candidates")
    return tuple(candidates)


def _parse_candidate(value: Value, backbone: str, *, first: bool) -> Candidate:
    method, behind, certain = value.field("method").word(CANDIDATES), value.field("behind"), value.field("certain")
    if first and behind.raw is not None:
        behind.refuse("is not null, but this is the best")
    mean, low, high = (0.0, 0.0, 0.0) if first else behind.numbers(3)
    return Candidate(
        method=method,
        name=method_title(method, backbone),
        accuracy=value.field("accuracy").number(),
        macro_f1=value.field("macro_f1").number_or_none(),
        behind=None if first else (mean, low, high),
        certain=None if first else certain.truth(),
        seconds=value.field("seconds").number(),
    )


def _parse_sets(value: Value, classes: int) -> Sets:
    return Sets(
        coverage=value.field("coverage").number(),
        empirical=value.field("empirical").number_or_none(),
        mean_size=value.field("mean_size").number_or_none(),
        threshold=value.field("threshold").number_or_none(),
        sizes=value.field("sizes").wholes(classes),
    )


def _parse_abstention(value: Value) -> Abstention:
    curve = value.field("curve")
    threshold = curve.field("threshold").numbers()
    return Abstention(
        target=value.field("target").number(),
        level=value.field("level").number_or_none(),
        kept=value.field("kept").number(),
        accuracy=value.field("accuracy").number_or_none(),
        curve_threshold=threshold,
        curve_kept=curve.field("kept").numbers(len(threshold)),
        curve_accuracy=curve.field("accuracy").numbers(len(threshold)),
    )


def _parse_test(value: Value) -> Tested:
    return Tested(
        nodes=value.field("nodes").whole(),
        accuracy=value.field("accuracy").number_or_none(),
        macro_f1=value.field("macro_f1").number_or_none(),
        trials=value.field("trials").numbers_or_none(),
        before=parse_reliability(value.field("before")),
        after=parse_reliability(value.field("after")),
    )


def _read_candidates(path: Path, fitted: Fitted) -> Record | None:
    """The runs of the networks that were tried, for their curves; None where no network was."""
    cells = []
    for candidate in fitted.candidates:
        folder = path / "candidates" / candidate.method
        if not (folder / "results.json").exists():
            continue
        held = folder / "details.json"
        details = parse_details(load(held)) if held.exists() else None
        # Its confidence is one network's before calibration; the page shows the model's.
        details = None if details is None else replace(details, reliability=None)
        run = parse_run(load(folder / "results.json"), "test_accuracy")
        cells.append(Cell(candidate.name, fitted.dataset, None, "done", run=run, details=details))
    if not cells:
        return None
    return Record(
        name="candidates",
        title=fitted.dataset,
        source="",
        about="",
        kind="runs",
        metric="test_accuracy",
        rows=tuple(cell.row for cell in cells),
        columns=(fitted.dataset,),
        readings=(),
        cells=tuple(cells),
    )
