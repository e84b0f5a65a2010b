"""The data for pictures of a run: `graphmix.results.details.Details` of a fit."""

from collections.abc import Collection
from functools import partial

import torch
from torch import Tensor

from graphmix.analysis.hidden import class_soft_ranks, each_hidden, embedding
from graphmix.analysis.plane import SKETCH_POINTS, sketch
from graphmix.data import Graph, Split
from graphmix.evaluation.reliability import reliability_diagram
from graphmix.results.details import Curve, Curves, Details, Embedding
from graphmix.results.schema import Shares
from graphmix.training import Fit

MOST_EPOCHS = 120
_BAND = (0.1, 0.9)


def details(
    fit: Fit, graph: Graph, split: Split, measures: Collection[str] = (), device: torch.device | str = "cpu"
) -> Details:
    """Summarise a fit: curves, confusion, reliability, and the given measures, computed on the device.

    These are "soft-rank", and "embedding" or the faster "sketch": a picture of the hidden states, of fewer nodes.
    """
    return Details(
        classes=tuple(graph.class_names or map(str, range(graph.num_classes))),
        curves=curves(fit),
        confusion=tuple(map(tuple, fit.confusion.sum(dim=0).tolist())),
        reliability=reliability_diagram(fit.reliability),
        embedding=_cloud(fit, graph, split, measures, device),
        soft_rank=_soft_ranks(fit, graph, device) if "soft-rank" in measures else None,
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


def _band(values: Tensor, digits: int) -> Curve:
    values = values.double()
    low, high = values.quantile(torch.tensor(_BAND, dtype=torch.float64), dim=0)
    return Curve(_finite(values.mean(dim=0), digits), _finite(low, digits), _finite(high, digits))


def _finite(line: Tensor, digits: int) -> Shares:
    return tuple(round(value, digits) if abs(value) < float("inf") else None for value in line.tolist())
