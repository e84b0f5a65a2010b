"""Try every candidate of a plan, choose by what they predict of held-out labels, and train the members."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import DataError, RunError
from graphmix.evaluation.selection import Chosen, choose
from graphmix.executors import LOCAL, Executor, Job, WorkerLostError
from graphmix.executors.executor import Tell
from graphmix.storage.checkpoints import HOLDING_OUT, TRAINING, remove_checkpoints
from graphmix.text import counted
from graphmix.training.checkpoint_minutes import MINUTES
from graphmix.training.trace import OutOfTimeError
from graphmix.workflow.candidates import DivergedError, Tried, hold_out, train
from graphmix.workflow.elsewhere import Files, keep_files, own_folder, read_files
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
    executor: Executor = LOCAL,
    checkpoint_minutes: float = MINUTES,
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
        executor: each candidate is a job of it.
        checkpoint_minutes: how long networks train before their state is stored in the folder again.

    Raises:
        RunError: every candidate was left out.
    """
    watch, budget = watch or Watcher(), budget or Budget()
    settings: dict[str, Any] = {"device": device, "checkpoint_minutes": checkpoint_minutes}
    tried: dict[int, Tried] = {}
    failures: dict[int, str] = {}
    tells: dict[int, Callable[[int, int], None]] = {}
    shared = executor.share(_together, graph, split)

    def jobs() -> Iterator[Job[tuple[Tried, Files]]]:
        for place, candidate in enumerate(plan):
            if tried and budget.is_spent:
                failures[place] = _say_limit(budget, ", ".join(each.title for each in plan[place:]))
                return
            own = None if folder is None else folder / candidate.name
            deadline = budget.deadline()
            left = None if deadline is None else deadline - time.monotonic()
            where = own if executor.here else read_files(own)
            tells[place] = watch.begins(candidate.title, place, len(plan) + 1)
            arguments = (candidate, shared, where, settings, left)
            yield Job(_hold_out, arguments, candidate.title, device, _unpacked(tells[place]))

    with closing(executor.finished(jobs())) as finished:
        for done in finished:
            candidate = plan[done.place]
            # It may have ended early.
            tells[done.place](1, 1)
            try:
                found, files = done.get()
            except (DataError, DivergedError, OutOfTimeError, WorkerLostError) as error:
                reason = _say_limit(budget) if isinstance(error, OutOfTimeError) else str(error)
                failures[done.place] = f"{candidate.title} was left out: {reason}"
                continue
            if folder is not None:
                keep_files(files, folder / candidate.name)
                remove_checkpoints(folder / candidate.name, HOLDING_OUT)
            tried[done.place] = found
            budget.reserve(found.seconds)
    left_out = tuple(failures[place] for place in sorted(failures))
    if not tried:
        raise RunError("; ".join(left_out))
    return Trials(tuple(tried[place] for place in sorted(tried)), left_out)


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
    executor: Executor = LOCAL,
    checkpoint_minutes: float = MINUTES,
) -> tuple[Member, ...]:
    """Train the chosen candidates on the labels of some nodes, bool `[nodes]`; the largest share first."""
    watch = watch or Watcher()
    by_name = {each.candidate.name: each for each in tried}
    settings: dict[str, Any] = {"device": device, "checkpoint_minutes": checkpoint_minutes}
    shared = executor.share(_together, graph, labeled)

    def jobs() -> Iterator[Job[tuple[Candidate, dict[str, Tensor], Files]]]:
        for place, name in enumerate(chosen.weights):
            found = by_name[name]
            which = f" ({place + 1} of {len(chosen.weights)})" if len(chosen.weights) > 1 else ""
            what = f"{found.candidate.title} on {counted(int(labeled.sum()), 'label')}{which}"
            own = None if folder is None else folder / name
            point = float(found.points[chosen.points[name]])
            where = own if executor.here else read_files(own)
            tell = _unpacked(watch.begins(what, steps - 1, steps))
            yield Job(_train, (found.candidate, shared, point, where, settings), what, device, tell)

    names, members = list(chosen.weights), {}
    for place, (candidate, tensors, files) in executor.results(jobs()):
        name = names[place]
        if folder is not None:
            keep_files(files, folder / name)
            remove_checkpoints(folder / name, TRAINING)
        share, temperature = chosen.weights[name], chosen.temperatures[name]
        member = Member(name, candidate.method, candidate.config, tensors, share, temperature)
        try:
            members[place] = member.checked(graph)
        except DataError as error:
            # They were read from the folder of a fit that was interrupted.
            raise RunError(f"{folder}/{name} is not what a fit wrote: {error}; delete it, and resume") from error
    return tuple(members[place] for place in sorted(members))


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _unpacked(tell: Callable[[int, int], None]) -> Tell:
    return lambda step: tell(*step)


def _hold_out(
    candidate: Candidate,
    data: tuple[Graph, Split],
    where: Path | Files | None,
    settings: dict[str, Any],
    left: float | None,
    tell: Tell,
) -> tuple[Tried, Files]:
    """Try a candidate, with so many seconds left."""
    deadline = None if left is None else time.monotonic() + left
    with own_folder(where) as (folder, files):
        found = hold_out(candidate, *data, folder=folder, tell=lambda *step: tell(step), deadline=deadline, **settings)
    return found, files


def _train(
    candidate: Candidate,
    data: tuple[Graph, Tensor],
    point: float,
    where: Path | Files | None,
    settings: dict[str, Any],
    tell: Tell,
) -> tuple[Candidate, dict[str, Tensor], Files]:
    """Train a candidate on all labels."""
    with own_folder(where) as (folder, files):
        trained, tensors = train(candidate, *data, point, folder=folder, tell=lambda *step: tell(step), **settings)
    return trained, tensors, files


def _say_limit(budget: Budget, what: str = "it") -> str:
    limit = budget.limit or 0.0
    return f"the time limit of {limit:g} s leaves no time for {what}"
