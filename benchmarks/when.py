"""What homophily, labels and features do to each method, on generated graphs. docs/when-to-use.md shows the results.

    python benchmarks/when.py --out benchmarks/results/when-cpu.json

Graphs of `graphmix.synthetic`, four equal classes. One thing varies at a time, all else is as in BASE. Every method
gets the same labels, a few of each class, and no others: epochs are chosen by folds of them. All other nodes are test
nodes. About seven minutes on one thread of a CPU; what the file holds already is not run again.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer

from graphmix import FitOptions, Graph, synthetic
from graphmix.experiments.records import source_commit
from graphmix.results.describe import device_name, versions
from graphmix.sparse import SparseMatrix
from graphmix.storage.files import write_json
from graphmix.tables.ids import INTEGER
from graphmix.training.devices import choose_device
from graphmix.workflow.fitting import fit_problem
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.plan import make_plan

NODES, DRAWS = 400, 3
# A first try on one draw had topic 0.1, with which features alone were hardly better than chance (30 %).
BASE = {"homophily": 0.7, "labels_per_class": 10, "topic": 0.2}
# What varies, one at a time. With four classes, edges at random have a homophily of 0.25.
VARIED: dict[str, tuple[float, ...]] = {
    "homophily": (0.1, 0.25, 0.5, 0.7, 0.9),
    "labels_per_class": (5, 10, 40),
    "topic": (0.0, 0.2, 0.4),
}
Ints = NDArray[np.int64]


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    options = parser.parse_args()
    torch.set_num_threads(1)
    record = json.loads(options.out.read_text()) if options.out.exists() else begin(options)
    for setting in settings():
        for draw in range(record["draws"]):
            wanted = {"setting": setting, "draw": draw}
            if any(wanted.items() <= row.items() for row in record["rows"]):
                continue
            record["rows"] += run(setting, draw, record["nodes"])
            write_json(options.out, record)
            print(setting, draw, *(f"{row['system']} {row['accuracy']}" for row in record["rows"][-len(SYSTEMS) :]))


def begin(options: argparse.Namespace) -> dict[str, Any]:
    """Return a record without rows: what is run, where, and by which code."""
    return {
        "command": "python benchmarks/when.py",
        "commit": options.commit or source_commit(),
        "device": device_name(choose_device("cpu")),
        "cores": os.cpu_count(),
        "threads": 1,
        "versions": versions(),
        "nodes": options.nodes,
        "draws": options.draws,
        "base": BASE,
        "varied": {name: list(values) for name, values in VARIED.items()},
        "rows": [],
    }


def settings() -> list[dict[str, float]]:
    """Return the generator's arguments, each combination once."""
    found = []
    for name, values in VARIED.items():
        for value in values:
            setting = BASE | {name: value}
            if setting not in found:
                found.append(setting)
    return found


def run(setting: dict[str, float], draw: int, nodes: int) -> list[dict[str, Any]]:
    """Generate a graph, hide all but the training labels, and let every method predict the hidden ones."""
    graph, split = synthetic(nodes=nodes, seed=draw, **setting)  # type: ignore[arg-type]
    truth, known = graph.y.numpy(), split.train[0].numpy()
    hidden = Graph.build(graph.x, graph.edge_index, np.where(known, truth, -1), graph.num_classes, normalise=False)
    ends = graph.edge_index.numpy()
    facts = {"edges_within_a_class": round(float(np.mean(truth[ends[0]] == truth[ends[1]])), 3)}
    rows = []
    for system, predict in SYSTEMS.items():
        started = time.perf_counter()
        predicted = predict(hidden)
        seconds = round(time.perf_counter() - started, 2)
        accuracy = round(100 * float(np.mean((predicted == truth)[~known])), 2)
        rows.append(
            {"setting": setting, "draw": draw, "system": system, "accuracy": accuracy, "seconds": seconds} | facts
        )
    return rows


def mixture(graph: Graph) -> Ints:
    """As `graphmix fit` with its defaults."""
    return _fit(graph, FitOptions(device="cpu"), {})


def one_network(method: str) -> Callable[[Graph], Ints]:
    """As `graphmix fit --methods METHOD --backbone gcn`: five networks, their epochs chosen by the folds."""
    return lambda graph: _fit(graph, FitOptions(device="cpu", methods=(method,)), {"backbone": "gcn"})


def features_only(graph: Graph) -> Ints:
    """scikit-learn's logistic regression with its defaults, on rows of length 1; no edges."""
    assert isinstance(graph.x, SparseMatrix)
    x, y = Normalizer().fit_transform(graph.x.to_scipy()), graph.y.numpy()
    predicted: Ints = LogisticRegression(max_iter=1000).fit(x[y >= 0], y[y >= 0]).predict(x)
    return predicted


def _fit(graph: Graph, options: FitOptions, asked: dict[str, Any]) -> Ints:
    ids = [str(node) for node in range(graph.num_nodes)]
    problem = NodeProblem(graph=graph, split=None, ids=ids, id_columns={"id": INTEGER})
    with tempfile.TemporaryDirectory() as place:
        model = fit_problem(problem, make_plan(graph, options.methods, asked), options, Path(place) / "model")
        columns = model.predict(everything=True).columns
    # Classes without names are called by their numbers.
    return np.array([int(name) for name in columns["predicted"]])


SYSTEMS: dict[str, Callable[[Graph], Ints]] = {
    "fit": mixture,
    "gcn": one_network("supervised"),
    "graphmix": one_network("graphmix"),
    "logistic": features_only,
}

if __name__ == "__main__":
    main()
