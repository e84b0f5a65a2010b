"""Nodes that did not exist at training time: joined, encoded with what was learned, and predicted."""

import csv

import numpy as np
import pytest

from graphmix.errors import DataError
from graphmix.workflow.columns import Columns
from graphmix.workflow.model import load_model
from graphmix.workflow.output import OutputTable
from graphmix.workflow.predictions import tabulate
from small_tables import fit_tables, pairs, rows, write_edges, write_nodes

NEW = [
    {"title": "on word1 and nothing", "id": "q1", "venue": "venue1", "year": 2001, "topic": "AI"},
    {"title": "wholly unheard things", "id": "q2", "venue": "elsewhere", "year": "", "topic": ""},
]


def dense(x):
    return x.numpy() if hasattr(x, "numpy") else x.to_scipy().toarray()


def predicted(stored, grown):
    return stored.mixture.probabilities(grown.graph)


def test_without_tables_the_predictions_are_those_of_the_fit(fitted, tmp_path):
    stored = load_model(fitted / "model")
    grown = stored.problem.grow(None, None)
    probabilities = predicted(stored, grown)
    decisions = stored.mixture.decide(probabilities, stored.target_accuracy, stored.coverage)
    labels = [row["topic"] or None for row in rows()]
    OutputTable(tabulate(grown.names, decisions, stored.mixture.classes, labels)).write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (fitted / "model" / "predictions.csv").read_bytes()


def test_a_given_test_set_is_not_spread(tmp_path):
    nodes = [row | {"part": ("train", "val", "test")[number // 2 % 3]} for number, row in enumerate(rows())]
    paths = write_nodes(tmp_path / "n.csv", nodes), write_edges(tmp_path / "e.csv")
    fitted = fit_tables(
        tmp_path, *paths, columns=Columns(label="topic", split="part"), methods=("label-propagation",), trials=1
    )
    stored = load_model(tmp_path / "model")
    grown = stored.problem.grow(None, None)
    test = stored.problem.split.test[0].numpy()
    assert (grown.graph.y.numpy()[test] == -1).all()
    right = predicted(stored, grown).argmax(axis=1) == fitted.problem.graph.y.numpy()
    # Spread from their own labels they would all be right.
    assert fitted.metrics.test.accuracy == pytest.approx(100 * right[test].mean(), abs=1e-3)
    assert fitted.metrics.test.nodes == test.sum() == 6


def test_new_nodes_are_encoded_by_what_was_learned(fitted, tmp_path):
    stored = load_model(fitted / "model")
    grown = stored.problem.grow(
        write_nodes(tmp_path / "new.csv", NEW), write_edges(tmp_path / "e.csv", [("q1", "p1"), ("q2", "q1")])
    )
    assert grown.first == 36
    assert grown.names["id"] == [f"p{n}" for n in range(36)] + ["q1", "q2"]
    # A label in a table of new nodes is not learned from.
    assert grown.graph.y.tolist()[36:] == [-1, -1]
    assert grown.graph.num_edges == stored.problem.graph.num_edges + 2
    x = dense(grown.graph.x)
    np.testing.assert_array_equal(x[:36], dense(stored.problem.graph.x))
    # A node with the cells of an old one has its features.
    twin = {**rows()[7], "id": "q3"}
    again = stored.problem.grow(write_nodes(tmp_path / "twin.csv", [twin]), None)
    np.testing.assert_array_equal(dense(again.graph.x)[36], x[7])
    # What is new is left out, and counted.
    assert any("column 'title': 4 words are rare or new" in note for note in grown.notes), grown.notes
    assert any("column 'venue': 1 cell with a rare or new category" in note for note in grown.notes)
    assert any("column 'year': 1 cell is missing" in note for note in grown.notes)
    probabilities = predicted(stored, grown)
    assert probabilities.shape == (38, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize(
    "methods", [("graphmix",), ("fcn",), ("label-propagation",), ("logistic-regression", "supervised")]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("features", [{}, {"ignore": ("year", "venue", "title")}])
def test_nodes_that_touch_nothing_change_nothing(tmp_path, methods, weighted, features):
    weights = np.random.default_rng(3).uniform(0, 5, 48).round(2)
    edges = [(*pair, weight) for pair, weight in zip(pairs(), weights, strict=True)] if weighted else pairs()
    # Directions, repeats, loops and weights of 0 are all there.
    edges += [(edges[0][1], *edges[0][:1], *edges[5][2:]), edges[1], ("p3", "p3", *edges[2][2:])]
    edges += [("p0", "p20", 0)] if weighted else []
    paths = write_nodes(tmp_path / "n.csv"), write_edges(tmp_path / "e.csv", edges)
    fit_tables(tmp_path, *paths, columns=Columns(label="topic", **features), methods=methods)
    stored = load_model(tmp_path / "model")
    before = predicted(stored, stored.problem.grow(None, None))
    grown = stored.problem.grow(
        write_nodes(tmp_path / "new.csv", NEW), write_edges(tmp_path / "new_e.csv", [("q1", "q2")])
    )
    spread = methods == ("label-propagation",)
    # Propagation's classes are weighed over all nodes there are; the most probable one need not change even then.
    np.testing.assert_allclose(predicted(stored, grown)[:36], before, atol=0.1 if spread else 1e-6)


def test_the_column_of_ids_is_found_again_in_another_order(tmp_path):
    # The label is called as ids usually are, and the ids as nothing is.
    nodes = [{"key": row["id"], "name": row["topic"], "year": row["year"]} for row in rows()]
    paths = write_nodes(tmp_path / "n.csv", nodes), write_edges(tmp_path / "e.csv")
    fit_tables(tmp_path, *paths, columns=Columns(label="name"), methods=("label-propagation",))
    stored = load_model(tmp_path / "model")
    for order in (("name", "year", "key"), ("year", "key"), ("key", "year", "name")):
        new = [{name: {"key": "q1", "name": "AI", "year": "2000"}[name] for name in order}]
        grown = stored.problem.grow(write_nodes(tmp_path / "new.csv", new), None)
        assert grown.names["key"][36:] == ["q1"]
        assert grown.notes[0] == "ids are read from column 'key' of new.csv"
        assert grown.notes[1].startswith("no new edges")


def test_weights_of_new_edges(tmp_path):
    weighted = [(*pair, 4) for pair in pairs()]
    paths = write_nodes(tmp_path / "n.csv"), write_edges(tmp_path / "e.csv", weighted)
    fit_tables(tmp_path, *paths, methods=("label-propagation",))
    stored = load_model(tmp_path / "model")
    nodes = write_nodes(tmp_path / "new.csv", NEW[:1])
    # In units of the mean at training; without weights they weigh as much as that.
    for new, weight in (([("q1", "p0", 2)], 0.5), ([("q1", "p0")], 1.0)):
        graph = stored.problem.grow(nodes, write_edges(tmp_path / "new_e.csv", new)).graph
        at = (graph.edge_index[0] == 36).nonzero()[0, 0]
        assert graph.edge_weights[at] == weight
    # An edge that was there stays as it was, either way round.
    again = stored.problem.grow(nodes, write_edges(tmp_path / "new_e.csv", [("q1", "p0", 2), ("p3", "p0", 9)]))
    assert "1 edge was there at training and is not added again" in again.notes
    assert again.graph.num_edges == stored.problem.graph.num_edges + 1
    assert again.graph.edge_weights.max() == stored.problem.graph.edge_weights.max()
    unweighted = fit_tables(
        tmp_path, paths[0], write_edges(tmp_path / "u.csv"), out="u", methods=("label-propagation",)
    )
    grown = unweighted.problem.grow(nodes, write_edges(tmp_path / "new_e.csv", [("q1", "p0", 2)]))
    assert grown.graph.edge_weights is None
    assert any("weights of new_e.csv are not used" in note for note in grown.notes)


@pytest.mark.parametrize(
    ("nodes", "edges", "part"),
    [
        (None, [("p0", "p1")], "edges alone has no new nodes"),
        ([{**NEW[0], "id": "p7"}], None, "new.csv line 2: node 'p7' was there at training"),
        ([NEW[0], NEW[0]], None, "new.csv line 3: id 'q1'"),
        ([{"id": "q1", "title": "x", "venue": "y"}], None, "new.csv has no column 'year', which the model was trained"),
        ([{**NEW[0], "year": "soon"}], None, "new.csv line 2: 'soon' in column 'year' is not a number"),
        (NEW, [("q1", "r1")], "1 edge names a node not among the nodes: 'r1'"),
    ],
)
def test_tables_that_do_not_fit(fitted, tmp_path, nodes, edges, part):
    stored = load_model(fitted / "model")
    nodes = None if nodes is None else write_nodes(tmp_path / "new.csv", nodes)
    edges = None if edges is None else write_edges(tmp_path / "new_e.csv", edges)
    with pytest.raises(DataError, match=part):
        stored.problem.grow(nodes, edges)


def test_unknown_ends_can_be_left_out(fitted, tmp_path):
    stored = load_model(fitted / "model")
    edges = write_edges(tmp_path / "e.csv", [("q1", "r1"), ("q1", "p0")])
    grown = stored.problem.grow(write_nodes(tmp_path / "new.csv", NEW), edges, ignore_unknown=True)
    assert grown.graph.num_edges == stored.problem.graph.num_edges + 1
    assert any("1 edge left out" in note for note in grown.notes)


def test_predictions_name_every_node_once_in_the_tables_order(fitted):
    with (fitted / "model" / "predictions.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [row["id"] for row in rows()]
