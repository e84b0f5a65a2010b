"""Mixtures of all methods: what they predict of new rows, of links, and what they advise."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import graphmix
from graphmix.training.methods import fit_methods
from graphmix.workflow.columns import Columns
from graphmix.workflow.model import load_model
from small_tables import fit_tables, pairs, rows, tree, write_edges, write_nodes

QUICK = {"trials": 5, "epochs": 12, "hidden": 4}
NAMES = {
    "label-propagation",
    "logistic-regression",
    "random-forest",
    "fcn",
    "supervised-gpr",
    "graphmix-steady-gpr",
    "graphmix-steady-sage",
    "graphmix-steady-gcn",
}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """A folder with tables of nodes, and the mixture of all methods that a fit made of them."""
    folder = tmp_path_factory.mktemp("nodes")
    tables = write_nodes(folder / "nodes.csv", rows(60)), write_edges(folder / "edges.csv", pairs(60))
    fit_tables(folder, *tables, methods=fit_methods(), **QUICK)
    return folder


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """The same of links."""
    folder = tmp_path_factory.mktemp("links")
    table = pd.DataFrame(
        [{"from": f"u{n % 8}", "to": f"u{n * n % 7}", "sign": ("good", "bad", None)[n % 3]} for n in range(60)]
    )
    fit_tables(folder, None, table, columns=Columns(link_label="sign"), methods=fit_methods(), **QUICK)
    return folder


def test_what_the_folder_of_a_mixture_holds(nodes):
    model = load_model(nodes / "model")
    described = json.loads((nodes / "model" / "model.json").read_text())
    shares = [member["share"] for member in described["members"]]
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    assert {path.name for path in (nodes / "model" / "candidates").iterdir()} == NAMES
    assert set(model.held) == NAMES | {"mixture", *(f"graphmix-steady-{each}-fcn" for each in ("gpr", "sage", "gcn"))}
    chosen = {member.name for member in model.mixture.members}
    assert 1 < len(chosen) <= len(NAMES)
    # Only networks of members are trained on all labels and kept; others are made anew, which takes no time.
    kept = {path.parent.name for path in (nodes / "model" / "candidates").rglob("weights.safetensors")}
    assert kept == {member.name for member in model.mixture.members if member.is_network}


def test_metrics_tell_who_is_in_it_and_what_each_reaches_alone(nodes):
    model = load_model(nodes / "model")
    metrics = model.metrics
    assert metrics.chosen == metrics.candidates[0].method == "mixture"
    assert len(metrics.candidates) == 1 + len(NAMES)
    shares = {member.name: 100 * member.share for member in model.mixture.members}
    assert sum(each.share for each in metrics.candidates[1:]) == pytest.approx(100, abs=1e-2)
    assert sorted(each.share for each in metrics.candidates[1:] if each.share) == pytest.approx(
        sorted(shares.values()), abs=1e-3
    )
    held = model.held
    assert metrics.candidates[0].accuracy == pytest.approx(100 * held["mixture"].right.mean(), abs=1e-3)
    assert metrics.candidates[0].behind is None
    assert all(each.behind is not None for each in metrics.candidates[1:])
    assert metrics.held == len(held["mixture"].labels) == 30
    networks = [each for each in metrics.candidates if each.curve is not None]
    assert len(networks) == 5
    assert all(each.curve.epochs[-1] == 12 and each.epochs in each.curve.epochs for each in networks)


def test_the_same_fit_again_is_the_same_model(nodes, tmp_path):
    fit_tables(tmp_path, nodes / "nodes.csv", nodes / "edges.csv", methods=fit_methods(), **QUICK)
    one, other = tree(nodes / "model"), tree(tmp_path / "model")
    for name in ("weights.safetensors", "heldout.safetensors", "model.json", "predictions.csv", "graph.safetensors"):
        assert one[name] == other[name], name


def test_new_nodes_are_predicted_by_all_members(nodes):
    model = load_model(nodes / "model")
    new = pd.DataFrame([{**rows()[0], "id": "q1"}, {**rows()[1], "id": "q2"}])
    edges = pd.DataFrame({"source": ["q1", "q2"], "target": ["p0", "q1"]})
    predictions = model.predict(new, edges)
    assert predictions.columns["id"] == ["q1", "q2"]
    grown = model.problem.grow(new, edges)
    mean = sum(member.share * member.probabilities(grown.graph) for member in model.mixture.members)
    powers = mean ** (1 / model.mixture.temperature)
    expected = (powers / powers.sum(axis=1, keepdims=True))[-2:].max(axis=1)
    np.testing.assert_allclose(predictions.columns["probability"], expected, atol=1e-6)


def test_links_are_predicted_and_new_ones_too(links):
    model = load_model(links / "model")
    assert model.mixture.method == "mixture"
    assert len(model.predict()) == 60
    new = model.predict(edges=pd.DataFrame({"from": ["u1", "u99"], "to": ["u3", "u2"]}))
    assert new.columns["from"] == ["u1", "u99"]
    assert set(new.columns["predicted"]) <= {"good", "bad"}


@pytest.mark.parametrize("kind", ["nodes", "links"])
def test_advice_needs_no_further_training(kind, request, monkeypatch):
    folder = request.getfixturevalue(kind)
    model = load_model(folder / "model")
    monkeypatch.setattr("graphmix.workflow.advice.hold_out", None)
    advice = model.advise(4, device="cpu")
    assert len(advice.label_next) == 4
    labeled = {row["id"] for row in rows(60) if row["topic"]}
    if kind == "nodes":
        assert labeled.isdisjoint(advice.label_next.columns["id"])
        assert set(advice.suspects.columns["id"]) <= labeled


def test_advice_of_a_mixture_without_a_pair_of_networks_trains_one(tmp_path):
    tables = write_nodes(tmp_path / "n.csv", rows(60)), write_edges(tmp_path / "e.csv", pairs(60))
    model = fit_tables(tmp_path, *tables, methods=("label-propagation", "logistic-regression"), **QUICK)
    advice = model.advise(3, device="cpu")
    assert len(advice.label_next) == 3


def test_the_commands_use_it(nodes, tmp_path):
    for command in (
        ("predict", nodes / "model", "--all", "-o", tmp_path / "out.csv"),
        ("advise", nodes / "model", "--count", "2"),
        ("report", nodes / "model", "--out", tmp_path / "page.html"),
    ):
        result = graphmix(*command, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    predicted = (tmp_path / "out.csv").read_text().splitlines()
    assert len(predicted) == 61
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_the_mixture_is_not_worse_than_the_worst_and_held_out_predictions_are_of_all_labels(nodes):
    model = load_model(nodes / "model")
    scores = {name: held.right.mean() for name, held in model.held.items() if name in NAMES}
    assert model.held["mixture"].right.mean() >= min(scores.values())
    known = [number for number, row in enumerate(rows(60)) if row["topic"]]
    for held in model.held.values():
        assert held.nodes.tolist() == known
        np.testing.assert_allclose(held.probabilities.sum(axis=1), 1)
