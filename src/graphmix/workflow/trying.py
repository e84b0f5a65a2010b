"""Try every candidate of a plan, choose by what they predict of held-out labels, and train the members."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import DataError, RunError
from graphmix.evaluation.selection import Chosen, choose
from graphmix.text import counted
from graphmix.training.trace import OutOfTimeError
from graphmix.workflow.candidates import DivergedError, Tried, hold_out, train
from graphmix.workflow.members import Member
from graphmix.workflow.plan import Candidate
from graphmix.workflow.watching import Watcher


class Budget:
    """How long a fit may take, from when it began.

    Networks are trained twice: on part of the labels, and those that are chosen on all of them. So a candidate may use
    half of the time that is left, less what the candidates before it may need for their second training.
    """

    def __init__(self, limit: float | None = None) -> None:
        self.limit, self._since = limit, time.monotonic()
        self._reserved = 0.0

    def deadline(self) -> float | None:
        """Return when a candidate that begins now must have ended, a time of `time.monotonic`; None if never."""
        if self.limit is None:
            return None
        left = self._since + self.limit - time.monotonic() - self._reserved
        return time.monotonic() + left / 2

    def reserve(self, seconds: float) -> None:
        """Keep time for the second training of a candidate."""
        self._reserved += seconds

    @property
    def is_spent(self) -> bool:
        """Whether no time is left for another candidate."""
        return self.limit is not None and time.monotonic() >= (self.deadline() or 0)


@dataclass(frozen=True, eq=False)
class Trials:
    """Everything that was tried.

    Attributes:
        tried: the candidates, in the order in which they were tried.
        failures: a sentence for each candidate that was left out.
    """

    tried: tuple[Tried, ...]
    failures: tuple[str, ...]


def try_all(
    plan: Sequence[Candidate],
    graph: Graph,
    split: Split,
    folder: Path | None = None,
    *,
    device: str = "auto",
    watch: Watcher | None = None,
    budget: Budget | None = None,
) -> Trials:
    """Try the candidates of a plan; leave out those that fail or that there is no time for.

    Args:
        plan: the candidates, in order.
        graph: the graph.
        split: the labels that each trial trains on, and as validation nodes those it holds out.
        folder: each candidate keeps its predictions in a folder of its own in it; None to keep none.
        device: where to train.
        watch: callbacks.
        budget: how long it may take; any time if None.

    Raises:
        RunError: every candidate was left out.
    """
    watch, budget = watch or Watcher(), budget or Budget()
    tried: list[Tried] = []
    failures: list[str] = []
    for place, candidate in enumerate(plan):
        if tried and budget.is_spent:
            failures.append(_say_limit(budget, ", ".join(each.title for each in plan[place:])))
            break
        tell = watch.begins(candidate.title, place, len(plan) + 1)
        try:
            found = hold_out(
                candidate,
                graph,
                split,
                folder=None if folder is None else folder / candidate.name,
                device=device,
                tell=tell,
                deadline=budget.deadline(),
            )
        except (DataError, DivergedError, OutOfTimeError) as error:
            reason = _say_limit(budget) if isinstance(error, OutOfTimeError) else str(error)
            failures.append(f"{candidate.title} was left out: {reason}")
            continue
        tried.append(found)
        budget.reserve(found.seconds)
    if not tried:
        raise RunError("; ".join(failures))
    return Trials(tuple(tried), tuple(failures))


def choose_members(tried: Sequence[Tried], graph: Graph, *, seed: int, balanced: bool) -> Chosen:
    """Choose points, temperatures and weights by the held-out labels; `balanced` gives all classes the same weight."""
    labels = graph.y.cpu().numpy()[tried[0].nodes]
    weights = None
    if balanced:
        counts = np.bincount(labels, minlength=graph.num_classes)
        weights = len(labels) / (np.count_nonzero(counts) * counts[labels])
    held = {each.candidate.name: each.probabilities for each in tried}
    return choose(held, labels, seed=seed, label_weights=weights)


def train_members(
    tried: Sequence[Tried],
    chosen: Chosen,
    graph: Graph,
    labeled: Tensor,
    folder: Path | None = None,
    *,
    device: str = "auto",
    watch: Watcher | None = None,
    steps: int = 1,
) -> tuple[Member, ...]:
    """Train the chosen candidates on the labels of some nodes, bool `[nodes]`; the largest share first."""
    watch = watch or Watcher()
    by_name = {each.candidate.name: each for each in tried}
    members = []
    for place, (name, share) in enumerate(chosen.weights.items()):
        found = by_name[name]
        which = f" ({place + 1} of {len(chosen.weights)})" if len(chosen.weights) > 1 else ""
        what = f"{found.candidate.title} on {counted(int(labeled.sum()), 'label')}{which}"
        candidate, tensors = train(
            found.candidate,
            graph,
            labeled,
            float(found.points[chosen.points[name]]),
            folder=None if folder is None else folder / name,
            device=device,
            tell=watch.begins(what, steps - 1, steps),
        )
        temperature = chosen.temperatures[name]
        member = Member(name, candidate.method, candidate.config, tensors, share, temperature)
        try:
            members.append(member.checked(graph))
        except DataError as error:
            # They were read from the folder of a fit that was interrupted.
            raise RunError(f"{folder}/{name} is not what a fit wrote: {error}; delete it, and resume") from error
    return tuple(members)


def _say_limit(budget: Budget, what: str = "it") -> str:
    limit = budget.limit or 0.0
    return f"the time limit of {limit:g} s leaves no time for {what}"
