"""Networks trained for a number of epochs that other networks chose.

`trace` trains networks on part of the labels and notes, every few epochs, what they predict of the labels held out.
Whoever reads the trace chooses the number of epochs; `train_for` then trains networks on all labels for so many.
Nothing is evaluated in between, so an epoch takes about two thirds of the time that it takes in `fit`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import RunError
from graphmix.executors import check_stop
from graphmix.method import softmax
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured, capturable, on_side_stream
from graphmix.training.checkpoints import Checkpoints
from graphmix.training.config import Config
from graphmix.training.devices import check_memory, choose_device, trials_at_once
from graphmix.training.division import ALONE, Division
from graphmix.training.judging import logits_of
from graphmix.training.method import BOTH
from graphmix.training.methods import METHODS
from graphmix.training.seen import Seen
from graphmix.training.sizes import epochs_between_evaluations
from graphmix.training.task import Task

# Held-out nodes are predicted after so many epochs, again and again.
EVERY = 10
# Training ends where the held-out loss has not improved for so many epochs.
PATIENCE = 100
# So many probabilities of all moments together are kept; with more, there are fewer moments.
_MOST_KEPT = 2**26
_FEWEST_POINTS = 5
_FLOOR = 1e-12

Tell = Callable[[int, int], None]


class OutOfTimeError(RunError):
    """The time limit was reached before the networks were trained."""


@dataclass(frozen=True, eq=False)
class Trace:
    """What networks predict of nodes held out of their training, as they train.

    Attributes:
        points: int64 `[points]`, the numbers of epochs at which they predicted.
        nodes: int64 `[held]`, the nodes that at least one trial held out, in increasing order.
        probabilities: float32 `[points, held, classes]`, the mean over the trials that held out the node.
        fcn: the same by the networks without the edges; None unless the method trains both.
    """

    points: Tensor
    nodes: Tensor
    probabilities: Tensor
    fcn: Tensor | None = None


def trace(
    graph: Graph,
    split: Split,
    config: Config,
    *,
    device: str = "auto",
    patience: int = PATIENCE,
    tell: Tell = lambda done, total: None,
    deadline: float | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trace:
    """Train networks and note what they predict of the validation nodes of their split.

    A batch of trials stops when its loss on these nodes has not improved for `patience` epochs; with predicted targets
    this counts from the end of their ramp-up. Its last predictions then stand for epochs that other batches did.

    Args:
        graph: the graph.
        split: training and validation nodes, shared or one set per trial; test nodes are not looked at.
        config: the hyperparameters.
        device: where to train.
        patience: how many epochs without an improvement are too many.
        tell: called with how many epochs of all trials are done, and of how many.
        deadline: a time of `time.monotonic` at which to give up.
        checkpoints: where batches keep their state; None to keep none.

    Raises:
        OutOfTimeError: the deadline passed.
    """
    chosen = choose_device(device)
    task = Task.build(graph, replace(split, test=torch.zeros_like(split.test)), config, chosen)
    every = max(EVERY, epochs_between_evaluations(graph, config))
    points = _points(config.epochs, int(split.val.sum()) * graph.num_classes, every)
    both = METHODS[config.method].trains == BOTH
    division = _divide(task, config, checkpoints)
    clock = _Clock(division.own_trials, config, tell, deadline)
    nodes = split.val.any(dim=0).nonzero()[:, 0].cpu()
    total = torch.zeros(2 if both else 1, len(points), len(nodes), graph.num_classes)
    place = torch.full((graph.num_nodes,), -1)
    place[nodes] = torch.arange(len(nodes))
    found = division.run(
        partial(_trace_batch, task, config, division, clock, points, patience),
        _trace_elsewhere,
        lambda: [points, patience, clock.seconds_left()],
    )
    longest = 0
    for trials, (epochs, predicted) in zip(division.batches, found, strict=True):
        longest = max(longest, epochs)
        held = split.val[[trial % len(split.val) for trial in trials]].cpu()
        for trial, mask in enumerate(held):
            own = mask.nonzero()[:, 0]
            total[:, :, place[own]] += predicted[:, :, trial, : len(own)]
    done = sum(point <= longest for point in points)
    mean = (total / total.sum(dim=3, keepdim=True))[:, :done]
    return Trace(torch.tensor(points[:done]), nodes, mean[0], mean[1] if both else None)


def train_for(
    graph: Graph,
    labeled: Tensor,
    config: Config,
    *,
    device: str = "auto",
    tell: Tell = lambda done, total: None,
    checkpoints: Checkpoints | None = None,
) -> dict[str, Tensor]:
    """Train networks on the labels of some nodes, bool `[nodes]`, for all epochs of the config; return their weights.

    The ramp-up is the config's, whatever its epochs: to stop early, give the ramp-up of the longer training.
    """
    chosen = choose_device(device)
    check_memory(graph, config, chosen)
    none = torch.zeros_like(labeled)[None]
    task = Task.of_masks(graph, config, chosen, train=labeled[None], val=none, test=none)
    division = _divide(task, config, checkpoints)
    clock = _Clock(division.own_trials, config, tell, None)
    # In the order of the trials; those that were begun come first.
    found = zip(
        division.batches,
        division.run(partial(_train_batch, task, config, division, clock), _train_elsewhere),
        strict=True,
    )
    parts = [weights for _, weights in sorted(found, key=lambda each: each[0])]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


class _Clock:
    """Counts the epochs of all batches, which train side by side, and watches the time."""

    def __init__(self, trials: int, config: Config, tell: Tell, deadline: float | None) -> None:
        self._done: dict[int, int] = {}
        self._epochs, self._total = config.epochs, trials * config.epochs
        self._tell, self._deadline = tell, deadline

    def seconds_left(self) -> float | None:
        """Return how long until the deadline, if there is one."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    def tick(self, first: int, epochs: int) -> None:
        """Note that the trials of a batch have done so many epochs together."""
        check_stop()
        self._done[first] = epochs
        self._tell(min(sum(self._done.values()), self._total), self._total)
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTimeError("the time limit was reached")

    def stop(self, first: int, trials: int) -> None:
        """Note that a batch stops; epochs that are left count as done."""
        self.tick(first, trials * self._epochs)


def _divide(task: Task, config: Config, checkpoints: Checkpoints | None) -> Division:
    size = trials_at_once(task.graph, config, task.device)
    return Division.of(task, config, range(config.trials), size, checkpoints)


def _trace_batch(
    task: Task,
    config: Config,
    division: Division,
    clock: _Clock,
    points: list[int],
    patience: int,
    trials: list[int],
) -> tuple[int, Tensor]:
    """Train a batch and note what it predicts of its validation nodes.

    Returns:
        How many epochs it trained, and `[1 or 2, points, trials, picks, classes]`.
    """
    own = task.select(torch.tensor(trials, device=task.device))
    grounds = [own.judged] + [own.null] * (METHODS[config.method].trains == BOTH)
    waits_from = config.rampup_end if config.predicts_targets else 0
    with on_side_stream(task.device):
        batch = Batch(own, config, trials, team=division.team)
        keeper, kept = division.begin(batch, trials)
        seen, advance, epoch = Seen.restored(kept), _stepper(batch, own), batch.epochs_done
        while epoch < points[-1]:
            advance(*batch.shape(epoch))
            clock.tick(trials[0], len(trials) * (epoch + 1))
            epoch += 1
            if epoch in points:
                seen.predicted.append(torch.stack([_held(batch, own, ground) for ground in grounds]).cpu())
                if seen.is_enough(epoch - 1, _loss(seen.predicted[-1][0], own), waits_from, patience):
                    break
            keeper.after_epoch(batch, seen.tensors)
        clock.stop(trials[0], len(trials))
    predicted = seen.predicted + [seen.predicted[-1]] * (len(points) - len(seen.predicted))
    return epoch, torch.stack(predicted, dim=1)


def _trace_elsewhere(
    task: Task, config: Config, trials: list[int], points: list[int], patience: int, seconds: float | None
) -> tuple[int, Tensor]:
    """Trace a batch in a process that follows the leader of its team, within so many seconds."""
    deadline = None if seconds is None else time.monotonic() + seconds
    clock = _Clock(len(trials), config, lambda done, total: None, deadline)
    return _trace_batch(task, config, ALONE, clock, points, patience, trials)


def _train_batch(task: Task, config: Config, division: Division, clock: _Clock, trials: list[int]) -> dict[str, Tensor]:
    own = task.select(torch.tensor(trials, device=task.device))
    with on_side_stream(task.device):
        batch = Batch(own, config, trials, team=division.team)
        keeper, _ = division.begin(batch, trials)
        advance = _stepper(batch, own)
        for epoch in range(batch.epochs_done, config.epochs):
            advance(*batch.shape(epoch))
            clock.tick(trials[0], len(trials) * (epoch + 1))
            keeper.after_epoch(batch)
        return {name: weight.detach().cpu() for name, weight in batch.model.weights.items()}


def _train_elsewhere(task: Task, config: Config, trials: list[int]) -> dict[str, Tensor]:
    """Train a batch in a process that follows the leader of its team."""
    return _train_batch(task, config, ALONE, _Clock(len(trials), config, lambda done, total: None, None), trials)


def _stepper(batch: Batch, task: Task) -> Callable[..., None]:
    return Captured(batch.advance_blindly) if capturable(task.device) and task.parts is None else batch.advance_blindly


@torch.no_grad()
def _held(batch: Batch, task: Task, ground: Graph) -> Tensor:
    """What a batch predicts of its validation nodes: `[trials, picks, classes]`."""
    return softmax(task.val.of(logits_of(batch.model, task, ground)))


def _loss(probabilities: Tensor, task: Task) -> float:
    """The mean negative log-likelihood of the validation nodes over all trials of a batch."""
    labels = task.val.labels.clamp_min(0).expand(probabilities.shape[0], -1)
    own = probabilities.to(task.device).gather(2, labels[..., None])[..., 0].clamp_min(_FLOOR)
    return float(-(own.log() * task.val.weight).sum(dim=1).mean())


def _points(epochs: int, held: int, every: int = EVERY) -> list[int]:
    """The numbers of epochs at which held-out nodes are predicted: `every` so many, or fewer.

    `held` is the number of held-out nodes times the classes.
    """
    most = max(_FEWEST_POINTS, _MOST_KEPT // max(held, 1))
    every = max(every, -(-epochs // most))
    return sorted({*range(every, epochs + 1, every), epochs})
