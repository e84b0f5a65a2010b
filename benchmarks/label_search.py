"""What helps with very few labels, by validation accuracy alone.

    python benchmarks/label_search.py cora 0.5-percent --trials 10 gpr balanced-wide

Trains the settings of these names, or all, and adds a line for each to benchmarks/results/label-search-cpu.jsonl. Test
nodes are taken out of the split, so no test accuracy exists. Trial i has the weights of seed i, and the split of seed i
or, with --first-split N, of seed N + i.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from graphmix import Config, fit, load
from graphmix.data import split_seeds

LOG = Path(__file__).parent / "results" / "label-search-cpu.jsonl"
GPR: dict[str, Any] = {"backbone": "gpr", "epochs": 300}
FAR: dict[str, Any] = GPR | {"hops": 20, "teleport": 0.05}
TARGETS: dict[str, Any] = {
    "method": "self-training",
    "temperature": 0.5,
    "perturbations": 4,
    "rampup_start": 50,
    "rampup_end": 150,
}
CONFIDENT: dict[str, Any] = TARGETS | {"target_confidence": 0.5, "target_alignment": 0.5, "target_every": 5}
BALANCED: dict[str, Any] = FAR | CONFIDENT | {"class_weight": "balanced"}
# With the width and the passes of its first search.
RECIPE = {"method": "graphmix-grand", "hidden": 32, "perturbations": 4}
WIDE: dict[str, Any] = {"hidden": 64, "hidden_dropout": 0.5, "weight_decay": 5e-3, "target_alignment": 1.0}
SHORT: dict[str, Any] = {"epochs": 150, "rampup_start": 30, "rampup_end": 80, "perturbations": 2}
NEAR: dict[str, Any] = {"hops": 10, "teleport": 0.1}
STEADY: dict[str, Any] = {"method": "graphmix-steady"}
PLAIN: dict[str, Any] = {"method": "supervised"}
# In the order in which they were tried.
TRIED: dict[str, dict[str, Any]] = {
    "gcn": PLAIN | {"epochs": 300},
    "appnp": PLAIN | {"backbone": "appnp", "epochs": 300},
    "gpr": PLAIN | GPR,
    "gcn-self": TARGETS | {"epochs": 400},
    "appnp-self": TARGETS | {"backbone": "appnp", "epochs": 400},
    "gpr-self": TARGETS | GPR | {"epochs": 400},
    "gcn-steady": STEADY | {"epochs": 400},
    "appnp-steady": STEADY | {"backbone": "appnp", "epochs": 400},
    "gpr-steady": STEADY | GPR | {"epochs": 400},
    "gpr-confident": CONFIDENT | GPR | {"epochs": 400, "target_every": 1},
    "gpr-balanced": PLAIN | GPR | {"class_weight": "balanced"},
    "gpr-far": PLAIN | FAR,
    "gpr-far-steady": STEADY | FAR | {"epochs": 400},
    "gpr-far-confident": CONFIDENT | FAR,
    "gpr-far-balanced": PLAIN | FAR | {"class_weight": "balanced", "epochs": 250},
    "balanced": BALANCED,
    "balanced-decay": BALANCED | {"weight_decay": 5e-3},
    "balanced-hidden": BALANCED | {"hidden": 64},
    "balanced-dropout": BALANCED | {"hidden_dropout": 0.5},
    "balanced-aligned": BALANCED | {"target_alignment": 1.0},
    "balanced-steady": STEADY | FAR | {"class_weight": "balanced"},
    "balanced-wide": BALANCED | WIDE,
    "balanced-wide-steady": STEADY | FAR | WIDE | {"class_weight": "balanced"},
    "gpr-short": PLAIN | GPR | {"epochs": 150},
    "balanced-wide-short": BALANCED | WIDE | SHORT,
    "wide-short": BALANCED | WIDE | SHORT | {"target_alignment": 0.0, "class_weight": "none"},
    "recipe": RECIPE,
    "recipe-balanced": RECIPE | {"class_weight": "balanced"},
    "wide-decay": BALANCED | WIDE | {"weight_decay": 5e-4},
    "wide-near": BALANCED | WIDE | NEAR,
    "wide-long": BALANCED | WIDE | {"epochs": 600, "rampup_start": 100, "rampup_end": 300},
    "wide-half-aligned": BALANCED | WIDE | {"target_alignment": 0.5},
    "wide-confident": BALANCED | WIDE | {"target_confidence": 0.8},
    "wide-cold": BALANCED | WIDE | {"temperature": 0.3},
    "wide-fast": BALANCED | WIDE | {"learning_rate": 0.03},
    "wide-early": BALANCED | WIDE | {"rampup_start": 20, "rampup_end": 80},
    "wide-unbalanced": BALANCED | WIDE | {"class_weight": "none"},
    "wide-input": BALANCED | WIDE | {"input_dropout": 0.2},
    "near-confident": BALANCED | WIDE | NEAR | {"target_confidence": 0.8},
    "near-half-aligned": BALANCED | WIDE | NEAR | {"target_alignment": 0.5},
    "near-both": BALANCED | WIDE | NEAR | {"target_confidence": 0.8, "target_alignment": 0.5},
    "nearer": BALANCED | WIDE | {"hops": 5, "teleport": 0.1},
    "nearer-half-aligned": BALANCED | WIDE | {"hops": 5, "teleport": 0.1, "target_alignment": 0.5},
    "wide-far": BALANCED | WIDE | {"hops": 30, "teleport": 0.03},
    "near-steady": BALANCED | WIDE | NEAR | STEADY,
}


def main() -> None:
    """Train, and log validation accuracies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("split")
    parser.add_argument("names", nargs="*", default=list(TRIED), metavar="NAME")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    for name in options.names:
        line = tried(options, name)
        with options.log.open("a") as log:
            log.write(json.dumps(line) + "\n")
        print(line["name"], line["val_accuracy_mean"], flush=True)


def tried(options: argparse.Namespace, name: str) -> dict[str, Any]:
    """Train the settings of a name without test nodes; return what the log holds of it."""
    dataset, split, trials = options.dataset, options.split, options.trials
    graph, drawn = load(dataset, split=split, seeds=split_seeds(trials, trials, options.first_split))
    began = time.perf_counter()
    config = Config.for_dataset(dataset, trials=trials, **TRIED[name])
    trained = fit(graph, replace(drawn, test=drawn.test & False), config, device=options.device)
    values = 100 * trained.val_accuracy.double()
    return {
        "dataset": dataset,
        "split": split,
        "name": name,
        "trials": trials,
        "first_split": options.first_split,
        "device": options.device,
        "settings": TRIED[name],
        "val_accuracy_mean": round(values.mean().item(), 2),
        "val_accuracy_error": round((values.std() / trials**0.5).item(), 2),
        "val_accuracy": [round(value, 1) for value in values.tolist()],
        "seconds": round(time.perf_counter() - began, 1),
    }


if __name__ == "__main__":
    main()
