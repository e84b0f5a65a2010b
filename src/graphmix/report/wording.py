"""What a report says in words: numbers, verdicts, and one plain sentence of what happened."""

from collections import Counter
from collections.abc import Iterable, Sequence

from graphmix.experiments.names import METRICS
from graphmix.report.contents import Cell, Contents, Record, Run

# Signs that look different without colour. A status that is not "done" speaks for the cell; else its verdict does.
MARKS = {
    "reproduced": "✓",
    "higher": "▲",
    "lower": "▼",
    "undecided": "?",
    "failed": "✕",
    "unavailable": "⊘",
    "not run": "○",
    "quoted": "❞",
}
MEANINGS = {
    "reproduced": "off by half a point at most, or not told from the paper's number and surely within its spread",
    "higher": "above the paper's number by more than half a point, told from it at the 5 % level",
    "lower": "below the paper's number by more than half a point, told from it at the 5 % level",
    "undecided": "too few trials, or too much spread, or too few epochs, to tell",
    "failed": "the run broke off",
    "unavailable": "its data could not be had",
    "not run": "not run yet",
    "quoted": "the paper quotes it from the literature; not run",
}


def outcome(cell: Cell) -> str | None:
    """The one word for a cell, a key of `MARKS`; None for a run with nothing to compare it with."""
    if cell.status != "done":
        return {"to do": "not run"}.get(cell.status, cell.status)
    if cell.verdict is not None:
        return cell.verdict.word
    return None if cell.paper is None else "undecided"


def spread(mean: float | None, std: float | None) -> str:
    """Write mean ± standard deviation; a dash for what there is none of."""
    if mean is None:
        return "–"
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def points(difference: float) -> str:
    """A difference with its sign, the minus as wide as the plus."""
    return f"{difference:+.2f}".replace("-", "−")


def metric_name(metric: str) -> str:
    """What a metric is called."""
    return METRICS.get(metric, metric)


def failures(run: Run) -> str:
    """How many trials failed; empty if none did."""
    if not run.diverged:
        return ""
    trials = "trial" if run.trials == 1 else "trials"
    return f"{len(set(run.diverged))} of {run.trials} {trials} failed"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def explain(cell: Cell) -> str:
    """Everything about a cell's number, for whoever points at it."""
    parts = []
    if cell.run is not None:
        parts.append(f"{cell.run.trials} trial{'' if cell.run.trials == 1 else 's'}")
        parts += [failures(cell.run)] if cell.run.diverged else []
    if cell.verdict is not None:
        if cell.verdict.difference is not None:
            parts.append(f"{points(cell.verdict.difference)} points from the paper's")
        if cell.verdict.interval is not None:
            low, high = cell.verdict.interval
            parts.append(f"95 % interval {points(low)} to {points(high)}")
        if cell.verdict.p is not None:
            parts.append("p < 0.0001" if cell.verdict.p < 0.0001 else f"p = {cell.verdict.p:.4f}")
    if cell.paper is not None and cell.paper.n is not None:
        parts.append(f"the paper's n = {cell.paper.n}")
    if cell.error:
        parts.append(cell.error)
    return "; ".join(parts)


def count(cells: Iterable[Cell]) -> dict[str, int]:
    """How many cells came out how, in the order of `MARKS`; cells with nothing to compare are left out."""
    counts = Counter(outcome(cell) for cell in cells)
    return {word: counts[word] for word in MARKS if counts[word]}


def summarise(cells: Sequence[Cell]) -> str:
    """Say how cells compare with the paper: "31 of 42 cells reproduced; 6 higher, 5 lower; 3 not run"."""
    counts = count(cells)
    tested = sum(counts.get(word, 0) for word in ("reproduced", "higher", "lower", "undecided"))
    clauses = []
    if not tested:
        own = [cell for cell in cells if cell.status != "quoted"]
        done = sum(cell.status == "done" for cell in own)
        clauses.append(f"{done} of {len(own)} cell{'' if len(own) == 1 else 's'} done")
    else:
        clauses.append(f"{counts.get('reproduced', 0)} of {tested} cell{'' if tested == 1 else 's'} reproduced")
        off = [f"{counts[word]} {word}" for word in ("higher", "lower", "undecided") if word in counts]
        clauses += [", ".join(off)] if off else []
    rest = ("failed", "unavailable", "not run")
    clauses += [f"{counts[word]} {word}" for word in rest if word in counts]
    return "; ".join(clauses)


def headline(contents: Contents) -> str:
    """One plain sentence of what happened."""
    first = contents.records[0]
    if first.kind == "runs":
        return _say_runs(first)
    cells = [cell for record in contents.records for cell in record.cells]
    return f"{summarise(cells)}."


def _say_runs(record: Record) -> str:
    sentences = []
    for column in record.columns:
        cells = [cell for cell in record.cells if cell.column == column and cell.run and cell.run.mean is not None]
        if cells:
            sentences.append(_say_column(cells, column, metric_name(record.metric)))
    failed = sum(len(set(cell.run.diverged)) for cell in record.cells if cell.run)
    if failed:
        trials = sum(cell.run.trials for cell in record.cells if cell.run)
        sentences.append(f"{failed} of {trials} trials failed.")
    return " ".join(sentences) or "No trial has a result."


def _say_column(cells: list[Cell], column: str, metric: str) -> str:
    told, beside = _story(cells)
    of = "" if metric == "accuracy" else f" {metric}"
    start = f"{told.row} reaches {_mean(told):.1f} %{of} on {column}"
    if beside is None:
        return f"{start} ({_trials(told)})."
    gap = round(_mean(told), 1) - round(_mean(beside), 1)
    sizes = f"{_trials(told)} each" if _trials(told) == _trials(beside) else f"{_trials(told)} and {_trials(beside)}"
    if abs(gap) < 0.05:
        return f"{start}, as {beside.row} does ({sizes})."
    return f"{start}, {abs(gap):.1f} points {'above' if gap > 0 else 'below'} {beside.row} ({sizes})."


def _story(cells: list[Cell]) -> tuple[Cell, Cell | None]:
    # GraphMix against its own network is what a reader came for; otherwise the best against the next.
    by_method = {_method(cell): cell for cell in cells}
    for cell in cells:
        plain = by_method.get(("supervised", _method(cell)[1]))
        if _method(cell)[0] == "graphmix" and plain is not None:
            return cell, plain
    ranked = sorted(cells, key=_mean, reverse=True)
    return ranked[0], ranked[1] if len(ranked) > 1 else None


def _method(cell: Cell) -> tuple[str, str | None]:
    settings = cell.run.settings if cell.run else {}
    return settings["method"], settings.get("backbone")


def _mean(cell: Cell) -> float:
    return cell.run.mean if cell.run and cell.run.mean is not None else 0.0


def _trials(cell: Cell) -> str:
    trials = cell.run.trials if cell.run else 0
    return f"{trials} trial{'' if trials == 1 else 's'}"
