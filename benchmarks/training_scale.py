"""Measure what a step and an evaluation take on graphs of many sizes: time and memory, on one core.

    OMP_NUM_THREADS=1 python benchmarks/training_scale.py [--edges 100k 1M 10M 100M] [--schemes mini] [--commit C]

For every size it draws a graph in memory (a tenth as many nodes as edges, 50 features, 5 classes, 20 training nodes of
each) and trains GraphMix(GCN) on it, one trial, in a new process: with the whole graph in every step (*full*), and with
mini-batches of 1,024 nodes and 5 neighbours (*mini*). Seconds are those of the processor. Results are added to
results/training-scale.json; a row that is there is measured anew. scale_picture.py draws them.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench import device_name
from graphmix import Config, Graph, Split, fit, make_split
from graphmix.experiments.records import source_commit
from graphmix.results.describe import versions
from graphmix.storage.files import write_json
from large_tables import draw_centres, draw_edges, draw_features
from mini_batches import begin_peak, resident

RESULTS = Path(__file__).parent / "results" / "training-scale.json"
COMMAND = "OMP_NUM_THREADS=1 python benchmarks/training_scale.py"
SIZES = ("100k", "300k", "1M", "3M", "10M", "30M", "100M")
UNITS = {"k": 10**3, "M": 10**6}
EDGES_A_NODE, FEATURES, CLASSES = 10, 50, 5
SCHEMES: dict[str, dict[str, int]] = {
    "full": {"epochs": 40},
    "mini": {"epochs": 400, "evaluate_every": 40, "batch_nodes": 1024, "batch_fanout": 5},
}
# A step on a larger whole graph takes too long to wait for.
LARGEST_FULL = 10**7
SMALL = 20_000


def main() -> None:
    """Measure every size with every scheme, and write the results after each."""
    options = parse()
    if options.measure:
        print(json.dumps(measure(options.measure, options.schemes[0])))
        return
    for edges in options.edges:
        for scheme in options.schemes:
            if scheme == "full" and edges > LARGEST_FULL:
                continue
            command = [sys.executable, __file__, "--measure", str(edges), "--schemes", scheme]
            one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
            found = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_thread).stdout
            row = {"commit": options.commit or source_commit(), "scheme": scheme, **json.loads(found)}
            add(row)
            print(row, flush=True)


def measure(edges: int, scheme: str) -> dict[str, Any]:
    """Train on a graph of a size, and return the seconds of a step and of an evaluation, and the memory."""
    torch.set_num_threads(1)
    # Targets from the first epoch on, as most of the usual 2,000 epochs have them.
    config = Config(trials=1, rampup_start=0, rampup_end=1, **SCHEMES[scheme])
    # What a process loads with its first training is not counted.
    epoch_seconds(*draw(SMALL), replace(config, epochs=2, evaluate_every=0))
    empty = resident("VmRSS")
    graph, split = draw(edges)
    held = begin_peak()
    taken = epoch_seconds(graph, split, config)
    return {
        "nodes": graph.num_nodes,
        "edges": edges,
        "graph_edges": graph.num_edges,
        "epochs": config.epochs,
        **means(taken, config.evaluate_every),
        "graph_bytes": held - empty,
        "training_bytes": resident("VmHWM") - held,
    }


def epoch_seconds(graph: Graph, split: Split, config: Config) -> NDArray[np.float64]:
    """Seconds of the processor that each epoch takes, the first one left out: `[epochs - 1]`."""
    moments: list[float] = []
    fit(graph, split, config, device="cpu", watch=lambda progress: moments.append(time.process_time()))
    return np.diff(moments)


def means(taken: NDArray[np.float64], every: int) -> dict[str, float]:
    """Mean seconds of a step, and of an evaluation; of both together if every epoch has one."""
    if every == 0:
        return {"epoch": round(float(taken.mean()), 5)}
    # taken[0] is the second epoch's.
    judged = np.arange(2, len(taken) + 2) % every == 0
    step = float(taken[~judged].mean())
    return {"step": round(step, 5), "evaluation": round(float(taken[judged].mean()) - step, 5)}


def draw(edges: int) -> tuple[Graph, Split]:
    """A graph with about so many edges, seven in ten of them inside a class."""
    rng = np.random.default_rng(0)
    nodes = edges // EDGES_A_NODE
    y = rng.permutation(np.arange(nodes) % CLASSES).astype(np.int32)
    pairs = draw_edges(rng, y, edges, CLASSES, np.argsort(y, kind="stable"))
    x = draw_features(rng, y, draw_centres(rng, FEATURES, CLASSES))
    graph = Graph.build(x, pairs, y.astype(np.int64), CLASSES, normalise=False)
    return graph, make_split("20-per-class-500-validation", graph, [0])


def add(row: dict[str, Any]) -> None:
    """Add a row to the results, in place of one of the same size and scheme."""
    old = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    kept = [each for each in old if (each["scheme"], each["edges"]) != (row["scheme"], row["edges"])]
    rows = sorted([*kept, row], key=lambda each: (list(SCHEMES).index(each["scheme"]), each["edges"]))
    record = {"command": COMMAND, "machine": device_name("cpu"), "versions": versions(), "features": FEATURES}
    write_json(RESULTS, {**record, "rows": rows})


def count(text: str) -> int:
    """Read a number such as 100k, 3M or 500000."""
    return int(float(text.rstrip("kM")) * UNITS.get(text[-1], 1))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", nargs="+", type=count, default=[count(size) for size in SIZES])
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES))
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
