"""The table of docs/threat-model.md, from the results file of bad_inputs.py."""

import json
from pathlib import Path

from results_page import commit_of

RESULTS = Path(__file__).parent / "results" / "bad-inputs.json"


def bad_inputs() -> str:
    """How many cases of each kind were tried, and how many of them had a fault."""
    if not RESULTS.exists():
        return "Not measured yet: `python benchmarks/bad_inputs.py --out benchmarks/results/bad-inputs.json`.\n"
    found = json.loads(RESULTS.read_text())
    kills = found["killed"]
    lines = ["| tried | cases |", "|---|---|"]
    lines += [f"| {kind} | {count:,} |" for kind, count in found["kinds"].items()]
    lines += [f"| **all** | **{found['cases']:,}** |", "", "| found | cases |", "|---|---|"]
    lines += [f"| {fault} | {count:,} |" for fault, count in found["faults"].items()]
    same = kills["kills"] - kills["same_bytes"]
    by_command = ", ".join(f"{name} {count}" for name, count in kills["commands"].items())
    lines += [f"| other bytes after one of {kills['kills']} kills | {same:,} |", ""]
    made = f"{found['machine']}, {commit_of(found['commit'])}, seed {found['seed']}; `{found['command']}`"
    return "\n".join(lines) + f"\nThe kills were of {by_command}. {made}.\n"


BAD_INPUTS_TABLES = {"bad_inputs": bad_inputs}
