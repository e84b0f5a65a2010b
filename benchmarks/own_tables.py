"""The tables of docs/tables.md, from the results files."""

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from graphmix.cli.outcome_table import outcome_table
from graphmix.results.fit import MIXTURE, FitMetrics
from graphmix.results.names import candidate_title
from graphmix.results.outcome import outcome_lines
from graphmix.results.reader import parse
from graphmix.results.recommendation import recommend
from results_page import commit_of

RESULTS = Path(__file__).parent / "results"


def cora_fit() -> str:
    """What `graphmix fit` printed on Cora."""
    record = _read("fit-cora-cpu.json")
    console = Console(file=io.StringIO(), width=100, color_system=None)
    metrics = parse(FitMetrics, record["metrics"], RESULTS / "fit-cora-cpu.json")
    console.print(outcome_table(metrics))
    for line in (recommend(metrics), *outcome_lines(metrics)):
        console.print(line, markup=False, highlight=False)
    printed = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
    return f"```text\n{printed}\n```\n\n{_made(record)}"


def cora_score() -> str:
    """The score of the predictions on answers that the model has not seen."""
    return "```text\n" + "\n".join(_read("fit-cora-cpu.json")["score"]) + "\n```\n"


def cora_folds() -> str:
    """The same without the column of the split: every label is trained on."""
    record = _read("fit-cora-folds-cpu.json")
    return "```text\n" + "\n".join(record["score"]) + f"\n```\n\n{_made(record)}"


def same_split() -> str:
    """`graphmix fit` compared with `graphmix train`."""
    record = _read("own-graph-h200.json")
    found = record["same split"]
    lines = ["| test accuracy (%) | a network | all together |", "|---|---|---|"]
    for name, key in (("`graphmix fit` on the tables", "fit"), ("`graphmix train cora`", "train")):
        mean, std, together = (found[f"{key}_{part}"] for part in ("mean", "std", "ensemble"))
        lines.append(f"| {name} | {mean:.2f} ± {std:.2f} | {together:.1f} |")
    return "\n".join(lines) + f"\n\n{_made(record)}"


def new_nodes() -> str:
    """Papers that are added after training."""
    record = _read("own-graph-h200.json")
    found = record["new nodes"]
    judged = [repeat["judged"] for repeat in found["repeats"]]
    lines = [
        "| accuracy (%) of papers that | |",
        "|---|---|",
        f"| came after training | {found['new_mean']:.2f} |",
        f"| were there, unlabeled | {found['transductive_mean']:.2f} |",
        f"| difference | {found['difference_mean']:+.2f} ± {found['difference_std']:.2f} |",
        "",
        f"{len(judged)} times {found['taken_out']} papers, {min(judged)} to {max(judged)} of them with a known answer; "
        f"the spread is over the repeats. {_made(record)}",
    ]
    return "\n".join(lines)


def calibration() -> str:
    """Calibration before and after temperature scaling."""
    record = _read("own-graph-h200.json")
    lines = [
        "| | accuracy (%) | temperature | calibration error (%) | after | coverage of 90 % sets | classes in a set |",
        "|---" * 7 + "|",
    ]
    for dataset in ("cora", "citeseer", "pubmed"):
        found = record["calibration"][dataset]
        names = ("accuracy", "temperature", "ece_before", "ece_after", "coverage", "set_size")
        shown = " | ".join(f"{found[f'{name}_mean']:.2f}" for name in names)
        lines.append(f"| {dataset.capitalize()} | {shown} |")
    trials = len(record["calibration"]["cora"]["trials"])
    return "\n".join(lines) + f"\n\nMeans over {trials} networks, each calibrated by itself. {_made(record)}"


def advice() -> str:
    """Wrong labels found by advice, and accuracy gained."""
    record = _read("advise-cpu.json")
    doubted, added = record["suspects"], record["next_labels"]
    gain = added["gain"]
    means = {name: sum(added[f"{name}_accuracy"]) / len(added[f"{name}_accuracy"]) for name in ("advised", "random")}
    named = [len(trial["named"]) for trial in doubted["trials"]]
    lines = [
        "| | by advice | at random |",
        "|---|---|---|",
        f"| wrong ones among the labels it doubts, {max(named)} at most, {doubted['chance']:.0%} of "
        f"{doubted['labels']} being wrong | {doubted['precision']:.0%} | {doubted['chance']:.0%} |",
        f"| test accuracy with {added['labels']} labels and {added['added']} more (%) | {means['advised']:.1f} | "
        f"{means['random']:.1f} |",
        "",
        f"{len(doubted['trials'])} times other labels made wrong; {len(added['advised_accuracy'])} starts, the gain "
        f"over random labels {100 * gain['mean']:+.1f} points (95 % interval {100 * gain['low']:+.1f} to "
        f"{100 * gain['high']:+.1f}). {_made(record)}",
    ]
    return "\n".join(lines)


def large() -> str:
    """Seconds and memory of a large graph."""
    record = _read("fit-million-cpu.json")
    metrics = parse(FitMetrics, record["metrics"], RESULTS / "fit-million-cpu.json")
    seconds = metrics.seconds or {}
    lines = ["| stage | seconds |", "|---|---|", *(f"| {name} | {value:,.1f} |" for name, value in seconds.items())]
    tried = [each for each in metrics.candidates if each.method != MIXTURE]
    trained = ", ".join(f"{candidate_title(each, metrics)} {each.seconds:,.0f}" for each in tried)
    lines += [
        "",
        f"Of the training: {trained} seconds ({metrics.trials} trials). Peak memory "
        f"{metrics.peak_memory_gib:.1f} GiB. The predictions: {'; '.join(record['score'])}. {_made(record)}",
    ]
    return "\n".join(lines)


def _made(record: dict[str, Any]) -> str:
    machine = record.get("machine") or record["device"]
    return (
        f"{machine}, torch {record['versions']['torch']}, {commit_of(record.get('commit'))}; `{record['command']}`.\n"
    )


def _read(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((RESULTS / name).read_text())
    return record


OWN_TABLES = {
    "cora_fit": cora_fit,
    "cora_score": cora_score,
    "cora_folds": cora_folds,
    "same_split": same_split,
    "new_nodes": new_nodes,
    "calibration": calibration,
    "advice": advice,
    "large": large,
}
