"""Train cells that the specs of the paper do not have, and write all trials to results files.

    python benchmarks/accuracy.py fcn links --trials 100 --device cuda --out benchmarks/results

Hyperparameters are the defaults, so nothing is chosen on test data; if a cell has others, the group's comment says why.
A group's file has what `graphmix train --json` prints for every cell. Cells already in the file with the same
settings are not trained again.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

from graphmix.baselines import BASELINES, judge
from graphmix.data import load, split_seeds
from graphmix.results.describe import describe
from graphmix.results.wording import spread_of
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.training import Config, fit
from graphmix.training.devices import choose_device

Cell = dict[str, Any]

CITATION = ("cora", "citeseer", "pubmed")


def cells(**choices: tuple[Any, ...]) -> list[Cell]:
    """Every combination of the choices."""
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


# The cells of each group. Cells that name their trials have fewer, to fit into the time on a borrowed device.
GROUPS: dict[str, list[Cell]] = {
    # Which network the paper's "FCN (self-training)" predicts with (docs/design/0011-methods-beside-graphmix.md).
    "fcn": cells(dataset=CITATION[:2], method=("fcn", "fcn-self-training"), predictor=("fcn", "gnn"), trials=(20,)),
    # Ten splits, and one for all trials: how much of the spread is due to splits (docs/design/0009-links-as-nodes.md)?
    "links": cells(dataset=("bitcoin-alpha", "bitcoin-otc"), method=("supervised", "graphmix"), splits=(10, 1)),
    "floor": cells(dataset=CITATION, method=("label-propagation", "fcn"), trials=(10,)),
}


def main() -> None:
    """Train the missing cells; write the group's file after every cell."""
    options = parse()
    started = time.perf_counter()
    options.out.mkdir(parents=True, exist_ok=True)
    for group in options.groups:
        path = options.out / f"{group}-{options.machine}.json"
        record = json.loads(path.read_text()) if path.exists() else {"cells": []}
        for cell in GROUPS[group]:
            wanted = {"trials": options.trials} | cell
            skipped = options.datasets and cell["dataset"] not in options.datasets
            if skipped or any(wanted.items() <= done.items() for done in record["cells"]):
                continue
            if time.perf_counter() - started > options.seconds:
                print("no time left; the same command continues with the next cell")
                return
            record["cells"].append(run(wanted, options) | {"commit": options.commit})
            write_json(path, record)


def run(cell: Cell, options: argparse.Namespace) -> Cell:
    """Train one cell and print its result."""
    trials, splits = cell["trials"], cell.get("splits")
    graph, split = load(cell["dataset"], seeds=split_seeds(trials, splits))
    started = time.perf_counter()
    if cell["method"] in BASELINES:
        found = judge(cell["method"], graph, split, trials=trials)
    else:
        choices = {name: value for name, value in cell.items() if name in Config.__dataclass_fields__}
        trained = fit(graph, split, Config.for_dataset(cell["dataset"], **choices), device=options.device)
        found = describe(trained, graph, split, choose_device(options.device))
    wall = time.perf_counter() - started
    shown = "  ".join(f"{name} {spread_of(found, f'test_{name}')}" for name in ("accuracy", "macro_f1", "rarest_f1"))
    print(*cell.values(), "|", shown, f"| {wall:.1f} s", flush=True)
    return to_json(found) | cell


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", choices=list(GROUPS))
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--datasets", nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no cell after this long")
    parser.add_argument("--machine", default="cpu", help="name of the machine in the file names")
    parser.add_argument("--commit", default="unknown", help="commit of the code, for the record")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results files")
    return parser.parse_args()


if __name__ == "__main__":
    main()
