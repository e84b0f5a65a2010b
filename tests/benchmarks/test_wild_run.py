"""A run of benchmarks/wild.py on a small graph: rows, resuming, peers and fit."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from graphmix.workflow.plan import make_plan

QUICK = ("label-propagation", "logistic")


@pytest.fixture
def run(wild, small_suite, tmp_path):
    out = tmp_path / "wild.json"

    def measure(*words, systems=QUICK):
        asked = ["--data", str(small_suite), "--graphs", "acm", "--device", "cpu", "--out", str(out)]
        wild.main.main([*asked, "--systems", *systems, *words])
        return json.loads(out.read_text()) if out.exists() else None

    return measure


def keys(wild, record):
    return [tuple(row[name] for name in wild.main.KEY) for row in record["rows"]]


def keys_of(row):
    return row["amount"], row["drawn"], row["system"]


def test_a_run_measures_every_system_on_every_draw(wild, run):
    record = run("--draws", "2")
    expected = {
        ("acm", amount, drawn, draw, system)
        for amount in ("few", "many")
        for drawn in ("class", "any")
        for draw in range(2)
        for system in QUICK
    }
    assert len(record["rows"]) == len(expected)
    assert set(keys(wild, record)) == expected
    for row in record["rows"]:
        assert row["labels"] == 3 * row["per_class"]
        assert row["labels"] + row["test_nodes"] == 240
        assert row["roc_auc"] is None
    propagated = {row["accuracy"] for row in record["rows"] if keys_of(row) == ("many", "class", "label-propagation")}
    # The edges join one class mostly. The labels themselves do not count: they would all be right.
    assert all(80 < accuracy < 100 for accuracy in propagated)
    assert {"torch", "scikit-learn", "torch-geometric"} <= set(record["versions"])


def test_a_second_call_adds_what_is_missing_and_keeps_the_rest(wild, run, tmp_path):
    record = run("--draws", "1", "--labels", "many", systems=["logistic"])
    record["rows"][0]["seconds"] = 12345.0
    (tmp_path / "wild.json").write_text(json.dumps(record))
    again = run("--draws", "1", "--labels", "many")
    assert len(again["rows"]) == 4
    assert [row["seconds"] for row in again["rows"] if row["seconds"] == 12345.0] == [12345.0]


def test_nothing_begins_after_the_limit(run):
    assert run("--limit", "0") is None


def test_a_record_of_another_machine_is_not_continued(run, tmp_path):
    record = run("--draws", "1", "--labels", "many", "--drawn", "class")
    (tmp_path / "wild.json").write_text(json.dumps(record | {"device": "cuda (Other)"}))
    with pytest.raises(SystemExit, match="Other"):
        run()


@pytest.mark.slow
def test_processes_measure_the_same(wild, run, small_suite, tmp_path):
    alone = run("--draws", "1", "--labels", "many")
    script, out = wild.main.__file__, tmp_path / "shared.json"
    words = f"--data {small_suite} --graphs acm --device cpu --draws 1 --labels many --workers 2 --out {out} --systems"
    subprocess.run([sys.executable, script, *words.split(), *QUICK], check=True, timeout=300)
    shared = json.loads(out.read_text())
    assert keys(wild, shared) == keys(wild, alone)
    assert [row["accuracy"] for row in shared["rows"]] == [row["accuracy"] for row in alone["rows"]]


@pytest.fixture
def work(wild, small_suite, monkeypatch):
    for name, value in {"GCN_EPOCHS": 5, "CS_EPOCHS": 5, "NETWORKS": 2}.items():
        monkeypatch.setattr(wild.peers, name, value)
    case = wild.graphs.load_case("acm", small_suite)
    known = wild.graphs.Draw("acm", "many", "class", 0).known(case.y)
    return wild.peers.Work(case, known, 0, "cpu")


def test_no_peer_sees_a_hidden_label(wild, work, small_suite):
    y = (work.case.y + 1) % 3
    y[work.known] = work.case.y[work.known]
    other = work._replace(case=replace(work.case, y=y))
    for name in wild.peers.PEERS:
        first, seconds = wild.peers.run_peer(name, work, small_suite)
        second, _ = wild.peers.run_peer(name, other, small_suite)
        assert first.shape == (240, 3)
        assert seconds > 0
        np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(first, second, err_msg=name)


def test_neighbour_means_are_means_over_neighbours(wild, work):
    graph, x = work.case.graph, wild.peers.own_features(work.case).toarray()
    means = wild.peers.neighbour_means(work.case).toarray()
    assert means.shape == (240, 3 * x.shape[1])
    source, target = graph.edge_index.numpy()
    for node in (0, 17, 239):
        own = means[target[source == node], : x.shape[1]]
        expected = own.mean(axis=0) if len(own) else np.zeros(x.shape[1])
        np.testing.assert_allclose(means[node, x.shape[1] : 2 * x.shape[1]], expected, atol=1e-6)


def quick_fit(wild, monkeypatch):
    def quick(graph, options):
        return make_plan(graph, options.methods, {"trials": 3, "epochs": 10})

    monkeypatch.setattr(wild.fit, "_plan", quick)


def test_fit_is_measured_like_the_peers_and_says_how_certain_it_is(run, wild, monkeypatch):
    quick_fit(wild, monkeypatch)
    (row,) = run("--draws", "1", "--labels", "many", "--drawn", "class", systems=["fit"])["rows"]
    assert row["accuracy"] > 40
    assert 0 <= row["coverage"] <= 100
    assert 0 <= row["set_size"] <= 3
    assert (row["kept_accuracy"] is None) == (row["kept"] == 0)
    assert sum(row["members"].values()) == pytest.approx(1, abs=1e-3)
    assert row["seconds"] > 0


def test_predictions_are_read_back_as_arrays(wild):
    columns = {
        "predicted": ["b", "c;d"],
        "probability": [0.6, 0.7],
        "second": ["a", "b"],
        "second_probability": [0.3, 0.2],
        "abstain": [True, False],
        "set": ['b;"c;d"', ""],
    }
    probabilities, abstain, sets = wild.fit._arrays(columns, ("a", "b", "c;d"))
    assert probabilities.tolist() == [[0.3, 0.6, 0], [0, 0.2, 0.7]]
    assert abstain.tolist() == [True, False]
    assert sets.tolist() == [[False, True, True], [False, False, False]]


def test_measures_are_those_of_hand_made_predictions(wild):
    probabilities = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    labels = np.array([0, 0, 1, 1])
    found = wild.main.measure(probabilities, labels)
    assert found["accuracy"] == 75
    assert found["balanced_accuracy"] == 75
    assert found["roc_auc"] == 100
    # |0.9 - 1| + |0.8 - 1| + |0.7 - 1| + |0.6 - 0|, each in a bin of its own.
    assert found["calibration_error"] == pytest.approx(30)


def test_certainty_is_of_test_nodes_only(wild):
    sets = np.array([[True, False], [True, True], [False, True]])
    probabilities = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
    answer = wild.fit.Answer(probabilities, np.array([False, True, False]), sets, {})
    found = wild.main.certainty(answer, np.array([1, 0, 1]), np.array([1, 2]))
    assert found == {"coverage": 100, "set_size": 1.5, "kept": 50, "kept_accuracy": 100}
