"""What a fit must not know: labels of test nodes change nothing that is trained, chosen or predicted."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphmix import Graph, GraphMixClassifier
from graphmix.data import Split
from graphmix.data.folds import fold_split
from graphmix.training.methods import fit_methods
from graphmix.workflow.candidates import hold_out
from graphmix.workflow.columns import Columns
from graphmix.workflow.model import load_model
from graphmix.workflow.plan import make_plan
from small_tables import TOPICS, fit_tables, pairs, rows, tree, write_edges, write_nodes

METHODS = fit_methods()


def split_tables(folder, *, turned):
    """Tables with a given split; the classes of the test nodes are turned if asked for."""
    nodes = rows(48, labeled=1)
    for number, row in enumerate(nodes):
        row["part"] = ("train", "val", "test")[number // 3 % 3]
        if turned and row["part"] == "test":
            row["topic"] = TOPICS[(TOPICS.index(row["topic"]) + 1) % 3]
    folder.mkdir()
    return write_nodes(folder / "nodes.csv", nodes), write_edges(folder / "edges.csv", pairs(48))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Two models that differ in the labels of their test nodes alone."""
    made = []
    for turned in (False, True):
        folder = tmp_path_factory.mktemp("hidden") / "tables"
        tables = split_tables(folder, turned=turned)
        columns = Columns(label="topic", split="part")
        fit_tables(folder, *tables, methods=METHODS, columns=columns, trials=2, epochs=12)
        made.append(folder / "model")
    return made


def test_test_labels_change_no_weight_and_no_held_out_prediction(both):
    one, other = (tree(folder) for folder in both)
    same = {name for name in one if one[name] == other[name]}
    assert {"weights.safetensors", "heldout.safetensors", "encoders.json", "ids.json"} <= same
    weights = {name for name in one if name.endswith("weights.safetensors")}
    assert weights <= same
    assert len(weights) > 1


def test_test_labels_change_nothing_in_the_description_but_the_graph(both):
    one, other = (json.loads((folder / "model.json").read_text()) for folder in both)
    changed = {name for name in one if one[name] != other[name]}
    assert changed == {"parts", "sha256"}
    parts = {name for name in one["parts"] if one["parts"][name] != other["parts"][name]}
    assert parts == {"graph"}, "labels are stored with the graph"
    assert one["members"] == other["members"]
    assert one["temperature"] == other["temperature"]


def test_test_labels_change_no_prediction(both):
    one, other = (load_model(folder).predict(everything=True).columns for folder in both)
    assert one == other
    # The file of the fit tells the labels of its tables beside the predictions.
    rows = []
    for folder in both:
        with (folder / "predictions.csv").open(newline="") as file:
            rows.append(list(csv.DictReader(file)))
    assert [row.pop("label") for row in rows[0]] != [row.pop("label") for row in rows[1]]
    assert rows[0] == rows[1]


def test_only_the_test_result_and_the_survey_tell_of_them(both):
    one, other = (json.loads((folder / "metrics.json").read_text()) for folder in both)
    for metrics in (one, other):
        for timed in (metrics, *metrics["candidates"]):
            timed.pop("seconds")
        metrics.pop("peak_memory_gib")
    assert one["test"] != other["test"]
    changed = {name for name in one if one[name] != other[name]}
    assert changed <= {"test", "survey"}


def test_validation_labels_are_not_trained_on(tmp_path):
    """They choose the number of epochs and the weights, but no network learns from them."""
    folder = tmp_path / "tables"
    tables = split_tables(folder, turned=False)
    columns = Columns(label="topic", split="part")
    fit_tables(folder, *tables, methods=("label-propagation",), columns=columns)
    problem = load_model(folder / "model").problem
    graph, split = problem.graph, problem.split
    assert isinstance(split, Split)
    turned = graph.y.clone()
    turned[split.val[0]] = (turned[split.val[0]] + 1) % 3
    other = replace(graph, y=turned)
    for candidate in make_plan(graph, METHODS, {"trials": 2, "epochs": 10, "hidden": 4}):
        one, two = (hold_out(candidate, each, split, device="cpu") for each in (graph, other))
        np.testing.assert_array_equal(one.probabilities, two.probabilities, err_msg=candidate.name)


def test_a_held_out_label_does_not_reach_its_own_prediction(tmp_path):
    """Turn the labels of one fold: what its trial predicts of them stays, for every method."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60) < 40, np.arange(60) % 2, -1)
    x, edges = rng.normal(size=(60, 4)), rng.integers(0, 60, (2, 90))
    graph = Graph.build(x, edges, y, 2, normalise=False)
    split = fold_split(graph, 5)
    fold = split.val[2].numpy()
    other = Graph.build(x, edges, np.where(fold, 1 - y, y), 2, normalise=False)
    for candidate in make_plan(graph, METHODS, {"trials": 5, "epochs": 10, "hidden": 4}):
        one, two = (hold_out(candidate, each, split, device="cpu") for each in (graph, other))
        place = np.isin(one.nodes, np.flatnonzero(fold))
        np.testing.assert_allclose(
            one.probabilities[:, place], two.probabilities[:, place], rtol=1e-6, err_msg=candidate.name
        )
        assert not np.allclose(one.probabilities[:, ~place], two.probabilities[:, ~place]), candidate.name


def test_a_classifier_does_not_see_labels_outside_its_masks():
    rng = np.random.default_rng(0)
    x, edges, truth = rng.normal(size=(60, 4)), rng.integers(0, 60, (2, 90)), np.arange(60) % 2
    known = np.where(np.arange(60) < 40, truth, -1)
    given = {"trials": 2, "epochs": 10, "hidden": 4, "device": "cpu"}
    expected = GraphMixClassifier(**given).fit(x, known, edges).predict_proba()
    data = pytest.importorskip("torch_geometric.data")
    for hidden in (truth, 1 - truth):
        y = torch.tensor(np.where(known >= 0, truth, hidden))
        graph = data.Data(
            x=torch.tensor(x), edge_index=torch.tensor(edges), y=y, train_mask=torch.tensor(known >= 0), num_nodes=60
        )
        found = GraphMixClassifier(**given).fit(graph).predict_proba()
        np.testing.assert_allclose(found, expected, rtol=1e-5)
