"""What a page says in sentences of its own: the headline, and everything about one cell."""

from graphmix.report.contents import Contents
from graphmix.results.claim_wording import summarise_claims
from graphmix.results.names import METRICS
from graphmix.results.record import CellResult, Record
from graphmix.results.wording import failed_trials, summarise
from graphmix.text import counted, signed


def explain(cell: CellResult) -> str:
    """Everything about a cell's number, for whoever points at it."""
    parts = []
    if cell.run is not None:
        parts.append(counted(cell.run.trials, "trial"))
        parts += [failed_trials(cell.run)] if cell.run.failed else []
    if cell.verdict is not None:
        if cell.verdict.difference is not None:
            parts.append(f"{signed(cell.verdict.difference)} points from the paper's")
        if cell.verdict.interval is not None:
            low, high = cell.verdict.interval
            parts.append(f"95 % interval {signed(low)} to {signed(high)}")
        if cell.verdict.p is not None:
            parts.append(say_p(cell.verdict.p))
    if cell.paper is not None and cell.paper.n is not None:
        parts.append(f"the paper's n = {cell.paper.n}")
    if cell.error:
        parts.append(cell.error)
    return "; ".join(parts)


def say_p(p: float) -> str:
    """A p-value with four digits."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def headline(contents: Contents) -> str:
    """What happened in a plain sentence, and in a second one what became of claims."""
    if contents.of_runs:
        return _say_runs(contents.records[0])
    claims = [record.claim for record in contents.records if record.claim is not None]
    parts = [summarise(contents.records)] if len(claims) < len(contents.records) else []
    parts += [summarise_claims(claims)] if claims else []
    return f"{'. '.join(parts)}."


def _say_runs(record: Record) -> str:
    sentences = []
    for column in record.columns:
        cells = [cell for cell in record.cells if cell.column == column and mean(cell, record.metric) is not None]
        if cells:
            sentences.append(_say_column(cells, column, record.metric))
    runs = [cell.run for cell in record.cells if cell.run is not None]
    if failed := sum(len(run.failed) for run in runs):
        sentences.append(f"{failed} of {counted(sum(run.trials for run in runs), 'trial')} failed.")
    return " ".join(sentences) or "No trial has a result."


def _say_column(cells: list[CellResult], column: str, metric: str) -> str:
    told, beside = _story(cells, metric)
    of = "" if metric == "test_accuracy" else f" {METRICS[metric]}"
    start = f"{told.row} reaches {mean(told, metric):.1f} %{of} on {column}"
    if beside is None:
        return f"{start} ({_trials(told)})."
    gap = round(mean(told, metric) or 0.0, 1) - round(mean(beside, metric) or 0.0, 1)
    sizes = f"{_trials(told)} each" if _trials(told) == _trials(beside) else f"{_trials(told)} and {_trials(beside)}"
    if abs(gap) < 0.05:
        return f"{start}, as {beside.row} does ({sizes})."
    return f"{start}, {abs(gap):.1f} points {'above' if gap > 0 else 'below'} {beside.row} ({sizes})."


def _story(cells: list[CellResult], metric: str) -> tuple[CellResult, CellResult | None]:
    # GraphMix against its own network is what a reader looks for; otherwise the best against the next.
    by_method = {_method(cell): cell for cell in cells}
    for cell in cells:
        plain = by_method.get(("supervised", _method(cell)[1]))
        if _method(cell)[0] == "graphmix" and plain is not None:
            return cell, plain
    ranked = sorted(cells, key=lambda cell: mean(cell, metric) or 0.0, reverse=True)
    return ranked[0], ranked[1] if len(ranked) > 1 else None


def _method(cell: CellResult) -> tuple[str, str | None]:
    return ("", None) if cell.run is None else (cell.run.method, cell.run.backbone)


def mean(cell: CellResult, metric: str) -> float | None:
    """A cell's mean by a metric; None without a run."""
    score = cell.score(metric)
    return None if score is None else score.mean


def _trials(cell: CellResult) -> str:
    return counted(0 if cell.run is None else cell.run.trials, "trial")
