"""Outcome: the mixture of a fit, with everything that was tried on the way to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphmix.data import Split
from graphmix.data.checks import UNKNOWN
from graphmix.evaluation.heldout import HeldOut, held_out
from graphmix.evaluation.selection import Chosen
from graphmix.executors import LOCAL, Executor
from graphmix.results.fit import MIXTURE
from graphmix.workflow.candidates import Tried
from graphmix.workflow.mixture import Mixture
from graphmix.workflow.options import FitOptions
from graphmix.workflow.plan import Candidate
from graphmix.workflow.problem import Problem
from graphmix.workflow.trying import Budget, choose_members, train_members, try_all
from graphmix.workflow.watching import Watcher


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of trying the candidates of a plan.

    Attributes:
        mixture: the model.
        tried: what each candidate predicted of held-out labels, by name.
        chosen: what these chose.
        held: held-out predictions of every candidate by name, and of the mixture; other labels chose their points,
            temperatures and weights.
        fcn_held: those of networks without their edges, by `own_fcn`.
        failures: a sentence for each candidate that was left out.
    """

    mixture: Mixture
    tried: dict[str, Tried]
    chosen: Chosen
    held: dict[str, HeldOut]
    fcn_held: dict[str, HeldOut]
    failures: tuple[str, ...]

    @property
    def compared(self) -> dict[str, HeldOut]:
        """Held-out predictions of what is compared: the candidates, and the mixture if there are several."""
        return {name: held for name, held in self.held.items() if name != MIXTURE or self.name == MIXTURE}

    @property
    def name(self) -> str:
        """The name of the model: "mixture", or the only candidate."""
        return MIXTURE if len(self.tried) > 1 else next(iter(self.tried))

    @property
    def method(self) -> str:
        """The method of the model: "mixture", or that of the only candidate."""
        return MIXTURE if len(self.tried) > 1 else self.tried[self.name].candidate.method


def find_mixture(
    problem: Problem,
    split: Split,
    plan: Sequence[Candidate],
    options: FitOptions,
    folder: Path | None = None,
    *,
    watch: Watcher | None = None,
    budget: Budget | None = None,
    executor: Executor = LOCAL,
) -> Outcome:
    """Try the candidates, choose by held-out labels, and train what was chosen on all labels.

    Args:
        problem: the graph and its labels.
        split: the labels that each trial trains on, and as validation nodes those it holds out.
        plan: the candidates, in order.
        options: how classes count, where to train.
        folder: each candidate keeps its part in a folder of its own in it; None to keep nothing.
        watch: callbacks.
        budget: how long it may take.
        executor: where candidates train.

    Raises:
        RunError: no candidate gave finite predictions in time.
    """
    watch, graph = watch or Watcher(), problem.graph
    training: dict[str, Any] = {"device": executor.device(options.device), "watch": watch, "executor": executor}
    training["checkpoint_minutes"] = options.checkpoint_minutes
    trials = try_all(plan, graph, split, folder, budget=budget, **training)
    watch.step("choosing the weights of the candidates")
    chosen = choose_members(trials.tried, graph, seed=plan[0].config.seed, balanced=options.balanced)
    # Validation nodes of a given split stay held out; folds have no further use.
    labeled = graph.y != UNKNOWN if problem.split is None else problem.split.train[0]
    members = train_members(trials.tried, chosen, graph, labeled, folder, steps=len(plan) + 1, **training)
    nodes = trials.tried[0].nodes
    held = {name: held_out(nodes, predicted, graph.y) for name, predicted in chosen.alone.items()}
    mixed = held_out(nodes, chosen.nested, graph.y)
    mixture = Mixture.calibrated(members, problem.classes, mixed)
    fcns = {
        own_fcn(each.candidate.name): held_out(nodes, each.fcn[chosen.points[each.candidate.name]], graph.y)
        for each in trials.tried
        if each.fcn is not None
    }
    by_name = {each.candidate.name: each for each in trials.tried}
    return Outcome(mixture, by_name, chosen, held | {MIXTURE: mixed}, fcns, trials.failures)


def own_fcn(name: str) -> str:
    """Return the name of the held-out predictions of a candidate's networks without the edges."""
    return f"{name}-fcn"
