"""Whether a fit has room: for its tables, its training, and what it predicts."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError
from graphmix.executors import Executor
from graphmix.tables.estimates import estimate
from graphmix.training.config import Config
from graphmix.training.devices import check_memory, choose_device, free_memory
from graphmix.workflow.columns import Columns
from graphmix.workflow.plan import Candidate
from graphmix.workflow.problem import Problem, Source
from graphmix.workflow.watching import Watcher


def expect(tables: tuple[Source, Source], columns: Columns, folder: Path, watch: Watcher) -> None:
    """Say what large tables will take, and refuse what cannot fit."""
    expected = estimate(*tables, columns.reading("nodes"))
    if expected is None or not expected.is_large:
        return
    watch.expected(str(expected))
    whole = folder.absolute()
    there = next(each for each in (whole, *whole.parents) if each.exists())
    expected.check(room=shutil.disk_usage(there).free)


def device_of(name: str, executor: Executor) -> torch.device:
    """Return the device whose memory the training must fit into; workers elsewhere are taken to have as much as here.

    Raises:
        ConfigError: there is no such device.
    """
    asked = executor.device(name)
    return choose_device(asked if executor.here else "cpu")


def make_split(problem: Problem, plan: Sequence[Candidate], device: torch.device) -> Split:
    """Return what each trial trains on and holds out, after checking that there is memory for it."""
    graph = problem.graph
    config = plan[0].config
    # Before the split, which takes memory for every trial; very many classes are the first reason to name.
    _check_room(graph, config)
    for candidate in plan:
        check_memory(graph, candidate.config, device, shared_split=problem.split is not None)
    return problem.splits(config.trials, config.seed)


def _check_room(graph: Graph, config: Config) -> None:
    """Raise ConfigError if there are so many classes that the probabilities do not fit into memory.

    For each class of a node there are about four float32 numbers per trial, and five float64 numbers for decisions.
    """
    needed = graph.num_nodes * graph.num_classes * (4 * 4 * config.trials + 5 * 8)
    free = free_memory(torch.device("cpu"))
    if needed > free:
        raise ConfigError(
            f"the probabilities of {graph.num_nodes:,} nodes for {graph.num_classes:,} classes need about "
            f"{needed / 2**30:,.0f} GiB in {config.trials} trials, and {free / 2**30:,.0f} are free; merge rare "
            "classes or lower `trials`"
        )
