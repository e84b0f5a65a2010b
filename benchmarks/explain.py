"""Measure whether explanations are faithful: what is named changes a prediction more than as much at random.

    python benchmarks/explain.py --out benchmarks/results/explain-cpu.json

A model is fitted with the defaults to 20 labels a class (40 on counties). Of nodes without a label, drawn at random,
the predictions are explained. Then three things are left out for real:

nodes      the named nodes nearby that speak most for the prediction, three at most; against as many at random, drawn
           from all nodes nearby, as many of them at each distance
cells      the named words or columns of the node's row that speak most for it, three at most; against as many at
           random of those that the row has
labels     the five labels on which it is said to rest most: the whole mixture is trained again without them; against
           five labels of the same class at random

Nodes and cells are left out on all nodes within the reach of the model, whatever part of them the explanation looked
at. What is measured is by how many points the probability of the predicted class falls. Results already in the file are
not computed again. `--time` measures only how long the first explanations take, and keeps the rest.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench import device_name
from graphmix import Columns, FitOptions
from graphmix.data.folds import fold_split
from graphmix.experiments.records import source_commit
from graphmix.results.describe import versions
from graphmix.storage.files import write_json
from graphmix.tables.ids import INTEGER
from graphmix.workflow.explaining import Explainer
from graphmix.workflow.explanation import Explanation
from graphmix.workflow.left_out import own_parts
from graphmix.workflow.nodes import NodeProblem
from graphmix.workflow.outcome import Outcome, find_mixture
from graphmix.workflow.plan import make_plan
from graphmix.workflow.problem import Problem
from graphmix.workflow.problems import read_problem
from graphmix.workflow.row_parts import RowPart, row_parts
from graphmix.workflow.surroundings import Surroundings
from graphmix.workflow.trying import train_members
from graphmix.workflow.without import Change, Without
from wild_graphs import COUNTIES_LABEL, Draw, data_folder, hidden_labels, load_case
from wild_names import BY_CLASS, COUNTIES, MANY

GRAPHS = ("cora", "citeseer", COUNTIES, "acm")
NAMED, LABELS, DRAWS = 3, 5, 5
TIMED = 20
Floats = NDArray[np.float64]


def main() -> None:
    """Measure what is missing, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", nargs="+", default=GRAPHS, choices=GRAPHS)
    parser.add_argument("--nodes", type=int, default=100, help="predictions that are explained, on each graph")
    parser.add_argument("--trained", type=int, default=10, help="how many of them are trained again without labels")
    parser.add_argument("--time", action="store_true", help="only measure the time")
    parser.add_argument("--data", type=Path, help="folder of datasets; GRAPHMIX_DATA if not given")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {"graphs": {}}
    record |= {
        "command": "python benchmarks/explain.py",
        "machine": device_name("cpu"),
        "versions": versions(),
    }
    for name in options.graphs:
        if options.time:
            record["graphs"][name]["time"] = prepare(name, data_folder(options.data), TIMED)[-1]
            write_json(options.out, record)
        elif name not in record["graphs"]:
            found = measure(name, data_folder(options.data), options.nodes, options.trained)
            record["graphs"][name] = found | {"commit": source_commit()}
            write_json(options.out, record)
        show(name, record["graphs"][name])


def measure(name: str, data: Path, nodes: int, trained: int) -> dict[str, Any]:
    """Fit one graph, explain predictions of some of its nodes, and leave out what is named."""
    explainer, outcome, chosen, explained, rng, timed = prepare(name, data, nodes)
    explained += explainer.explain(chosen[TIMED:])
    return {
        "members": {each.name: each.share for each in outcome.mixture.members},
        "labels": int((explainer.graph.y >= 0).sum()),
        "time": timed,
        "nodes": fallen([leave_nodes(explainer, *pair, rng) for pair in zip(chosen, explained, strict=True)]),
        "cells": fallen([leave_cells(explainer, *pair, rng) for pair in zip(chosen, explained, strict=True)]),
        "trained_again": fallen(
            [leave_labels(explainer, outcome, *pair, rng) for pair in zip(chosen[:trained], explained, strict=False)]
        ),
    }


def prepare(
    name: str, data: Path, nodes: int
) -> tuple[Explainer, Outcome, list[int], list[Explanation], np.random.Generator, dict[str, Any]]:
    """Fit one graph, draw nodes, and explain the first of them; the last value is how long that took."""
    problem = hide(name, data)
    options = FitOptions(device="cpu")
    plan = make_plan(problem.graph, options.methods, options.settings())
    outcome = find_mixture(problem, fold_split(problem.graph, plan[0].config.trials, 0), plan, options)
    explainer = explain_with(problem, outcome)
    rng = np.random.default_rng(0)
    open_ = np.flatnonzero((problem.graph.y.numpy() < 0) & (problem.graph.structure.degrees > 0))
    chosen = rng.permutation(open_)[:nodes].tolist()
    explainer.explain(chosen[:1])  # compiles kernels
    started, cpu = time.perf_counter(), time.process_time()
    explained = list(explainer.explain(chosen[:TIMED]))
    timed = {"nodes": TIMED, "seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
    timed["threads"] = torch.get_num_threads()
    print(
        f"{name}: {TIMED} explained in {timed['seconds']:.1f} s ({timed['cpu_seconds']:.1f} s of the CPU)", flush=True
    )
    return explainer, outcome, chosen, explained, rng, timed


def hide(name: str, data: Path) -> Problem:
    """Return a graph of the suite with the labels of its first draw."""
    case = load_case(name, data)
    y = hidden_labels(case, Draw(name, MANY, BY_CLASS, 0).known(case.y))
    if name == COUNTIES:
        folder = data / "Wild" / COUNTIES
        tables = (folder / "counties.csv", folder / "borders.csv")
        read = read_problem(*tables, Columns(label=COUNTIES_LABEL), ignore_unknown=True)
        return replace(read, graph=replace(read.graph, y=torch.from_numpy(y)))
    graph = replace(case.graph, y=torch.from_numpy(y), class_names=case.classes)
    ids = [str(node) for node in range(graph.num_nodes)]
    return NodeProblem(graph=graph, split=None, ids=ids, id_columns={"id": INTEGER})


def explain_with(problem: Problem, outcome: Outcome) -> Explainer:
    """Return what explains predictions of the whole graph."""
    probabilities = outcome.mixture.probabilities(problem.graph)
    parts = row_parts(problem, normalised=True)
    return Explainer(outcome.mixture, problem.graph, problem.row_names(), parts, problem.labels, probabilities)


def leave_nodes(
    explainer: Explainer, node: int, each: Explanation, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Return by how much the probability falls without the named nodes, and without as many at random."""
    place = {explainer.name_of(other): other for other in range(explainer.graph.num_nodes)}
    named = sorted((one for one in each.neighbours if one.effect > 0), key=lambda one: -one.effect)[:NAMED]
    around = Surroundings.of(explainer.graph, node, 1, explainer.graph.num_nodes)
    rings = {hops: around.nodes[around.hops == hops] for hops in (1, 2)}
    draws = [
        [other for one in {one.hops for one in named} for other in _draw(rng, rings[one], [n.hops for n in named], one)]
        for _ in range(DRAWS)
    ]
    changes = [Change(gone=tuple(place[one.name] for one in named)), *(Change(gone=tuple(drawn)) for drawn in draws)]
    return falls(explainer, node, changes) if named else None


def _draw(rng: np.random.Generator, ring: NDArray[np.int64], hops: Sequence[int], wanted: int) -> list[int]:
    return rng.choice(ring, min(len(ring), hops.count(wanted)), replace=False).tolist()


def leave_cells(
    explainer: Explainer, node: int, each: Explanation, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Return by how much the probability falls without the named words or columns, and without as many at random."""
    around = Surroundings.of(explainer.graph, node, 0, 2)
    parts = own_parts(explainer.parts, around)
    by_key: dict[tuple[str, str | None], RowPart] = {
        (part.column, None if part.word is None else part.name): part for part in parts
    }
    speaking = [cell for cell in each.cells if cell.own is not None and cell.own > 0]
    named = sorted(speaking, key=lambda cell: -(cell.own or 0))[:NAMED]
    if not named:
        return None
    draws = [rng.choice(len(parts), min(len(parts), len(named)), replace=False) for _ in range(DRAWS)]
    changes = [Change(blank=tuple(by_key[cell.column, cell.word] for cell in named))]
    changes += [Change(blank=tuple(parts[place] for place in drawn)) for drawn in draws]
    return falls(explainer, node, changes)


def leave_labels(
    explainer: Explainer, outcome: Outcome, node: int, each: Explanation, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Return by how much the probability falls without the named labels, and without as many of that class."""
    graph, mixture = explainer.graph, outcome.mixture
    place = {explainer.name_of(other): other for other in np.flatnonzero(graph.y.numpy() >= 0).tolist()}
    named = [place[label.name] for label in each.labels[:LABELS]]
    label = mixture.classes.index(each.predicted)
    drawn = rng.choice(np.flatnonzero(graph.y.numpy() == label), len(named), replace=False)
    found = []
    for gone in (named, drawn.tolist()):
        y = graph.y.clone()
        y[gone] = -1
        less = replace(graph, y=y)
        members = train_members(list(outcome.tried.values()), outcome.chosen, less, y >= 0, device="cpu")
        share = replace(mixture, members=members).probabilities(less)[node, label]
        found.append(float(explainer.probabilities[node, label] - share))
    return found[0], found[1]


def falls(explainer: Explainer, node: int, changes: Sequence[Change]) -> tuple[float, float]:
    """Return by how much the probability falls after the first change, and on average after the others."""
    chosen = int(explainer.probabilities[node].argmax())
    rows, whole = Without(explainer.mixture, explainer.graph).probabilities(node, changes, explainer.graph.num_nodes)
    assert whole
    lost = explainer.probabilities[node, chosen] - rows[:, chosen]
    return float(lost[0]), float(lost[1:].mean())


def fallen(pairs: Sequence[tuple[float, float] | None]) -> dict[str, Any] | None:
    """Summarise falls in points: of the named, at random, and how often the named is larger; None without any."""
    if all(pair is None for pair in pairs):
        return None
    found: Floats = 100 * np.array([pair for pair in pairs if pair is not None]).reshape(-1, 2)
    ahead = found[:, 0] - found[:, 1]
    error = float(ahead.std(ddof=1) / np.sqrt(len(ahead))) if len(ahead) > 1 else 0.0
    return {
        "count": len(found),
        "none_named": len(pairs) - len(found),
        "named": round(float(found[:, 0].mean()), 3),
        "random": round(float(found[:, 1].mean()), 3),
        "ahead": round(float(ahead.mean()), 3),
        "error": round(error, 3),
        "larger": round(float((ahead > 0).mean()), 4),
        "pairs": found.round(3).tolist(),
    }


def show(name: str, found: dict[str, Any]) -> None:
    """Print what was measured on a graph."""
    for what in ("nodes", "cells", "trained_again"):
        one = found[what]
        if one is None:
            continue
        print(
            f"{name:14} {what:14} named {one['named']:6.2f}  random {one['random']:6.2f}  "
            f"ahead {one['ahead']:6.2f} ± {1.96 * one['error']:.2f}  larger in {one['larger']:.0%} of {one['count']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
