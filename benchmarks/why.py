"""Experiments on what did not reproduce; docs/reproduction.md discusses the results.

    python benchmarks/why.py --out benchmarks/results/why-cpu.json

Which nodes a "random split" trains on: any 140 of Cora, or 20 of each class; on Citeseer also only its largest
component. How many validation nodes select an epoch when labels are few: K of each class, or 500. Every cell is written
as soon as it is computed; cells already in the file are not computed again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graphmix import Config, Graph, Split, fit, load
from graphmix.experiments.records import source_commit
from graphmix.results.describe import describe
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.training.devices import choose_device

VAL, TEST = 500, 1000
# The experiments by name: dataset, training nodes of each class (None: as many as in the public split, of any class),
# validation nodes of each class (None for 500 of any), and whether only the largest component counts.
TRIED: dict[str, tuple[str, int | None, int | None, bool]] = {
    "cora, any nodes": ("cora", None, None, False),
    "cora, 20 a class": ("cora", 20, None, False),
    "citeseer, any nodes": ("citeseer", None, None, False),
    "citeseer, 20 a class": ("citeseer", 20, None, False),
    "citeseer, 20 a class, largest component": ("citeseer", 20, None, True),
    "cora, 5 a class, validated on 5": ("cora", 5, 5, False),
    "cora, 5 a class, validated on 500": ("cora", 5, None, False),
    "cora, 10 a class, validated on 10": ("cora", 10, 10, False),
    "cora, 10 a class, validated on 500": ("cora", 10, None, False),
}


def main() -> None:
    """Train what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record = json.loads(options.out.read_text()) if options.out.exists() else {"commit": source_commit(), "cells": []}
    for name, (dataset, train, val, component) in TRIED.items():
        graph, public = load(dataset)
        if component:
            graph = largest_component(graph)
        split = draw(graph, public, train, val, options.trials)
        for method in ("supervised", "graphmix"):
            wanted = {"name": name, "method": method, "trials": options.trials, "epochs": options.epochs}
            if any(wanted.items() <= cell.items() for cell in record["cells"]):
                continue
            few = {"alpha": 0.1} if train in (5, 10) else {}
            config = Config.for_dataset(dataset, method=method, trials=options.trials, epochs=options.epochs, **few)
            trained = fit(graph, split, config, device=options.device)
            results = to_json(describe(trained, graph, split, choose_device(options.device)))
            last = [round(100 * value, 4) for value in trained.history.test_accuracy[:, -1].tolist()]
            record["cells"].append({"name": name, "test_accuracy_last_epoch": last} | results)
            write_json(options.out, record)
            print(name, method, results["test_accuracy_mean"], "±", results["test_accuracy_std"], flush=True)


def draw(graph: Graph, public: Split, train: int | None, val: int | None, trials: int) -> Split:
    """Draw a split for each trial: training nodes by class or not, all others from the remaining nodes."""
    masks = np.zeros((3, trials, graph.num_nodes), dtype=bool)
    labels = graph.y.numpy()
    for trial in range(trials):
        order = np.random.Generator(np.random.PCG64(trial)).permutation(np.flatnonzero(labels >= 0))
        taken = by_class(order, labels, train) if train else order[: int(public.train.sum())]
        rest = order[~np.isin(order, taken)]
        chosen = by_class(rest, labels, val) if val else rest[:VAL]
        rest = rest[~np.isin(rest, chosen)]
        for mask, nodes in zip(masks, (taken, chosen, rest if train in (5, 10) else rest[:TEST]), strict=True):
            mask[trial, nodes] = True
    return Split.build(*masks, "drawn")


def by_class(order: np.ndarray, labels: np.ndarray, count: int) -> np.ndarray:
    """The first nodes of each class in an order, up to a number."""
    return np.concatenate([order[labels[order] == label][:count] for label in range(labels.max() + 1)])


def largest_component(graph: Graph) -> Graph:
    """The graph on its largest component."""
    row, col = graph.edge_index.numpy()
    _, part = connected_components(coo_array((np.ones(len(row)), (row, col)), shape=(graph.num_nodes,) * 2))
    keep = np.flatnonzero(part == np.bincount(part).argmax())
    place = np.full(graph.num_nodes, -1)
    place[keep] = np.arange(len(keep))
    inside = part[row] == part[keep[0]]
    edges = place[np.stack([row, col])[:, inside]]
    return Graph.build(graph.x.to_scipy()[keep], edges, graph.y.numpy()[keep], name=graph.name)


if __name__ == "__main__":
    main()
