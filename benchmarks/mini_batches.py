"""Compare mini-batches with full batches: accuracy, time and memory.

    python benchmarks/mini_batches.py --device cuda --out benchmarks/results/mini-batches-h200.json
    python benchmarks/mini_batches.py --graphs pubmed --device cpu --out …

pubmed     the public split, 10 trials, the paper's settings
physics    Coauthor-Physics, 20 training and 30 validation nodes a class, 5 trials, the paper's settings
hundredth  a hundredth of products, with as many edges a node and as many labels a class; 3 trials, 300 epochs
tenth      a tenth of it, likewise
products   a synthetic graph of the size of ogbn-products: 2,449,029 nodes, 61,859,140 edges, 100 features, 47 classes;
           20 training nodes a class, 3 trials, 300 epochs
limited    the same graph, trained in mini-batches by a process that may use 6 GiB of the GPU's memory

Each is trained by GraphMix(GCN), with the whole graph in every step and with mini-batches of the default sizes. Every
trial is stored after each run; runs that are in the file already are not run again. On a CPU memory is what training
added to that of the process, so run one scheme of one graph in a process: memory that was freed is used again.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench import device_name
from graphmix import Config, Graph, Split, fit, load, make_split
from graphmix.experiments.records import source_commit
from graphmix.results.describe import versions
from graphmix.storage.files import write_json
from graphmix.training.devices import choose_device, give_back_memory
from graphmix.training.memory import Peak
from large_tables import draw_centres, draw_edges, draw_features

Drawn = tuple[Graph, Split]
PRODUCTS = {"nodes": 2_449_029, "edges": 61_859_140, "features": 100, "classes": 47}
# With these the graph alone does not tell the class, nor do the features.
NEAR, DISTANCE = 0.4, 2.8
LIMIT_GIB = 6
PARTS = {"batch_nodes": 1024, "batch_fanout": 10}
SCHEMES: dict[str, dict[str, int]] = {"full": {"batch_nodes": 0}, "mini": PARTS}


def main() -> None:
    """Run what is missing, and write the results after each run."""
    options = parse()
    record: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {"rows": []}
    record |= {
        "command": "python benchmarks/mini_batches.py",
        "machine": device_name(options.device),
        "versions": versions(),
    }
    commit = options.commit or source_commit()
    held: dict[str, Drawn] = {}
    for name in options.graphs:
        make, settings = CASES[name]
        for scheme in options.schemes:
            parts = SCHEMES[scheme]
            if is_done(record["rows"], name, scheme) or (name == "limited" and scheme == "full"):
                continue
            # Drawing the large graph takes minutes: both of its cases share it.
            graph, split = held[make.__name__] = held.get(make.__name__) or make()
            config = Config.for_dataset(graph.name, **(settings | parts | options.changes))
            row = {"graph": name, "scheme": scheme, "commit": commit} | run(graph, split, config, name, options.device)
            record["rows"].append(row)
            write_json(options.out, record)
            print({key: value for key, value in row.items() if key not in ("val", "test")}, flush=True)


def pubmed() -> Drawn:
    """Pubmed with its public split."""
    return load("pubmed")


def physics() -> Drawn:
    """Coauthor-Physics with a split for each trial."""
    graph, _ = load("coauthor-physics")
    return graph, make_split("benchmark", graph, range(5))


def products(shrink: int = 1) -> Drawn:
    """A graph of the size of ogbn-products, or a part of it, whose labels need both the features and the edges."""
    rng = np.random.default_rng(0)
    nodes, classes = PRODUCTS["nodes"] // shrink, PRODUCTS["classes"]
    y = rng.permutation(np.arange(nodes) % classes).astype(np.int32)
    edges = draw_edges(rng, y, PRODUCTS["edges"] // shrink, classes, np.argsort(y, kind="stable"), near=NEAR)
    x = draw_features(rng, y, draw_centres(rng, PRODUCTS["features"], classes, DISTANCE))
    graph = Graph.build(x, edges, y.astype(np.int64), classes, name="products-like", normalise=False)
    return graph, make_split("20-per-class-10000-validation", graph, [0])


def hundredth() -> Drawn:
    """A hundredth of that graph, which a CPU trains in minutes."""
    return products(100)


def tenth() -> Drawn:
    """A tenth of it, which takes a CPU most of an hour."""
    return products(10)


CASES: dict[str, tuple[Callable[[], Drawn], dict[str, Any]]] = {
    "pubmed": (pubmed, {"trials": 10}),
    "physics": (physics, {"trials": 5}),
    "hundredth": (hundredth, {"trials": 3, "epochs": 300, "hidden": 64}),
    "tenth": (tenth, {"trials": 3, "epochs": 300, "hidden": 64}),
    "products": (products, {"trials": 3, "epochs": 300, "hidden": 64}),
    "limited": (products, {"trials": 3, "epochs": 300, "hidden": 64}),
}


def run(graph: Graph, split: Split, config: Config, name: str, device: str) -> dict[str, Any]:
    """Train, and return what came of it."""
    chosen = choose_device(device)
    if name == "limited" and chosen.type == "cuda":
        total = torch.cuda.get_device_properties(chosen).total_memory
        torch.cuda.set_per_process_memory_fraction(LIMIT_GIB * 2**30 / total)
    give_back_memory()
    before, peak, started = begin_peak(), Peak(chosen), time.process_time()
    fitted = fit(graph, split, config, device=device)
    memory = resident("VmHWM") - before if chosen.type == "cpu" else peak.bytes()
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "trials": config.trials,
        "epochs": config.epochs,
        "batch_nodes": config.batch_nodes,
        "batch_fanout": config.batch_fanout,
        "val": [round(100 * float(share), 3) for share in fitted.val_accuracy],
        "test": [round(100 * float(share), 3) for share in fitted.test_accuracy],
        "mean_val": round(100 * float(fitted.val_accuracy.mean()), 2),
        "mean_test": round(100 * float(fitted.test_accuracy.mean()), 2),
        "seconds": round(fitted.seconds, 1),
        "processor_seconds": round(time.process_time() - started, 1),
        "peak_gib": None if memory is None else round(memory / 2**30, 2),
    }


def begin_peak() -> int:
    """Let Linux count the peak of this process's memory from now on; return the bytes that it has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def resident(line: str) -> int:
    """Return the bytes of a line of this process's status."""
    (found,) = (each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith(f"{line}:"))
    return int(found.split()[1]) * 1024


def is_done(rows: list[dict[str, Any]], graph: str, scheme: str) -> bool:
    """Whether a run is among the rows."""
    return any((row["graph"], row["scheme"]) == (graph, scheme) for row in rows)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    parser.add_argument("--changes", type=json.loads, default={}, help="to try the command: settings, as JSON")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
