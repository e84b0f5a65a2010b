"""Batches of trials on the workers of an executor; the batches are those that this process would train."""

import time
from collections.abc import Collection, Iterator
from dataclasses import replace

from graphmix.data import Graph, Split
from graphmix.executors import Executor, Job
from graphmix.executors.executor import Tell, say_nothing
from graphmix.models import Backbone
from graphmix.training.config import Config
from graphmix.training.devices import choose_device, trials_at_once
from graphmix.training.division import threads_of
from graphmix.training.loop import Fit, Progress, Watch, fit_batches
from graphmix.training.task import Task


def build_task(graph: Graph, split: Split, config: Config, device: str) -> Task:
    """Prepare a graph and a split on a device, by name; what workers share."""
    return Task.build(graph, split, config, choose_device(device))


def fit_elsewhere(
    executor: Executor,
    task: Task,
    config: Config,
    *,
    device: str,
    model: Backbone | None = None,
    chunk: int | None = None,
    watch: Watch | None = None,
    skip: Collection[int] = (),
    elapsed: float = 0.0,
) -> Iterator[Fit]:
    """Train like `fit_batches`, each batch as a job of its own; batches come as they end.

    Args:
        executor: where to train.
        task: what `executor.share(build_task, …)` returned.
        config: the hyperparameters.
        device: the device of the jobs, as the executor named it.
        model: the custom model, if any.
        chunk: how many trials to train at once; default: as many as in this process.
        watch: called with the progress of batches.
        skip: trials to leave out.
        elapsed: how many seconds those took.
    """
    started = time.perf_counter() - elapsed
    size = chunk or executor.result(_batch_size, task, config, model, device=device)
    todo = [trial for trial in range(config.trials) if trial not in skip]
    batches = [todo[start : start + size] for start in range(0, len(todo), size)]
    at_once = threads_of(batches, config, device)
    jobs = (
        Job(_fit_trials, (task, config, model, batch, len(todo)), _name(batch), device, watch or say_nothing)
        for batch in batches
    )
    for _, part in executor.results(jobs, at_once=at_once):
        yield replace(part, seconds=time.perf_counter() - started)


def _batch_size(task: Task, config: Config, model: Backbone | None, tell: Tell) -> int:
    return trials_at_once(task.graph, config, task.device, model)


def _fit_trials(task: Task, config: Config, model: Backbone | None, trials: list[int], todo: int, tell: Tell) -> Fit:
    def watch(step: Progress) -> None:
        tell(replace(step, todo=todo))

    others = set(range(config.trials)).difference(trials)
    (part,) = fit_batches(task, config, model=model, chunk=len(trials), watch=watch, skip=others)
    return part


def _name(trials: list[int]) -> str:
    return f"trial {trials[0]}" if len(trials) == 1 else f"trials {trials[0]} to {trials[-1]}"
