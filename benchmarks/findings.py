"""The tables of docs/reproduction.md: what did not reproduce, and the experiments that show why."""

import json
import math
from pathlib import Path
from statistics import fmean, stdev

from graphmix.results import formats
from graphmix.results.reader import parse, read_file
from graphmix.results.record import Record
from graphmix.results.run import RunResult
from graphmix.results.wording import spread, spread_of
from results_page import commit_of, read_records, verdict

HERE = Path(__file__).parent
DRAWN = ("any nodes", "20 a class", "20 a class, largest component")


def readings() -> str:
    """Pubmed by both readings, every row that has both."""
    (record,) = read_records("standard-split")
    lines = ["| Pubmed | paper | reading `paper` | reading `released` |", "|---|---|---|---|"]
    cells = {(cell.row, cell.reading): cell for cell in record.cells if cell.column == "Pubmed"}
    for row in record.rows:
        both = [cells.get((row, reading)) for reading in ("paper", "released")]
        if all(cell and cell.run for cell in both):
            paper = spread(both[0].paper.mean, both[0].paper.std)
            shown = " | ".join(f"{spread_of(cell.run, 'test_accuracy')} ({verdict(cell)})" for cell in both)
            lines.append(f"| {row} | {paper} | {shown} |")
    return "\n".join(lines) + "\n"


def drawn() -> str:
    """Which training nodes a random split draws."""
    return _tried(lambda name: any(name.endswith(f", {kind}") for kind in DRAWN))


def validated() -> str:
    """The number of validation nodes that select an epoch when labels are few."""
    return _tried(lambda name: "validated" in name)


def uniform() -> str:
    """Random splits that ignore classes, with a hundred trials."""
    record = read_file(Record, HERE / "results" / "uniform-splits-h200.json", formats.RECORD)
    cells = {(cell.column, cell.row, cell.reading): cell for cell in record.cells if cell.run}
    lines = ["| any nodes | reading | GCN | GraphMix(GCN) | gain | standard error |", "|---|---|---|---|---|---|"]
    for column in record.columns:
        for reading in record.readings:
            plain, mixed = (cells[column, row, reading].run for row in ("GCN", "GraphMix(GCN)"))
            lines.append(f"| {column} | {reading} | {_pair(plain, mixed)} |")
    some = next(iter(cells.values()))
    lines += ["", f"{some.run.trials} trials on ten splits. {_made(some.run, some.outcome.commit)}."]
    return "\n".join(lines) + "\n"


def fewer() -> str:
    """What GraphMix(GCN) gains over the GCN as labels shrink, ours and the paper's."""
    lines = ["| | labels a class | GCN | GraphMix(GCN) | gain | standard error | the paper's gain |", "|---" * 7 + "|"]
    (few,) = read_records("fewer-labels")
    (many,) = read_records("random-splits")
    for dataset in ("Cora", "Citeseer", "Pubmed"):
        for labels, record, column in ((5, few, f"{dataset} K=5"), (10, few, f"{dataset} K=10"), (20, many, dataset)):
            done = (cell for cell in record.cells if cell.column == column and cell.run)
            by = {cell.row: cell for cell in done if cell.reading == "paper"}
            if {"GCN", "GraphMix(GCN)"} <= set(by):
                plain, mixed = by["GCN"], by["GraphMix(GCN)"]
                theirs = mixed.paper.mean - plain.paper.mean
                lines.append(f"| {dataset} | {labels} | {_pair(plain.run, mixed.run)} | {theirs:+.2f} |")
    return "\n".join(lines) + "\n"


def ablation() -> str:
    """The four rows of the ablation, ours beside the paper's."""
    (record,) = read_records("ablation")
    heads = " | ".join(record.rows)
    lines = [f"| | reading | {heads} |", "|---" * (2 + len(record.rows)) + "|"]
    for column in record.columns:
        cells = {(cell.row, cell.reading): cell for cell in record.cells if cell.column == column}
        for reading in record.readings:
            shown = " | ".join(spread_of(cells[row, reading].run, "test_accuracy") for row in record.rows)
            lines.append(f"| {column} | {reading} | {shown} |")
        theirs = " | ".join(f"{cells[row, 'paper'].paper.mean:.2f}" for row in record.rows)
        lines.append(f"| {column} | the paper's | {theirs} |")
    return "\n".join(lines) + "\n"


def _tried(wanted) -> str:
    path = HERE / "results" / "why-cpu.json"
    record = json.loads(path.read_text())
    tried = {cell["name"]: None for cell in record["cells"] if wanted(cell["name"])}
    runs = [(cell["name"], parse(RunResult, cell, path)) for cell in record["cells"] if cell["name"] in tried]
    by = {(name, run.method): run for name, run in runs}
    lines = ["| training nodes | GCN | GraphMix(GCN) | gain | standard error |", "|---|---|---|---|---|"]
    for name in tried:
        plain, mixed = by[name, "supervised"], by[name, "graphmix"]
        lines.append(f"| {name} | {_pair(plain, mixed)} |")
    some = next(iter(by.values()))
    made = _made(some, record["commit"])
    lines += [
        "",
        f"{some.trials} trials, each on a split of its own, the same for both. {made}; `benchmarks/why.py`.",
    ]
    return "\n".join(lines) + "\n"


def _pair(plain: RunResult, mixed: RunResult) -> str:
    """Both scores, the gain, and its standard error over trials, or over splits if trials share them."""
    shown = [spread_of(run, "test_accuracy") for run in (plain, mixed)]
    gain = mixed.test_accuracy.mean - plain.test_accuracy.mean
    if plain.trials != mixed.trials or plain.split_seeds != mixed.split_seeds:
        error = math.sqrt(sum(run.test_accuracy.std**2 / run.trials for run in (plain, mixed)))
        return f"{shown[0]} | {shown[1]} | {gain:+.2f} | {error:.2f}"
    gains = [two - one for one, two in zip(plain.test_accuracy.values, mixed.test_accuracy.values, strict=True)]
    seeds = plain.split_seeds or list(range(len(gains)))
    pairs = list(zip(seeds, gains, strict=True))
    means = [fmean(value for own, value in pairs if own == seed) for seed in dict.fromkeys(seeds)]
    return f"{shown[0]} | {shown[1]} | {gain:+.2f} | {stdev(means) / math.sqrt(len(means)):.2f}"


def _made(run: RunResult, commit: str | None) -> str:
    return f"{run.device}, torch {run.versions['torch']}, {commit_of(commit)}"


FINDINGS = {
    "readings": readings,
    "drawn": drawn,
    "uniform": uniform,
    "fewer": fewer,
    "validated": validated,
    "ablation": ablation,
}
