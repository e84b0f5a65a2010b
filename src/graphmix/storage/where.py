"""Where the batches of a run train: in this process, or on the workers of an executor."""

from collections.abc import Callable, Iterator
from functools import partial

import torch

from graphmix.data import Graph, Split
from graphmix.executors import Executor
from graphmix.executors.executor import Tell
from graphmix.results.describe import device_name
from graphmix.training.config import Config
from graphmix.training.elsewhere import build_task, fit_elsewhere
from graphmix.training.loop import Fit, fit_batches
from graphmix.training.task import Task


def prepare(
    graph: Graph, split: Split, config: Config, device: str, executor: Executor
) -> tuple[Callable[..., Iterator[Fit]], torch.device | str]:
    """Return what trains batches of trials, and the device, or the name of a worker's device.

    What cannot be trained is refused here, before anything is written.
    """
    if executor.here:
        task = build_task(graph, split, config, device)
        return partial(fit_batches, task, config), task.device
    task = executor.share(build_task, graph, split, config, device)
    return partial(fit_elsewhere, executor, task, config, device=device), executor.result(_name, task, device=device)


def _name(task: Task, tell: Tell) -> str:
    return device_name(task.device)
