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
# The paper's DeepWalk row gives no spread.
DEEPWALK = {"bitcoin-otc": "63.20", "bitcoin-alpha": "62.71"}
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


def backbones() -> str:
    """Every other row of the paper on the public split: GAT, Graph U-Net, self-training."""
    return beside_the_paper(
        ["gat-h200.json", "unet-h200.json", "self-training-h200.json", "pubmed-cpu.json"],
        "`benchmarks/accuracy.py gat unet self-training pubmed`",
    )


def larger() -> str:
    """The coauthor graphs, and how long they take."""
    cells = read("larger-h200.json")["cells"]
    physics = next(cell for cell in cells if cell["dataset"] == "coauthor-physics" and cell["method"] == "graphmix")
    alone = read("physics-cpu.json")["cells"][0]
    early = sum(epoch < alone["rampup_start"] for epoch in physics["best_epoch"])
    lines = [
        "",
        f"Of the {physics['trials']} trials of GraphMix(GCN) on Physics by the paper's reading, {early} keep an epoch "
        "from before predicted targets count at all. They took "
        f"{physics['seconds']:.0f} seconds together on the H200; on one core of a CPU a trial takes "
        f"{alone['seconds'] / 60:.0f} minutes.",
    ]
    return beside_the_paper(["larger-h200.json"], "`benchmarks/accuracy.py larger`") + "\n".join(lines) + "\n"


def beside_the_paper(names: list[str], command: str) -> str:
    """Cells of several files beside the paper's numbers."""
    lines = [
        "| dataset | method | reading | paper's number | ours | difference | trials |",
        "|---|---|---|---|---|---|---|",
    ]
    cells = [cell for name in names for cell in read(name)["cells"]]
    order = list(dict.fromkeys(cell["dataset"] for cell in read("gcn-h200.json")["cells"] + cells))
    for cell in sorted(cells, key=lambda cell: (order.index(cell["dataset"]), cell["reading"], cell["backbone"])):
        mean, std, _ = PAPER[cell["dataset"], cell["split"], cell["backbone"], cell["method"]]
        off, name = cell["test_accuracy_mean"] - mean, title(cell["method"], cell["backbone"])
        ours = f"{spread(cell)} | {off:+.2f} ({distance(cell):+.1f}) | {cell['trials']}"
        lines.append(f"| {cell['dataset']} | {name} | {cell['reading']} | {mean:.2f} ± {std:.2f} | {ours} |")
    machines = "; ".join(dict.fromkeys(made_on(cell) for cell in cells))
    lines += [
        "",
        "Test accuracy in percent, mean ± standard deviation; the difference from the paper in points and, in "
        f"brackets, in standard errors. {machines}; {command}.",
    ]
    return "\n".join(lines) + "\n"


def links() -> str:
    """Signed links, by each score that the paper's F1 might be."""
    lines = [
        "| dataset | method | splits | paper's F1 | macro F1 | F1 of the rarer class | accuracy |",
        "|---|---|---|---|---|---|---|",
    ]
    cells = read("links-h200.json")["cells"] + read("deepwalk-cpu.json")["cells"]
    for cell in sorted(cells, key=lambda cell: (cell["dataset"], -cell["splits"])):
        paper = PAPER.get((cell["dataset"], cell["split"], cell["backbone"], cell["method"]))
        quoted = DEEPWALK[cell["dataset"]] if paper is None else f"{paper.mean:.2f} ± {paper.std:.2f}"
        scores = " | ".join(spread(cell, f"test_{name}") for name in ("macro_f1", "rarest_f1", "accuracy"))
        name = title(cell["method"], cell["backbone"])
        lines.append(f"| {cell['dataset']} | {name} | {cell['splits']} | {quoted} | {scores} |")
    machines = "; ".join(dict.fromkeys(made_on(cell) for cell in cells))
    fewer = next(cell["trials"] for cell in cells if cell["method"] == "deepwalk")
    lines += [
        "",
        f"{cells[0]['trials']} trials, of DeepWalk {fewer}. {machines}; `benchmarks/accuracy.py links deepwalk`.",
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
        lines.append(f"| {network} | {spread(plain)} | {spread(mixed)} | {gain:+.2f} | {error:.2f} |")
    some = record["cells"][0]
    lines += [
        "",
        f"Citeseer, public split, {some['trials']} trials of {some['epochs']} epochs, nothing tuned. {made_on(some)}; "
        "`benchmarks/wrapped.py`.",
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
    return f"{cell['device']}, torch {cell['versions']['torch']}, commit {cell['commit'][:13]}"


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


TABLES = {
    "demo": demo,
    "accuracy": accuracy,
    "backbones": backbones,
    "larger": larger,
    "links": links,
    "wrapped": wrapped,
    "speed": speed,
}

if __name__ == "__main__":
    main()
