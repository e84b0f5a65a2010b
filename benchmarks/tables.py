"""Write the README's tables, the pages of docs/results/, the leaderboard and other pages' tables from results files.

    python benchmarks/tables.py          rewrite what differs
    python benchmarks/tables.py --check  only report whether something differs

A block between `<!-- table: NAME -->` and `<!-- end -->` is replaced by what the function of that name returns, here
for the README, docs/howto and docs/scale.md, in findings.py for docs/reproduction.md, in own_tables.py for
docs/tables.md, in settings_table.py for docs/howto/hyperparameters.md, in bad_inputs_table.py for docs/threat-model.md,
in steady_table.py for docs/design/0017-steady-graphmix.md, in recipe_tables.py for docs/design/0024-recipe.md, in
wild_tables.py for docs/wild.md, the README and docs/index.md; the pages of docs/results/ (results_overview.py),
docs/leaderboard.md (leaderboard_page.py) and docs/label-rates.md (label_page.py) are written whole.
"""

import argparse
import io
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bad_inputs_table import BAD_INPUTS_TABLES
from findings import FINDINGS
from graphmix.cli.screen import results_table
from graphmix.results.names import title
from graphmix.results.reader import parse
from graphmix.results.run import RunResult
from graphmix.results.wording import spread, spread_of
from label_page import page as label_rates
from leaderboard_page import page as leaderboard
from own_tables import OWN_TABLES
from page_tables import PAGE_TABLES
from results_overview import pages
from results_page import commit_of, read_records, signed, verdict
from settings_table import SETTINGS_TABLES
from steady_table import STEADY_TABLES
from wild_tables import WILD_TABLES

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
RESULTS_PAGES = HERE.parent / "docs" / "results"
LEADERBOARD_PAGE = HERE.parent / "docs" / "leaderboard.md"
LABELS_PAGE = HERE.parent / "docs" / "label-rates.md"
FRONT_PAGE = HERE.parent / "docs" / "index.md"
REPRODUCTION = HERE.parent / "docs" / "reproduction.md"
OWN_PAGE = HERE.parent / "docs" / "tables.md"
THREAT_PAGE = HERE.parent / "docs" / "threat-model.md"
STEADY_PAGE = HERE.parent / "docs" / "design" / "0017-steady-graphmix.md"
WILD_PAGE = HERE.parent / "docs" / "wild.md"
SETTINGS_PAGE = HERE.parent / "docs" / "howto" / "hyperparameters.md"
REPRODUCE_PAGE = HERE.parent / "docs" / "howto" / "reproduce.md"
WRAP_PAGE = HERE.parent / "docs" / "howto" / "pyg-model.md"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite or check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    written = {
        README: render(README.read_text(), TABLES | {"wild_front": front_of_readme}),
        REPRODUCE_PAGE: render(REPRODUCE_PAGE.read_text(), TABLES),
        WRAP_PAGE: render(WRAP_PAGE.read_text(), TABLES),
        REPRODUCTION: render(REPRODUCTION.read_text(), FINDINGS),
        OWN_PAGE: render(OWN_PAGE.read_text(), OWN_TABLES),
        THREAT_PAGE: render(THREAT_PAGE.read_text(), BAD_INPUTS_TABLES),
        SETTINGS_PAGE: render(SETTINGS_PAGE.read_text(), SETTINGS_TABLES),
        STEADY_PAGE: render(STEADY_PAGE.read_text(), STEADY_TABLES),
        WILD_PAGE: render(WILD_PAGE.read_text(), WILD_TABLES),
        **{path: render(path.read_text(), TABLES | tables) for path, tables in PAGE_TABLES.items()},
        FRONT_PAGE: render(FRONT_PAGE.read_text(), WILD_TABLES),
    }
    written[LEADERBOARD_PAGE] = leaderboard()
    written[LABELS_PAGE] = label_rates()
    written |= {RESULTS_PAGES / name: text for name, text in pages().items()}
    for path, new in written.items():
        old = path.read_text() if path.exists() else ""
        if new != old and options.check:
            sys.exit(f"{path.name} differs from the results files or the code; run python benchmarks/tables.py")
        if new != old:
            path.write_text(new)


def render(text: str, tables: dict[str, Callable[[], str]]) -> str:
    """Fill every block of a text."""
    return BLOCK.sub(lambda block: block[1] + tables[block[2]]() + block[3], text)


def front_of_readme() -> str:
    """The sentence below the picture; links of the site begin in docs/."""
    return re.sub(r"\]\((\w+\.md)", r"](docs/\1", WILD_TABLES["wild_front"]())


def demo() -> str:
    """What `graphmix demo` printed."""
    record = read("demo-cpu.json")
    runs = [parse(RunResult, run, HERE / "results" / "demo-cpu.json") for run in record["runs"]]
    console = Console(file=io.StringIO(), width=90, color_system=None)
    console.print(results_table(runs, record["title"]))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    made = f"{runs[0].device}, torch {runs[0].versions['torch']}, {commit_of(record.get('commit'))}; `graphmix demo`."
    return "```\n" + "\n".join(lines) + f"\n```\n\n{made}\n"


def headline() -> str:
    """GCN and GraphMix(GCN) on the standard split, every dataset and reading."""
    (record,) = read_records("standard-split")
    lines = ["| dataset | method | paper | reading `paper` | reading `released` |", "|---|---|---|---|---|"]
    cells = {(cell.column, cell.row, cell.reading): cell for cell in record.cells}
    for column in record.columns:
        for row in ("GCN", "GraphMix(GCN)"):
            ours = [cells[column, row, reading] for reading in record.readings]
            paper = spread(ours[0].paper.mean, ours[0].paper.std)
            shown = " | ".join(
                f"{spread_of(cell.run, record.metric)} ({signed(cell)}, {verdict(cell)})" for cell in ours
            )
            lines.append(f"| {column} | {row} | {paper} | {shown} |")
    some = cells[record.columns[0], "GCN", "paper"]
    lines += [
        "",
        "Test accuracy in percent, mean ± standard deviation at the epoch with the best validation accuracy; in "
        "brackets the difference from the paper and the verdict. "
        f"{some.run.trials} trials each, as in the paper. {some.run.device}, "
        f"torch {some.run.versions['torch']}, {commit_of(some.outcome.commit)}; "
        f"`{record.command}`.",
    ]
    return "\n".join(lines) + "\n"


def wrapped() -> str:
    """Networks of PyTorch Geometric, plainly trained and with GraphMix."""
    lines = ["| network | supervised | GraphMix | gain | standard error |", "|---|---|---|---|---|"]
    record = read("wrapped-h200.json")
    by = {(cell["network"], cell["method"]): cell for cell in record["cells"]}
    for network in dict.fromkeys(network for network, _ in by):
        plain, mixed = by[network, "supervised"], by[network, "graphmix"]
        gain = mixed["test_accuracy_mean"] - plain["test_accuracy_mean"]
        error = math.sqrt(sum(cell["test_accuracy_std"] ** 2 / cell["trials"] for cell in (plain, mixed)))
        shown = " | ".join(spread(cell["test_accuracy_mean"], cell["test_accuracy_std"]) for cell in (plain, mixed))
        lines.append(f"| {network} | {shown} | {gain:+.2f} | {error:.2f} |")
    some = record["cells"][0]
    lines += [
        "",
        f"Citeseer, public split, {some['trials']} trials of {some['epochs']} epochs, nothing tuned. {some['device']}, "
        f"torch {some['versions']['torch']}, {commit_of(some['commit'][:13])}; `benchmarks/wrapped.py`.",
    ]
    return "\n".join(lines) + "\n"


def speed() -> str:
    """Milliseconds per epoch and trial against the plain implementation."""
    lines = ["| machine | dataset | method | ours (ms) | plain (ms) | ratio |", "|---|---|---|---|---|---|"]
    records = [read("bench-cpu.json"), read("bench-h200.json")]
    for record in records:
        for row in record["rows"]:
            figures = f"{row['ours_ms']:.3f} | {row['plain_ms']:.1f} | {row['ratio']:.0f}"
            lines.append(f"| {record['device']} | {row['dataset']} | {title(row['method'], 'gcn')} | {figures} |")
    commits = dict.fromkeys(commit_of(record.get("commit")) for record in records)
    lines += ["", f"`make bench`, `benchmarks/results/bench-*.json`; {' and '.join(commits)}."]
    return "\n".join(lines) + "\n"


def cells() -> str:
    """Seconds and memory of whole cells of the paper on CUDA."""
    lines = ["| dataset | method | reading | trials | seconds | peak memory (GiB) |", "|---|---|---|---|---|---|"]
    record = read("bench-h200.json")
    for row in record["cells"]:
        seconds = f"{row['seconds']:.1f}" if row["whole"] else f"about {row['seconds']:.0f}"
        name = title(row["method"], row["backbone"])
        shown = (row["dataset"], name, row["reading"], row["trials"], seconds, f"{row['peak_gib']:.2f}")
        lines.append(f"| {' | '.join(map(str, shown))} |")
    lines += [
        "",
        "2,000 epochs each, the second run of a process. *About*: estimated from two shorter runs. "
        f"{record['device']}, "
        f"torch {record['torch']}, {commit_of(record['commit'])}; `make bench`.",
    ]
    return "\n".join(lines) + "\n"


def read(name: str) -> dict:
    """Read a results file of the benchmarks."""
    return json.loads((HERE / "results" / name).read_text())


TABLES = {"demo": demo, "headline": headline, "wrapped": wrapped, "speed": speed, "cells": cells}

if __name__ == "__main__":
    main()
