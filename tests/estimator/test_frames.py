"""GraphMixClassifier with DataFrames whose index has the ids of the nodes."""

import numpy as np
import pandas as pd
import pytest

from graphmix import GraphMixClassifier, load_model, synthetic
from graphmix.errors import DataError


@pytest.fixture(scope="module")
def parts():
    graph, _ = synthetic(nodes=60, classes=3, features=6, labels_per_class=5, seed=1)
    ids = [f"n{node}" for node in range(60)]
    x = pd.DataFrame(graph.x.to_dense().numpy(), index=pd.Index(ids, name="person"))
    x.columns = [f"f{place}" for place in range(6)]
    y = pd.Series(graph.y.numpy(), index=x.index)
    y[40:] = -1
    source, target = graph.structure.packed()["edges"].numpy()
    edges = pd.DataFrame({"from": np.array(ids)[source], "to": np.array(ids)[target]})
    return x, y, edges, np.stack([source, target])


def classifier():
    return GraphMixClassifier(method="logistic-regression", device="cpu")


@pytest.fixture(scope="module")
def fitted(parts):
    x, y, edges, _ = parts
    return classifier().fit(x, y, edges)


def test_edges_by_ids_are_edges_by_numbers(parts, fitted):
    x, y, _, numbers = parts
    by_numbers = classifier().fit(x.to_numpy(), y.to_numpy(), numbers)
    assert fitted.predict_proba() == pytest.approx(by_numbers.predict_proba())


def test_labels_in_another_order_belong_to_their_nodes(parts, fitted):
    x, y, edges, _ = parts
    again = classifier().fit(x, y.sample(frac=1, random_state=0), edges)
    assert again.predict_proba() == pytest.approx(fitted.predict_proba())
    assert again.score(x, y.sample(frac=1, random_state=1), edges) == fitted.score(x, y, edges)
    # Labels of another index are taken in their order, as scikit-learn does.
    bare = classifier().fit(x, y.reset_index(drop=True), edges)
    assert bare.predict_proba() == pytest.approx(fitted.predict_proba())


def test_a_mask_and_weights_in_another_order_belong_to_their_nodes(parts, fitted):
    x, y, edges, _ = parts
    val = pd.Series(np.arange(60) % 3 == 0, index=x.index)
    once, again = (classifier().fit(x, y, edges, val_mask=mask) for mask in (val, val[::-1]))
    assert (again.table_model_.problem.split.val == once.table_model_.problem.split.val).all()
    weight = pd.Series(np.linspace(0, 1, 60), index=x.index)
    truth = y.where(np.arange(60) % 2 == 0, 1 - y)
    expected = fitted.score(x, truth, edges, sample_weight=weight)
    assert fitted.score(x, truth[::-1], edges, sample_weight=weight[::-1]) == pytest.approx(expected)


def test_labels_of_the_nodes_of_the_fit_belong_to_their_nodes(parts, fitted, tmp_path):
    x, y, _, numbers = parts
    truth = y.where(np.arange(60) % 2 == 0, 1 - y)
    fitted.save(tmp_path / "model")
    for each in (fitted, GraphMixClassifier.load(tmp_path / "model")):
        assert each.score(y=truth[::-1]) == each.score(y=truth) != each.score(y=truth.to_numpy()[::-1])
    # Arrays have no ids: labels are taken in their order.
    bare = classifier().fit(x.to_numpy(), y.to_numpy(), numbers)
    shuffled = truth.set_axis(np.arange(60)[::-1])
    assert bare.score(y=shuffled) == bare.score(y=truth.to_numpy())


def test_an_index_of_several_levels_names_no_node(parts):
    x, y, _, numbers = parts
    index = pd.MultiIndex.from_product([["a", "b"], range(30)])
    found = classifier().fit(x.set_axis(index), y.set_axis(index)[::-1], numbers)
    assert found.table_model_.problem.ids[:2] == ["0", "1"]
    assert found.predict_proba() == pytest.approx(classifier().fit(x, y, numbers).predict_proba())


def test_predictions_by_ids(parts, fitted):
    x, _, edges, _ = parts
    for frame in (fitted.predict_frame(), fitted.predict_frame(x, edges)):
        assert list(frame.index) == list(x.index)
        assert list(frame["predicted"]) == list(fitted.predict())
        assert frame["probability of 1"].to_numpy() == pytest.approx(fitted.predict_proba()[:, 1], abs=1e-6)
        assert frame["probability"].to_numpy() == pytest.approx(fitted.predict_proba().max(axis=1), abs=1e-6)
    few = fitted.predict_frame(x[:5], np.empty((2, 0), dtype=int))
    assert list(few.index) == ["n0", "n1", "n2", "n3", "n4"]


def test_ids_are_kept_with_the_model(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert list(model.predictions["person"])[:2] == ["n0", "n1"]
    again = GraphMixClassifier.load(tmp_path / "model")
    assert list(again.predict_frame().index) == list(fitted.predict_frame().index)
    assert model.explain("n50")[0].names == {"person": "n50"}


def test_weights_and_whole_numbers_as_ids(parts):
    x, y, edges, numbers = parts
    weights = np.linspace(0.5, 2, len(edges))
    x = x.reset_index(drop=True)
    x.index = x.index + 100
    frame = pd.DataFrame({"a": numbers[0] + 100, "b": numbers[1] + 100, "weight": weights})
    found = classifier().fit(x, y.to_numpy(), frame)
    expected = classifier().fit(x.to_numpy(), y.to_numpy(), numbers, edge_weight=weights)
    assert found.predict_proba() == pytest.approx(expected.predict_proba())
    assert list(found.predict_frame().index[:2]) == [100, 101]


def test_what_cannot_be(parts):
    x, y, edges, _ = parts
    with pytest.raises(DataError, match="row 1 of the edges names node 'n99'"):
        classifier().fit(x, y, edges.assign(**{"from": ["n99", *edges["from"][1:]]}))
    with pytest.raises(DataError, match="index has each id once"):
        classifier().fit(x.to_numpy(), y, edges)
    twice = x.set_axis(["a"] * len(x))
    with pytest.raises(DataError, match="index has each id once"):
        classifier().fit(twice, y, edges)
    # Without edges by ids such an index does no harm.
    assert classifier().fit(twice, y.to_numpy()).table_model_.problem.ids[:2] == ["0", "1"]
