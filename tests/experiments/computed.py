"""What the code computes on small seeded graphs, for every entry of `COMPUTED`, and the numbers it gave before.

python tests/experiments/computed.py           say what differs from computed.json
python tests/experiments/computed.py --write   rewrite it; refused where numbers differ and their version does not
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from graphmix import Config, Graph, Split, dual, fit, make_split, synthetic
from graphmix.analysis import details
from graphmix.analysis.bound import estimate
from graphmix.baselines import BASELINES, TABULAR, judge
from graphmix.data import binarise
from graphmix.experiments.versions import COMPUTED
from graphmix.models import BACKBONES
from graphmix.results.writer import to_json
from graphmix.sparse import SparseMatrix
from graphmix.training.methods import METHODS, trained_methods

STORED = Path(__file__).with_suffix(".json")
# Machines and versions of torch differ by about 1e-6; a changed method differs by more than this.
RELATIVE, ABSOLUTE = 1e-3, 1e-4

Numbers = dict[str, Any]


def small(nodes: int = 60) -> tuple[Graph, Split]:
    """The graph that all is computed on: words counted unequally, in rows large enough to train quickly."""
    # With this seed no prediction and no pooling is so close that noise of 2e-5 in the features changes it.
    graph, split = synthetic(nodes=nodes, classes=3, features=24, degree=4.0, topic=0.4, labels_per_class=4, seed=0)
    x = graph.x
    counts = SparseMatrix(x.crow, x.col, x.values * (2 + 3 * (x.col % 3)), x.shape)
    return Graph.build(counts, graph.edge_index, graph.y, normalise=False), split


def config(**changes: Any) -> Config:
    """A short run in which everything happens: the ramp, both kinds of step, dropout."""
    chosen = {"trials": 2, "epochs": 6, "rampup_start": 1, "rampup_end": 4, "learning_rate": 0.1, "hidden": 6}
    # Deep networks and many channels would make noise grow.
    chosen |= {"perturbations": 3, "target_every": 1, "heads": 2, "layers": 2, "channels": 2, "routing_steps": 2}
    return Config.for_dataset("", **(chosen | changes))


def links() -> tuple[Graph, Split]:
    """Links as nodes, with unequal classes."""
    rng = np.random.Generator(np.random.PCG64(5))
    graph = dual(rng.integers(0, 25, (2, 90)), 25, (rng.random(90) < 0.3).astype(np.int64))
    return graph, make_split("random", graph, [0, 1], sizes=(20, 20, 20))


def weighted() -> tuple[Graph, Split]:
    """Edges that weigh, dense features, and one split for each trial."""
    graph, _ = small()
    weights = 0.5 + (graph.edge_index.sum(dim=0) % 4)
    heavy = Graph.build(graph.x.to_dense(), graph.edge_index, graph.y, weights=weights, normalise=False)
    return heavy, make_split("5-per-class", heavy, [4, 7])


def run(data: Callable[[], tuple[Graph, Split]] = small, **changes: Any) -> Numbers:
    """What training gives: curves, the chosen epochs, their scores and weights."""
    graph, split = data()
    return run_numbers(graph, split, config(**changes))


def run_numbers(graph: Graph, split: Split, settings: Config) -> Numbers:
    """The same on any graph."""
    trained = fit(graph, split, settings, device="cpu")
    summed = details(trained, graph, split)
    curves = {name: getattr(trained.history, name).tolist() for name in ("loss", "train_loss", "val_loss")}
    return {
        **curves,
        "best_epoch": trained.best_epoch.tolist(),
        "val_accuracy": trained.history.val_accuracy.tolist(),
        "test_accuracy": trained.test_accuracy.tolist(),
        "test_f1": trained.test_f1.nan_to_num(-1.0).tolist(),
        "weights": {name: size(value) for name, value in sorted(trained.weights.items())},
        "probabilities": size(trained.predict_proba(graph)),
        "confusion": to_json(summed.confusion),
        "calibration_error": summed.reliability.ece,
    }


def data_numbers() -> dict[str, Callable[[], Numbers]]:
    """Graphs and splits. What is loaded from files is compared with the records themselves, see test_computed.py."""
    return {
        "synthetic": lambda: graph_numbers(*small()),
        "links": lambda: graph_numbers(*links()),
        "weighted": lambda: graph_numbers(*weighted()),
        "binarised": lambda: {"features": size(binarise(small()[0].x).to_dense())},
        **{
            f"split {rule}": partial(split_numbers, rule)
            for rule in (
                "random",
                "balanced",
                "benchmark",
                "5-per-class",
                "5-per-class-30-validation",
                "5-per-class-no-validation",
                "2.5-percent",
            )
        },
    }


def graph_numbers(graph: Graph, split: Split) -> Numbers:
    """Sizes, features, edges and the split of a graph."""
    x = graph.x if isinstance(graph.x, torch.Tensor) else graph.x.to_dense()
    weights = graph.edge_weights
    return {
        "features": size(x),
        "edges": digest(graph.edge_index),
        "weights": None if weights is None else size(weights),
        "labels": digest(graph.y),
        "split": [digest(mask) for mask in (split.train, split.val, split.test)],
    }


def split_numbers(rule: str) -> Numbers:
    """Which nodes a rule draws from three seeds."""
    graph, _ = small(nodes=240)
    sizes = (30, 60, 100) if rule in ("random", "balanced") else None
    drawn = make_split(rule, graph, [0, 1, 12], sizes=sizes)
    return {name: digest(getattr(drawn, name)) for name in ("train", "val", "test")}


def training_numbers() -> dict[str, Callable[[], Numbers]]:
    """Every method with every network, and every choice that changes training."""
    cases = {
        f"{method} {backbone}": partial(run, method=method, backbone=backbone)
        for method in trained_methods()
        if method != "graphsgan"
        for backbone in (BACKBONES if METHODS[method].rule is None else [METHODS[method].backbone])
    }
    cases |= {f"released {name}": partial(run, backbone=name, reading="released") for name in BACKBONES}
    cases |= {
        "bvat, sampled": partial(run, method="bvat", bvat_form="sampled", perturbed_nodes=3),
        "kept targets": partial(run, method="graphmix-steady", target_every=3),
        "released self-training": partial(run, method="self-training", reading="released"),
        "joint": partial(run, optimisation="joint", joint_weight=0.5),
        "predicts with the FCN": partial(run, predictor="fcn"),
        "no mixup": partial(run, alpha=0.0),
        "no targets": partial(run, gamma=0.0),
        "dropout and bias": partial(run, hidden_dropout=0.4, bias=True),
        "balanced classes": partial(run, data=links, class_weight="balanced", select_by="macro-f1", ties="last"),
        "balanced targets": partial(run, target_weight="balanced", gamma=3.0),
        "a part of the unlabeled": partial(run, unlabeled=7, lambda_per="batch"),
        "edge weights": partial(run, data=weighted),
        "the last epoch": partial(run, select_by="last"),
        "mixed at the input": partial(run, mixup_layer="input"),
        "mixed at a random layer": partial(run, mixup_layer="random"),
        "taught by the FCN": partial(run, teacher="fcn"),
        "taught by an average": partial(run, teacher="fcn-average", teacher_decay=0.5),
        "targets for the GNN": partial(run, gnn_targets="fcn"),
    }
    return cases


def baseline_numbers() -> dict[str, Callable[[], Numbers]]:
    """Every baseline that the paper's tables can have; no record holds a model of tables."""
    return {name: partial(one_baseline, name) for name in BASELINES if name not in TABULAR}


def one_baseline(name: str) -> Numbers:
    """Its probabilities and scores."""
    graph, split = small()
    found: list[torch.Tensor] = []

    def kept(graph: Graph, split: Split, seeds: Sequence[int], watch: Callable[[int], None] | None) -> torch.Tensor:
        assert list(seeds) == [1, 2]
        found.append(baseline(graph, split, seeds, watch))
        return found[0]

    baseline = BASELINES[name]
    with mock.patch.dict(BASELINES, {name: kept}):
        judged = judge(name, graph, split, trials=2, seed=1)
    scores = {key: to_json(getattr(judged, key).values) for key in ("val_accuracy", "test_accuracy", "test_macro_f1")}
    return scores | {"probabilities": size(found[0])}


def measured() -> Numbers:
    """Soft-rank; of t-SNE, which differs from machine to machine, only its shape."""
    graph, split = small()
    trained = fit(graph, split, config(), device="cpu")
    summed = to_json(details(trained, graph, split, ("embedding", "soft-rank")))
    picture = summed["embedding"]
    shape = {name: len(picture[name]) for name in ("x", "y", "confidence")}
    exact = {name: picture[name] for name in ("node", "label", "role", "nodes")}
    return {"soft_rank": summed["soft_rank"], "shape": shape, **exact}


def separated() -> Numbers:
    """How far hidden states of classes are apart, and how well labels are fitted."""
    graph, split = small()
    trained = fit(graph, split, config(), device="cpu")
    return to_json(details(trained, graph, split, ("separation", "training")))["measured"]


def bound_terms() -> Numbers:
    """The theorem's terms at two points of a grid."""
    graph, _ = small()
    split = make_split("5-per-class", graph, [0, 1])
    return to_json(estimate(graph, split, config(epochs=12), alphas=(0.0, 1.0), gammas=(0.5,), device="cpu"))


def size(values: torch.Tensor) -> list[float]:
    """A tensor in three numbers: mean magnitude, root mean square, and a mean weighted by place."""
    flat = values.double().flatten()
    place = 1.5 + torch.cos(torch.arange(len(flat), dtype=torch.float64))
    return [flat.abs().mean().item(), flat.square().mean().sqrt().item(), (flat.abs() * place).mean().item()]


def digest(values: torch.Tensor) -> str:
    """Whole numbers and truth values, which are equal everywhere or not at all."""
    plain = values.cpu().long().contiguous().numpy().astype("<i8")
    return hashlib.sha256(str(plain.shape).encode() + plain.tobytes()).hexdigest()[:16]


CASES: dict[str, dict[str, Callable[[], Numbers]]] = {
    "data": data_numbers(),
    "training": training_numbers(),
    # A game of two networks makes noise grow with every step.
    "graphsgan": {"two epochs": partial(run, method="graphsgan", learning_rate=0.001, epochs=2)},
    "baselines": baseline_numbers(),
    "measures": {"of a run": measured, "separation": separated},
    "bound": {"two points": bound_terms},
}


def compute(entry: str) -> dict[str, Numbers]:
    """All numbers of an entry."""
    return {name: rounded(case()) for name, case in CASES[entry].items()}


def rounded(value: Any) -> Any:
    """Numbers with six digits."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """The places at which two values differ by more than machines do."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name), new.get(name), f"{place}/{name}" if place else name)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, two) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, two, f"{place}[{index}]")
    elif isinstance(old, float | int) and isinstance(new, float | int):
        if not math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{place}: {old} before, {new} now"
    elif old != new:
        yield f"{place}: {old} before, {new} now"


def defect(entry: str, stored: dict[str, Any], now: dict[str, Numbers], version: int) -> str | None:
    """Say what is wrong with an entry's version: nothing, or a sentence that says what to do."""
    held = stored.get(entry, {"version": None, "numbers": {}})
    changed = list(differences(held["numbers"], now))
    if held["version"] != version:
        return f'COMPUTED["{entry}"] is {version} and computed.json holds {held["version"]}: {REWRITE}'
    if changed:
        return (
            f'the numbers of "{entry}" changed; if you meant that, raise COMPUTED["{entry}"] from {version} '
            f"in experiments/versions.py and {REWRITE} ({len(changed)} numbers differ, the first is {changed[0]})"
        )
    return None


REWRITE = "run `python tests/experiments/computed.py --write`"


def written(stored: dict[str, Any], now: dict[str, dict[str, Numbers]], versions: dict[str, int]) -> dict[str, Any]:
    """What computed.json is to hold; cases may be added under a version, but none of it changed or removed.

    Raises:
        ValueError: numbers changed and their version did not, or a version went down.
    """
    result = {}
    for entry, version in versions.items():
        held = stored.get(entry, {"version": 0, "numbers": {}})
        if version < held["version"]:
            raise ValueError(f'COMPUTED["{entry}"] is {version}, below the {held["version"]} of computed.json')
        same = {name: now[entry].get(name) for name in held["numbers"]}
        changed = list(differences(held["numbers"], same))
        if version == held["version"] and changed:
            raise ValueError(f'the numbers of "{entry}" differ; raise COMPUTED["{entry}"] first ({changed[0]})')
        # What is the same stays as it is, digit by digit.
        kept = held["numbers"] if version == held["version"] else {}
        result[entry] = {"version": version, "numbers": now[entry] | kept}
    return result


def read() -> dict[str, Any]:
    """What computed.json holds."""
    return json.loads(STORED.read_text()) if STORED.exists() else {}


def main() -> None:
    """Compare or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stored, now = read(), {entry: compute(entry) for entry in CASES}
    if not options.write:
        found = [defect(entry, stored, now[entry], COMPUTED[entry]) for entry in CASES]
        sys.exit("\n".join(filter(None, found)) or 0)
    try:
        result = written(stored, now, COMPUTED)
    except ValueError as error:
        sys.exit(str(error))
    # A line for each case: differences can be read.
    parts = []
    for entry, held in result.items():
        lines = ",\n".join(f"   {json.dumps(name)}: {json.dumps(value)}" for name, value in held["numbers"].items())
        parts.append(f' "{entry}": {{\n  "version": {held["version"]},\n  "numbers": {{\n{lines}\n  }}\n }}')
    STORED.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
