"""From JSON values to what a report shows; whatever is not as the contract says is refused by name."""

from typing import Any

from graphmix.experiments.names import name_run
from graphmix.report.contents import (
    Bound,
    BoundPoint,
    Cell,
    Choice,
    Curve,
    Curves,
    Details,
    Embedding,
    GridPoint,
    Paper,
    Record,
    Reliability,
    Run,
    Verdict,
)
from graphmix.report.values import Value, check_format

FORMAT = 1
KINDS = ("table", "figure", "selection", "bound")
STATUSES = ("done", "failed", "unavailable", "quoted", "to do")
WORDS = ("reproduced", "higher", "lower", "undecided")
ROLES = ("train", "val", "test", "none")
QUANTITIES = ("val_accuracy", "train_loss", "val_loss")
_CONSTANTS = ("m", "unlabeled", "grid", "delta", "c", "concentration")


def parse_record(value: Value) -> Record:
    """A record of an experiment, as in SPEC.json."""
    check_format(value, FORMAT)
    kind, metric = value.field("kind").word(KINDS), value.field("metric").text()
    about, command, trials = value.maybe("about"), value.maybe("command"), value.maybe("trials")
    record = Record(
        name=value.field("name").text(),
        title=value.field("title").text(),
        source=value.field("source").text(),
        about="" if about is None else about.text(),
        kind=kind,
        metric=metric,
        rows=value.field("rows").texts(),
        columns=value.field("columns").texts(),
        readings=value.field("readings").texts(),
        cells=tuple(parse_cell(cell, kind, metric) for cell in value.field("cells").items()),
        charts=() if (charts := value.maybe("charts")) is None else charts.texts(),
        trials=None if trials is None else trials.whole(),
        command=None if command is None else command.text(),
        made=texts_by_name(value.maybe("made")),
    )
    if not record.cells:
        value.field("cells").refuse("is empty")
    _check_places(value, record)
    return record


def _check_places(value: Value, record: Record) -> None:
    # A cell that no row and column has would be in the file and not on the page.
    seen = set()
    for place, cell in zip(value.field("cells").items(), record.cells, strict=True):
        if cell.row not in record.rows or cell.column not in record.columns:
            place.refuse("is in none of the record's rows and columns")
        if cell.reading is not None and cell.reading not in record.readings:
            place.field("reading").refuse("is none of the record's readings")
        if (cell.row, cell.column, cell.reading) in seen:
            place.refuse("stands in the same row, column and reading as another cell")
        seen.add((cell.row, cell.column, cell.reading))


def parse_cell(value: Value, kind: str, metric: str) -> Cell:
    """One cell of a record."""
    status = value.field("status").word(STATUSES)
    reading, error, command, commit = (value.maybe(name) for name in ("reading", "error", "command", "commit"))
    run, details, bound, grid = (value.maybe(name) for name in ("run", "details", "bound", "grid"))
    if status == "done" and (bound if kind == "bound" else run) is None:
        value.refuse(f"is done but has no '{'bound' if kind == 'bound' else 'run'}'")
    return Cell(
        row=value.field("row").text(),
        column=value.field("column").text(),
        reading=None if reading is None else reading.text(),
        status=status,
        error=None if error is None else error.text(),
        paper=_parse_paper(value.maybe("paper")),
        verdict=_parse_verdict(value.maybe("verdict")),
        command=None if command is None else command.text(),
        commit=None if commit is None else commit.text(),
        run=None if run is None else parse_run(run, metric),
        details=None if details is None else parse_details(details),
        grid=() if grid is None else tuple(_parse_grid_point(point) for point in grid.items()),
        chosen=_parse_choice(value.maybe("chosen")),
        paper_chosen=_parse_choice(value.maybe("paper_chosen")),
        bound=None if bound is None else _parse_bound(bound),
    )


def parse_run(value: Value, metric: str) -> Run:
    """What results.json holds, read for one metric."""
    trials = value.field("trials").whole(1)
    diverged, seconds, device = value.maybe("diverged"), value.maybe("seconds"), value.maybe("device")
    return Run(
        name=_name(value),
        dataset=value.field("dataset").text(),
        trials=trials,
        scores=value.field(metric).numbers_or_none(trials),
        mean=value.field(f"{metric}_mean").number_or_none(),
        std=value.field(f"{metric}_std").number_or_none(),
        diverged=() if diverged is None else diverged.wholes(below=trials),
        seconds=None if seconds is None else seconds.number(),
        device="" if device is None else device.text(),
        versions=texts_by_name(value.maybe("versions")),
        settings=value.raw,
    )


def _name(value: Value) -> str:
    method, backbone = value.field("method").text(), value.maybe("backbone")
    network = None if backbone is None else backbone.text()
    if (predictor := value.maybe("predictor")) is not None:
        predictor.text()  # it is part of the name
    try:
        known = name_run(value.raw)
    except (KeyError, AttributeError):  # a method or a setting that this version has no name for
        known = ""
    return known or (method if network is None else f"{method} ({network})")


def parse_details(value: Value) -> Details:
    """What details.json holds. Every part but the classes may be missing: label propagation has no curves."""
    classes = value.field("classes").texts()
    curves, confusion, reliability = (value.maybe(name) for name in ("curves", "confusion", "reliability"))
    embedding, soft_rank = value.maybe("embedding"), value.maybe("soft_rank")
    size = len(classes)
    return Details(
        # A number alone says little in a legend.
        classes=tuple(f"class {name}" if name.isdecimal() else name for name in classes),
        curves=None if curves is None else _parse_curves(curves),
        confusion=None if confusion is None else tuple(row.wholes(size) for row in confusion.items(size)),
        reliability=None if reliability is None else parse_reliability(reliability),
        embedding=None if embedding is None else _parse_embedding(embedding, size),
        soft_rank=None if soft_rank is None else tuple(row.numbers_or_none(size) for row in soft_rank.items()),
    )


def _parse_curves(value: Value) -> Curves:
    epochs = value.field("epochs").wholes()
    quantities = {}
    for name in QUANTITIES:
        if (curve := value.maybe(name)) is not None:
            mean, low, high = (curve.field(part).numbers_or_none(len(epochs)) for part in ("mean", "low", "high"))
            quantities[name] = Curve(mean, low, high)
    return Curves(epochs, quantities)


def parse_reliability(value: Value) -> Reliability:
    """Bins of the confidence."""
    count = value.field("count").wholes()
    confidence, accuracy = (value.field(name).numbers_or_none(len(count)) for name in ("confidence", "accuracy"))
    return Reliability(count, confidence, accuracy, value.field("ece").number_or_none())


def _parse_embedding(value: Value, classes: int) -> Embedding:
    x = value.field("x").numbers()
    size = len(x)
    return Embedding(
        x=x,
        y=value.field("y").numbers(size),
        node=value.field("node").wholes(size),
        label=value.field("label").wholes(size, least=-1, below=classes),
        predicted=value.field("predicted").wholes(size, below=classes),
        confidence=value.field("confidence").numbers(size),
        role=value.field("role").words(ROLES, size),
        nodes=value.field("nodes").whole(),
    )


def _parse_paper(value: Value | None) -> Paper | None:
    if value is None:
        return None
    std, n = value.maybe("std"), value.maybe("n")
    return Paper(value.field("mean").number(), None if std is None else std.number(), None if n is None else n.whole())


def _parse_verdict(value: Value | None) -> Verdict | None:
    if value is None:
        return None
    difference, interval, p, n = (value.maybe(name) for name in ("difference", "interval", "p", "n"))
    ends = None if interval is None else interval.numbers(2)
    return Verdict(
        word=value.field("word").word(WORDS),
        difference=None if difference is None else difference.number(),
        interval=None if ends is None else (ends[0], ends[1]),
        p=None if p is None else p.number(),
        n=None if n is None else n.whole(),
    )


def _parse_choice(value: Value | None) -> Choice | None:
    return None if value is None else Choice(value.field("alpha").number(), value.field("gamma").number())


def _parse_grid_point(value: Value) -> GridPoint:
    std, trials = value.maybe("val_accuracy_std"), value.maybe("trials")
    return GridPoint(
        choice=Choice(value.field("alpha").number(), value.field("gamma").number()),
        mean=value.field("val_accuracy_mean").number_or_none(),
        std=None if std is None else std.number(),
        trials=None if trials is None else trials.whole(),
    )


def _parse_bound(value: Value) -> Bound:
    rademacher = value.maybe("rademacher")
    constants: dict[str, float] = {}
    for name in _CONSTANTS:
        if (constant := value.maybe(name)) is not None:
            constants[name] = constant.number()
    return Bound(
        threshold=value.field("threshold").number(),
        rademacher=None if rademacher is None else rademacher.field("mean").number_or_none(),
        rademacher_std=None if rademacher is None else rademacher.field("std").number_or_none(),
        constants=constants,
        points=tuple(_parse_bound_point(point) for point in value.field("points").items()),
    )


def _parse_bound_point(value: Value) -> BoundPoint:
    loss = value.field("fcn_loss")
    sides = value.maybe("bound")
    return BoundPoint(
        choice=Choice(value.field("alpha").number(), value.field("gamma").number()),
        loss=loss.field("mean").number(),
        loss_std=loss.field("std").number_or_none(),
        excess=value.field("V").number(),
        bound={} if sides is None else {name: side.number() for name, side in sides.entries()},
    )


def texts_by_name(value: Value | None) -> dict[str, str]:
    """Versions, commits and the like; none where there is nothing."""
    if value is None:
        return {}
    # Versions and commits are texts, but a number or a null says as much.
    return {name: _as_text(item) for name, item in value.entries()}


def _as_text(value: Value) -> str:
    raw: Any = value.raw
    if raw is None:
        return ""
    return raw if isinstance(raw, str) else f"{value.number():g}"
