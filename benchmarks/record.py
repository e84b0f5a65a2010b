"""The record in results/: what was run on the lent H200, and how it is put together.

    python3 benchmarks/record.py train --device cuda --commit C --seconds 560 --start DIR --out DIR
    python benchmarks/record.py collect --cells DIR --commit C --out results/h200

`train` runs the parts below side by side, each into a folder of its own, and gathers their cells in OUT/cells; cells
found in START/cells are not computed again. `collect` writes the records from gathered cells and computes nothing.
Trials are the paper's, or more; where a part asks for fewer, the borrowed minutes are why.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# What runs side by side: lists of (spec, cells, trials); None is the paper's number.
PARTS: dict[str, list[tuple[str, str, int | None]]] = {
    "standard": [
        ("standard-split", "*GCN*", None),
        ("state-of-the-art", "?CN (self-training)/C*", None),
        ("state-of-the-art", "?CN (self-training)/Pubmed", None),
    ],
    "random": [
        ("random-splits", "*GCN*", None),
        ("links", "*GCN*", None),
        ("fewer-labels", "*GCN*", 100),
    ],
    "ablation": [("ablation", "", 100), ("joint-optimisation", "", None), ("t-sne", "", None), ("soft-rank", "", None)],
    "larger": [
        ("larger-datasets", "*GCN*/Coauthor*/paper", None),
        ("larger-datasets", "GraphMix(GCN)/Coauthor*/released", None),
        ("larger-datasets", "GCN/Coauthor*/released", None),
    ],
    "search": [("selection", "/C*", None), ("theorem", "", None), ("selection", "/Pubmed", 20)],
    "backbones": [
        ("standard-split", "*GAT*/C*/paper", None),
        ("standard-split", "*U-Net*/C*/paper", None),
        ("standard-split", "*U-Net*/Pubmed/released", 20),
        ("standard-split", "*GAT*/Pubmed/released", 20),
    ],
    "others": [
        ("fewer-labels", "*GAT*", None),
        ("fewer-labels", "*U-Net*", None),
        ("random-splits", "*U-Net*/C*/paper", 20),
        ("random-splits", "*GAT*/C*/paper", 20),
        ("larger-datasets", "*U-Net*/Coauthor*/paper", 10),
        ("random-splits", "*U-Net*/Pubmed/released", 10),
        ("random-splits", "*GAT*/Pubmed/released", 10),
    ],
    "self-training": [
        ("state-of-the-art", "GAT (self-training)/C*/paper", None),
        ("state-of-the-art", "Graph U-Net (self-training)/C*/paper", None),
        ("state-of-the-art", "Graph U-Net (self-training)/Pubmed/released", 20),
        ("state-of-the-art", "GAT (self-training)/Pubmed/released", 20),
        ("links", "DeepWalk", None),
    ],
}
# The comparison shares its other rows with the standard split.
SHARED = [("state-of-the-art", cells, trials) for _, cells, trials in [*PARTS["standard"][:1], *PARTS["backbones"]]]


def main() -> None:
    """Train or collect."""
    options = parse()
    train(options) if options.what == "train" else collect(options)


def train(options: argparse.Namespace) -> None:
    """Run every part side by side until the time is up, and gather the cells."""
    ends = time.monotonic() + options.seconds
    (options.out / "cells").mkdir(parents=True, exist_ok=True)
    chosen = {name: jobs for name, jobs in PARTS.items() if not options.parts or name in options.parts}
    with ThreadPoolExecutor(len(chosen)) as pool:
        list(pool.map(lambda name: run_part(name, chosen[name], ends, options), chosen))


def run_part(name: str, jobs: list, ends: float, options: argparse.Namespace) -> None:
    """Run a part's commands one after another; what is done when the time is up is kept."""
    folder = options.work / name
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    for path in [*options.start.glob("cells/*.json")] if options.start else []:
        shutil.copy(path, folder / "cells")
    for spec, cells, trials in jobs:
        command = [sys.executable, "-m", "graphmix", "reproduce", spec, "--device", options.device, "--no-report"]
        command += ["--out", str(folder), "--commit", options.commit, "--only", cells or "/"]
        command += ["--trials", str(trials)] if trials else []
        left = ends - time.monotonic()
        if left <= 5:
            break
        with (options.out / f"{name}.log").open("a") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            # One thread for each part's own work: they share the cores.
            variables = os.environ | {"OMP_NUM_THREADS": "2"}
            try:
                subprocess.run(command, stdout=log, stderr=log, timeout=left, check=False, env=variables)
            except subprocess.TimeoutExpired:
                log.write("time is up\n")
        for path in (folder / "cells").glob("*.json"):
            shutil.copy(path, options.out / "cells")


def collect(options: argparse.Namespace) -> None:
    """Put the records together from gathered cells."""
    from graphmix.experiments.cells import Asked
    from graphmix.experiments.runner import reproduce
    from graphmix.experiments.spec import load_spec

    shutil.copytree(options.cells, options.out / "cells", dirs_exist_ok=True)
    for spec, cells, trials in [job for jobs in PARTS.values() for job in jobs] + SHARED:
        asked = Asked(trials=trials, only=cells or "/")
        (record,) = reproduce(
            [load_spec(spec)], asked, options.out, device="cpu", commit=options.commit, stored_only=True
        )
        done = sum(cell["status"] == "done" for cell in record["cells"])
        print(f"{spec}: {done} of {sum(cell['status'] != 'quoted' for cell in record['cells'])} cells")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "collect"])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", required=True, help="what the code is at, for the record")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--start", type=Path, help="folder with cells that are done")
    parser.add_argument("--work", type=Path, default=Path("record-work"), help="folder for runs in progress")
    parser.add_argument("--cells", type=Path, help="folder of gathered cells")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
