"""The baselines by name, and the result of running one."""

import time
from collections.abc import Callable, Sequence

from torch import Tensor

from graphmix.baselines.deepwalk import deepwalk
from graphmix.baselines.ica import ica
from graphmix.baselines.label_propagation import label_propagation
from graphmix.baselines.manireg import manireg
from graphmix.baselines.planetoid import planetoid, planetoid_inductive
from graphmix.baselines.semiemb import semiemb
from graphmix.baselines.tabular import logistic_regression, random_forest
from graphmix.data import Graph, Split
from graphmix.errors import ConfigError
from graphmix.method import accuracy, f1
from graphmix.results.describe import device_name, scores, versions
from graphmix.results.run import RunResult
from graphmix.training.devices import choose_device
from graphmix.training.task import Picks

Watch = Callable[[int], None]

BASELINES: dict[str, Callable[[Graph, Split, Sequence[int], Watch | None], Tensor]] = {
    "label-propagation": label_propagation,
    "deepwalk": deepwalk,
    "manireg": manireg,
    "ica": ica,
    "semiemb": semiemb,
    "planetoid": planetoid,
    "planetoid-inductive": planetoid_inductive,
    "logistic-regression": logistic_regression,
    "random-forest": random_forest,
}
# Those that choose something by validation nodes.
SELECTED = ("manireg", "ica", "semiemb", "planetoid", "planetoid-inductive")
# Those that train networks, on any device. The others run on the CPU.
TRAINED = ("semiemb", "planetoid", "planetoid-inductive")


def judge(
    name: str,
    graph: Graph,
    split: Split,
    *,
    trials: int = 1,
    seed: int = 0,
    watch: Watch | None = None,
    device: str = "cpu",
) -> RunResult:
    """Run a baseline, trial i with seed + i."""
    if split.num_splits not in (1, trials):
        raise ConfigError(
            f"the split has masks for {split.num_splits} trials, but `trials` is {trials}; make them equal"
        )
    split.check(graph)
    if name in SELECTED:
        split.require_validation()
    place = choose_device(device if name in TRAINED else "cpu")
    started = time.perf_counter()
    predictions = BASELINES[name](graph.to(place), split, range(seed, seed + trials), watch)
    val, test = (Picks.build(mask.cpu(), graph.y.cpu()) for mask in (split.val, split.test))
    val_accuracy, test_accuracy = (accuracy(nodes.of(predictions), nodes.labels) for nodes in (val, test))
    class_f1 = f1(test.of(predictions).argmax(dim=2), test.labels, graph.num_classes)
    return RunResult(
        dataset=graph.name,
        split=split.name,
        split_seeds=None if split.seeds is None else tuple(split.seeds),
        settings={"method": name, "backbone": None, "trials": trials, "seed": seed},
        **scores(val_accuracy, test_accuracy, class_f1, graph),
        seconds=round(time.perf_counter() - started, 3),
        device=device_name(place),
        versions=dict(versions()),
    )
