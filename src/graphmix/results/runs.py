"""A run's results in plain values: percentages, one per trial, and how they came about."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.sparse import SparseMatrix
from graphmix.training.loop import Fit


def describe(fit: Fit, graph: Graph, split: Split, device: torch.device) -> dict[str, Any]:
    """Say everything about a run in plain values: accuracies in percent, one per trial, and how they came about."""
    return {
        "dataset": graph.name,
        "split": split.name,
        "split_seeds": None if split.seeds is None else list(split.seeds),
        "split_sizes": [int(mask[0].sum()) for mask in (split.train, split.val, split.test)],
        "data": fingerprint(graph, split),
        "network": None if fit.network is None else fit.network.description,
        **fit.config.to_dict(),
        **scores(fit.val_accuracy, fit.test_accuracy, fit.test_f1, graph),
        "val_score": _percent(fit.val_score),
        "best_epoch": fit.best_epoch.tolist(),
        "diverged": diverged(fit),
        "seconds": round(fit.seconds, 3),
        "device": device_name(device),
        "threads": torch.get_num_threads() if device.type == "cpu" else None,
        "versions": versions(),
    }


def scores(val_accuracy: Tensor, test_accuracy: Tensor, test_f1: Tensor, graph: Graph) -> dict[str, Any]:
    """How good trials are, in percent: accuracies `[trials]`, and from each class's F1 `[trials, classes]` two more."""
    counts = torch.bincount(graph.y[graph.y >= 0].cpu(), minlength=graph.num_classes)
    # A class without a single known label is not the rarest: it is not there.
    rarest = int(torch.where(counts > 0, counts, counts.max() + 1).argmin())
    measured = {
        "test_accuracy": test_accuracy,
        "test_macro_f1": test_f1.nanmean(dim=1),
        "test_rarest_f1": test_f1[:, rarest],
        "val_accuracy": val_accuracy,
    }
    written: dict[str, Any] = {}
    for name, shares in measured.items():
        written |= {name: _percent(shares), f"{name}_mean": _mean(shares), f"{name}_std": _std(shares)}
    return written | {
        "rarest_class": rarest if graph.class_names is None else graph.class_names[rarest],
        "test_f1": [_percent(trial) for trial in test_f1],
    }


def diverged(fit: Fit) -> list[int]:
    """Which trials ever had a loss that is no number; their results mean little."""
    broken = ~fit.history.loss.isfinite().all(dim=1)
    return [fit.trials[place] for place in broken.nonzero().flatten().tolist()]


def fingerprint(graph: Graph, split: Split) -> str:
    """Hash a graph and its split: equal for equal data."""
    digest = hashlib.sha256()
    x = graph.x
    features = (x.crow, x.col, x.values) if isinstance(x, SparseMatrix) else (x,)
    for tensor in (*features, *graph.structure.tensors, graph.y, split.train, split.val, split.test):
        digest.update(str(tuple(tensor.shape)).encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    try:
        own = version("graphmix")
    except PackageNotFoundError:  # run from a source tree that was not installed
        own = "source"
    return {
        "graphmix": own,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def device_name(device: torch.device) -> str:
    """Name the hardware: "cpu", or "cuda" with the card's name."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else "cpu"


def _percent(shares: Tensor) -> list[float | None]:
    return [None if share != share else round(100 * share, 4) for share in shares.tolist()]


def read_shares(percents: list[Any]) -> Tensor:
    """Turn what `scores` wrote in percent, a list or a list of lists, back into shares."""
    return torch.tensor(np.array(percents, dtype=np.float32)) / 100


def _mean(shares: Tensor) -> float | None:
    mean = 100 * shares.double().mean().item()
    return None if mean != mean else round(mean, 4)


def _std(shares: Tensor) -> float | None:
    # One trial has no spread to speak of.
    if len(shares) < 2 or shares.isnan().any():
        return None
    return round(100 * shares.double().std().item(), 4)
