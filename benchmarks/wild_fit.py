"""`graphmix fit` with its defaults on one draw, for benchmarks/wild.py; uses only what old versions have too.

    PYTHONPATH=OLD/src python benchmarks/wild_fit.py FOLDER --device cuda

The folder holds what `hide` wrote: a graph or two tables with few labels. `answer.npz` and `answer.json` are written
into it. The run of an older version of the library is such a process.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray

import graphmix
from graphmix import FitOptions, Graph
from graphmix.results.writer import to_json
from graphmix.tables.ids import INTEGER
from graphmix.workflow.fitting import fit_problem
from graphmix.workflow.nodes import NodeProblem

NODES, EDGES, GRAPH = "nodes.csv", "edges.csv", "graph.npz"
ARRAYS, FACTS = "answer.npz", "answer.json"
FEW_COLUMNS = 50
RANKED = (("predicted", "probability"), ("second", "second_probability"), ("third", "third_probability"))


class Answer(NamedTuple):
    """What a fit says of every node.

    Attributes:
        probabilities: float64 `[nodes, classes]`: of the three most probable classes; 0 elsewhere.
        abstain: bool `[nodes]`.
        sets: bool `[nodes, classes]`, the prediction sets.
        facts: who is in the mixture, what was found on held-out labels, and seconds.
    """

    probabilities: NDArray[np.float64]
    abstain: NDArray[np.bool_]
    sets: NDArray[np.bool_]
    facts: dict[str, Any]


def hide(folder: Path, x: Any, edges: NDArray[np.int64], y: NDArray[np.int64], classes: int) -> None:
    """Write a graph whose hidden labels are -1."""
    parts = scipy.sparse.csr_matrix(x)
    arrays = {"data": parts.data, "indices": parts.indices, "indptr": parts.indptr, "shape": np.array(parts.shape)}
    np.savez(folder / GRAPH, edges=edges, y=y, classes=classes, **arrays)


def hide_tables(folder: Path, nodes: str, edges: Path) -> None:
    """Write two tables, the labels of hidden nodes left empty."""
    (folder / NODES).write_text(nodes)
    (folder / EDGES).write_bytes(edges.read_bytes())


def fit_folder(folder: Path, label: str, classes: tuple[str, ...], device: str) -> Answer:
    """Fit what `hide` or `hide_tables` wrote, and predict every node."""
    started = time.perf_counter()
    tables = (folder / NODES).exists()
    model = _fit_tables(folder, label, device) if tables else _fit_graph(folder, classes, device)
    columns = model.predict(everything=True).columns
    if device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - started
    facts = describe(to_json(model.metrics)) | {"seconds": round(seconds, 3)}
    return Answer(*_arrays(columns, classes), facts)


def _fit_tables(folder: Path, label: str, device: str) -> Any:
    options = FitOptions(device=device, ignore_unknown=True)
    return graphmix.fit_tables(folder / NODES, folder / EDGES, label=label, options=options)


def _fit_graph(folder: Path, classes: tuple[str, ...], device: str) -> Any:
    with np.load(folder / GRAPH, allow_pickle=False) as held:
        x = scipy.sparse.csr_matrix((held["data"], held["indices"], held["indptr"]), shape=tuple(held["shape"]))
        # Features are as `Graph.build` normalised them before; a few columns are a table, not a bag of words.
        x = x.toarray() if x.shape[1] < FEW_COLUMNS else x
        graph = Graph.build(x, held["edges"], held["y"], class_names=classes, normalise=False)
    ids = [str(node) for node in range(graph.num_nodes)]
    problem = NodeProblem(graph=graph, split=None, ids=ids, id_columns={"id": INTEGER})
    with tempfile.TemporaryDirectory() as place:
        options = FitOptions(device=device)
        return fit_problem(problem, _plan(graph, options), options, Path(place) / "model")


def _plan(graph: Graph, options: FitOptions) -> Any:
    """Return what a fit tries; before there were mixtures, the hyperparameters of all methods."""
    try:
        from graphmix.workflow.plan import make_plan
    except ImportError:
        from graphmix.workflow.candidates import usual_config

        return usual_config(graph)
    return make_plan(graph, options.methods, {})


def describe(metrics: dict[str, Any]) -> dict[str, Any]:
    """Return what a fit says of itself: the members with their weights, and the accuracy on held-out labels.

    Before there were mixtures, a fit was its best method alone.
    """
    first, *others = metrics["candidates"]
    if metrics["chosen"] != "mixture":
        return {"members": {metrics["chosen"]: 1.0}, "held_out": first["accuracy"]}
    members = {
        "-".join(filter(None, [each["method"], each.get("backbone")])): round(each["share"] / 100, 4)
        for each in others
        if each.get("share")
    }
    return {"members": members, "held_out": first["accuracy"]}


def ranked_probabilities(columns: dict[str, list[Any]], classes: tuple[str, ...]) -> NDArray[np.float64]:
    """Probabilities of the three most probable classes of every node; 0 elsewhere: `[nodes, classes]`."""
    number = {name: place for place, name in enumerate(classes)}
    rows = len(columns["predicted"])
    probabilities = np.zeros((rows, len(classes)))
    for name, share in RANKED:
        if name in columns:
            places = [number[value] for value in columns[name]]
            probabilities[np.arange(rows), places] = columns[share]
    return probabilities


def _arrays(
    columns: dict[str, list[Any]], classes: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Turn a table of predictions back into probabilities, abstentions and sets."""
    number = {name: place for place, name in enumerate(classes)}
    probabilities = ranked_probabilities(columns, classes)
    rows = len(probabilities)
    sets = np.zeros((rows, len(classes)), dtype=np.bool_)
    for row, names in enumerate(csv.reader(columns["set"], delimiter=";")):
        sets[row, [number[name] for name in names]] = True
    return probabilities, np.array(columns["abstain"], dtype=np.bool_), sets


def fit_elsewhere(source: Path, folder: Path, label: str, classes: tuple[str, ...], device: str) -> Answer:
    """As `fit_folder`, with the library of another checkout, in a process of its own."""
    words = [sys.executable, __file__, str(folder), "--label", label, "--device", device, "--classes", *classes]
    # The other library comes first; what else the path holds may be needed by it.
    path = os.pathsep.join([str(source / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the fit of {source} failed:\n{done.stderr[-2000:]}")
    with np.load(folder / ARRAYS, allow_pickle=False) as held:
        facts = json.loads((folder / FACTS).read_text())
        return Answer(held["probabilities"], held["abstain"], held["sets"], facts)


def main() -> None:
    """Fit the folder, and write the answer into it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--label", required=True)
    parser.add_argument("--classes", nargs="+", required=True)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    answer = fit_folder(options.folder, options.label, tuple(options.classes), options.device)
    arrays = {name: getattr(answer, name) for name in ("probabilities", "abstain", "sets")}
    np.savez(options.folder / ARRAYS, **arrays)
    (options.folder / FACTS).write_text(json.dumps(answer.facts))


if __name__ == "__main__":
    main()
