"""What a process does that follows the leader of its team."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from graphmix.errors import GraphMixError
from graphmix.training.batch import Batch
from graphmix.training.config import Config
from graphmix.training.task import Task
from graphmix.training.team import Order, Team, leading

Result = TypeVar("Result")

# The team of this process, once it has joined it.
_joined: list[Team] = []


def together(work: Callable[[], Result]) -> Result | None:
    """Let all processes that torchrun started for a script train what `work` trains.

    It runs in the first process alone, which gets its result; the others help, and get None when it is done. Errors in
    the first process end the others. A process that torchrun did not start works alone.
    """
    if "RANK" not in os.environ:
        return work()
    if not _joined:
        # Once: torch.distributed belongs to the process.
        _joined.append(Team.join())
    team = _joined[0]
    if not team.leads:
        Follower(team).follow()
        return None
    try:
        with leading(team):
            return work()
    finally:
        team.dismiss()


class Follower:
    """Holds what the leader has sent, and trains as it orders.

    Attributes:
        team: the processes.
        task: what is trained on.
        config: the hyperparameters.
    """

    def __init__(self, team: Team) -> None:
        self.team = team
        self.task: Task | None = None
        self.config = Config()
        self._batch: Batch | None = None

    def follow(self) -> None:
        """Do what the leader orders, until it is done."""
        while True:
            what, content = self.team.receive()
            if what == Order.END:
                return
            self._obey(what, content)

    def _obey(self, what: Order, content: Any) -> None:
        if what == Order.STEP:
            self._step()
        elif what == Order.TASK:
            self._batch = None
            self.task, self.config = content
        elif what == Order.BATCH:
            self._begin(*content)
        else:
            self.team.answer(self._results(*content))

    def _step(self) -> None:
        assert self._batch is not None, "a batch comes before its steps"
        self._batch.advance_blindly(*self._batch.shape(self._batch.epochs_done))

    def _begin(self, trials: list[int], state: dict[str, Tensor]) -> None:
        assert self.task is not None, "a task comes before its batches"
        own = self.task.select(torch.tensor(trials, device=self.team.device))
        self._batch = Batch(own, self.config, trials, team=self.team)
        self._batch.restore(state)

    def _results(self, function: Callable[..., Any], jobs: list[Any]) -> list[Any] | GraphMixError:
        try:
            return [function(self.task, self.config, *jobs[place]) for place in self.team.share(len(jobs))]
        except GraphMixError as error:
            return error
