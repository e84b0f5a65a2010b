"""Measure models from tables: accuracy, new nodes, calibration. docs/tables.md shows the results.

    python benchmarks/own_graph.py TABLES --device cuda --out benchmarks/results/own-graph-h200.json

TABLES is a folder made by examples/cora_tables.py. Three experiments; every trial is stored:

same split     `graphmix fit` on Cora's tables and `graphmix train cora` on the same public split, scored on the same
               1,000 test papers
new nodes      a tenth of Cora's papers, no training or validation papers, is removed from the tables; a model trains on
               the rest, then predicts the removed papers. For comparison, a model that trained with these papers in
               the graph, unlabeled, predicts them too
calibration    Cora, Citeseer and Pubmed, the public split: the calibration error on the test nodes before and after
               temperature scaling on the validation nodes, and the coverage of prediction sets for 90 %
"""

import argparse
import csv
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import graphmix
from graphmix import Columns, Config, FitOptions, Graph, Split, fit, load, load_model
from graphmix.evaluation.calibration import (
    apply_temperature,
    conformal_sets,
    conformal_threshold,
    expected_calibration_error,
    fit_temperature,
)
from graphmix.evaluation.heldout import ensemble
from graphmix.experiments.records import source_commit
from graphmix.results.describe import device_name, versions
from graphmix.storage.files import write_json
from graphmix.training.devices import choose_device
from graphmix.workflow.members import Member
from graphmix.workflow.plan import usual_config

COVERAGE = 0.9
COLUMNS = Columns(label="topic", split="split")
METHOD, BACKBONE = "graphmix", "gcn"
Rows = list[dict[str, str]]


def main() -> None:
    """Run the experiments and write their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=10, help="number of different tenths to remove")
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", default=None)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    record: dict[str, Any] = {
        "commit": options.commit or source_commit(),
        "device": device_name(choose_device(options.device)),
        "versions": versions(),
        "command": f"python benchmarks/own_graph.py TABLES --trials {options.trials} --repeats {options.repeats} "
        f"--epochs {options.epochs}",
    }
    for name, experiment in (("same split", same_split), ("new nodes", new_nodes), ("calibration", calibration)):
        started = time.perf_counter()
        record[name] = experiment(options)
        record[name]["seconds"] = round(time.perf_counter() - started, 1)
        write_json(options.out, record)
        print(name, {key: value for key, value in record[name].items() if not isinstance(value, list)}, flush=True)


def same_split(options: argparse.Namespace) -> dict[str, Any]:
    """Fit the tables, train on the dataset, compare."""
    answers = {row["id"]: row["topic"] for row in read(options.tables / "answers.csv")}
    stored = fit_tables(options.tables / "papers.csv", options.tables / "cites.csv", options)
    ids, probabilities = stored["ids"], stored["probabilities"]
    members = [score(trial, ids, answers, stored["classes"]) for trial in stored["trials"]]
    graph, split = load("cora")
    trained = fit(graph, split, config_of(graph, options), device=options.device)
    together = trained.predict_proba(graph).mean(dim=0).argmax(dim=1) == graph.y
    train = [percent(value) for value in trained.test_accuracy.tolist()]
    return {
        "fit_trials": members,
        "fit_mean": statistics.fmean(members),
        "fit_std": statistics.stdev(members),
        "fit_ensemble": score(probabilities, ids, answers, stored["classes"]),
        "train_trials": train,
        "train_mean": statistics.fmean(train),
        "train_std": statistics.stdev(train),
        "train_ensemble": percent(together[split.test[0]].double().mean()),
    }


def new_nodes(options: argparse.Namespace) -> dict[str, Any]:
    """Remove tenths of the papers, then predict them."""
    papers, cites = read(options.tables / "papers.csv"), read(options.tables / "cites.csv")
    # Every paper's topic: the tables have those of the public split, Planetoid has all.
    answers = {row["id"]: row["topic"] for row in read(options.tables / "answers.csv")}
    free = [row["id"] for row in papers if row["split"] == ""]
    scored = [name for name in free if name in answers]
    whole = fit_tables(options.tables / "papers.csv", options.tables / "cites.csv", options)
    repeats = []
    for repeat in range(options.repeats):
        rng = np.random.default_rng(repeat)
        out = set(rng.choice(free, size=len(papers) // 10, replace=False).tolist())
        judged = {name: answers[name] for name in scored if name in out}
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            write(folder / "papers.csv", [row for row in papers if row["id"] not in out])
            write(folder / "cites.csv", [row for row in cites if not {row["citing"], row["cited"]} & out])
            write(folder / "new.csv", [row for row in papers if row["id"] in out])
            write(folder / "new_cites.csv", [row for row in cites if {row["citing"], row["cited"]} & out])
            fit_tables(folder / "papers.csv", folder / "cites.csv", options, folder / "model")
            model = load_model(folder / "model")
            grown = model.problem.grow(folder / "new.csv", folder / "new_cites.csv")
            probabilities = model.mixture.probabilities(grown.graph)
        returned = score(probabilities, grown.names["id"], judged, model.mixture.classes)
        transductive = score(whole["probabilities"], whole["ids"], judged, whole["classes"])
        repeats.append({"judged": len(judged), "new": returned, "transductive": transductive})
    news, olds = ([repeat[name] for repeat in repeats] for name in ("new", "transductive"))
    differences = [new - old for new, old in zip(news, olds, strict=True)]
    return {
        "repeats": repeats,
        "taken_out": len(papers) // 10,
        "new_mean": statistics.fmean(news),
        "transductive_mean": statistics.fmean(olds),
        "difference_mean": statistics.fmean(differences),
        "difference_std": statistics.stdev(differences),
    }


def calibration(options: argparse.Namespace) -> dict[str, Any]:
    """Calibrate on validation nodes, evaluate on test nodes: each trial, and all as an ensemble."""
    results: dict[str, Any] = {}
    for dataset in ("cora", "citeseer", "pubmed"):
        graph, split = load(dataset)
        probabilities = fit(graph, split, config_of(graph, options), device=options.device).predict_proba(graph)
        trials = [calibrate(trial.double().numpy(), graph, split) for trial in probabilities]
        results[dataset] = {
            "trials": trials,
            "ensemble": calibrate(ensemble(probabilities), graph, split),
            **{f"{name}_mean": statistics.fmean(trial[name] for trial in trials) for name in trials[0]},
        }
    return results


def calibrate(probabilities: np.ndarray, graph: Graph, split: Split) -> dict[str, float]:
    """Errors and coverage of one prediction `[nodes, classes]`."""
    y, val, test = graph.y.numpy(), split.val[0].numpy(), split.test[0].numpy()
    temperature = fit_temperature(probabilities[val], y[val])
    after = apply_temperature(probabilities, temperature)
    threshold = conformal_threshold(after[val], y[val], COVERAGE)
    sets = conformal_sets(after[test], threshold)
    return {
        "accuracy": percent((probabilities[test].argmax(axis=1) == y[test]).mean()),
        "temperature": round(temperature, 4),
        "ece_before": percent(expected_calibration_error(probabilities[test], y[test])),
        "ece_after": percent(expected_calibration_error(after[test], y[test])),
        "coverage": percent(sets[np.arange(len(sets)), y[test]].mean()),
        "set_size": round(float(sets.sum(axis=1).mean()), 4),
    }


def config_of(graph: Graph, options: argparse.Namespace) -> Config:
    """The hyperparameters of a fit of GraphMix(GCN); of equally good epochs the last."""
    return usual_config(graph, METHOD, ties="last", **settings(options))


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """The hyperparameters that are given, not chosen by the size of the graph."""
    return {"backbone": BACKBONE, "trials": options.trials, "epochs": options.epochs}


def fit_tables(papers: Path, cites: Path, options: argparse.Namespace, folder: Path | None = None) -> dict[str, Any]:
    """Fit only GraphMix(GCN), as the command does, and predict every paper."""
    chosen = FitOptions(methods=(METHOD,), device=options.device)
    model = graphmix.fit_tables(papers, cites, out=folder, columns=COLUMNS, options=chosen, **settings(options))
    mixture, graph = model.mixture, model.problem.learned
    (member,) = mixture.members
    return {
        "ids": model.problem.ids,
        "classes": mixture.classes,
        "probabilities": mixture.probabilities(graph),
        "trials": [mixture.calibrate(each.probabilities(graph)) for each in networks(member)],
    }


def networks(member: Member) -> list[Member]:
    """Return each network of a member by itself."""
    single = replace(member.config, trials=1)
    return [
        replace(member, config=single, tensors={name: weight[i : i + 1] for name, weight in member.tensors.items()})
        for i in range(member.config.trials)
    ]


def score(probabilities: np.ndarray, ids: list[str], answers: dict[str, str], classes: tuple[str, ...]) -> float:
    """The share of answers that are right, in percent."""
    predicted = dict(zip(ids, (classes[place] for place in probabilities.argmax(axis=1)), strict=True))
    return percent(statistics.fmean(predicted[name] == topic for name, topic in answers.items()))


def percent(share: Any) -> float:
    """A share in percent, to four places."""
    return round(100 * float(share), 4)


def read(path: Path) -> Rows:
    """Read a table."""
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write(path: Path, rows: Rows) -> None:
    """Write a table."""
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
