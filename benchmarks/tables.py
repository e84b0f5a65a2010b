"""Write the README's tables from the results files beside this script.

    python benchmarks/tables.py          rewrite the README where it differs
    python benchmarks/tables.py --check  only say whether it does

A block between `<!-- table: NAME -->` and `<!-- end -->` is replaced by what the function of that name returns.
"""

import argparse
import io
import json
import math
import re
import sys
from pathlib import Path

from rich.console import Console

from graphmix.cli.screen import PAPER, TITLES, results_table

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite or check the README."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    old = README.read_text()
    new = render(old)
    if options.check:
        sys.exit("README.md differs from benchmarks/results; run python benchmarks/tables.py" if new != old else 0)
    README.write_text(new)


def render(text: str) -> str:
    """Fill every block of a text."""
    return BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], text)


def demo() -> str:
    """What `graphmix demo` printed."""
    record = read("demo-cpu.json")
    console = Console(file=io.StringIO(), width=90, color_system=None)
    console.print(results_table(record["runs"], record["title"]))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]
    return "```\n" + "\n".join(lines) + "\n```\n"


def accuracy() -> str:
    """Ours beside the paper's, every dataset, method and reading."""
    record = read("accuracy-h200.json")
    lines = [
        "| dataset | method | paper's number | reading `paper` | reading `released` |",
        "|---|---|---|---|---|",
    ]
    cells = {(cell["dataset"], cell["method"], cell["reading"]): cell for cell in record["cells"]}
    for (dataset, method), (mean, std) in PAPER.items():
        ours = [cells[dataset, method, reading] for reading in ("paper", "released")]
        shown = " | ".join(beside(cell, mean, std) for cell in ours)
        lines.append(f"| {dataset} | {TITLES[method]} | {mean:.2f} ± {std:.2f} | {shown} |")
    some = record["cells"][0]
    lines += [
        "",
        f"{some['trials']} trials each, mean ± standard deviation of the test accuracy in percent at the epoch with "
        "the best validation accuracy; in brackets the difference from the paper in its standard errors. "
        f"{some['device']}, torch {some['versions']['torch']}, commit {some['commit'][:10]}; "
        "`benchmarks/accuracy.py`, `benchmarks/results/accuracy-h200.json`.",
    ]
    return "\n".join(lines) + "\n"


def beside(cell: dict, mean: float, std: float) -> str:
    """Ours, and how far from the paper's in standard errors, which are of 100 trials there as here."""
    error = math.sqrt(std**2 / 100 + cell["test_accuracy_std"] ** 2 / cell["trials"])
    distance = (cell["test_accuracy_mean"] - mean) / error
    return f"{cell['test_accuracy_mean']:.2f} ± {cell['test_accuracy_std']:.2f} ({distance:+.1f})"


def speed() -> str:
    """Milliseconds per epoch and trial against the plain implementation."""
    lines = ["| machine | dataset | method | ours (ms) | plain (ms) | ratio |", "|---|---|---|---|---|---|"]
    records = [read("bench-cpu.json"), read("bench-h200.json")]
    for record in records:
        for row in record["rows"]:
            figures = f"{row['ours_ms']:.3f} | {row['plain_ms']:.1f} | {row['ratio']:.0f}"
            lines.append(f"| {record['device']} | {row['dataset']} | {TITLES[row['method']]} | {figures} |")
    whole = records[1]["hundred_trials"]
    lines += [
        "",
        f"100 trials × 2,000 epochs of GraphMix(GCN) on Cora took {whole['seconds']:.1f} s on the "
        f"{records[1]['device']}, with {whole['peak_gib']:.2f} GiB of its memory at the peak. "
        "`make bench`, `benchmarks/results/bench-*.json`.",
    ]
    return "\n".join(lines) + "\n"


def read(name: str) -> dict:
    """Read a results file."""
    return json.loads((HERE / "results" / name).read_text())


TABLES = {"demo": demo, "accuracy": accuracy, "speed": speed}

if __name__ == "__main__":
    main()
