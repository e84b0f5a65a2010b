"""Seconds of cells of the paper on CUDA, warm: a part of `make bench`.

A cell of a GCN is run whole, 2,000 epochs of 100 trials, after a short run has compiled the kernels. Cells of larger
networks take minutes; their time is estimated from two shorter runs, whose difference leaves out what a run does once.
"""

import time
from dataclasses import dataclass
from typing import Any

import torch

from graphmix.data import load
from graphmix.training import Config, fit

_SHORT = 30  # epochs that compile kernels
_PAIR = (60, 160)  # epochs of the two runs of an estimate


@dataclass(frozen=True)
class Cell:
    """What is trained; `whole` is False if its time is estimated."""

    dataset: str
    backbone: str
    method: str
    reading: str
    trials: int = 100
    whole: bool = True


CELLS = (
    *(
        Cell(dataset, "gcn", method, reading)
        for dataset in ("cora", "citeseer", "pubmed")
        for method, reading in (("supervised", "paper"), ("graphmix", "paper"), ("graphmix", "released"))
    ),
    Cell("pubmed", "gat", "graphmix", "paper", whole=False),
    Cell("pubmed", "unet", "graphmix", "paper", whole=False),
    Cell("coauthor-cs", "unet", "graphmix", "paper", trials=30, whole=False),
    Cell("coauthor-physics", "unet", "graphmix", "paper", trials=30, whole=False),
)


def measure_cells(limit: float) -> list[dict[str, Any]]:
    """Time cell after cell; none begins after `limit` seconds."""
    end = time.monotonic() + limit
    rows = []
    for cell in CELLS:
        if time.monotonic() > end:
            print(f"{cell}: no time left")
            continue
        rows.append(vars(cell) | _measured(cell))
        print(_line(rows[-1]), flush=True)
    return rows


def _measured(cell: Cell) -> dict[str, Any]:
    dataset = load(cell.dataset)
    choices = {"backbone": cell.backbone, "method": cell.method, "reading": cell.reading, "trials": cell.trials}
    config = Config.for_dataset(cell.dataset, **choices)

    def seconds(epochs: int, **others: Any) -> float:
        return fit(
            *dataset, Config.for_dataset(cell.dataset, **choices, epochs=epochs, **others), device="cuda"
        ).seconds

    if not cell.whole:
        # Targets from the first epoch on: no epoch of a whole run takes longer.
        short, long = (seconds(epochs, rampup_start=0, rampup_end=1) for epochs in _PAIR)
        each = (long - short) / (_PAIR[1] - _PAIR[0])
        return {"epochs": config.epochs, "seconds": each * config.epochs, "ms": 1000 * each} | _peak()
    seconds(_SHORT, rampup_start=0, rampup_end=_SHORT // 2)
    torch.cuda.reset_peak_memory_stats()
    done = fit(*dataset, config, device="cuda")
    found = {"epochs": config.epochs, "seconds": done.seconds, "ms": 1000 * done.seconds / config.epochs}
    return found | {"test_accuracy": done.test_accuracy.mean().item()} | _peak()


def _peak() -> dict[str, float]:
    return {"peak_gib": torch.cuda.max_memory_allocated() / 2**30}


def _line(row: dict[str, Any]) -> str:
    name = f"{row['dataset']:>16} {row['backbone']:>5} {row['method']:>10} {row['reading']:>8} {row['trials']:>4}"
    how = "" if row["whole"] else " (estimated)"
    return f"{name} x {row['epochs']}   {row['seconds']:7.1f} s{how}   peak {row['peak_gib']:.2f} GiB"
