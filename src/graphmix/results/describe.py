"""The results of a run: scores in percent, one per trial, and what they were computed with."""

import hashlib
import platform
from typing import Any

import numpy as np
import scipy
import torch
from torch import Tensor

from graphmix.data import Graph, Split
from graphmix.distribution import __version__
from graphmix.results.run import RunResult, Score
from graphmix.results.schema import Shares
from graphmix.sparse import SparseMatrix
from graphmix.training.loop import Fit


def describe(fit: Fit, graph: Graph, split: Split, device: torch.device | str) -> RunResult:
    """Sum a run up: scores in percent, one per trial, the hyperparameters, and what it was computed with.

    The device may be one of another machine, by the name that `device_name` gave it there.
    """
    hardware = device if isinstance(device, str) else device_name(device)
    return RunResult(
        dataset=graph.name,
        split=split.name,
        split_seeds=None if split.seeds is None else tuple(split.seeds),
        split_sizes=tuple(int(mask[0].sum()) for mask in (split.train, split.val, split.test)),
        data=fingerprint(graph, split),
        network=None if fit.network is None else fit.network.description,
        settings=fit.config.to_dict(),
        **scores(fit.val_accuracy, fit.test_accuracy, fit.test_f1, graph),
        val_score=_percent(fit.val_score),
        best_epoch=tuple(fit.best_epoch.tolist()),
        diverged=diverged(fit),
        seconds=round(fit.seconds, 3),
        device=hardware,
        threads=torch.get_num_threads() if hardware == "cpu" else None,
        versions=dict(versions()),
    )


def scores(val_accuracy: Tensor, test_accuracy: Tensor, test_f1: Tensor, graph: Graph) -> dict[str, Any]:
    """The scores of a `RunResult` by name: from accuracies `[trials]` and each class's F1 `[trials, classes]`."""
    counts = torch.bincount(graph.y[graph.y >= 0].cpu(), minlength=graph.num_classes)
    # A class without a known label is not the rarest: it does not occur.
    rarest = int(torch.where(counts > 0, counts, counts.max() + 1).argmin())
    measured = {
        "test_accuracy": test_accuracy,
        "test_macro_f1": test_f1.nanmean(dim=1),
        "test_rarest_f1": test_f1[:, rarest],
        "val_accuracy": val_accuracy,
    }
    found: dict[str, Any] = {
        name: Score(_percent(shares), _mean(shares), _std(shares)) for name, shares in measured.items()
    }
    return found | {
        "rarest_class": rarest if graph.class_names is None else graph.class_names[rarest],
        "test_f1": tuple(_percent(trial) for trial in test_f1),
    }


def diverged(fit: Fit) -> tuple[int, ...]:
    """The trials whose loss was ever not finite; their results mean little."""
    broken = ~fit.history.loss.isfinite().all(dim=1)
    return tuple(fit.trials[place] for place in broken.nonzero().flatten().tolist())


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
    """The versions of the programs that compute."""
    return {
        "graphmix": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def device_name(device: torch.device) -> str:
    """Name the hardware: "cpu", or "cuda" with the card's name."""
    return f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else "cpu"


def _percent(shares: Tensor) -> Shares:
    return tuple(None if share != share else round(100 * share, 4) for share in shares.tolist())


def read_shares(percents: Any) -> Tensor:
    """Turn what `scores` wrote in percent, a list or a list of lists, back into shares."""
    return torch.tensor(np.array(percents, dtype=np.float32)) / 100


def _mean(shares: Tensor) -> float | None:
    mean = 100 * shares.double().mean().item()
    return None if mean != mean else round(mean, 4)


def _std(shares: Tensor) -> float | None:
    # One trial has no spread.
    if len(shares) < 2 or shares.isnan().any():
        return None
    return round(100 * shares.double().std().item(), 4)
