"""Division: which trials train together, and where: on the cores of this process, or in the processes of its team."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from graphmix.errors import ConfigError
from graphmix.executors import side_by_side
from graphmix.training.batch import Batch
from graphmix.training.checkpoints import Checkpoints, Keeper, divide
from graphmix.training.config import Config
from graphmix.training.task import Task
from graphmix.training.team import Order, Team, current

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Division:
    """Batches of trials, and who trains them.

    With mini-batches all processes of a team train one batch together. With full batches each has batches of its own.

    Attributes:
        batches: the trials of each batch.
        threads: how many batches train side by side in this process, with one thread each; 1 gives all to one batch.
        team: the processes that train each batch together; None if a process trains a batch by itself.
        apart: the processes that divide the batches among them; None if this process trains them all.
        checkpoints: where batches of this process keep their state; None to keep none.
    """

    batches: list[list[int]]
    threads: int = 1
    team: Team | None = None
    apart: Team | None = None
    checkpoints: Checkpoints | None = None

    @classmethod
    def of(
        cls,
        task: Task,
        config: Config,
        todo: Sequence[int],
        size: int,
        checkpoints: Checkpoints | None = None,
        *,
        alone: bool = False,
    ) -> "Division":
        """Divide trials into batches of at most `size`, and send the task to the team if there is one.

        `alone` leaves all to this process, as for a custom model.

        Raises:
            ConfigError: a step has fewer samples than there are processes.
        """
        team = None if alone else current()
        if team is not None and task.parts is None:
            size = max(1, min(size, -(-len(todo) // team.size)))
        batches = divide(todo, size) if checkpoints is None else checkpoints.divide(todo, size)
        if team is None:
            return cls(batches, threads_of(batches, config, task.device), checkpoints=checkpoints)
        if task.parts is not None:
            check_parts(config, team.size)
        team.device = task.device
        team.order(Order.TASK, (task, config))
        if task.parts is not None:
            return cls(batches, team=team, checkpoints=checkpoints)
        return cls(batches, apart=team, checkpoints=checkpoints)

    @property
    def own_trials(self) -> int:
        """How many trials this process trains, by itself or with others."""
        return sum(map(len, self.batches[:: 1 if self.apart is None else self.apart.size]))

    def run(
        self,
        work: Callable[[list[int]], Result],
        elsewhere: Callable[..., Result],
        more: Callable[[], list[Any]] = list,
    ) -> Iterator[Result]:
        """Yield the result of every batch, in order.

        Args:
            work: trains the trials of a batch in this process.
            elsewhere: does the same in another process, given its task, its config, the trials and `more`; a function
                of a module.
            more: returns further arguments for `elsewhere`.
        """
        if self.apart is None:
            yield from side_by_side([partial(work, trials) for trials in self.batches], self.threads)
            return
        for start in range(0, len(self.batches), self.apart.size):
            jobs = [(trials, *more()) for trials in self.batches[start : start + self.apart.size]]
            yield from self.apart.work(elsewhere, jobs, lambda job: work(job[0]))

    def begin(self, batch: Batch, trials: Sequence[int]) -> tuple[Keeper, Mapping[str, Tensor]]:
        """Restore what was kept of a batch, and let the others begin it too; return its keeper, and what it kept."""
        keeper = Keeper(tuple(trials)) if self.checkpoints is None else self.checkpoints.of(trials)
        kept = keeper.restore(batch)
        if self.team is not None:
            self.team.order(Order.BATCH, (list(trials), batch.state()))
        return keeper, kept


# What a process does with batches that are its own.
ALONE = Division([])


def threads_of(batches: Sequence[Sequence[int]], config: Config, device: torch.device | str) -> int:
    """Return how many batches train side by side, with one thread each; 1 for a batch that has all threads.

    A batch with several threads is rounded in another way. So the last batch of a run that was killed has one thread,
    as it had beside the others; only a batch of all trials has more.
    """
    parts = any(len(trials) < config.trials for trials in batches)
    return torch.get_num_threads() if parts and torch.device(device).type == "cpu" else 1


def for_team(config: Config) -> Config:
    """Return the config of a run that a team trains: with mini-batches every process has a sample in each step."""
    team = current()
    if team is None or config.batch_nodes == 0 or config.batch_parts > 1:
        return config
    return replace(config, batch_parts=team.size)


def check_parts(config: Config, processes: int) -> None:
    """Raise ConfigError if there are more processes than samples in a step."""
    if config.batch_parts < processes:
        raise ConfigError(
            f"`batch_parts` must be at least {processes}, the number of processes, not {config.batch_parts}: every "
            "process has samples of its own"
        )
