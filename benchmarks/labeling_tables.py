"""The tables of docs/howto/label.md, from the results file of labeling.py."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from labeling_person import ORDERS, first_at_least
from results_page import commit_of

RESULTS = Path(__file__).parent / "results" / "labeling-cpu.json"
MISSING = "Not measured yet: `python benchmarks/labeling.py --out benchmarks/results/labeling-cpu.json`.\n"


def kills() -> str:
    """What was lost in kills, and how long one waits."""
    record = _read()
    if record is None:
        return MISSING
    killed, waited, rounds = record["kills"], record["waiting"], record.get("retrain")
    lines = [
        "| measured on the counties | |",
        "|---|---|",
        f"| kills at random moments | {killed['kills']} |",
        f"| answers that were acknowledged before one of them | {killed['acknowledged']:,} |",
        f"| of these lost | **{killed['lost']}** |",
        f"| labeled table has the labels of the answers | {'yes' if killed['table'] else 'no'} |",
        f"| from an answer to the next node, median of {waited['answers']:,} | {waited['median_ms']:.1f} ms |",
        f"| 99 of 100 took at most | {waited['p99_ms']:.1f} ms |",
        f"| the slowest of them | {waited['most_ms']:.1f} ms |",
        f"| took more than 100 ms | {waited['over_100_ms']} of {waited['answers']:,} |",
    ]
    if rounds is not None:
        for stage in ("quick", "thorough"):
            took = rounds[stage]
            lines.append(
                f"| a {stage} round with {rounds['labels']} labels | {took['seconds']:.1f} s "
                f"({took['processor_seconds']:.1f} s of processor time) |"
            )
    loads = [record[part]["load"] for part in ("kills", "waiting", "retrain") if part in record]
    busy = f"The load average was {min(loads):.0f} to {max(loads):.0f}: other programs used the same cores."
    note = f"{busy} " if max(loads) > 2 else ""
    return "\n".join(lines) + f"\n\n{note}{_made(record)}\n"


def person() -> str:
    """Accuracy by labels for both orders, and how many labels reach the goal."""
    record = _read()
    if record is None or not record.get("person", {}).get("graphs"):
        return MISSING
    found = record["person"]
    lines = [
        "| graph | starts | order | " + " | ".join(f"{step} a class" for step in (found["first"], *found["steps"])),
        "|---|---|---|" + "---|" * (len(found["steps"]) + 3),
    ]
    lines[0] += f" | {found['goal']} of each class | labels to get there |"
    for name, starts in found["graphs"].items():
        if not starts:
            continue
        goal = float(np.mean([start["goal"] for start in starts]))
        for order in ORDERS:
            mean = np.mean([start[order] for start in starts], axis=0)
            reached = first_at_least(starts[0]["labels"], mean.tolist(), goal)
            first = f"{name} | {len(starts)}" if order == ORDERS[0] else " | "
            cells = " | ".join(f"{value:.1f}" for value in mean)
            last = f"{goal:.1f}" if order == ORDERS[0] else ""
            most = starts[0]["labels"][-1]
            there = f"more than {most}" if reached is None else f"{reached:.0f} of {most}"
            lines.append(f"| {first} | {order} | {cells} | {last} | {there} |")
    lines += ["", _made(record)]
    return "\n".join(lines) + "\n"


def _made(record: dict[str, Any]) -> str:
    return f"{record['machine']}, {commit_of(record['commit'])}; `{record['command']}`."


def _read() -> dict[str, Any] | None:
    found: dict[str, Any] | None = json.loads(RESULTS.read_text()) if RESULTS.exists() else None
    return found


LABELING_TABLES = {"labeling_kills": kills, "labeling_person": person}
