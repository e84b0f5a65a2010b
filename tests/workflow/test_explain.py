"""Explanations of a small model: what they say is what predictions do when something is really left out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import graphmix
from graphmix import Columns, GraphMixClassifier, explain, fit_tables, synthetic
from graphmix.errors import DataError
from graphmix.workflow.explanation import Cell, Explanation, Flip, LabelShare, Neighbour, Step, listed, percent, points
from graphmix.workflow.explanations import Explanations
from graphmix.workflow.options import FitOptions
from graphmix.workflow.reasons import find_rows
from small_tables import fit_tables as fit_small
from small_tables import rows, write_edges, write_nodes

METHODS = ("label-propagation", "logistic-regression", "graphmix-steady")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explained")
    nodes, edges = write_nodes(folder / "nodes.csv"), write_edges(folder / "edges.csv")
    return fit_small(folder, nodes, edges, methods=METHODS, epochs=20)


@pytest.fixture(scope="module")
def found(made):
    return explain(made, ["p1", "p5"])


def test_the_prediction_is_the_one_that_is_made(made, found):
    frame = made.predictions.set_index("id")
    assert isinstance(frame, pd.DataFrame)
    for each in found:
        row = frame.loc[each.name]
        assert (each.predicted, each.second) == (row["predicted"], row["second"])
        assert each.probability == pytest.approx(row["probability"], abs=1e-6)
        assert each.label is None
        # The steps end with the prediction itself.
        assert each.steps[-1].probability == pytest.approx(each.probability, abs=2e-3)
        assert each.notes == ()


def test_an_effect_is_that_of_a_row_that_lacks_the_cell(made):
    """A new node, like an old one but for one cell, is predicted as the explanation of the old one says."""
    new = pd.DataFrame([{**row, "id": "q"} for row in rows() if row["id"] == "p1"])
    edges = pd.DataFrame([("q", "p4"), ("q", "p7")], columns=["source", "target"])
    (each,) = explain(made, "q", nodes=new, edges=edges)
    words = {cell.word: cell for cell in each.cells if cell.own is not None}
    assert {"word1", "and"} <= set(words), "every word of the title is tried"
    before = made.predict(new, edges).to_pandas()
    for word in ("word1", "and"):
        less = new.assign(title=new["title"].str.replace(word, ""))
        after = made.predict(less, edges).to_pandas()
        shares = [_probability(frame, each.predicted) for frame in (before, after)]
        assert words[word].own == pytest.approx(shares[0] - shares[1], abs=1e-4)
    years = next(cell for cell in each.cells if cell.column == "year")
    mean = np.mean([float(row["year"]) for row in rows()])
    after = made.predict(new.assign(year=mean), edges).to_pandas()
    assert years.own == pytest.approx(
        _probability(before, each.predicted) - _probability(after, each.predicted), abs=1e-4
    )


def test_an_effect_of_a_neighbour_is_that_of_an_edge_that_is_not_there(made):
    """The new node's neighbour is new itself, so that nothing else changes without it."""
    new = pd.DataFrame([{**row, "id": name} for row, name in zip(rows()[1:3], "qr", strict=True)])
    edges = pd.DataFrame([("q", "p4"), ("q", "r")], columns=["source", "target"])
    (each,) = explain(made, ["q"], nodes=new, edges=edges)
    one = next(one for one in each.neighbours if one.name == "r")
    before, after = (made.predict(new, table).to_pandas()[:1] for table in (edges, edges[:1]))
    fall = _probability(before, each.predicted) - _probability(after, each.predicted)
    # The values of label propagation at the rim stay as they were.
    assert one.effect == pytest.approx(fall, abs=5e-3)
    assert (one.hops, one.label) == (1, None)


def _probability(frame, label):
    row = frame.iloc[0]
    names = {row["predicted"]: "probability", row["second"]: "second_probability", row["third"]: "third_probability"}
    return row[names[label]]


def test_what_changes_a_prediction_does(made):
    everything = explain(made, [f"p{number}" for number in range(12)])
    flips = [(each, flip) for each in everything for flip in each.flips]
    assert any(flip.changes for _, flip in flips)
    for each, flip in flips:
        assert flip.changes == (flip.predicted != each.predicted)
        names = {one.name for one in each.neighbours} | {cell.name for cell in each.cells}
        assert set(flip.left_out) <= names
        assert len(set(flip.left_out)) == len(flip.left_out)


def test_labels_are_those_of_the_table(made, found):
    given = {row["id"]: row["topic"] for row in rows()}
    for each in found:
        assert each.labels
        assert all(given[label.name] == label.label for label in each.labels)
        assert sum(label.share for label in each.labels) <= 1 + 1e-9
        shares = [label.share for label in each.labels]
        assert shares == sorted(shares, reverse=True)


def test_as_a_table_and_as_plain_data(found, tmp_path):
    frame = found.to_pandas()
    assert list(frame.columns) == ["id", "part", "name", "hops", "class", "probability", "effect", "around"]
    assert set(frame["id"]) == {"p1", "p5"}
    assert {"step", "neighbour", "label", "change"} <= set(frame["part"])
    found.write(tmp_path / "reasons.csv")
    assert len(pd.read_csv(tmp_path / "reasons.csv")) == len(frame)
    assert found.to_json()[0]["names"] == {"id": "p1"}
    assert "p1 is predicted as" in found.text
    assert len(found) == 2
    assert found[1].name == "p5"


def test_ids_under_a_heading_of_the_table_keep_a_column(found):
    renamed = Explanations("t", tuple(replace(each, names={"name": each.names["id"]}) for each in found))
    frame = renamed.to_pandas()
    assert list(frame.columns) == ["id", "part", "name", "hops", "class", "probability", "effect", "around"]
    pd.testing.assert_frame_equal(frame, found.to_pandas())
    ends = Explanations("t", tuple(replace(each, names={"from": 1, "class": each.names["id"]}) for each in found))
    assert ends.table.keys == ("source", "target")
    assert set(ends.to_pandas()["target"]) == {"p1", "p5"}


def test_predictions_with_a_column_of_reasons(made):
    counted = []
    new = pd.DataFrame([{**rows()[1], "id": "q"}])
    predictions = made.predict(new, reasons=lambda done, total: counted.append((done, total)))
    assert "without neighbours" in " ".join(predictions.notes)
    (reason,) = predictions.columns["reason"]
    assert reason.startswith("Of a row without any information")
    assert counted[-1] == (1, 1)
    # A node without neighbours has its own columns and nothing else.
    (each,) = explain(made, "q", nodes=new)
    assert each.neighbours == ()
    assert [step.hops for step in each.steps] == [0, 0]
    assert each.steps[-1].probability == pytest.approx(each.probability, abs=1e-6)


def test_ids_that_are_not_there(made, tmp_path):
    with pytest.raises(DataError, match="'p99'"):
        explain(made, ["p1", "p99"])
    with pytest.raises(DataError, match="int"):
        explain(7, ["p1"])
    names = {"a": ["x", "x", "y"], "b": [1, 2, 1]}
    assert find_rows(names, [("x", 1), "y, 1"]) == [0, 2]
    assert find_rows(names, ("x", "2")) == [1]
    assert find_rows(names, ["x", "2"]) == [1]
    # Two links, as the command gives them, are not the ends of one.
    assert find_rows(names, ["x,1", "y,1"]) == [0, 2]
    numbers = {"a": [7, 8], "b": [8, 9]}
    assert find_rows(numbers, (np.int64(8), np.int64(9))) == [1]
    assert find_rows({"a": ["x,1", " x"], "b": ["y,2", "y"]}, ("x,1", "y,2")) == [0]
    assert find_rows({"a": ["x,1", " x"], "b": ["y,2", "y"]}, [(" x", "y")]) == [1]
    with pytest.raises(DataError, match="link between 'x' and '3'"):
        find_rows(names, [("x", 3)])
    with pytest.raises(DataError, match="both its ends"):
        find_rows(names, ["x"])
    with pytest.raises(DataError, match="both its ends"):
        find_rows(numbers, 7)
    made.save(tmp_path / "saved")
    assert explain(tmp_path / "saved", "p1").text == made.explain("p1").text


def test_links_have_two_ends():
    rng = np.random.default_rng(0)
    links = pd.DataFrame(rng.integers(0, 12, (60, 2)), columns=["giver", "taker"])
    links["kind"] = np.where(links["giver"] < 6, "good", "bad")
    links["amount"] = links["giver"] + rng.normal(size=60)
    links = links.drop_duplicates(["giver", "taker"])
    links.loc[links.index[::3], "kind"] = None
    columns = Columns(link_label="kind", source="giver", target="taker")
    model = fit_tables(None, links, columns=columns, options=FitOptions(methods=("logistic-regression",), device="cpu"))
    row = links.iloc[0]
    (each,) = explain(model, [(row["giver"], row["taker"])])
    assert each.names == {"giver": row["giver"], "taker": row["taker"]}
    assert {cell.column for cell in each.cells} <= {"amount", "who is at its ends"}
    assert all(" → " in one.name for one in each.neighbours)
    assert each.steps[-1].probability == pytest.approx(each.probability, abs=1e-3)


def test_the_last_step_is_the_prediction_where_a_network_pools_nodes_that_no_path_leads_to():
    rng = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": range(30), "a": rng.normal(size=30), "b": rng.normal(size=30)})
    nodes["kind"] = np.where(nodes["a"] > 0, "high", "low").astype(object)
    nodes.loc[20:, "kind"] = None
    edges = pd.DataFrame({"source": [0, 0, 0, 4, 5, *range(7, 20)], "target": [1, 2, 3, 5, 6, *range(8, 21)]})
    options = FitOptions(methods=("supervised",), device="cpu")
    model = fit_tables(nodes, edges, label="kind", options=options, backbone="unet", epochs=10)
    for each in explain(model, [1, 4, 25]):
        assert each.steps[-1].name == "all that is further away"
        assert each.steps[-1].probability == pytest.approx(each.probability)


def test_arrays_have_features_by_number_or_by_name():
    graph, _ = synthetic(nodes=60, classes=2, features=6, labels_per_class=5, seed=1)
    y = graph.y.numpy().copy()
    y[40:] = -1
    classifier = GraphMixClassifier(method="logistic-regression", device="cpu")
    classifier.fit(graph.x.to_scipy(), y, graph.edge_index)
    (each,) = explain(classifier, 50)
    assert each.names == {"id": 50}
    assert all(cell.word.startswith("feature ") for cell in each.cells)
    frame = pd.DataFrame(graph.x.to_dense().numpy(), columns=[f"f{place}" for place in range(6)])
    frame.index = [f"n{node}" for node in range(60)]
    named = classifier.fit(frame, y, graph.edge_index)
    (each,) = graphmix.explain(named, "n50")
    assert {cell.column for cell in each.cells} <= set(frame.columns)
    assert each.cells


def test_many_nodes_are_looked_at_near_the_node_first(made, monkeypatch):
    from graphmix.workflow import explaining

    monkeypatch.setattr(explaining, "SIZES", (5,))
    monkeypatch.setattr(explaining, "_CLOSE", 0.0)
    monkeypatch.setattr(explaining, "_MANY_NODES", 10)
    (each,) = explain(made, "p1")
    assert "5 nearest nodes" in each.notes[0]
    assert each.labels, "labels nearby are found without the whole graph"


EXAMPLE = Explanation(
    names={"id": "a"},
    label=None,
    predicted="X",
    probability=0.84,
    second="Y",
    second_probability=0.004,
    steps=(Step("nothing", 0, 0.2), Step("its own columns", 0, 0.45), Step("its neighbours", 1, 0.84)),
    neighbours=(
        Neighbour("b", 1, "X", "X", 0.21),
        Neighbour("c", 2, None, "Y", -0.03),
        Neighbour("d", 2, None, "X", 0),
    ),
    cells=(Cell("year", None, 0.05, 0.01), Cell("title", "graph", None, 0.06)),
    labels=(LabelShare("b", "X", 1, 0.4),),
    flips=(Flip(("year",), "its row", "X", 0.79, False), Flip(("b", "e"), "the graph", "Y", 0.5, True)),
)


def test_in_words():
    assert EXAMPLE.sentences == (
        "a is predicted as X with 84 %; the next is Y with 0.4 %.",
        "Of a row without any information the model says X with 20 %; with its own columns 45 %, with its neighbours "
        "84 %.",
        "Most speaks for it: b, neighbour, labeled X (+21.0 points), the word 'graph' in all rows nearby (+6.0 points) "
        "and the column year (+5.0 points). Against it: c, 2 hops away, predicted Y (−3.0 points).",
        "Of the labels it rests most on b (X, 40 %).",
        "Without b and e in the graph it would be Y with 50 %.",
        "Even without year in its row it stays X with 79 %.",
    )
    assert "many say the same" in replace(EXAMPLE, neighbours=(), cells=()).reason
    assert "given label is Y" in replace(EXAMPLE, label="Y").sentences[0]


def test_numbers_in_words():
    assert [percent(share) for share in (0.0, 0.0004, 0.5, 0.997, 1.0)] == ["0 %", "0.0 %", "50 %", "99.7 %", "100 %"]
    assert [points(effect) for effect in (0.0521, -0.3)] == ["+5.2 points", "−30.0 points"]
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdefgh")) == "a, b, c, d, e and 3 others"
