"""The table of docs/howto/explain.md: are reasons faithful?"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphmix.results.wording import duration
from results_page import commit_of

RESULTS = Path(__file__).parent / "results" / "explain-cpu.json"
TITLES = {"cora": "Cora", "citeseer": "Citeseer", "counties": "counties", "acm": "ACM"}
_SAME = 0.01
PARTS = {"nodes": "nodes nearby", "cells": "words or columns", "trained_again": "labels, trained again"}


def faithful() -> str:
    """Return the falls of named and of random things by graph, and how long it took."""
    record = json.loads(RESULTS.read_text())
    lines = [
        "| graph | left out | points lost, named | points lost, random | difference (95 %) | named more, same, less |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in record["graphs"].items():
        lines += [_line(TITLES[name], title, found[part]) for part, title in PARTS.items() if found[part] is not None]
    times = ", ".join(
        f"{TITLES[name]} {duration(found['time']['seconds'])}" for name, found in record["graphs"].items()
    )
    timed = next(iter(record["graphs"].values()))["time"]
    commits = ", ".join(dict.fromkeys(found["commit"] for found in record["graphs"].values()))
    made = f"{record['machine']}, {commit_of(commits)}; `{record['command']}`"
    said = f"Time for {timed['nodes']} explanations with {timed['threads']} threads: {times}."
    return "\n".join([*lines, "", f"{said} {made}."]) + "\n"


def _line(graph: str, what: str, one: dict[str, Any]) -> str:
    error = 1.96 * one["error"]
    ahead = f"{one['ahead']:.1f} ± {error:.1f}".replace("-", "−")
    cells = (
        graph,
        what,
        f"{one['named']:.1f}".replace("-", "−"),
        f"{one['random']:.1f}".replace("-", "−"),
        ahead,
        _counts(one["pairs"]),
    )
    return "| " + " | ".join(cells) + " |"


def _counts(pairs: list[list[float]]) -> str:
    """Count how often the named loses more than the random, as much to a hundredth of a point, and less."""
    ahead = [named - random for named, random in pairs]
    more, less = sum(each > _SAME for each in ahead), sum(each < -_SAME for each in ahead)
    return f"{more}, {len(ahead) - more - less}, {less}"


EXPLAIN_TABLES: dict[str, Callable[[], str]] = {"explain_faithful": faithful}
