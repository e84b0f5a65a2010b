"""The study behind `graphmix-steady`: networks and ways to train them, on graphs that nobody tuned for.

    PYTHONPATH=src python3 benchmarks/steady.py --data FOLDER --device cuda --limit 540 --out FILE

Labels are drawn by class, five draws. One fit holds all draws of a graph: of each draw five trials that train on four
fifths of the labels and hold out the rest, and three that train on all of them. The folds choose the epoch, by mean
loss or by mean accuracy, and the others are judged there, and at the last epoch, on all nodes without a label. FILE is
written after every row, and a row that it has is not computed again.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphmix import GPR, Config, Graph, Split, Task, load
from graphmix.data.folds import FOLDS
from graphmix.experiments.records import source_commit
from graphmix.method import softmax
from graphmix.models import Backbone
from graphmix.models.backbone import drop
from graphmix.results.describe import device_name, versions
from graphmix.sparse import per_trial
from graphmix.storage.files import write_json
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured, capturable, on_side_stream
from graphmix.training.devices import choose_device, trials_at_once
from graphmix.workflow.columns import Columns
from graphmix.workflow.problems import read_problem

DRAWS, NETWORKS = 5, 3
TRIALS = FOLDS + NETWORKS
# Predictions are judged every so many epochs.
EVERY = 5
# Curves of the folds are averaged over so many epochs before one is chosen.
SMOOTH = 11
FEW_FEATURES = 50
BASE: dict[str, Any] = {"hidden": 32, "hidden_dropout": 0.5, "perturbations": 4, "ties": "last"}
SHARPENED = {"temperature": 0.5}


class NearestHop(GPR):
    """A GPR-GNN that without edges is its hop 0 alone, not the sum of all hops."""

    def decode(self, hidden: Tensor, graph: Any, noise: Any = None) -> Tensor:
        """Compute γ₀ H W₂ on the null graph."""
        if graph.propagation is not None:
            return super().decode(hidden, graph, noise)
        first = self.weights["hops"][:, :1, None]
        return per_trial(drop(hidden, self.hidden_dropout, noise), self.weights["conv2.weight"] * first)


@dataclass(frozen=True)
class Variant:
    """A network and a way to train it.

    Attributes:
        name: what the tables call it.
        settings: where it differs from `BASE` and the defaults of its method.
        network: a network that has no name in the config.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    network: Backbone | None = None


def steady(name: str, backbone: str = "gpr", network: Backbone | None = None, **settings: Any) -> Variant:
    """Return a variant of graphmix-steady."""
    return Variant(name, {"method": "graphmix-steady", "backbone": backbone} | SHARPENED | settings, network)


def plain(name: str, backbone: str = "gpr", **settings: Any) -> Variant:
    """Return a variant of training on labels alone."""
    return Variant(name, {"method": "supervised", "backbone": backbone} | settings)


HALF = {"joint_weight": 0.3, "target_alignment": 0.5}
VARIANTS = (
    plain("gpr"),
    steady("gpr steady", **HALF),
    steady("gpr steady, K 0", perturbations=0, **HALF),
    steady("gpr steady, K 0, input dropout 0", perturbations=0, input_dropout=0.0, **HALF),
    steady("gpr steady, alignment 0.25", **HALF | {"target_alignment": 0.25}),
    steady("gpr steady, alignment 0", **HALF | {"target_alignment": 0.0}),
    steady("gpr steady, confidence 0.5", **HALF, target_confidence=0.5),
    plain("sage", "sage"),
    steady("sage steady", "sage", **HALF),
    Variant(
        "gpr self-training, alignment 0.5",
        {"method": "self-training", "backbone": "gpr", "target_alignment": 0.5} | SHARPENED,
    ),
    plain("gcn", "gcn"),
    steady("gcn steady", "gcn", **HALF),
    steady("gpr steady, λ 1", **HALF | {"joint_weight": 1.0}),
    steady("gpr steady, null graph is hop 0", network=NearestHop({}, hidden_dropout=0.5), **HALF),
    plain("gpr, weight decay 5e-3", weight_decay=5e-3),
    plain("gpr, input dropout 0", input_dropout=0.0),
    Variant("gpr GraphMix, alternate", {"method": "graphmix", "backbone": "gpr"} | SHARPENED),
    Variant(
        "gcn GraphMix as published",
        {"method": "graphmix", "backbone": "gcn", "temperature": 0.1, "target_confidence": 0.0, "perturbations": 10},
    ),
    steady("gpr steady, γ 0.3", **HALF, gamma=0.3),
    Variant("features only", {"method": "fcn"}),
)


def config_of(variant: Variant, classes: int, epochs: int) -> Config:
    """Return the hyperparameters of a variant; of few classes, targets must be more confident."""
    ramp = {"rampup_start": epochs // 5, "rampup_end": epochs // 2}
    confidence = {"target_confidence": max(0.5, min(0.9, 2 / classes))}
    given = BASE | ramp | confidence | variant.settings
    return Config.for_dataset("", trials=DRAWS * TRIALS, epochs=epochs, **given)


def read_arrays(path: Path) -> Graph:
    """Read a graph of plain arrays."""
    held = np.load(path)
    x = sp.csr_array((held["x_data"], held["x_indices"], held["x_indptr"]), shape=tuple(held["x_shape"]))
    features = x.toarray() if x.shape[1] < FEW_FEATURES else x
    return Graph.build(features, held["edges"], held["y"], name=path.stem)


def read_counties(folder: Path) -> Graph:
    """Read the counties as `graphmix fit --ignore-unknown` does."""
    columns = Columns(label="winner_2016")
    return read_problem(folder / "counties.csv", folder / "borders.csv", columns, ignore_unknown=True).graph


def readers(data: Path) -> dict[str, Callable[[], Graph]]:
    """Return what reads each graph, quick ones first."""
    wild = {name: partial(read_arrays, data / "Wild" / f"{name}.npz") for name in WILD}
    public = {name: lambda name=name: load(name, data_root=data)[0] for name in ("cora", "citeseer")}
    every = wild | public | {"counties": partial(read_counties, data / "Wild" / "counties")}
    return {name: every[name] for name in GRAPHS}


WILD = ("acm", "cora-ml", "dblp", "blogcatalog", "amazon-photo", "minesweeper")
GRAPHS = ("acm", "cora-ml", "counties", "blogcatalog", "dblp", "cora", "citeseer", "minesweeper", "amazon-photo")
# Labels of each class.
COUNTS = {"counties": (40, 10)}
USUAL_COUNTS = (20, 5)


def draw(graph: Graph, per_class: int) -> Split:
    """Draw labels and deal them into folds: a split of `DRAWS * TRIALS` trials."""
    y = graph.y.numpy()
    train, val, test = np.zeros((3, DRAWS, TRIALS, len(y)), dtype=np.bool_)
    for number in range(DRAWS):
        rng = np.random.default_rng([number, per_class])
        for label in range(graph.num_classes):
            own = rng.permutation(np.flatnonzero(y == label))[:per_class]
            train[number][:, own] = True
            # Each class begins with another fold, so that folds are equally large.
            fold = (np.arange(len(own)) + label) % FOLDS
            for trial in range(FOLDS):
                held = own[fold == trial]
                train[number, trial, held], val[number, trial, held] = False, True
        test[number] = (y >= 0) & ~(train[number] | val[number])
        # A split needs a validation node; nothing is chosen by that of the trials with all labels.
        spare = np.flatnonzero(test[number, -1])[0]
        val[number, FOLDS:, spare], test[number, FOLDS:, spare] = True, False
    return Split.build(*(mask.reshape(DRAWS * TRIALS, -1) for mask in (train, val, test)), "drawn")


@dataclass
class Judged:
    """What the networks with all labels reach at some epochs, `[draws, epochs]` each.

    Attributes:
        accuracy: the mean of single networks.
        together: of the mean of their probabilities.
        auc: ROC AUC of the second class, the mean of single networks; empty unless there are two classes.
    """

    accuracy: list[Tensor] = field(default_factory=list)
    together: list[Tensor] = field(default_factory=list)
    auc: list[Tensor] = field(default_factory=list)

    @torch.no_grad()
    def add(self, batch: Batch, task: Task) -> None:
        """Judge the current networks."""
        every = softmax(batch.model(task.x, task.judged)).unflatten(0, (DRAWS, TRIALS))[:, FOLDS:]
        hidden = task.test.index.unflatten(0, (DRAWS, TRIALS))[:, -1]
        real = task.test.labels.unflatten(0, (DRAWS, TRIALS))[:, -1]
        picked = every.gather(2, hidden[:, None, :, None].expand(-1, NETWORKS, -1, every.shape[3]))
        counted = (real >= 0).sum(dim=1)
        self.accuracy.append(((picked.argmax(3) == real[:, None]).sum(dim=2) / counted[:, None]).mean(dim=1).cpu())
        self.together.append(((picked.mean(dim=1).argmax(2) == real).sum(dim=1) / counted).cpu())
        if every.shape[3] == 2:
            self.auc.append(roc_auc(picked[..., 1], real[:, None]).mean(dim=1).cpu())

    def at(self, draw: int, place: int) -> dict[str, float]:
        """Return the percentages of a draw at one of the epochs."""
        found = {"accuracy": self.accuracy, "together": self.together, "auc": self.auc}
        return {name: round(100 * values[place][draw].item(), 3) for name, values in found.items() if values}


def roc_auc(scores: Tensor, labels: Tensor) -> Tensor:
    """Area under the ROC curve, by ranks: scores `[..., nodes]`, labels 0 and 1, or -1 for nodes that do not count."""
    real, positive = labels >= 0, labels == 1
    # Nodes that do not count come first, and their ranks are taken off again.
    rank = (
        scores.double().masked_fill(~real, -torch.inf).argsort(dim=-1).argsort(dim=-1) + 1 - (~real).sum(-1)[..., None]
    )
    ones, zeros = positive.sum(dim=-1), (labels == 0).sum(dim=-1)
    return ((rank * positive).sum(dim=-1) - ones * (ones + 1) / 2) / (ones * zeros)


def train(graph: Graph, split: Split, variant: Variant, options: argparse.Namespace) -> tuple[Judged, Tensor]:
    """Train all trials of a graph: what they reach, and the curves `[5, epochs, trials]`."""
    device = choose_device(options.device)
    config = config_of(variant, graph.num_classes, options.epochs)
    task = Task.build(graph, split, config, device)
    if device.type == "cuda" and trials_at_once(graph, config, device) < config.trials:
        sys.exit(f"{graph.name}: {config.trials} trials do not fit into the memory of {device}")
    batch = Batch(task, config, list(range(config.trials)), variant.network)
    advance = Captured(batch.advance) if capturable(device) else batch.advance
    judged = Judged()
    with on_side_stream(device):
        for epoch in range(config.epochs):
            advance(*batch.shape(epoch))
            if (epoch + 1) % EVERY == 0:
                judged.add(batch, task)
        return judged, batch.curves.cpu()


def row_of(judged: Judged, curves: Tensor) -> list[dict[str, Any]]:
    """Return what each draw reached at the epochs that its folds choose, and at the last."""
    draws = []
    _, accuracy, _, _, loss = curves.double().unflatten(2, (DRAWS, TRIALS))[..., :FOLDS].mean(dim=3)
    for number in range(DRAWS):
        held = [smoothed(curve[:, number])[EVERY - 1 :: EVERY] for curve in (loss, accuracy)]
        places = {"loss": int(held[0].argmin()), "accuracy": int(held[1].argmax()), "last": len(held[0]) - 1}
        draws.append(
            {name: {"epoch": EVERY * (place + 1)} | judged.at(number, place) for name, place in places.items()}
            | {"held_out": [round(curve[places[name]].item(), 5) for curve, name in zip(held, places, strict=False)]}
        )
    return draws


def smoothed(curve: Tensor) -> Tensor:
    """Average a curve `[epochs]` over `SMOOTH` epochs around each."""
    padded = torch.nn.functional.pad(curve[None, None], (SMOOTH // 2, SMOOTH // 2), mode="replicate")
    return torch.nn.functional.avg_pool1d(padded, SMOOTH, 1)[0, 0]


def todo(options: argparse.Namespace) -> Iterator[tuple[Variant, str, int]]:
    """Yield the rows in the order of the study."""
    for variant in VARIANTS:
        if options.variants and variant.name not in options.variants:
            continue
        for name in GRAPHS:
            if not options.graphs or name in options.graphs:
                yield from ((variant, name, count) for count in COUNTS.get(name, USUAL_COUNTS))


def main() -> None:
    """Compute what is missing, until the time is over."""
    options = parse()
    started = time.perf_counter()
    record = json.loads(options.out.read_text()) if options.out.exists() else begin(options)
    if record["epochs"] != options.epochs:
        sys.exit(
            f"{options.out} has rows of {record['epochs']} epochs; give --epochs {record['epochs']}, or another file"
        )
    done = {(row["variant"], row["graph"], row["per_class"]) for row in record["rows"]}
    reading = readers(options.data)
    graphs: dict[str, Graph] = {}
    for variant, name, per_class in todo(options):
        if (variant.name, name, per_class) in done:
            continue
        if time.perf_counter() - started > options.limit:
            print("the time is over", flush=True)
            return
        if name not in graphs:
            graphs[name] = reading[name]()
        begun = time.perf_counter()
        judged, curves = train(graphs[name], draw(graphs[name], per_class), variant, options)
        draws, seconds = row_of(judged, curves), time.perf_counter() - begun
        row = {"variant": variant.name, "graph": name, "per_class": per_class, "draws": draws, "seconds": seconds}
        record["rows"].append(row)
        write_json(options.out, record)
        print(line_of(row), flush=True)


def line_of(row: dict[str, Any]) -> str:
    """Return a row as a line: means over the draws."""
    shown = []
    for chosen in ("loss", "accuracy", "last"):
        means = [f"{np.mean([draw[chosen][key] for draw in row['draws']]):.1f}" for key in row["draws"][0][chosen]]
        shown.append(f"{chosen} {' '.join(means)}")
    return (
        f"{row['variant']:33s} {row['graph']:13s} {row['per_class']:2d}  {' | '.join(shown)} | {row['seconds']:.1f} s"
    )


def begin(options: argparse.Namespace) -> dict[str, Any]:
    """Return a record without rows."""
    return {
        "commit": options.commit or source_commit(),
        "device": device_name(choose_device(options.device)),
        "versions": versions(),
        "command": f"python benchmarks/steady.py --epochs {options.epochs}",
        "epochs": options.epochs,
        "rows": [],
    }


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("GRAPHMIX_DATA", ".")))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no row is begun")
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS)
    parser.add_argument("--variants", nargs="*", choices=[variant.name for variant in VARIANTS])
    parser.add_argument("--commit")
    return parser.parse_args()


if __name__ == "__main__":
    main()
