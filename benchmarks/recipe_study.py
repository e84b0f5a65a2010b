"""What else was tried to make the recipe more accurate: averaged weights, means of networks, a committee.

    python benchmarks/recipe_study.py cora --splits 12

Trains four networks on each of some splits `public-redrawn`, which have no test nodes of the public split. One half of
a split's validation nodes chooses epochs and the other judges, and the other way round. Adds a line for each variant to
benchmarks/results/recipe-study-cpu.jsonl: the mean accuracy on the judging nodes, its standard error over the splits,
and the same of the difference from single networks whose epoch is chosen by accuracy.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from graphmix import Config, load
from graphmix.data import Graph, Split, split_seeds
from graphmix.method import accuracy, label_loss, softmax
from graphmix.training.batch import Batch
from graphmix.training.judging import logits_of
from graphmix.training.rules import graphmix_grand
from graphmix.training.task import Task
from graphmix.training.teacher import Teacher

LOG = Path(__file__).parent / "results" / "recipe-study-cpu.jsonl"
MEMBERS = 4
# Shares of averaged weights that a step keeps.
DECAYS = (0.9, 0.99)
# Splits and seeds that no search used.
FIRST_SPLIT, FIRST_SEED = 5000, 4_000_000
# What is studied: the choice of the first search, whatever the defaults have become.
FIRST_CHOICE: dict[str, Any] = {"method": "graphmix-grand", "backbone": "grand", "hidden": 32, "perturbations": 4}
Scores = dict[str, Tensor]


class Kept:
    """Probabilities of every network at its best epoch by one half of the validation nodes.

    Attributes:
        probabilities: `[networks, nodes, classes]`.
    """

    def __init__(self) -> None:
        self.best: Tensor | None = None
        self.probabilities = torch.empty(0)

    def offer(self, score: Tensor, probabilities: Tensor) -> None:
        """Keep those of networks whose score `[networks]` is higher than before."""
        if self.best is None:
            self.best, self.probabilities = score, probabilities
            return
        improved = score > self.best
        self.best = score.where(improved, self.best)
        self.probabilities = probabilities.where(improved[:, None, None], self.probabilities)


def halves_of(split: Split) -> Tensor:
    """The validation nodes of every split in two halves, drawn with a fixed seed: bool `[2, splits, nodes]`."""
    drawn = torch.Generator().manual_seed(FIRST_SPLIT)
    first = torch.zeros_like(split.val)
    for place, nodes in enumerate(split.val):
        index = nodes.nonzero()[:, 0]
        first[place, index[torch.randperm(len(index), generator=drawn)[: len(index) // 2]]] = True
    return torch.stack([first, split.val & ~first])


def train(graph: Graph, split: Split, halves: Tensor, config: Config) -> dict[tuple[str, str, int], Tensor]:
    """Train networks, `MEMBERS` on each split: probabilities by variant of the weights, rule and choosing half."""
    trials = list(range(config.trials))
    task = Task.build(graph, split, config, torch.device("cpu"))
    batch = Batch(task, config, trials)
    averages = [Teacher(batch.model, replace(config, teacher_decay=decay)) for decay in DECAYS]
    models = {"weights": batch.model} | {
        f"average {decay}": each.model for decay, each in zip(DECAYS, averages, strict=True)
    }
    kept = {(name, rule, half): Kept() for name in models for rule in ("accuracy", "loss") for half in (0, 1)}
    for epoch in range(config.epochs):
        batch.advance_blindly(*batch.shape(epoch))
        for each in averages:
            each.follow(batch.model, torch.tensor([epoch]))
        for name, model in models.items() if epoch % 2 else ():
            with torch.no_grad():
                logits = logits_of(model, task)
            for half, nodes in enumerate(halves):
                chosen = torch.where(nodes, graph.y, -1)
                kept[name, "accuracy", half].offer(accuracy(logits, chosen), softmax(logits))
                weight = nodes / nodes.sum(dim=1, keepdim=True)
                loss = label_loss(logits, graph.y.expand_as(nodes), weight)
                kept[name, "loss", half].offer(-loss, softmax(logits))
    return {key: each.probabilities for key, each in kept.items()}


def judged(probabilities: Tensor, y: Tensor, nodes: Tensor) -> Tensor:
    """Accuracy in percent on the judging nodes `[splits, nodes]`, of predictions `[splits, nodes, classes]`."""
    return 100 * accuracy(probabilities, torch.where(nodes, y, -1)).double()


def variants(kept: dict[tuple[str, str, int], Tensor], y: Tensor, halves: Tensor) -> Scores:
    """Accuracy of every variant on every split, the mean over both halves: `[splits]` by what it is."""
    found: Scores = {}
    names = dict.fromkeys((name, rule) for name, rule, _ in kept)
    for name, rule in names:
        of: list[dict[str, Tensor]] = []
        for half in (0, 1):
            members = kept[name, rule, half].unflatten(0, (-1, MEMBERS))
            nodes = halves[1 - half, ::MEMBERS]
            singles = torch.stack([judged(each, y, nodes) for each in members.unbind(1)])
            means = {f"mean of {size}": judged(members[:, :size].mean(dim=1), y, nodes) for size in (2, 4)}
            of.append({"single": singles.mean(dim=0)} | means)
        found |= {f"{name}, {rule}, {key}": (of[0][key] + of[1][key]) / 2 for key in of[0]}
    return found


def agreed_in_groups(agreed: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Targets that are the sharpened mean over the passes of all members of a committee."""

    def targets(predictions: Tensor, temperature: float, confidence: float) -> Tensor:
        together = predictions.unflatten(0, (-1, MEMBERS)).flatten(1, 2)
        return agreed(together, temperature, confidence).repeat_interleave(MEMBERS, dim=0)

    return targets


def study(dataset: str, splits: int, epochs: int) -> dict[str, Scores]:
    """Accuracy on every split of networks that train alone, and of committees at the same cost."""
    graph, drawn = load(dataset, split="public-redrawn", seeds=split_seeds(splits, splits, FIRST_SPLIT))
    split = replace(drawn, test=drawn.test & False)
    found: dict[str, list[Scores]] = {}
    # A split at a time: its networks share a batch, and kept probabilities take little memory.
    for place in range(splits):
        halves = halves_of(split)[:, place : place + 1].expand(-1, MEMBERS, -1)
        masks = {name: getattr(split, name).expand(splits, -1)[place : place + 1] for name in ("train", "val", "test")}
        own = Split(**masks)
        settings = FIRST_CHOICE | {"trials": MEMBERS, "epochs": epochs, "seed": FIRST_SEED + MEMBERS * place}
        config = Config.for_dataset(dataset, **settings)
        found.setdefault("alone", []).append(variants(train(graph, own, halves, config), graph.y, halves))
        config = replace(config, perturbations=1)
        with patch.object(graphmix_grand, "agreed_targets", agreed_in_groups(graphmix_grand.agreed_targets)):
            found.setdefault("committee", []).append(variants(train(graph, own, halves, config), graph.y, halves))
        print(f"{dataset}: {place + 1} of {splits} splits", flush=True)
    return {way: {key: torch.cat([one[key] for one in scores]) for key in scores[0]} for way, scores in found.items()}


def main() -> None:
    """Train, and log accuracies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--commit", help="of the code, for the log")
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    began = time.perf_counter()
    found = study(options.dataset, options.splits, options.epochs)
    start = found["alone"]["weights, accuracy, single"]
    seconds = round(time.perf_counter() - began, 1)
    told = {"dataset": options.dataset, "splits": options.splits, "epochs": options.epochs, "commit": options.commit}
    with options.log.open("a") as log:
        for way, scores in found.items():
            for key, values in scores.items():
                line = told | {"way": way, "variant": key, "seconds": seconds} | measured(values, start)
                log.write(json.dumps(line) + "\n")


def measured(values: Tensor, start: Tensor) -> dict[str, float]:
    """Means over the splits, and their standard errors."""
    size, gain = len(values) ** 0.5, values - start
    numbers = {"accuracy": values.mean(), "error": values.std() / size, "gain": gain.mean()}
    return {name: round(each.item(), 2) for name, each in (numbers | {"gain_error": gain.std() / size}).items()}


if __name__ == "__main__":
    main()
