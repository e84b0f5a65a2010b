"""Candidates: the methods that a fit tries on the same splits, GraphMix and simpler ones."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from graphmix.analysis.details import curves, details
from graphmix.baselines import propagate
from graphmix.baselines.label_propagation import MOST_STEPS
from graphmix.data import Graph, Split
from graphmix.data.folds import FOLDS
from graphmix.errors import DataError, RunError
from graphmix.evaluation.heldout import HeldOut, hold_out, judged_nodes
from graphmix.results.details import Details
from graphmix.results.writer import to_json
from graphmix.storage.files import write_json
from graphmix.storage.folders import DETAILS
from graphmix.storage.runs import train_once
from graphmix.training import Config, Fit, fit
from graphmix.training.expectations import few_epochs
from graphmix.training.loop import Watch
from graphmix.training.methods import BOTH, METHODS
from graphmix.training.paper import SETTINGS
from graphmix.training.task import check_edge_weights

Tell = Callable[[str, int, int], None]

GRAPHMIX, SUPERVISED, FCN = "graphmix", "supervised", "fcn"

# Above this many nodes training takes long on a CPU, and there are fewer epochs.
_MANY_NODES = 20_000
_VERY_MANY_NODES = 100_000
_FEWEST_EPOCHS = 200
# Up to this many classes the paper has 16 hidden units, above it 64.
_FEW_CLASSES = 8
# Bags of words have more features than this, and half of them can be dropped.
_FEW_FEATURES = 200
# Confusion matrices are stored for at most this many classes.
_PICTURED_CLASSES = 100


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method that was tried.

    Attributes:
        method: its name.
        probabilities: float32 `[trials or 1, nodes, classes]`, on the graph it was trained on.
        held: its held-out predictions.
        fit: the networks; None for label propagation.
        seconds: how long it took.
        fcn_held: of GraphMix, the held-out predictions of its FCN, the same weights without the edges.
    """

    method: str
    probabilities: Tensor
    held: HeldOut
    fit: Fit | None
    seconds: float
    fcn_held: HeldOut | None = None


def usual_config(graph: Graph, **given: Any) -> Config:
    """Return the usual hyperparameters for a graph: the paper's or the method's, adapted to its size; `given` win.

    Of equally good epochs the last one counts: if few nodes select, many epochs are equally good, and the first of them
    is often an early one.
    """
    chosen: dict[str, Any] = {
        "trials": FOLDS if graph.num_nodes <= _VERY_MANY_NODES else 3,
        "epochs": max(_FEWEST_EPOCHS, min(2000, 2000 * _MANY_NODES // graph.num_nodes)),
        "hidden": 16 if graph.num_classes <= _FEW_CLASSES else 64,
        "input_dropout": 0.5 if graph.num_features > _FEW_FEATURES else 0.2,
        "ties": "last",
    }
    paper = SETTINGS.get((None, given.get("backbone")), {})
    chosen |= paper
    if "hidden_dropout" in paper:
        # The paper's GAT drops hidden units at the rate of its inputs.
        chosen["hidden_dropout"] = chosen["input_dropout"]
    method = METHODS.get(str(given.get("method")))
    chosen |= {} if method is None else method.defaults
    return Config(**(chosen | {name: value for name, value in given.items() if value is not None}))


def epoch_notes(config: Config, methods: Sequence[str]) -> list[str]:
    """Return the warnings of methods that train for few epochs."""
    notes = [few_epochs(replace(config, method=method)) for method in methods if not METHODS[method].baseline]
    return [note for note in notes if note is not None]


def check_weights(methods: Sequence[str], graph: Graph, config: Config) -> None:
    """Raise ConfigError if the graph has edge weights that the network of a chosen method does not use."""
    for method in methods:
        if not METHODS[method].baseline:
            check_edge_weights(graph, replace(config, method=method))


def try_method(
    method: str,
    graph: Graph,
    split: Split,
    config: Config,
    *,
    folder: Path | None = None,
    device: str = "auto",
    watch: Watch | None = None,
    tell: Tell = lambda what, done, total: None,
) -> Candidate:
    """Train one method and predict with it. In a folder, an interrupted run continues.

    Raises:
        RunError: the predictions are not finite, or the folder cannot be used.
        DataError: label propagation cannot list the edges of a graph of links.
    """
    started = time.perf_counter()
    if METHODS[method].baseline:
        probabilities = propagate(graph, split.train, lambda step: tell(f"training {method}", step, MOST_STEPS))
        held = hold_out(probabilities, judged_nodes(split), graph.y)
        return Candidate(method, probabilities, held, None, time.perf_counter() - started)
    trained = _train(graph, split, replace(config, method=method), folder, device, watch)
    tell(f"predicting with {method}", 0, 0)
    probabilities = trained.predict_proba(graph)
    if not probabilities.isfinite().all():
        raise _DivergedError(f"the loss of {method} became infinite; try a lower `learning_rate`")
    held = hold_out(probabilities, judged_nodes(split), graph.y)
    fcn_held = None
    if METHODS[method].trains == BOTH:
        alone = replace(trained, config=replace(trained.config, predictor="fcn"))
        fcn_held = hold_out(alone.predict_proba(graph), judged_nodes(split), graph.y)
    return Candidate(method, probabilities, held, trained, trained.seconds, fcn_held)


def try_methods(
    methods: Sequence[str],
    graph: Graph,
    split: Split,
    config: Config,
    folder: Path,
    *,
    device: str = "auto",
    watch: Callable[[str], Watch | None] = lambda method: None,
    tell: Tell = lambda what, done, total: None,
) -> tuple[list[Candidate], list[str]]:
    """Try several methods; leave out those that fail.

    Args:
        methods: names of `CANDIDATES`, each once.
        graph: the graph.
        split: the nodes of every trial.
        config: the hyperparameters of the networks; its method is replaced.
        folder: the run of each method goes into a folder of its own in it.
        device: where to train.
        watch: called with the name of each method as it begins; returns what watches its epochs.
        tell: called with what goes on besides, and how much of how much is done.

    Returns:
        The candidates, and a sentence for each method that failed.

    Raises:
        RunError: every method failed.
    """
    tried, failures = [], []
    for method in methods:
        try:
            tried.append(
                try_method(
                    method, graph, split, config, folder=folder / method, device=device, watch=watch(method), tell=tell
                )
            )
        except (DataError, _DivergedError) as error:
            failures.append(f"{method} was left out: {error}")
    if not tried:
        raise RunError("; ".join(failures))
    return tried, failures


def held_by_method(candidates: Sequence[Candidate]) -> dict[str, HeldOut]:
    """Return held-out predictions by method; those of GraphMix's own FCN as "graphmix-fcn"."""
    held = {candidate.method: candidate.held for candidate in candidates}
    return held | {own_fcn(each.method): each.fcn_held for each in candidates if each.fcn_held is not None}


def own_fcn(method: str) -> str:
    """Return the name of the FCN that a method trains with its GNN."""
    return f"{method}-fcn"


class _DivergedError(RunError):
    """The predictions of a method are not finite; others may be."""


def _train(graph: Graph, split: Split, config: Config, folder: Path | None, device: str, watch: Watch | None) -> Fit:
    if folder is None:
        return fit(graph, split, config, device=device, watch=watch)
    trained = train_once(graph, split, config, folder, device=device, watch=watch).fit
    if not (folder / DETAILS).exists():
        write_json(folder / DETAILS, to_json(_pictured(trained, graph, split)))
    return trained


def _pictured(trained: Fit, graph: Graph, split: Split) -> Details:
    """Return what the figures of a run need; without confusion matrices if there are very many classes."""
    if graph.num_classes <= _PICTURED_CLASSES:
        return details(trained, graph, split)
    return Details(tuple(graph.class_names or map(str, range(graph.num_classes))), curves=curves(trained))
