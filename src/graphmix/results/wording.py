"""Words for results, the same on the terminal, on a page and in the docs: numbers, verdicts, tallies."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphmix.results.record import CellResult, Record
from graphmix.results.run import RunResult
from graphmix.text import counted

# Signs that look different without colour.
MARKS = {
    "reproduced": "✓",
    "higher": "▲",
    "lower": "▼",
    "undecided": "?",
    "no verdict": "–",
    "failed": "✕",
    "unavailable": "⊘",
    "not run": "○",
    "quoted": "❞",
}
MEANINGS = {
    "reproduced": "at most half a point from the paper's number, or no significant difference and within its spread",
    "higher": "above the paper's number by more than half a point, significant at the 5 % level",
    "lower": "below the paper's number by more than half a point, significant at the 5 % level",
    "undecided": "too few trials, or too much spread, to tell",
    "no verdict": "trained for other epochs than the paper's, or without a score, so it is not compared",
    "failed": "the run stopped with an error",
    "unavailable": "its data could not be downloaded",
    "not run": "not run yet",
    "quoted": "quoted from the literature; not run",
}
COMPARED = ("reproduced", "higher", "lower", "undecided")


def outcome(cell: CellResult) -> str | None:
    """The word for a cell, a key of `MARKS`; None for a finished run that has no number of the paper beside it."""
    if cell.status != "done":
        return {"to do": "not run"}.get(cell.status, cell.status)
    if cell.verdict is not None:
        return cell.verdict.word
    return None if cell.paper is None else "no verdict"


def spread(mean: float | None, std: float | None) -> str:
    """Write mean ± standard deviation; a dash if there is no mean."""
    if mean is None:
        return "–"
    return f"{mean:.2f}" if std is None else f"{mean:.2f} ± {std:.2f}"


def spread_of(run: RunResult | None, metric: str) -> str:
    """Mean ± standard deviation of a run's metric; a dash without a run."""
    score = None if run is None else run.score(metric)
    return "–" if score is None else spread(score.mean, score.std)


def failed_trials(run: RunResult) -> str:
    """How many trials failed; empty if none did."""
    return f"{len(run.failed)} of {counted(run.trials, 'trial')} failed" if run.failed else ""


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def each_once(records: Sequence[Record]) -> list[CellResult]:
    """The cells to count: of the paper's tables, if there are any, and each once, where it comes first.

    Tables share cells: what was trained for one is shown in the other beside the paper's number there. A search trains
    a cell of a table again, so it is counted only where there is no table. Cells of a leaderboard are counted only
    where there is nothing of the paper.
    """
    of_paper = [record for record in records if record.of_paper] or records
    tables = [record for record in of_paper if record.kind == "table"] or of_paper
    cells: dict[str, CellResult] = {}
    for place, cell in enumerate(cell for record in tables for cell in record.cells):
        cells.setdefault(_definition(cell) or f"cell {place}", cell)
    return list(cells.values())


def _definition(cell: CellResult) -> str | None:
    """What makes it the same cell in two tables: what its run depends on, or its names and the paper's number."""
    run, paper = cell.run, cell.paper
    if run is not None:
        return json.dumps([run.dataset, run.split, run.split_seeds, run.settings], sort_keys=True)
    return None if paper is None else json.dumps([*cell.place, paper.mean, paper.std])


def count(cells: Iterable[CellResult]) -> dict[str, int]:
    """How many cells came out how, in the order of `MARKS`; runs without a number of the paper are left out."""
    counts = Counter(outcome(cell) for cell in cells)
    return {word: counts[word] for word in MARKS if counts[word]}


def tally(records: Sequence[Record]) -> str:
    """How many computed cells came out how: "102 cells: 20 reproduced, 26 higher"."""
    cells = [cell for cell in each_once(records) if cell.status not in ("quoted", "to do")]
    counts = count(cells)
    done = len(cells) - sum(counts.values())
    words = [f"{number} {'without a verdict' if word == 'no verdict' else word}" for word, number in counts.items()]
    words += [f"{done} done"] if done else []
    return f"{counted(len(cells), 'cell')}: {', '.join(words)}"


def summarise(records: Sequence[Record]) -> str:
    """How cells compare with the paper: "31 of 42 cells reproduced; 6 higher, 5 lower; 3 not run"."""
    cells = each_once(records)
    counts = count(cells)
    compared = sum(counts.get(word, 0) for word in COMPARED)
    clauses = []
    if compared:
        clauses.append(f"{counts.get('reproduced', 0)} of {counted(compared, 'cell')} reproduced")
        off = [f"{counts[word]} {word}" for word in COMPARED[1:] if word in counts]
        clauses += [", ".join(off)] if off else []
        clauses += [f"{counts['no verdict']} without a verdict"] if "no verdict" in counts else []
    else:
        own = [cell for cell in cells if cell.status != "quoted"]
        done = sum(cell.status == "done" for cell in own)
        clauses.append(f"{done} of {counted(len(own), 'cell')} done")
        clauses += ["no verdicts"] if "no verdict" in counts else []
    clauses += [f"{counts[word]} {word}" for word in ("failed", "unavailable", "not run") if word in counts]
    return "; ".join(clauses)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Hyperparameters in words, α and γ by their symbols.

    Example:
        >>> settings_text({"alpha": 1.0, "hops": 4, "hop_weights": "learned"})
        'α = 1, hops = 4, hop_weights = learned'
    """
    symbols = {"alpha": "α", "gamma": "γ"}
    shown = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in settings.items()}
    return ", ".join(f"{symbols.get(name, name)} = {value}" for name, value in shown.items())
