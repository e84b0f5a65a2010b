"""Verdicts on the paper's claims, from the cells of a record (docs/design/0023-claims.md)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from graphmix.experiments.spec import Spec
from graphmix.experiments.verdict import LEVEL, independent, judge_mean
from graphmix.results.claim import Claim, ClaimWord, Comparison, Finding
from graphmix.results.record import CellResult, Quoted, Verdict

GIB = 2**30
Values = list[float]


def judge_claim(spec: Spec, cells: Sequence[CellResult]) -> Claim | None:
    """Judge a spec's claim by its cells; None if it makes none."""
    if not spec.compares:
        return None
    places = dict.fromkeys((cell.column, cell.reading) for cell in cells)
    findings = [
        _find(asked, [cell for cell in cells if (cell.column, cell.reading) == place], place)
        for place in places
        for asked in spec.compares
    ]
    return Claim(says=spec.says, word=overall([each.word for each in findings]), findings=tuple(findings))


def overall(words: Sequence[ClaimWord]) -> ClaimWord:
    """Return the verdict over comparisons: it holds if all do, and in part if some do.

    Example:
        >>> overall(["holds", "undecided"]), overall(["does not hold", "undecided"]), overall(["does not hold"])
        ('holds in part', 'undecided', 'does not hold')
    """
    held = [word == "holds" for word in words]
    if any(held):
        return "holds" if all(held) else "holds in part"
    return "undecided" if not words or "undecided" in words else "does not hold"


def compare(asked: Comparison, ours: Values, other: Values) -> tuple[ClaimWord, Verdict]:
    """Compare trials of two rows by Welch's test; the verdict's difference is ours minus the other's.

    It holds if the difference is significant and as expected. It does not if it is significant the other way round, or
    not significant and its whole interval within the margin. Otherwise there are too few trials to tell.
    """
    theirs = Quoted(fmean(other), stdev(other) if len(other) > 1 else None, len(other))
    found = judge_mean(fmean(ours), stdev(ours) if len(ours) > 1 else None, len(ours), theirs)
    if found.p is None or found.interval is None or found.difference is None or len(other) < 2:
        return "undecided", replace(found, interval=None, p=None)
    if found.p < LEVEL:
        expected = (found.difference > 0) == (asked.expects == "higher")
        return ("holds" if expected else "does not hold"), found
    small = max(map(abs, found.interval)) <= asked.margin
    return ("does not hold" if small else "undecided"), found


def within(asked: Comparison, value: float) -> ClaimWord:
    """Return whether a value that was measured once is on the expected side of the bound."""
    assert asked.bound is not None
    fits = value <= asked.bound if asked.expects == "at most" else value >= asked.bound
    return "holds" if fits else "does not hold"


def grid_range(cell: CellResult) -> Values:
    """Best minus worst mean validation accuracy over a search's grid, in points; empty without a search."""
    found = cell.outcome.selection
    means = [] if found is None else [each.val_accuracy_mean for each in found.grid]
    known = [mean for mean in means if mean is not None]
    return [max(known) - min(known)] if known else []


def _find(asked: Comparison, cells: Iterable[CellResult], place: tuple[str, str | None]) -> Finding:
    by_row = {cell.row: cell for cell in cells}
    blank = Finding(asked=asked, column=place[0], reading=place[1])
    sides = [by_row.get(row) for row in (asked.row, asked.against) if row is not None]
    estimated = asked.quantity == "memory" and any(cell is None or _peak(cell) is None for cell in sides)
    # A measured number is never compared with an estimate.
    quantity = _estimate if estimated else QUANTITIES[asked.quantity]
    read = [quantity(cell) if cell is not None else [] for cell in sides]
    if not all(read):
        return blank
    means = [fmean(values) for values in read]
    known = replace(
        blank,
        ours=round(means[0], 4),
        other=round(means[1], 4) if len(means) > 1 else None,
        estimated=estimated,
    )
    if asked.bound is not None:
        return replace(known, word=within(asked, means[0] if len(means) == 1 else means[0] / means[1]))
    word, verdict = compare(asked, *(_independent(cell, values) for cell, values in zip(sides, read, strict=True)))
    found = verdict.rounded()
    sizes = tuple(len(_independent(cell, values)) for cell, values in zip(sides, read, strict=True))
    return replace(known, word=word, difference=found.difference, interval=found.interval, p=found.p, n=sizes)


def _independent(cell: CellResult | None, values: Values) -> Values:
    run = None if cell is None else cell.run
    whole = run is not None and len(values) == run.trials
    return independent(values, run.split_seeds if run is not None and whole else None)


def _accuracy(cell: CellResult) -> Values:
    score = cell.score("test_accuracy")
    return [] if score is None else [value for value in score.values if value is not None]


def _seconds(cell: CellResult) -> Values:
    run = cell.run
    return [] if run is None or run.seconds is None else [run.seconds / run.trials]


def _peak(cell: CellResult) -> float | None:
    run = cell.run
    if run is None or run.peak_memory is None or run.trials_at_once is None:
        return None
    return run.peak_memory / run.trials_at_once / GIB


def _memory(cell: CellResult) -> Values:
    peak = _peak(cell)
    return [] if peak is None else [peak]


def _estimate(cell: CellResult) -> Values:
    details = cell.details
    return [] if details is None or details.memory_estimate is None else [details.memory_estimate / GIB]


def _soft_rank(cell: CellResult) -> Values:
    ranks = (cell.details.soft_rank if cell.details else None) or ()
    known = [[rank for rank in trial if rank is not None] for trial in ranks]
    return [fmean(trial) for trial in known if trial]


def _measure(name: str) -> Callable[[CellResult], Values]:
    def read(cell: CellResult) -> Values:
        measured = (cell.details.measured if cell.details else None) or {}
        return [value for value in measured.get(name, ()) if value is not None]

    return read


# Values of a cell, one per trial or only one.
QUANTITIES: dict[str, Callable[[CellResult], Values]] = {
    "test_accuracy": _accuracy,
    "soft_rank": _soft_rank,
    "separation": _measure("separation"),
    "centroid_accuracy": _measure("centroid_accuracy"),
    "train_loss": _measure("train_loss"),
    "seconds": _seconds,
    "memory": _memory,
    "grid": grid_range,
}
