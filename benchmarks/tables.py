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

from graphmix.cli.paper import PAPER, title
from graphmix.cli.screen import results_table

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
    """GCN and GraphMix(GCN) beside the paper's, every dataset and reading."""
    record = read("gcn-h200.json")
    lines = [
        "| dataset | method | paper's number | reading `paper` | reading `released` |",
        "|---|---|---|---|---|",
    ]
    cells = {(cell["dataset"], cell["method"], cell["reading"]): cell for cell in record["cells"]}
    for dataset, method in dict.fromkeys((dataset, method) for dataset, method, _ in cells):
        mean, std, _ = PAPER[dataset, "public", "gcn", method]
        ours = [cells[dataset, method, reading] for reading in ("paper", "released")]
        shown = " | ".join(f"{spread(cell)} ({distance(cell):+.1f})" for cell in ours)
        lines.append(f"| {dataset} | {title(method, 'gcn')} | {mean:.2f} ± {std:.2f} | {shown} |")
    some = record["cells"][0]
    lines += [
        "",
        f"{some['trials']} trials each, mean ± standard deviation of the test accuracy in percent at the epoch with "
        "the best validation accuracy; in brackets the difference from the paper in its standard errors. "
        f"{made_on(some)}; `benchmarks/accuracy.py gcn`.",
    ]
    return "\n".join(lines) + "\n"


def spread(cell: dict, metric: str = "test_accuracy") -> str:
    """Mean ± standard deviation over a cell's trials."""
    return f"{cell[f'{metric}_mean']:.2f} ± {cell[f'{metric}_std']:.2f}"


def distance(cell: dict, metric: str | None = None) -> float:
    """How far a cell is from the paper's number, in standard errors of the difference; the paper has 100 trials."""
    mean, std, quoted = PAPER[cell["dataset"], cell["split"], cell["backbone"], cell["method"]]
    metric = metric or quoted
    error = math.sqrt(std**2 / 100 + cell[f"{metric}_std"] ** 2 / cell["trials"])
    return (cell[f"{metric}_mean"] - mean) / error


def made_on(cell: dict) -> str:
    """Where and with what a cell was computed."""
    return f"{cell['device']}, torch {cell['versions']['torch']}, commit {cell['commit'][:10]}"


def speed() -> str:
    """Milliseconds per epoch and trial against the plain implementation."""
    lines = ["| machine | dataset | method | ours (ms) | plain (ms) | ratio |", "|---|---|---|---|---|---|"]
    records = [read("bench-cpu.json"), read("bench-h200.json")]
    for record in records:
        for row in record["rows"]:
            figures = f"{row['ours_ms']:.3f} | {row['plain_ms']:.1f} | {row['ratio']:.0f}"
            lines.append(f"| {record['device']} | {row['dataset']} | {title(row['method'], 'gcn')} | {figures} |")
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
