"""Kernels compiled side by side before the first epoch, which would compile one after the other.

An epoch's parts run in threads of their own, on two trials and without effects: random numbers depend on the epoch
alone, weights are copies, and results are dropped. Triton and ptxas compile outside of Python's lock. Torch runs
all backward passes of a device in one thread, so their kernels still follow one another.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

from graphmix.models import Backbone
from graphmix.streams import Streams
from graphmix.training.config import Config
from graphmix.training.judging import judge
from graphmix.training.methods import METHODS
from graphmix.training.step import Moment, divided_loss, unsupervised_weight
from graphmix.training.task import Task

_warm: set[tuple[str, str]] = set()


def compile_kernels(model: Backbone, task: Task, config: Config, streams: Streams) -> None:
    """Run the parts of an epoch once, in a process that has not done so for this network and method."""
    about = (model.description, config.method)
    if about in _warm:
        return
    _warm.add(about)
    some = torch.arange(min(2, model.trials), device=task.device)
    few = replace(model, weights={name: weight[some].detach() for name, weight in model.weights.items()})
    parts = [
        lambda: _judge(few, task.select(some)),
        *(
            lambda case=case: _step(few, task.select(some), config, streams.select(some), *case)
            for case in cases(config)
        ),
    ]
    # The current stream belongs to a thread, and so do its tensors.
    stream = torch.cuda.current_stream(task.device) if task.device.type == "cuda" else None
    try:
        with ThreadPoolExecutor(len(parts)) as pool:
            for done in [pool.submit(_on, stream, part) for part in parts]:
                done.result()
    except torch.cuda.OutOfMemoryError:
        # Training takes one part at a time. It compiles what is missing.
        torch.cuda.empty_cache()
    if stream is not None:
        stream.synchronize()
        # Training never has all these parts in memory at once.
        torch.cuda.reset_peak_memory_stats(task.device)


def _on(stream: torch.cuda.Stream | None, part: Callable[[], None]) -> None:
    # Without a stream this does nothing.
    with torch.cuda.stream(stream):
        part()


def cases(config: Config) -> list[tuple[int, bool]]:
    """What epochs of a run do: how many of two coins show heads, and whether targets are needed.

    Empty if the method brings its own step.
    """
    if METHODS[config.method].rule is not None:
        return []
    weights = {unsupervised_weight(config, epoch) > 0 for epoch in (0, config.epochs - 1)}
    flips = config.method == "graphmix" and config.optimisation == "alternate"
    heads = (2, 0) if flips else (2,) if config.method == "fcn-mixup" else (0,)
    # Without heads targets play no part if coins are flipped, unless the GNN has targets too.
    plain = flips and config.gnn_targets == "none"
    return [(count, needed) for count in heads for needed in sorted(weights) if not (plain and count == 0 and needed)]


@torch.no_grad()
def _judge(model: Backbone, task: Task) -> None:
    judge(model(task.x, task.judged), task)


def _step(model: Backbone, task: Task, config: Config, streams: Streams, heads: int, unsupervised: bool) -> None:
    weights = {name: weight.clone().requires_grad_() for name, weight in model.weights.items()}
    epoch = torch.zeros(1, dtype=torch.int64, device=task.device)
    moment = Moment(epoch, torch.ones(1, device=task.device) if unsupervised else None)
    order = torch.arange(model.trials, device=task.device)
    loss = divided_loss(
        replace(model, weights=weights), task, config, streams, moment, (order, min(heads, model.trials))
    )
    torch.autograd.grad(loss.sum(), list(weights.values()), allow_unused=True)
