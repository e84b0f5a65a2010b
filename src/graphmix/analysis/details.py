"""What pictures of a run need, in plain values: docs/design/0012-results-files.md."""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

from graphmix.analysis.hidden import class_soft_ranks, embedding, hidden_states
from graphmix.data import Graph, Split
from graphmix.evaluation.reliability import reliability_diagram
from graphmix.training import Fit

MOST_EPOCHS = 120
_BAND = (0.1, 0.9)


def details(fit: Fit, graph: Graph, split: Split, measures: Collection[str] = ()) -> dict[str, Any]:
    """Sum a fit up: curves, confusion, reliability, and what else is asked for: "embedding", "soft-rank"."""
    summed: dict[str, Any] = {
        "classes": list(graph.class_names or map(str, range(graph.num_classes))),
        "curves": curves(fit),
        "confusion": fit.confusion.sum(dim=0).tolist(),
        "reliability": reliability_diagram(fit.reliability),
    }
    if "embedding" in measures:
        summed["embedding"] = embedding(fit, graph, split)
    if "soft-rank" in measures:
        y = graph.y.cpu()
        hidden = (hidden_states(fit, graph, trial) for trial in range(len(fit.trials)))
        summed["soft_rank"] = [class_soft_ranks(states, y, graph.num_classes) for states in hidden]
    return summed


def curves(fit: Fit) -> dict[str, Any]:
    """Mean and band over the trials of what every epoch gave, at some of the epochs, the first and last among them."""
    history = fit.history
    epochs = history.loss.shape[1]
    chosen = torch.linspace(0, epochs - 1, min(epochs, MOST_EPOCHS)).round().long().unique()
    return {
        "epochs": (chosen + 1).tolist(),
        "val_accuracy": _band(100 * history.val_accuracy[:, chosen], 2),
        "train_loss": _band(history.train_loss[:, chosen], 4),
        "val_loss": _band(history.val_loss[:, chosen], 4),
    }


def _band(values: Tensor, digits: int) -> dict[str, list[float | None]]:
    values = values.double()
    low, high = values.quantile(torch.tensor(_BAND, dtype=torch.float64), dim=0)
    return {
        name: [round(value, digits) if abs(value) < float("inf") else None for value in line.tolist()]
        for name, line in (("mean", values.mean(dim=0)), ("low", low), ("high", high))
    }
