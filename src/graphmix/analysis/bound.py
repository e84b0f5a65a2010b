"""The terms of the paper's generalisation bound (Theorem 1), estimated by training; docs/theorem.md explains them.

    E[ℓ(f(x; G), y)] - L_GraphMix(S, f)  ≤  R_m(F) + c √(ln(|Γ|/δ) / 2m) - λ V
    V = E_S'[inf_f L_FCN(S', f)] - 4c √(ln(|Γ|/δ) / 2m)

F is the class of all networks of the config's sizes, and α and γ define L_FCN. Infima and suprema over F are searched
for by training, so the sign of the error is known: the smallest L_FCN found is at least the infimum, so V is too large;
the largest correlation with random signs found is at most the supremum, so R is too small.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from graphmix.analysis.bound_terms import (
    LARGEST_LOSS,
    concentration,
    correlation,
    draw_signs,
    fcn_parts,
    least,
)
from graphmix.data import Graph, Split
from graphmix.errors import ConfigError, DataError
from graphmix.executors import check_stop, side_by_side
from graphmix.models import Backbone
from graphmix.models.registry import CUSTOM
from graphmix.results.record import Bound, BoundPoint, Estimate
from graphmix.streams import Streams
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured, capturable, on_side_stream
from graphmix.training.config import Config
from graphmix.training.devices import choose_device, trials_at_once
from graphmix.training.task import Task

# How often a network is measured in training, the end included.
CHECKPOINTS = 4

Measure = Callable[[Backbone], Tensor]
Watch = Callable[[int, int], None]


def estimate(
    graph: Graph,
    split: Split,
    config: Config,
    *,
    alphas: Sequence[float],
    gammas: Sequence[float],
    delta: float = 0.05,
    device: str = "auto",
    watch: Watch | None = None,
) -> Bound:
    """Estimate every term of the bound, for every point of a search grid.

    Args:
        graph: the graph.
        split: the training sets S', all of the same size: masks `[trials, nodes]`.
        config: the network, and how long and how fast to search; trial i draws from seed + i. Its method, reading, α
            and γ do not matter; dropout and weight decay are switched off, see `searching`.
        alphas: the grid's values of α; 0 means no mixup.
        gammas: the grid's values of γ.
        delta: δ, the probability with which the bound may fail.
        device: "auto", "cpu", "cuda" or "cuda:1".
        watch: called after every point of the grid with the number of points done and in total.

    Returns:
        The terms, without the settings they were computed with.

    Raises:
        ConfigError: there is not one training set for each trial, the grid is empty, δ is not a probability, or the
            network is a custom model.
        DataError: the split does not fit the graph, or its training sets differ in size.
    """
    _check(split, config, len(alphas) * len(gammas), delta)
    search = _Search.start(graph, split, config, choose_device(device))
    chance = concentration(search.m, len(alphas) * len(gammas), delta)
    rademacher = search.rademacher()
    found = search.constant(alphas)
    points = []
    for place, alpha in enumerate(alphas):
        for number, gamma in enumerate(gammas, start=1):
            # A network belongs to F however it was trained, so it is a candidate for every other γ too.
            found[place] = torch.cat([found[place], search.fcn(alpha, gamma)])
            if watch is not None:
                watch(place * len(gammas) + number, len(alphas) * len(gammas))
        points += [_point(alpha, gamma, least(found[place], gamma), rademacher, chance) for gamma in gammas]
    return Bound(
        m=search.m,
        unlabeled=graph.num_nodes - search.m,
        grid=len(points),
        delta=float(delta),
        c=LARGEST_LOSS,
        concentration=_rounded(chance),
        threshold=_rounded(4 * chance),
        rademacher=_summary(rademacher),
        points=tuple(points),
    )


def searching(config: Config) -> Config:
    """Return a config to search for an infimum or supremum over networks: cross-entropy without regularisation.

    Dropout and weight decay keep networks away from extremes. Without dropout all K target passes are equal, so one is
    enough.
    """
    return replace(
        config,
        method="supervised",
        reading="paper",
        weight_decay=0.0,
        input_dropout=0.0,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        perturbations=1,
        rampup_start=0,  # w(t) = γ from the first epoch on: the theorem has no ramp
        rampup_end=0,
        unlabeled="all",
        fcn_loss="cross-entropy",
        lambda_per="pair",
        class_weight="none",  # the theorem's losses are plain means over nodes
        target_weight="none",
    )


@dataclass(frozen=True)
class _Search:
    """A search for networks by training, one for each trial, in batches.

    Attributes:
        task: the graph and the training sets.
        config: how to train.
        batches: the trials, as many at once as fit.
    """

    task: Task
    config: Config
    batches: list[list[int]]

    @classmethod
    def start(cls, graph: Graph, split: Split, config: Config, device: torch.device) -> "_Search":
        config = searching(config)
        task = Task.build(graph, split, config, device)
        size, trials = trials_at_once(task.graph, config, device), list(range(config.trials))
        return cls(task, config, [trials[first : first + size] for first in trials[::size]])

    @property
    def m(self) -> int:
        """Number of nodes in a training set."""
        return int(self.task.labeled.count[0])

    def rademacher(self) -> Tensor:
        """R_m(F) = E_ξ sup_f (2/m) Σ ξᵢ ℓ(f(xᵢ; G), yᵢ), a draw of ξ for each trial: `[trials]`, found from below."""

        def job(task: Task, trials: list[int], streams: Streams) -> Tensor:
            signs, wanted = draw_signs(task, streams)
            measure = partial(correlation, task=task, signs=signs)
            return train(replace(task, targets=wanted), self.config, trials, measure)

        return self._over_batches(job).amax(dim=0)

    def constant(self, alphas: Sequence[float]) -> list[Tensor]:
        """Both terms of L_FCN, for every α, of networks that give all nodes the most frequent class of their S'.

        These are the smallest for a large γ: if all predictions are equal, so are the predicted targets, and their term
        is 0 whatever its weight. Training on the true labels does not find these networks.

        Returns:
            `[candidates, 2, trials]` for every α.
        """

        def job(task: Task, trials: list[int], streams: Streams) -> Tensor:
            share = (task.targets * task.labeled.weight[..., None]).sum(dim=1, keepdim=True)
            wanted = F.one_hot(share.argmax(dim=2), share.shape[2]).float().expand_as(task.targets)

            def measure(model: Backbone) -> Tensor:
                configs = [replace(self.config, method="fcn-mixup", alpha=alpha) for alpha in alphas]
                return torch.stack([fcn_parts(model, task, config, streams) for config in configs])

            return train(replace(task, targets=wanted), self.config, trials, measure)

        return list(self._over_batches(job).unbind(1))

    def fcn(self, alpha: float, gamma: float) -> Tensor:
        """Both terms of L_FCN of networks trained on it: `[candidates, 2, trials]`."""
        config = replace(self.config, method="fcn-mixup", alpha=alpha, gamma=gamma)

        def job(task: Task, trials: list[int], streams: Streams) -> Tensor:
            measure = partial(fcn_parts, task=task, config=config, streams=streams)
            return train(task, config, trials, measure)

        return self._over_batches(job)

    def _over_batches(self, job: Callable[[Task, list[int], Streams], Tensor]) -> Tensor:
        """Run a function on every batch's task, trials and streams; join the results along their last axis."""
        device = self.task.device
        jobs = [
            partial(
                job,
                self.task.select(torch.tensor(trials, device=device)),
                trials,
                Streams.from_seeds([self.config.seed + trial for trial in trials], device),
            )
            for trials in self.batches
        ]
        workers = min(torch.get_num_threads() if device.type == "cpu" else 1, len(jobs))
        return torch.cat(list(side_by_side(jobs, workers)), dim=-1)


def train(task: Task, config: Config, trials: list[int], measure: Measure) -> Tensor:
    """Train a batch of trials, and measure it before training, a few times during it, and at the end.

    Returns:
        `[candidates, ..., trials]` on the host, for a measure `[..., trials]`.
    """
    batch = Batch(task, config, trials)
    advance = Captured(batch.advance) if capturable(task.device) and task.parts is None else batch.advance
    marks = {-(-config.epochs * part // CHECKPOINTS) for part in range(1, CHECKPOINTS + 1)}
    with on_side_stream(task.device):
        found = [measure(batch.model)]
        for epoch in range(config.epochs):
            advance(*batch.shape(epoch))
            check_stop()
            if epoch + 1 in marks:
                found.append(measure(batch.model))
        return torch.stack(found).cpu()


def _check(split: Split, config: Config, grid: int, delta: float) -> None:
    if config.backbone == CUSTOM:
        raise ConfigError("the bound cannot be estimated for a custom model; choose a `backbone` by name")
    if grid == 0:
        raise ConfigError("the search grid is empty; give at least one value of `alphas` and of `gammas`")
    if not 0 < delta < 1:
        raise ConfigError(f"`delta` must be a probability above 0 and below 1, not {delta}")
    if split.num_splits != config.trials:
        raise ConfigError(
            f"the split has {split.num_splits} training sets, but `trials` is {config.trials}; each trial needs its "
            "own training set, as drawn by make_split"
        )
    sizes = split.train.sum(dim=1).unique().tolist()
    if len(sizes) > 1:
        raise DataError(f"the training sets must have the same size, but they have {sizes[0]} to {sizes[-1]} nodes")


def _point(alpha: float, gamma: float, loss: Tensor, rademacher: Tensor, chance: float) -> BoundPoint:
    excess = _mean(loss) - 4 * chance
    return BoundPoint(
        alpha=float(alpha),
        gamma=float(gamma),
        fcn_loss=_summary(loss),
        excess=_rounded(excess),
        bound={str(lam): _rounded(_mean(rademacher) + chance - lam * excess) for lam in (0, 1)},
    )


def _summary(values: Tensor) -> Estimate:
    # The spread of one trial is not defined.
    std = _rounded(values.double().std().item()) if len(values) > 1 else None
    return Estimate(_rounded(_mean(values)), std, tuple(_rounded(value) for value in values.tolist()))


def _mean(values: Tensor) -> float:
    return values.double().mean().item()


def _rounded(value: float) -> float:
    return round(value, 6)
