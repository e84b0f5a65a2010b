"""fit(graph, split, config) -> Fit."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.errors import ConfigError, DataError
from graphmix.executors import check_stop
from graphmix.method import confusion, f1, reliability, softmax
from graphmix.models import Backbone
from graphmix.models.registry import CUSTOM, NETWORKS, backbone_class
from graphmix.notebook import html_facts
from graphmix.text import counted
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured, capturable, on_side_stream
from graphmix.training.checkpoints import Checkpoints, Stopwatch
from graphmix.training.config import LAST, Config
from graphmix.training.devices import check_chunk, choose_device, trials_at_once
from graphmix.training.division import ALONE, Division, for_team
from graphmix.training.history import Best, History
from graphmix.training.padding import window_width
from graphmix.training.task import Task, prepare
from graphmix.training.tried import Tried
from graphmix.training.whole import MOST_READ, whole_logits


@dataclass(frozen=True)
class Progress:
    """The progress of a fit.

    Attributes:
        todo: number of trials that this process trains, without those finished by an earlier, interrupted run.
        first: the first trial of the current batch.
        trials: number of trials in the batch.
        epoch: number of epochs done in the batch.
        best: the best epochs so far; reading it waits for the device, so do it rarely.
        note: how the epochs of a custom model run on CUDA: as CUDA graphs, or why not.
    """

    todo: int
    first: int
    trials: int
    epoch: int
    best: Best
    note: str = ""


Watch = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Fit:
    """Trained networks and how they were trained; everything is on the host, with a trial axis.

    Attributes:
        config: the hyperparameters.
        trials: the indices of these trials; trial i was seeded with config.seed + i.
        weights: name to tensor `[trials, ...]`, at each trial's best epoch.
        best_epoch: int64 `[trials]`, the epoch with the best validation score, counted from 0.
        val_score: `[trials]`, the score that the best epoch was selected by; NaN for the last epoch.
        val_accuracy: `[trials]`, at the best epoch; NaN without validation nodes.
        test_accuracy: `[trials]`, at the best epoch; NaN without test nodes.
        test_f1: `[trials, classes]`, F1 at the best epoch; NaN for a class that is neither a label nor predicted.
        confusion: int64 `[trials, classes, classes]`, test nodes at the best epoch by label and prediction.
        reliability: float64 `[trials, bins, 3]`, `graphmix.method.reliability` of the test nodes at the best epoch.
        history: the curves.
        seconds: wall-clock time from the start of training until these trials were done.
        network: the custom model; None if the config names the network.
    """

    config: Config
    trials: tuple[int, ...]
    weights: dict[str, Tensor]
    best_epoch: Tensor
    val_score: Tensor
    val_accuracy: Tensor
    test_accuracy: Tensor
    test_f1: Tensor
    confusion: Tensor
    reliability: Tensor
    history: History
    seconds: float
    network: Backbone | None = None

    def __repr__(self) -> str:
        config, accuracy = self.config, _spread(self.test_accuracy)
        trained = f"{counted(len(self.trials), 'trial')} × {counted(config.epochs, 'epoch')}"
        tested = f"test accuracy {accuracy}" if accuracy else "no test nodes"
        return f"Fit({config.method}, {config.backbone}, {trained}: {tested}, {self.seconds:.1f} s)"

    def _repr_html_(self) -> str:
        config = self.config
        facts = [
            ("method", config.method),
            ("network", config.backbone),
            ("trials", len(self.trials)),
            ("epochs", config.epochs),
            ("validation accuracy", _spread(self.val_accuracy)),
            ("test accuracy", _spread(self.test_accuracy)),
            ("best epoch", f"{self.best_epoch.min()} to {self.best_epoch.max()}"),
            ("seconds", round(self.seconds, 1)),
        ]
        return html_facts("Fit", facts)

    def model(self) -> Backbone:
        """The networks at their best epochs."""
        if self.network is not None:
            return replace(self.network, weights=self.weights)
        if self.config.backbone not in NETWORKS or self.config.backbone == CUSTOM:
            raise ConfigError("these trials are of a custom model; give it to load_run as `model`")
        return backbone_class(self.config.backbone)(self.weights, **self.config.options())

    def predict_proba(self, graph: Graph) -> Tensor:
        """Class probabilities: `[trials, nodes, classes]`, rows sum to 1.

        Each trial has its own; `.mean(0)` is the ensemble.

        Raises:
            DataError: the graph has another number of features than the one that was trained on.
        """
        return predict_proba(self.model(), self.config, graph)

    def predict(self, graph: Graph) -> Tensor:
        """The most probable class: int64 `[trials, nodes]`."""
        return self.predict_proba(graph).argmax(dim=2)

    def select(self, trial: int) -> "Fit":
        """Return one trial, by its position in this fit."""
        tensors: dict[str, Any] = {
            name: value[trial : trial + 1] for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(
            self,
            trials=self.trials[trial : trial + 1],
            weights={name: weight[trial : trial + 1] for name, weight in self.weights.items()},
            history=History(**{name: curve[trial : trial + 1] for name, curve in vars(self.history).items()}),
            **tensors,
        )

    @classmethod
    def join(cls, parts: list["Fit"]) -> "Fit":
        """Join batches of trials, in the order of their trials."""
        parts = sorted(parts, key=lambda part: part.trials)

        def cat(read: Callable[["Fit"], Tensor]) -> Tensor:
            return torch.cat([read(part) for part in parts])

        return cls(
            config=parts[0].config,
            trials=tuple(trial for part in parts for trial in part.trials),
            weights={name: cat(lambda part, name=name: part.weights[name]) for name in parts[0].weights},  # type: ignore[misc]
            best_epoch=cat(lambda part: part.best_epoch),
            val_score=cat(lambda part: part.val_score),
            val_accuracy=cat(lambda part: part.val_accuracy),
            test_accuracy=cat(lambda part: part.test_accuracy),
            test_f1=cat(lambda part: part.test_f1),
            confusion=cat(lambda part: part.confusion),
            reliability=cat(lambda part: part.reliability),
            history=History(
                **{name: cat(lambda part, name=name: vars(part.history)[name]) for name in vars(parts[0].history)}  # type: ignore[misc]
            ),
            seconds=max(part.seconds for part in parts),
            network=parts[0].network,
        )


def _spread(shares: Tensor) -> str:
    """Return mean and standard deviation in percent, for people; empty if there are none."""
    percent = 100 * shares.double()[shares.isfinite()]
    if not len(percent):
        return ""
    return f"{percent.mean():.1f}{f' ± {percent.std():.1f}' if len(percent) > 1 else ''} %"


def fit(
    graph: Graph,
    split: Split,
    config: Config | None = None,
    *,
    model: Backbone | None = None,
    device: str = "auto",
    chunk: int | None = None,
    watch: Watch | None = None,
) -> Fit:
    """Train all trials and keep the weights of each at the epoch with its best validation score.

    Args:
        graph: the graph.
        split: training, validation and test nodes, shared or one set per trial.
        config: the hyperparameters; default: the paper's.
        model: a custom model, for example from `graphmix.wrap`, instead of the config's backbone.
        device: "auto", "cpu", "cuda" or "cuda:1".
        chunk: how many trials to train at once; default: chosen from the device and its free memory.
        watch: called after every epoch; on the CPU from several threads, one per batch in training.

    Raises:
        DataError: the split does not fit the graph, or one of the two is invalid.
        ConfigError: a hyperparameter or an option is invalid, or does not suit the graph or its size.
    """
    config = for_team(for_model(Config() if config is None else config, model))
    check_chunk(chunk)
    task = Task.build(graph, split, config, choose_device(device))
    return Fit.join(list(fit_batches(task, config, model=model, chunk=chunk, watch=watch)))


@torch.no_grad()
def predict_proba(model: Backbone, config: Config, graph: Graph) -> Tensor:
    """Class probabilities by trained networks, on the CPU: `[trials, nodes, classes]`, rows sum to 1.

    Raises:
        DataError: the graph has another number of features than the one that was trained on.
    """
    given: object = graph
    if not isinstance(given, Graph):
        raise DataError(f"these networks predict a graphmix.Graph, not {type(given).__name__}")
    if graph.num_features != model.features:
        raise DataError(f"the graph has {graph.num_features} features; these networks were trained on {model.features}")
    graph = prepare(graph, config).to("cpu")  # where the weights are
    judged = graph if config.predicts_with_gnn else graph.null()
    parts = torch.arange(model.trials).split(trials_at_once(graph, config, graph.y.device, model))
    most = MOST_READ if config.batch_nodes > 0 else None
    return torch.cat([softmax(whole_logits(model.select(part), graph.x, judged, most)) for part in parts])


def for_model(config: Config, model: Backbone | None) -> Config:
    """Mark the config as custom if a model is given, and check that they match."""
    given: object = config
    if not isinstance(given, Config):
        raise ConfigError(f"`config` must be a graphmix.Config, not {type(given).__name__}")
    if model is not None and not isinstance(model, Backbone):
        raise ConfigError(
            f"`model` must be a Backbone, for example from graphmix.wrap(module, mix_at=…), not {type(model).__name__}"
        )
    if model is None and config.backbone == CUSTOM:
        raise ConfigError(f"the `backbone` {CUSTOM!r} needs a custom model; give it as `model`")
    return config if model is None else replace(config, backbone=CUSTOM)


def fit_batches(
    task: Task,
    config: Config,
    *,
    model: Backbone | None = None,
    chunk: int | None = None,
    watch: Watch | None = None,
    skip: Collection[int] = (),
    elapsed: float = 0.0,
    checkpoints: Checkpoints | None = None,
) -> Iterator[Fit]:
    """Train like `fit` and yield each batch; leave out the trials in `skip`, which took `elapsed` seconds.

    With `checkpoints`, batches that a killed run has begun continue where they were.
    """
    clock = Stopwatch(elapsed)
    size = trials_at_once(task.graph, config, task.device, model) if chunk is None else chunk
    todo = [trial for trial in range(config.trials) if trial not in skip]
    division = Division.of(task, config, todo, size, checkpoints, alone=model is not None)
    for part in division.run(partial(_fit_batch, task, config, model, division, clock, watch), _fit_elsewhere):
        yield replace(part, seconds=clock.seconds())


def _fit_elsewhere(task: Task, config: Config, trials: list[int]) -> Fit:
    """Train a batch in a process that follows the leader of its team."""
    return _fit_batch(task, config, None, ALONE, Stopwatch(), None, trials)


def _advance_of(batch: Batch, *, captures: bool, custom: bool) -> Callable[..., None]:
    if not captures:
        return batch.advance
    return Tried(batch.advance, batch.model.notes) if custom else Captured(batch.advance)


def _fit_batch(
    task: Task,
    config: Config,
    model: Backbone | None,
    division: Division,
    clock: Stopwatch,
    watch: Watch | None,
    trials: list[int],
) -> Fit:
    # The sizes of mini-batches differ. A wrapped module is captured with the exact numbers of heads.
    captures = capturable(task.device) and task.parts is None
    window = window_width(task.graph, config, len(trials)) if captures and model is None else 1
    own = task.select(torch.tensor(trials, device=task.device))
    batch = Batch(own, config, trials, model, window, division.team)
    keeper, _ = division.begin(batch, trials)
    advance = _advance_of(batch, captures=captures, custom=model is not None)
    with on_side_stream(task.device):
        if captures and model is None:
            batch.compile_kernels()
        for epoch in range(batch.epochs_done, config.epochs):
            advance(*batch.shape(epoch))
            keeper.after_epoch(batch, clock.tensors)
            check_stop()
            if watch is not None:
                note = batch.model.notes.get("epochs", "")
                watch(Progress(division.own_trials, trials[0], len(trials), epoch + 1, batch.best, note))
        logits, labels = batch.test_logits(), own.test.labels
        return Fit(
            config=config,
            trials=tuple(trials),
            weights={name: weight.cpu() for name, weight in batch.kept.items()},
            best_epoch=batch.best.epoch.cpu(),
            val_score=batch.best.score.cpu() if config.select_by != LAST else torch.full((len(trials),), torch.nan),
            val_accuracy=batch.best.val.cpu(),
            test_accuracy=batch.best.test.cpu(),
            test_f1=f1(logits.argmax(dim=2), labels, logits.shape[2]).cpu(),
            confusion=confusion(logits.argmax(dim=2), labels, logits.shape[2]).cpu(),
            reliability=reliability(softmax(logits), labels).cpu(),
            history=History(*batch.curves.mT.contiguous().cpu()),
            seconds=0.0,
            network=model,
        )
