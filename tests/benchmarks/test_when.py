"""What benchmarks/when.py runs, and its tables from hand-made results."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
BASE = {"homophily": 0.7, "labels_per_class": 10, "topic": 0.2}


@pytest.fixture(scope="module")
def modules():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("when"), importlib.import_module("when_tables")
    finally:
        sys.path.remove(str(BENCHMARKS))


def row(setting, system, accuracy, draw=0):
    return {"setting": BASE | setting, "system": system, "accuracy": accuracy, "draw": draw}


@pytest.fixture
def tables(modules, tmp_path, monkeypatch):
    rows = []
    for homophily, ours, other in ((0.1, 50.0, 55.0), (0.7, 80.0, 70.0)):
        rows += [row({"homophily": homophily}, "fit", ours - 1), row({"homophily": homophily}, "fit", ours + 1, 1)]
        rows += [row({"homophily": homophily}, system, 30.0) for system in ("gcn", "graphmix")]
        rows += [row({"homophily": homophily}, "logistic", other)]
    varied = {"homophily": [0.1, 0.7], "labels_per_class": [10], "topic": [0.2]}
    made = {"nodes": 400, "draws": 2, "device": "cpu", "threads": 1, "versions": {"torch": "2"}, "commit": "abc"}
    path = tmp_path / "when.json"
    path.write_text(json.dumps({"command": "when", "base": BASE, "varied": varied, "rows": rows} | made))
    monkeypatch.setattr(modules[1], "RESULTS", path)
    return modules[1].WHEN_TABLES


def test_one_thing_varies_at_a_time_and_every_setting_is_run_once(modules):
    when, _ = modules
    settings = when.settings()
    assert when.BASE in settings
    assert all(sum(setting[name] != when.BASE[name] for name in when.BASE) <= 1 for setting in settings)
    assert len(settings) == sum(map(len, when.VARIED.values())) - len(when.VARIED) + 1


def test_only_the_training_labels_are_given(modules, monkeypatch):
    when, _ = modules
    given = []

    def predict(graph):
        given.append(int((graph.y >= 0).sum()))
        return graph.y.numpy()

    monkeypatch.setattr(when, "SYSTEMS", {"none": predict})
    (found,) = when.run(BASE | {"labels_per_class": 3}, 0, 60)
    assert given == [12]
    # Labels that it was given do not count.
    assert found["accuracy"] == 0
    assert 0.5 < found["edges_within_a_class"] < 0.9


def test_a_table_has_means_and_the_best_is_bold(tables):
    lines = tables["when_homophily"]().splitlines()
    assert lines[2] == "| 10 % | 50.0 ± 1.4 | 30.0 | 30.0 | **55.0** |"
    assert lines[3].startswith("| 70 % | **80.0 ± 1.4** |")


def test_the_lead_is_given_at_worst_and_at_best(tables):
    first = tables["when_findings"]().splitlines()[0]
    assert "from -5.0 points (at 10 %, against logistic regression" in first
    assert "to +10.0 (at 70 %" in first


def test_commit_and_machine_are_named(tables):
    assert "cpu, 1 thread, torch 2, commit abc" in tables["when_made"]()


def test_without_results_it_says_so(modules, tmp_path, monkeypatch):
    monkeypatch.setattr(modules[1], "RESULTS", tmp_path / "none.json")
    assert modules[1].WHEN_TABLES["when_labels"]() == modules[1].MISSING
