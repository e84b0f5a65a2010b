"""A simulated person, who answers from the hidden labels: how accurate is the model after so many labels?

Each start draws three labels of every class at random. From there on labels are asked for in steps, in the order that
`graphmix label` would ask (the quick round's model chooses, as on the page) or in a random order of all nodes. After
each step a quick round is trained on the labels so far. It is judged on the nodes that neither order has asked for in
the end, and that the goal was not trained on: the same nodes for both orders of a start.

The goal is what 20 labels of each class, drawn at random, give on average over the starts.
"""

import hashlib
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.labeling.begin import Begun, Matter
from graphmix.labeling.round import QUICK
from graphmix.labeling.rounds import train
from graphmix.storage.files import write_json
from graphmix.workflow.columns import Columns
from graphmix.workflow.nodes import NodeProblem
from wild_graphs import Case, draw_by_class, load_case

FIRST, GOAL = 3, 20
# Labels of each class, on average, at which the model is judged.
STEPS = (4, 6, 10, 14, 20)
ORDERS = ("label", "random")
Ints = NDArray[np.int64]


def measure_person(data: Path, graphs: list[str], starts: int, record: dict[str, Any], out: Path) -> None:
    """Add the starts that are missing to the record, and write it after each."""
    found = record.setdefault("person", {"first": FIRST, "goal": GOAL, "steps": list(STEPS), "graphs": {}})
    for name in graphs:
        done = found["graphs"].setdefault(name, [])
        for number in range(len(done), starts):
            done.append(measure_start(load_case(name, data), name, number))
            write_json(out, record)
            print(name, number, done[-1])


def measure_start(case: Case, name: str, number: int) -> dict[str, Any]:
    """Return the accuracy after each step for both orders, and with the goal's labels, in percent."""
    seed = int.from_bytes(hashlib.sha256(f"label {name} {number}".encode()).digest()[:8], "little")
    rng = np.random.default_rng(seed)
    first = draw_by_class(case.y, FIRST, rng)
    matter, count = matter_of(case), len(case.classes)
    sizes = [FIRST * count, *(step * count for step in STEPS)]
    order = rng.permutation(np.setdiff1d(np.flatnonzero(case.y >= 0), first))
    asked = {"random": [np.concatenate([first, order[: size - len(first)]]) for size in sizes], "label": [first]}
    predicted: dict[str, list[Ints]] = {each: [] for each in ORDERS}
    for size, following in zip(sizes, [*sizes[1:], 0], strict=True):
        chosen, queue = trained(matter, case, asked["label"][-1])
        predicted["label"].append(chosen)
        if following:
            asked["label"].append(np.concatenate([asked["label"][-1], answerable(case, queue)[: following - size]]))
    predicted["random"] = [predicted["label"][0], *(trained(matter, case, known)[0] for known in asked["random"][1:])]
    goal = draw_by_class(case.y, GOAL, rng)
    reached = trained(matter, case, goal)[0]
    judged = np.setdiff1d(np.flatnonzero(case.y >= 0), np.concatenate([goal, asked["label"][-1], asked["random"][-1]]))
    accuracy = {each: [_right(case, made, judged) for made in predicted[each]] for each in ORDERS}
    return {"labels": sizes, "judged": len(judged), **accuracy, "goal": _right(case, reached, judged)}


def _right(case: Case, predicted: Ints, judged: Ints) -> float:
    return round(100 * float((predicted[judged] == case.y[judged]).mean()), 2)


def answerable(case: Case, queue: Ints) -> Ints:
    """The nodes of a queue whose labels the person knows: a few nodes of Citeseer have none."""
    return queue[case.y[queue] >= 0]


def trained(matter: Matter, case: Case, known: Ints) -> tuple[Ints, Ints]:
    """Train a quick round on the labels of some nodes: the predicted classes `[nodes]`, and what it would ask next."""
    labels: list[str | None] = [None] * len(case.y)
    for node in known.tolist():
        labels[node] = case.classes[case.y[node]]
    with tempfile.TemporaryDirectory() as folder:
        result = train(matter, labels, QUICK, 0, folder=Path(folder))
    assert result.model is not None  # three labels of every class suffice
    number = {name: place for place, name in enumerate(case.classes)}
    classes = np.array([number[name] for name in result.round.classes])
    place = {name: node for node, name in enumerate(matter.problem.ids)}
    return classes[result.probabilities.argmax(axis=1)], np.array([place[ask.node] for ask in result.round.queue])


def matter_of(case: Case) -> Matter:
    """Return a graph as labeling has it."""
    ids = [str(node) for node in range(case.graph.num_nodes)]
    problem = NodeProblem(graph=case.graph, split=None, ids=ids, columns=Columns(label="class"))
    begun = Begun(with_model=False, columns={}, classes=case.classes, target_accuracy=0.9, coverage=0.9)
    return Matter(begun, problem, None, None, [])


def first_at_least(labels: list[int], accuracy: list[float], goal: float) -> float | None:
    """Return the number of labels at which a curve first reaches a goal, on straight lines between the points."""
    before: SimpleNamespace | None = None
    for count, value in zip(labels, accuracy, strict=True):
        if value >= goal:
            if before is None:
                return float(count)
            return before.count + (goal - before.value) / (value - before.value) * (count - before.count)
        before = SimpleNamespace(count=count, value=value)
    return None
