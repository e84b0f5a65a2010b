"""Test accuracy on the public split: every dataset, method and reading, all trials, in one results file.

    python benchmarks/accuracy.py --trials 100 --device cuda --out benchmarks/results/accuracy-h200.json

Hyperparameters are the defaults: nothing is searched for, so nothing is chosen on test data. The file holds what
`graphmix train --json` prints for every cell. Cells already in it with the same settings are not trained again.
"""

import argparse
import json
import time
from pathlib import Path

from graphmix.data import load
from graphmix.training import Config, fit
from graphmix.training.devices import choose_device
from graphmix.training.files import write_json
from graphmix.training.runs import describe

CELLS = [
    (dataset, method, reading)
    for dataset in ("cora", "citeseer", "pubmed")
    for reading in ("paper", "released")
    for method in ("supervised", "graphmix")
]


def main() -> None:
    """Train what is missing, writing the file after every cell."""
    options = parse()
    record = json.loads(options.out.read_text()) if options.out.exists() else {"cells": []}
    for dataset, method, reading in CELLS:
        config = Config.for_dataset(dataset, method=method, reading=reading, trials=options.trials)
        wanted = {"dataset": dataset, "commit": options.commit, **config.to_dict()}
        if dataset not in options.datasets or any(wanted.items() <= cell.items() for cell in record["cells"]):
            continue
        graph, split = load(dataset)
        started = time.perf_counter()
        trained = fit(graph, split, config, device=options.device)
        wall = time.perf_counter() - started
        cell = describe(trained, graph, split, choose_device(options.device)) | {"commit": options.commit}
        record["cells"].append(cell)
        write_json(options.out, record)
        mean, std = cell["test_accuracy_mean"], cell["test_accuracy_std"]
        print(f"{dataset:>9} {method:>10} {reading:>8}  {mean:.2f} ± {std:.2f}  {wall:.1f} s", flush=True)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--datasets", nargs="+", default=["cora", "citeseer", "pubmed"])
    parser.add_argument("--commit", default="unknown", help="what the code is at, for the record")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
