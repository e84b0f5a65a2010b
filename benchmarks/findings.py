"""The tables of docs/reproduction.md: what did not reproduce, and the experiments that show why."""

import json
import math
from pathlib import Path
from statistics import fmean, stdev

from results_page import read_records, spread, verdict

HERE = Path(__file__).parent
DRAWN = ("any nodes", "20 a class", "20 a class, largest component")


def readings() -> str:
    """Pubmed by both readings, every row that has both."""
    (record,) = read_records("standard-split")
    lines = ["| Pubmed | paper | reading `paper` | reading `released` |", "|---|---|---|---|"]
    cells = {(cell["row"], cell["reading"]): cell for cell in record["cells"] if cell["column"] == "Pubmed"}
    for row in record["rows"]:
        both = [cells.get((row, reading)) for reading in ("paper", "released")]
        if all(cell and cell["run"] for cell in both):
            paper = f"{both[0]['paper']['mean']:.2f} ± {both[0]['paper']['std']:.2f}"
            shown = " | ".join(f"{spread(cell, 'test_accuracy')} ({verdict(cell)})" for cell in both)
            lines.append(f"| {row} | {paper} | {shown} |")
    return "\n".join(lines) + "\n"


def drawn() -> str:
    """Which training nodes a random split draws."""
    return _tried(lambda name: any(name.endswith(f", {kind}") for kind in DRAWN))


def validated() -> str:
    """By how many validation nodes an epoch is chosen when labels are few."""
    return _tried(lambda name: "validated" in name)


def uniform() -> str:
    """Random splits that do not look at classes, with a hundred trials."""
    record = json.loads((HERE / "results" / "uniform-splits-h200.json").read_text())
    cells = {(cell["column"], cell["row"], cell["reading"]): cell for cell in record["cells"] if cell["run"]}
    lines = ["| any nodes | reading | GCN | GraphMix(GCN) | gain | standard error |", "|---|---|---|---|---|---|"]
    for column in record["columns"]:
        for reading in record["readings"]:
            plain, mixed = (cells[column, row, reading]["run"] for row in ("GCN", "GraphMix(GCN)"))
            lines.append(f"| {column} | {reading} | {_pair(plain, mixed)} |")
    some = next(iter(cells.values()))
    lines += ["", f"{some['run']['trials']} trials on ten splits. {_made(some['run'], some['commit'])}."]
    return "\n".join(lines) + "\n"


def fewer() -> str:
    """What GraphMix(GCN) gains over the GCN as labels shrink, ours and the paper's."""
    lines = ["| | labels a class | GCN | GraphMix(GCN) | gain | standard error | the paper's gain |", "|---" * 7 + "|"]
    (few,) = read_records("fewer-labels")
    (many,) = read_records("random-splits")
    for dataset in ("Cora", "Citeseer", "Pubmed"):
        for labels, record, column in ((5, few, f"{dataset} K=5"), (10, few, f"{dataset} K=10"), (20, many, dataset)):
            done = (cell for cell in record["cells"] if cell["column"] == column and cell["run"])
            by = {cell["row"]: cell for cell in done if cell["reading"] == "paper"}
            if {"GCN", "GraphMix(GCN)"} <= set(by):
                plain, mixed = by["GCN"], by["GraphMix(GCN)"]
                theirs = mixed["paper"]["mean"] - plain["paper"]["mean"]
                lines.append(f"| {dataset} | {labels} | {_pair(plain['run'], mixed['run'])} | {theirs:+.2f} |")
    return "\n".join(lines) + "\n"


def ablation() -> str:
    """The four rows of the ablation, ours beside the paper's."""
    (record,) = read_records("ablation")
    heads = " | ".join(record["rows"])
    lines = [f"| | reading | {heads} |", "|---" * (2 + len(record["rows"])) + "|"]
    for column in record["columns"]:
        cells = {(cell["row"], cell["reading"]): cell for cell in record["cells"] if cell["column"] == column}
        for reading in record["readings"]:
            shown = " | ".join(spread(cells[row, reading], "test_accuracy") for row in record["rows"])
            lines.append(f"| {column} | {reading} | {shown} |")
        theirs = " | ".join(f"{cells[row, 'paper']['paper']['mean']:.2f}" for row in record["rows"])
        lines.append(f"| {column} | the paper's | {theirs} |")
    return "\n".join(lines) + "\n"


def _tried(wanted) -> str:
    record = json.loads((HERE / "results" / "why-cpu.json").read_text())
    by = {(cell["name"], cell["method"]): cell for cell in record["cells"] if wanted(cell["name"])}
    lines = ["| training nodes | GCN | GraphMix(GCN) | gain | standard error |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(name for name, _ in by):
        plain, mixed = by[name, "supervised"], by[name, "graphmix"]
        lines.append(f"| {name} | {_pair(plain, mixed)} |")
    some = next(iter(by.values()))
    made = _made(some, record["commit"])
    lines += [
        "",
        f"{some['trials']} trials, each on a split of its own, the same for both. {made}; `benchmarks/why.py`.",
    ]
    return "\n".join(lines) + "\n"


def _pair(plain: dict, mixed: dict) -> str:
    """Both, the gain, and its standard error, over what is independent: trials, or splits where trials share them."""
    shown = [f"{run['test_accuracy_mean']:.2f} ± {run['test_accuracy_std']:.2f}" for run in (plain, mixed)]
    gain = mixed["test_accuracy_mean"] - plain["test_accuracy_mean"]
    if plain["trials"] != mixed["trials"] or plain["split_seeds"] != mixed["split_seeds"]:
        error = math.sqrt(sum(run["test_accuracy_std"] ** 2 / run["trials"] for run in (plain, mixed)))
        return f"{shown[0]} | {shown[1]} | {gain:+.2f} | {error:.2f}"
    gains = [two - one for one, two in zip(plain["test_accuracy"], mixed["test_accuracy"], strict=True)]
    seeds = plain["split_seeds"] or list(range(len(gains)))
    pairs = list(zip(seeds, gains, strict=True))
    means = [fmean(value for own, value in pairs if own == seed) for seed in dict.fromkeys(seeds)]
    return f"{shown[0]} | {shown[1]} | {gain:+.2f} | {stdev(means) / math.sqrt(len(means)):.2f}"


def _made(run: dict, commit: str) -> str:
    return f"{run['device']}, torch {run['versions']['torch']}, commit {commit}"


FINDINGS = {
    "readings": readings,
    "drawn": drawn,
    "uniform": uniform,
    "fewer": fewer,
    "validated": validated,
    "ablation": ablation,
}
