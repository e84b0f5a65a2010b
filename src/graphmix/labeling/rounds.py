"""Rounds of labeling: train on the labels so far, predict every node, and choose what to ask next.

A quick round tries what trains in seconds. A thorough round adds steady GraphMix, which also says which labels look
wrong. Networks begin anew in every round: with the weights of the round before, labels that are held out now would have
been trained on.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmix.data.folds import fold_split
from graphmix.errors import DataError, RunError
from graphmix.evaluation.heldout import HeldOut
from graphmix.labeling.begin import Matter, relabeled
from graphmix.labeling.round import LOOK, QUICK, THOROUGH, Ask, Round
from graphmix.results.evidence import interval
from graphmix.results.names import method_title
from graphmix.training.methods import STEADY
from graphmix.workflow.advice import contradicted, held_pair
from graphmix.workflow.metrics import describe
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.model import TableModel
from graphmix.workflow.next_labels import next_labels
from graphmix.workflow.options import FitOptions
from graphmix.workflow.outcome import Outcome, find_mixture
from graphmix.workflow.plan import make_plan
from graphmix.workflow.problem import Problem
from graphmix.workflow.survey import survey
from graphmix.workflow.trying import Budget
from graphmix.workflow.watching import Watcher

CHEAP = ("label-propagation", "logistic-regression", "random-forest")
METHODS = {QUICK: CHEAP, THOROUGH: (*CHEAP, STEADY)}
# In the simulation of `benchmarks/labeling.py` more epochs changed no curve.
_SETTINGS = {"backbone": "gpr", "epochs": 100}
# How many nodes a round chooses: more than anybody labels before the next round.
QUEUE = 100
_SUSPECTS = 20
_MOVES = 5


@dataclass(frozen=True, eq=False)
class Result:
    """A round, its probabilities `[nodes, classes]`, and the model; None before there is one."""

    round: Round
    probabilities: NDArray[np.float64]
    model: TableModel | None


Before = tuple[Sequence[str], NDArray[Any]] | None


def look(matter: Matter, labels: list[str | None], answers: int, before: Before = None) -> Result:
    """Choose nodes by the model of the start, without training; without one, by their places in the graph."""
    began, problem = time.perf_counter(), relabeled(matter.problem, labels)
    model = matter.model
    if model is None or problem.classes != model.problem.classes:
        return _without_model(matter, problem, answers, "no model is trained yet", began)
    probabilities = model.mixture.probabilities(problem.learned)
    made = _round(LOOK, matter, problem, model.mixture, model.held, probabilities, answers, before, began)
    return Result(made, probabilities, model)


def train(
    matter: Matter,
    labels: list[str | None],
    stage: str,
    answers: int,
    *,
    folder: Path,
    device: str = "auto",
    seconds: float | None = None,
    before: Before = None,
    watch: Watcher | None = None,
) -> Result:
    """Train a round on the labels `[nodes]`, None where there is none.

    Args:
        matter: what is labeled.
        labels: the labels.
        stage: "quick" or "thorough".
        answers: how many records the log has.
        folder: where candidates keep what they predict; the thorough round finds there what the quick one tried.
        device: where to train.
        seconds: about how long it may take; what does not fit is left out.
        before: the classes and probabilities of the round before.
        watch: callbacks.
    """
    began, problem = time.perf_counter(), relabeled(matter.problem, labels)
    needs = too_few(problem)
    if needs is not None:
        return _without_model(matter, problem, answers, needs, began)
    begun = matter.begun
    options = FitOptions(
        methods=METHODS[stage], target_accuracy=begun.target_accuracy, coverage=begun.coverage, device=device
    )
    plan = make_plan(problem.graph, options.methods, _SETTINGS, device=device)
    split = problem.splits(plan[0].config.trials, plan[0].config.seed)
    outcome = find_mixture(problem, split, plan, options, folder, watch=watch, budget=Budget(seconds))
    probabilities = outcome.mixture.probabilities(problem.learned)
    held = outcome.held | outcome.fcn_held
    made = _round(stage, matter, problem, outcome.mixture, held, probabilities, answers, before, began)
    return Result(made, probabilities, _model(matter, problem, outcome, probabilities, options))


def too_few(problem: Problem) -> str | None:
    """Say why the labels are too few to train on; None if they suffice."""
    if len(set(filter(None, problem.labels))) < 2:
        return "a model needs labels of two classes"
    try:
        fold_split(problem.graph, 5)
    except DataError:
        return "a model needs a few more labels: it holds some of each class out"
    return None


def _without_model(matter: Matter, problem: Problem, answers: int, needs: str, began: float) -> Result:
    """Choose nodes by their places alone: every class is as probable as any other."""
    known = list(problem.classes) if any(problem.labels) else []
    classes = tuple(dict.fromkeys([*known, *matter.begun.classes])) or ("",)
    probabilities = np.full((problem.graph.num_nodes, len(classes)), 1 / len(classes))
    labeled = problem.known.numpy()
    made = Round(
        stage=LOOK,
        answers=answers,
        labels=int(labeled.sum()),
        classes=classes,
        queue=_queue(problem, None),
        suspects=(),
        needs=needs,
        unlabeled=int((~labeled).sum()),
        seconds=round(time.perf_counter() - began, 3),
    )
    return Result(made, probabilities, None)


def _round(
    stage: str,
    matter: Matter,
    problem: Problem,
    mixture: Mixture,
    held: dict[str, HeldOut],
    probabilities: NDArray[np.float64],
    answers: int,
    before: Before,
    began: float,
) -> Round:
    """Say what came of a round."""
    begun, labels = matter.begun, mixture.held.labels
    open_ = ~problem.known.numpy()
    right = 100 * float(mixture.held.right.mean())
    low, high = interval(right, len(labels))
    decisions = mixture.decide(probabilities[open_], begun.target_accuracy, begun.coverage)
    changed, moves = _changes(problem.classes, probabilities, before, open_)
    pair = held_pair(held)
    return Round(
        stage=stage,
        answers=answers,
        labels=int((~open_).sum()),
        classes=problem.classes,
        queue=_queue(problem, probabilities),
        suspects=None if pair is None else _suspects(problem, probabilities, *pair),
        held=len(labels),
        right=round(right, 2),
        low=round(low, 2),
        high=round(high, 2),
        unlabeled=int(open_.sum()),
        met=int((~decisions.abstain).sum()),
        changed=changed,
        moves=moves,
        members=tuple(
            (method_title(each.method, each.config.backbone), round(100 * each.share, 1)) for each in mixture.members
        ),
        seconds=round(time.perf_counter() - began, 3),
    )


def _queue(problem: Problem, probabilities: NDArray[np.float64] | None) -> tuple[Ask, ...]:
    graph, known = problem.graph, problem.known.numpy()
    if probabilities is not None:
        found = next_labels(graph, probabilities, known, QUEUE)
        return tuple(Ask(node=problem.ids[each.node], reason=each.reason) for each in found)
    unknown = np.full((graph.num_nodes, graph.num_classes), 1 / graph.num_classes)
    # The rest of a reason says how sure the model is, and there is none.
    return tuple(
        Ask(node=problem.ids[each.node], reason=each.reason.partition(";")[0])
        for each in next_labels(graph, unknown, known, QUEUE)
    )


def _suspects(problem: Problem, probabilities: NDArray[np.float64], gnn: HeldOut, fcn: HeldOut) -> tuple[Ask, ...]:
    found = contradicted(problem.graph, probabilities, gnn, fcn, _SUSPECTS)
    return tuple(
        Ask(node=problem.ids[each.node], reason=each.reason, suggested=problem.classes[each.suggested])
        for each in found
    )


def _changes(
    classes: Sequence[str], probabilities: NDArray[np.float64], before: Before, open_: NDArray[np.bool_]
) -> tuple[int, tuple[Any, ...]]:
    """Count the nodes without a label that are predicted to be of another class than in the round before."""
    if before is None:
        return 0, ()
    old, new = (
        np.array(names, dtype=object)[values.argmax(axis=1)] for names, values in (before, (classes, probabilities))
    )
    moved = Counter((a, b) for a, b in zip(old[open_], new[open_], strict=True) if a != b)
    return sum(moved.values()), tuple((a, b, count) for (a, b), count in moved.most_common(_MOVES))


def _model(
    matter: Matter, problem: Problem, outcome: Outcome, probabilities: NDArray[np.float64], options: FitOptions
) -> TableModel:
    decisions = outcome.mixture.decide(probabilities, options.target_accuracy, options.coverage)
    found = survey(problem.graph, problem.known)
    return TableModel(
        mixture=outcome.mixture,
        problem=problem,
        held=outcome.held | outcome.fcn_held,
        target_accuracy=options.target_accuracy,
        coverage=options.coverage,
        stored_metrics=describe(outcome, decisions, found, problem, options),
    )


def save(model: TableModel, folder: Path) -> str | None:
    """Write the model of a round; return what went wrong, for the page, or None."""
    try:
        model.save(folder)
    except RunError as error:
        return str(error)
    return None


class Told(Watcher):
    """Tells what a round is at, in a few words."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def step(self, what: str) -> None:
        """Something that may take long begins."""
        self._tell(what)

    def begins(self, what: str, place: int, steps: int) -> Callable[[int, int], None]:
        """A candidate begins."""
        self._tell(what)
        return lambda done, total: None
