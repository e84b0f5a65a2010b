"""Small results made by hand, valid by docs/design/0012-results-files.md, and a browser to look at reports with."""

import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphmix.report import read, write
from watched_page import Watched

CLASSES = ["Theory", "Neural networks", "<b>Genetic</b> & friends", "</script><script>alert(1)</script>"]


def make_run(
    method: str = "graphmix", dataset: str = "cora", trials: int = 5, mean: float = 80.0, seed: int = 0, **changes: Any
) -> dict[str, Any]:
    """What results.json holds."""
    draw = random.Random(seed)
    scores = [round(draw.gauss(mean, 0.8), 4) for _ in range(trials)]
    average = sum(scores) / trials
    std = (sum((score - average) ** 2 for score in scores) / max(trials - 1, 1)) ** 0.5
    measured: dict[str, Any] = {}
    for metric in ("test_accuracy", "test_macro_f1", "val_accuracy"):
        measured |= {metric: scores, f"{metric}_mean": round(average, 4), f"{metric}_std": round(std, 4)}
    return {
        "dataset": dataset,
        "split": "public",
        "split_seeds": None,
        "network": None,
        "method": method,
        "backbone": "gcn",
        "optimisation": "alternate",
        "predictor": "auto",
        "reading": "paper",
        "trials": trials,
        "seed": 0,
        "epochs": 2000,
        "learning_rate": 0.01,
        "pool_ratios": [0.5, 0.5],
        "bias": False,
        "alpha": 1.0,
        "gamma": 1.0,
        "select_by": "accuracy",
        **measured,
        "test_f1": [[90.0] * 4] * trials,
        "best_epoch": [100] * trials,
        "diverged": [],
        "seconds": 12.5,
        "device": "cpu",
        "versions": {"graphmix": "0.1.0", "python": "3.11.7", "torch": "2.13.0"},
        **changes,
    }


def make_details(
    classes: list[str] = CLASSES, trials: int = 5, nodes: int = 60, epochs: int = 40, seed: int = 0
) -> dict[str, Any]:
    """What details.json holds."""
    draw, size = random.Random(seed), len(classes)
    steps = [1 + 50 * step for step in range(epochs)]
    band = [round(100 * (1 - 0.9 * 0.9**step), 3) for step in range(epochs)]
    loss = [None if step == 3 else round(0.4 + 2 * 0.93**step, 4) for step in range(epochs)]
    labels = [draw.randrange(-1, size) for _ in range(nodes)]
    predicted = [label if label >= 0 and draw.random() < 0.8 else draw.randrange(size) for label in labels]
    # A class is a cloud on a circle; a node that is mistaken lies between the clouds.
    angles = [math.tau * (label + guess) / 2 / size for label, guess in zip(labels, predicted, strict=True)]
    curve = {
        "mean": band,
        "low": [max(value - 4, 0) for value in band],
        "high": [min(value + 3, 100) for value in band],
    }
    falling = {
        "mean": loss,
        "low": [None if value is None else value * 0.8 for value in loss],
        "high": [None if value is None else value * 1.3 for value in loss],
    }
    return {
        "classes": classes,
        "curves": {"epochs": steps, "val_accuracy": curve, "train_loss": falling, "val_loss": falling},
        "confusion": [
            [draw.randrange(300, 900) if true == guess else draw.randrange(0, 60) for guess in range(size)]
            for true in range(size)
        ],
        "reliability": {
            "count": [0, 0, *[draw.randrange(5, 900) for _ in range(13)]],
            "confidence": [None, None, *[100 * (place + 2.5) / 15 for place in range(13)]],
            "accuracy": [None, None, *[min(100.0, 100 * (place + 2.5) / 15 + draw.gauss(4, 5)) for place in range(13)]],
            "ece": 4.2,
        },
        "embedding": {
            "x": [40 * math.cos(angle) + draw.gauss(0, 7) for angle in angles],
            "y": [40 * math.sin(angle) + draw.gauss(0, 7) for angle in angles],
            "node": [3 * place for place in range(nodes)],
            "label": labels,
            "predicted": predicted,
            "confidence": [round(draw.uniform(30, 100), 2) for _ in range(nodes)],
            "role": [draw.choice(["train", "val", "test", "none"]) for _ in range(nodes)],
            "nodes": 3 * nodes,
        },
        "soft_rank": [[round(draw.uniform(2, 6), 3) for _ in range(size)] for _ in range(trials)],
    }


def make_cell(
    row: str, column: str, reading: str | None = None, status: str = "done", **changes: Any
) -> dict[str, Any]:
    """A cell of a record; a done one is a run that reproduces the paper's number."""
    done = status == "done"
    method = "graphmix" if "Mix" in row else "supervised"
    return {
        "row": row,
        "column": column,
        "reading": reading,
        "status": status,
        "error": None,
        "paper": {"mean": 80.5, "std": 0.6, "n": 100},
        "verdict": {"word": "reproduced", "difference": -0.1, "interval": [-0.4, 0.2], "p": 0.31, "n": 5}
        if done
        else None,
        "key": f"{row}-{column}",
        "command": f"graphmix train {column} --method {method}" if done else None,
        "run": make_run(method, column, reading=reading or "paper") if done else None,
        "details": make_details() if done else None,
        **changes,
    }


def make_record(kind: str = "table", **changes: Any) -> dict[str, Any]:
    """A record with a cell of every status, failed trials, two readings and every verdict."""
    verdicts = {
        "higher": {"word": "higher", "difference": 1.2, "interval": [0.8, 1.6], "p": 0.00001, "n": 5},
        "lower": {"word": "lower", "difference": -2.5, "interval": [-3.0, -2.0], "p": 0.0002, "n": 5},
        "undecided": {"word": "undecided", "difference": 0.3, "interval": None, "p": None, "n": 5},
    }
    rows, columns = ["ManiReg", "GCN", "GraphMix(GCN)"], ["cora", "citeseer", "pubmed"]
    cells = [
        make_cell("ManiReg", "cora", status="quoted"),
        make_cell("ManiReg", "citeseer", status="quoted"),
        make_cell("ManiReg", "pubmed", status="quoted"),
        make_cell("GCN", "cora", "paper"),
        make_cell("GCN", "cora", "released", verdict=verdicts["lower"]),
        make_cell("GCN", "citeseer", "paper", verdict=verdicts["undecided"]),
        make_cell("GCN", "pubmed", "paper", status="unavailable", error="pubmed could not be fetched."),
        make_cell("GraphMix(GCN)", "cora", "paper", verdict=verdicts["higher"]),
        make_cell("GraphMix(GCN)", "cora", "released", run=make_run(reading="released", diverged=[1, 3])),
        make_cell("GraphMix(GCN)", "citeseer", "paper", status="failed", error="the loss was infinite."),
        make_cell("GraphMix(GCN)", "pubmed", "paper", status="to do"),
    ]
    return {
        "format": 1,
        "name": "standard-split",
        "title": "Accuracy on the standard split",
        "source": "Table 1",
        "about": "The main comparison: 20 labels per class.",
        "kind": kind,
        "charts": [],
        "metric": "test_accuracy",
        "trials": 100,
        "rows": rows,
        "columns": columns,
        "readings": ["paper", "released"],
        "command": "graphmix reproduce standard-split",
        "made": {"code": "abc", "commit": "0123abcd"},
        "cells": cells,
        **changes,
    }


def make_figure(*charts: str) -> dict[str, Any]:
    """A record about pictures."""
    cells = [make_cell(row, "cora", None, paper=None, verdict=None) for row in ("GCN", "GraphMix(GCN)")]
    return make_record(
        "figure",
        name=f"figure-{charts[0]}",
        title=f"About {charts[0]}",
        source="Figure 2",
        charts=list(charts),
        rows=["GCN", "GraphMix(GCN)"],
        columns=["cora"],
        readings=[],
        cells=cells,
    )


def make_selection() -> dict[str, Any]:
    """A record of a grid search."""
    grid = [
        {
            "alpha": alpha,
            "gamma": gamma,
            "val_accuracy_mean": 70 + 3 * alpha + gamma,
            "val_accuracy_std": 0.5,
            "trials": 10,
        }
        for alpha in (0.0, 0.1, 0.5, 1.0)
        for gamma in (0.0, 0.1, 1.0)
    ]
    grid[0]["val_accuracy_mean"] = None
    choices = {"chosen": {"alpha": 1.0, "gamma": 1.0}, "paper_chosen": {"alpha": 1.0, "gamma": 0.1}}
    cell = make_cell("GraphMix(GCN)", "cora", "paper", grid=grid, **choices)
    return make_record(
        "selection",
        name="selection",
        title="Choosing α and γ",
        source="Appendix A",
        rows=["GraphMix(GCN)"],
        columns=["cora"],
        readings=["paper"],
        cells=[cell],
    )


def make_bound() -> dict[str, Any]:
    """A record of the theorem's numbers."""

    def spread(mean: float) -> dict[str, Any]:
        return {"mean": mean, "std": 0.02, "trials": [mean, mean]}

    points = [
        {
            "alpha": alpha,
            "gamma": gamma,
            "fcn_loss": spread(0.4 + alpha),
            "V": alpha - 0.2,
            "bound": {"0": 1.1, "1": 0.9},
        }
        for alpha in (0.1, 1.0)
        for gamma in (0.1, 1.0)
    ]
    bound = {
        "m": 140,
        "unlabeled": 1000,
        "grid": 4,
        "delta": 0.05,
        "c": 1.5,
        "concentration": 0.2,
        "threshold": 0.6,
        "rademacher": spread(0.21),
        "points": points,
    }
    cells = [
        make_cell("V", "cora", None, paper=None, verdict=None, run=None, details=None, bound=bound),
        make_cell("V", "pubmed", None, status="failed", paper=None, error="no memory was left."),
    ]
    return make_record(
        "bound",
        name="bound",
        title="When the bound helps",
        source="Theorem 1",
        rows=["V"],
        columns=["cora", "pubmed"],
        readings=[],
        cells=cells,
    )


def write_run(folder: Path, run: dict[str, Any], details: dict[str, Any] | None) -> Path:
    """Write a run folder."""
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(run))
    (folder / "config.json").write_text("{}")
    if details is not None:
        (folder / "details.json").write_text(json.dumps(details))
    return folder


@pytest.fixture
def record() -> dict[str, Any]:
    return make_record()


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", make_run(), make_details())


@pytest.fixture
def demo_folder(tmp_path: Path) -> Path:
    return make_demo(tmp_path / "demo")


@pytest.fixture
def results_folder(tmp_path: Path) -> Path:
    return make_results(tmp_path / "results")


def make_demo(folder: Path) -> Path:
    """A demo's folder: GraphMix three points above a GCN."""
    write_run(folder / "graphmix", make_run("graphmix", "citeseer", mean=74.2, seed=1), make_details(seed=1))
    write_run(folder / "supervised", make_run("supervised", "citeseer", mean=71.2, seed=2), make_details(seed=2))
    return folder


def make_results(folder: Path) -> Path:
    """The results of `graphmix reproduce all`, with what it keeps beside them."""
    folder.mkdir(parents=True)
    records = [
        make_record(),
        make_figure("embedding"),
        make_figure("soft-rank"),
        make_figure("curves"),
        make_selection(),
        make_bound(),
    ]
    for record in records:
        (folder / f"{record['name']}.json").write_text(json.dumps(record))
    (folder / "cells").mkdir()
    (folder / "cells" / "abc.json").write_text("not a record")
    write_run(folder / "work" / "abc", make_run(), None)
    return folder


@pytest.fixture(scope="session")
def make() -> SimpleNamespace:
    """The makers, for tests that want their own."""
    return SimpleNamespace(demo=make_demo, results=make_results, record=make_record, details=make_details)


@pytest.fixture(scope="module")
def open_page(
    browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Callable[[Path], Path]], Watched]]:
    """Open the report of what a function makes in a folder; all pages are closed at the end."""
    opened = []

    def watch(make_in: Callable[[Path], Path]) -> Watched:
        folder = tmp_path_factory.mktemp("report")
        write(read(make_in(folder / "shown")), folder / "report.html")
        opened.append(Watched(browser, folder / "report.html"))
        return opened[-1]

    yield watch
    for watched in opened:
        watched.page.close()
