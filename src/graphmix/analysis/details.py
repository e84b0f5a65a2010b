"""The data for pictures of a run: `graphmix.results.details.Details` of a fit."""

from collections.abc import Collection
from functools import partial

import torch
from torch import Tensor

from graphmix.analysis.hidden import centroid_accuracy, class_soft_ranks, each_hidden, embedding, separation
from graphmix.analysis.plane import SKETCH_POINTS, sketch
from graphmix.data import Graph, Split
from graphmix.errors import ConfigError
from graphmix.evaluation.reliability import reliability_diagram
from graphmix.method import accuracy
from graphmix.results.details import Curve, Curves, Details, Embedding
from graphmix.results.schema import Shares
from graphmix.training import Fit
from graphmix.training.devices import bytes_per_trial
from graphmix.training.loop import predict_proba

MOST_EPOCHS = 120
# As many networks as a step of GRAND makes passes.
ENSEMBLE = 4
SEPARATIONS = ("separation", "centroid_accuracy")
_BAND = (0.1, 0.9)


def details(
    fit: Fit, graph: Graph, split: Split, measures: Collection[str] = (), device: torch.device | str = "cpu"
) -> Details:
    """Summarise a fit: curves, confusion, reliability, and the given measures, computed on the device.

    These are "soft-rank", "separation" (of test nodes' hidden states), "training" (how well the labels are fitted),
    "ensembles" (test accuracy of the mean of four trials), "memory" (the engine's estimate), and "embedding" or the
    faster "sketch": a picture of the hidden states, of fewer nodes.
    """
    return Details(
        classes=tuple(graph.class_names or map(str, range(graph.num_classes))),
        curves=curves(fit),
        confusion=tuple(map(tuple, fit.confusion.sum(dim=0).tolist())),
        reliability=reliability_diagram(fit.reliability),
        embedding=_cloud(fit, graph, split, measures, device),
        soft_rank=_soft_ranks(fit, graph, device) if "soft-rank" in measures else None,
        measured=_measured(fit, graph, split, measures, device) or None,
        memory_estimate=bytes_per_trial(graph, fit.config) if "memory" in measures else None,
    )


def _cloud(
    fit: Fit, graph: Graph, split: Split, measures: Collection[str], device: torch.device | str
) -> Embedding | None:
    if "embedding" in measures:
        return embedding(fit, graph, split, device=device)
    if "sketch" not in measures:
        return None
    return embedding(fit, graph, split, most=SKETCH_POINTS, layout=partial(sketch, device=device), device=device)


def curves(fit: Fit) -> Curves:
    """Mean and band over the trials at some epochs, including the first and the last."""
    history = fit.history
    epochs = history.loss.shape[1]
    chosen = torch.linspace(0, epochs - 1, min(epochs, MOST_EPOCHS)).round().long().unique()
    return Curves(
        epochs=tuple((chosen + 1).tolist()),
        val_accuracy=_band(100 * history.val_accuracy[:, chosen], 2),
        train_loss=_band(history.train_loss[:, chosen], 4),
        val_loss=_band(history.val_loss[:, chosen], 4),
    )


def _soft_ranks(fit: Fit, graph: Graph, device: torch.device | str) -> tuple[Shares, ...]:
    y = graph.y.cpu()
    hidden = each_hidden(fit, graph, range(len(fit.trials)), device)
    return tuple(tuple(class_soft_ranks(states, y, graph.num_classes)) for states in hidden)


def _measured(
    fit: Fit, graph: Graph, split: Split, measures: Collection[str], device: torch.device | str
) -> dict[str, Shares]:
    found: dict[str, Shares] = {}
    if "training" in measures:
        found["train_loss"] = _finite(fit.history.train_loss[:, -1], 6)
    if "ensembles" in measures:
        found["ensemble_accuracy"] = _finite(100 * ensemble_accuracy(fit, graph, split), 2)
    if "separation" not in measures:
        return found
    y, pairs = graph.y.cpu(), []
    for trial, states in enumerate(each_hidden(fit, graph, range(len(fit.trials)), device)):
        train, test = (mask[fit.trials[trial] % split.num_splits].cpu() for mask in (split.train, split.test))
        pairs.append([separation(states[test], y[test]), 100 * centroid_accuracy(states, y, train, test)])
    columns = torch.tensor(pairs, dtype=torch.float64).T
    return found | {name: _finite(column, 4) for name, column in zip(SEPARATIONS, columns, strict=True)}


def ensemble_accuracy(fit: Fit, graph: Graph, split: Split) -> Tensor:
    """Test accuracy of the mean probabilities of every `ENSEMBLE` trials in turn; what is left over is not used.

    Returns:
        `[trials // ENSEMBLE]`.

    Raises:
        ConfigError: the trials have different splits, so that they cannot be judged together.
    """
    if split.num_splits > 1:
        raise ConfigError("ensembles need one split for all trials")
    y, test, model = graph.y.cpu(), split.test[0].cpu(), fit.model()
    groups = torch.arange(len(fit.trials)).split(ENSEMBLE)
    whole = [group for group in groups if len(group) == ENSEMBLE]
    means = [predict_proba(model.select(group), fit.config, graph).mean(dim=0)[test] for group in whole]
    return torch.cat([accuracy(mean[None], y[test][None]) for mean in means]) if means else torch.empty(0)


def _band(values: Tensor, digits: int) -> Curve:
    values = values.double()
    low, high = values.quantile(torch.tensor(_BAND, dtype=torch.float64), dim=0)
    return Curve(_finite(values.mean(dim=0), digits), _finite(low, digits), _finite(high, digits))


def _finite(line: Tensor, digits: int) -> Shares:
    return tuple(round(value, digits) if abs(value) < float("inf") else None for value in line.tolist())
