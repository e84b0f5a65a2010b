"""Calibration and prediction sets without a given split: labels in folds, five networks as one model.

    python benchmarks/fold_calibration.py --device cuda --out benchmarks/results/fold-calibration-h200.json

Only the public training labels are known: 20 of each class. Temperature and thresholds come from held-out folds, as in
`graphmix fit` without --split. The results are those of the ensemble on the public test nodes, which it has not seen.
"""

import argparse
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from graphmix.workflow.ensemble import Ensemble

from graphmix import Graph, load
from graphmix.data.folds import fold_split
from graphmix.evaluation.calibration import expected_calibration_error
from graphmix.evaluation.heldout import ensemble
from graphmix.experiments.records import source_commit
from graphmix.results.describe import device_name, versions
from graphmix.storage.files import write_json
from graphmix.training.devices import choose_device
from graphmix.workflow.candidates import GRAPHMIX, try_method, usual_config

TARGET = COVERAGE = 0.9


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--repeats", type=int, default=5, help="number of ways to divide the labels, each with its own seeds"
    )
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = {
        "commit": options.commit or source_commit(),
        "device": device_name(choose_device(options.device)),
        "versions": versions(),
        "command": f"python benchmarks/fold_calibration.py --repeats {options.repeats} --epochs {options.epochs}",
    }
    for dataset in ("cora", "citeseer", "pubmed"):
        graph, split = load(dataset)
        known = replace(graph, y=torch.where(split.train[0], graph.y, -1))
        repeats = [
            measure(known, graph.y.numpy(), split.test[0].numpy(), 100 * repeat, options)
            for repeat in range(options.repeats)
        ]
        means = {f"{name}_mean": statistics.fmean(repeat[name] for repeat in repeats) for name in repeats[0]}
        # Of predictions that do not abstain, in all repeats together.
        weights = [repeat["kept"] for repeat in repeats]
        rights = [repeat["kept_right"] for repeat in repeats]
        means["kept_right_mean"] = statistics.fmean(rights, weights) if any(weights) else None
        record[dataset] = {"repeats": repeats, **means}
        write_json(options.out, record)
        print(dataset, means, flush=True)


def measure(graph: Graph, y: np.ndarray, test: np.ndarray, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Fit on folds of the labels and evaluate the ensemble on test nodes."""
    config = usual_config(graph, seed=seed, epochs=options.epochs)
    split = fold_split(graph, config.trials, seed)
    tried = try_method(GRAPHMIX, graph, split, config, device=options.device)
    model = Ensemble.from_candidate(tried, config, tuple(map(str, range(graph.num_classes))))
    before = ensemble(tried.probabilities)[test]
    after, labels = model.calibrate(before), y[test]
    decided = model.decide(after, TARGET, COVERAGE)
    right = after.argmax(axis=1) == labels
    kept = ~decided.abstain
    return {
        "held_out_accuracy": percent(model.held.right.mean()),
        "accuracy": percent(right.mean()),
        "ece_before": percent(expected_calibration_error(before, labels)),
        "ece_after": percent(expected_calibration_error(after, labels)),
        "confidence": percent(after.max(axis=1).mean()),
        "coverage": percent(decided.sets[np.arange(len(labels)), labels].mean()),
        "set_size": round(float(decided.sets.sum(axis=1).mean()), 4),
        "kept": percent(kept.mean()),
        "kept_right": percent(right[kept].mean() if kept.any() else 0.0),
    }


def percent(share: Any) -> float:
    """A share in percent, to four places."""
    return round(100 * float(share), 4)


if __name__ == "__main__":
    main()
