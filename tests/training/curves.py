"""Short curves of the paper's methods, as the code at commit 352b930 computed them.

    OMP_NUM_THREADS=1 python tests/training/curves.py --data FOLDER   write curves.json

That was run once, at that commit. Do not run it again unless a change of the paper's methods is meant: it would make
the test agree with whatever the code does now.
"""

import argparse
import hashlib
import json
import platform
from functools import partial
from pathlib import Path
from typing import Any

import torch

from graphmix import Config, Graph, Split, fit, load, synthetic

STORED = Path(__file__).with_suffix(".json")
READINGS, METHODS, GRAPHS = ("paper", "released"), ("supervised", "graphmix"), ("synthetic", "cora")
CURVES = ("loss", "train_loss", "val_loss", "val_accuracy", "test_accuracy")


def small() -> tuple[Graph, Split]:
    """A graph that needs no file."""
    return synthetic(nodes=200, features=60, labels_per_class=5, seed=4)


def curves(name: str, reading: str, method: str, graph: Graph, split: Split) -> dict[str, Any]:
    """Train a GCN for 30 epochs by a reading of the paper: every curve `[trials][epochs]`, a digest of the weights."""
    dataset = "" if name == "synthetic" else name
    config = Config.for_dataset(dataset, reading=reading, method=method, trials=2, epochs=30)
    trained = fit(graph, split, config, device="cpu", chunk=2)
    digest = hashlib.sha256()
    for _, weight in sorted(trained.weights.items()):
        digest.update(weight.contiguous().numpy().tobytes())
    # A float32 is exact as the float64 that JSON holds.
    return {name: getattr(trained.history, name).tolist() for name in CURVES} | {"weights": digest.hexdigest()[:16]}


def machine() -> dict[str, str]:
    """What the last digit of a sum depends on: the processor and the version of torch."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the real datasets")
    options = parser.parse_args()
    torch.set_num_threads(1)
    loads = {"synthetic": small, "cora": partial(load, "cora", data_root=options.data)}
    lines = [f' "machine": {json.dumps(machine())}']
    for name in GRAPHS:
        graph, split = loads[name]()
        for reading in READINGS:
            for method in METHODS:
                made = curves(name, reading, method, graph, split)
                lines.append(f' "{name} {reading} {method}": {json.dumps(made)}')
    STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
