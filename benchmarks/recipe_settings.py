"""Which settings make the recipe more accurate, one at a time, by validation nodes alone.

    python benchmarks/recipe_settings.py citeseer --commit C --variants '[{}, {"hidden": 64}]'

A variant names what differs from the choice of the first search. Trains a network on each of some splits
`public-redrawn`, which have no test nodes of the public split. One half of a split's validation nodes chooses the epoch
and the other judges, and the other way round. Adds a line for each variant to
benchmarks/results/recipe-settings-cpu.jsonl: the mean accuracy on the judging nodes, and the difference from the first
variant, with standard errors over the splits. Networks of all variants have the same seeds and splits.

Lines whose script is "draft" come from a draft of this script, which drew other halves.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from graphmix import Config, load
from graphmix.data import Graph, Split, split_seeds
from graphmix.method import accuracy
from graphmix.training.batch import Batch
from graphmix.training.judging import logits_of
from graphmix.training.task import Task
from recipe_study import FIRST_CHOICE, halves_of, measured

LOG = Path(__file__).parent / "results" / "recipe-settings-cpu.jsonl"
# Splits and seeds that no search used.
FIRST_SPLIT, FIRST_SEED = 8000, 6_000_000
TOGETHER = 4  # networks that fit into a processor's cache
EVERY = 2  # epochs from one evaluation to the next


def study(dataset: str, splits: int, epochs: int, settings: dict[str, Any]) -> Tensor:
    """Accuracy in percent of a network on the judging nodes of each split, the mean over both halves: `[splits]`."""
    graph, drawn = load(dataset, split="public-redrawn", seeds=split_seeds(splits, splits, FIRST_SPLIT))
    split = replace(drawn, test=drawn.test & False)
    halves = halves_of(split)
    found = []
    for first in range(0, splits, TOGETHER):
        places = slice(first, first + TOGETHER)
        masks = {name: getattr(split, name).expand(splits, -1)[places] for name in ("train", "val", "test")}
        own = Split(**masks)
        run = {"trials": own.train.shape[0], "epochs": epochs, "seed": FIRST_SEED + first}
        config = Config.for_dataset(dataset, **FIRST_CHOICE | settings | run)
        found.append(judged(graph, own, halves[:, places], config))
    return torch.cat(found)


def judged(graph: Graph, split: Split, halves: Tensor, config: Config) -> Tensor:
    """Train a network on each split; accuracy on one half `[2, splits, nodes]` at the best epoch of the other."""
    task = Task.build(graph, split, config, torch.device("cpu"))
    batch = Batch(task, config, list(range(config.trials)))
    labels = torch.where(halves, graph.y, -1)
    best = torch.full((2, config.trials), -1.0)
    other = torch.zeros(2, config.trials)
    for epoch in range(config.epochs):
        batch.advance_blindly(*batch.shape(epoch))
        if epoch % EVERY != EVERY - 1:
            continue
        with torch.no_grad():
            logits = logits_of(batch.model, task)
        scores = torch.stack([accuracy(logits, each) for each in labels])
        improved = scores > best
        best, other = torch.where(improved, scores, best), torch.where(improved, scores.flip(0), other)
    return 100 * other.mean(dim=0).double()


def main() -> None:
    """Train, and log accuracies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--variants", type=json.loads, required=True, help="settings of each, as a list in JSON")
    parser.add_argument("--splits", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=400)
    parser.add_argument("--commit", help="of the code, for the log")
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args()
    start = None
    for settings in options.variants:
        began = time.process_time()
        values = study(options.dataset, options.splits, options.epochs, settings)
        start = values if start is None else start
        told = {name: getattr(options, name) for name in ("dataset", "splits", "epochs", "commit")}
        line = told | {"against": options.variants[0], "settings": settings} | measured(values, start)
        line["processor_seconds"] = round(time.process_time() - began, 1)
        print(line, flush=True)
        with options.log.open("a") as log:
            log.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
