"""Which labels are known in a draw."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

# Two large classes, a small one, and nodes without a label.
Y = np.repeat([0, 1, 2, -1], [500, 300, 4, 20])


def every_draw(wild, number=0):
    names = wild.names
    for graph in names.GRAPHS:
        for amount in (names.FEW, names.MANY):
            for drawn in (names.BY_CLASS, names.ANY):
                yield wild.graphs.Draw(graph, amount, drawn, number)


def test_a_draw_by_class_has_as_many_of_each(wild):
    known = wild.graphs.draw_by_class(Y, 4, np.random.default_rng(0))
    assert np.bincount(Y[known]).tolist() == [4, 4, 4]
    assert len(set(known.tolist())) == 12
    assert known.tolist() == sorted(known.tolist())


def test_a_draw_regardless_of_class_has_as_many_in_all_and_three_of_each(wild):
    draws = [wild.graphs.draw_any(Y, 20, np.random.default_rng(seed)) for seed in range(50)]
    counts = np.stack([np.bincount(Y[known]) for known in draws])
    assert {len(set(known.tolist())) for known in draws} == {60}
    assert (counts.sum(axis=1) == 60).all()
    assert (counts[:, 2] >= 3).all()
    # The large classes keep the ratio of their sizes, 5 to 3.
    assert counts[:, 0].sum() / counts[:, 1].sum() == pytest.approx(5 / 3, rel=0.1)


def test_a_draw_regardless_of_class_is_the_start_of_a_random_order_if_no_class_lacks(wild):
    y = np.arange(600) % 3
    known = wild.graphs.draw_any(y, 20, np.random.default_rng(5))
    assert known.tolist() == np.sort(np.random.default_rng(5).permutation(600)[:60]).tolist()


@given(sizes=st.lists(st.integers(3, 60), min_size=2, max_size=6), seed=st.integers(0, 10**6))
def test_whatever_the_classes_a_draw_fits(wild, sizes, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    known = wild.graphs.draw_any(y, 3, np.random.default_rng(seed))
    assert np.bincount(y[known], minlength=len(sizes)).tolist() == [3] * len(sizes)


def test_draws_have_seeds_of_their_own(wild):
    names, y = wild.names, np.arange(3000) % 2
    draws = [draw for number in range(5) for draw in every_draw(wild, number)]
    found = {tuple(draw.known(y).tolist()) for draw in draws}
    assert len(found) == len(draws) == 5 * 4 * len(names.GRAPHS)
    again = wild.graphs.Draw("acm", names.MANY, names.ANY, 3)
    assert again.known(y).tolist() == wild.graphs.Draw("acm", names.MANY, names.ANY, 3).known(y).tolist()


def test_draws_have_the_sizes_of_the_suite(wild):
    y = np.arange(3000) % 2
    sizes = {(draw.graph, draw.amount): len(draw.known(y)) for draw in every_draw(wild)}
    assert {sizes[graph, "few"] for graph in wild.names.GRAPHS if graph != "counties"} == {10}
    assert {sizes[graph, "many"] for graph in wild.names.GRAPHS if graph != "counties"} == {40}
    assert (sizes["counties", "few"], sizes["counties", "many"]) == (20, 80)


def counties(wild, tmp_path):
    rows = [{"fips": f"{place:05}", "income": f" {place},000 ", "winner_2016": "AB"[place % 2]} for place in range(6)]
    return wild.graphs.Case(None, np.arange(6) % 2, ("A", "B"), (rows, tmp_path / "borders.csv"))


def test_the_table_of_a_draw_differs_only_in_hidden_labels(wild, tmp_path):
    case = counties(wild, tmp_path)
    written = list(csv.DictReader(io.StringIO(wild.graphs.hidden_table(case, np.array([1, 4])))))
    assert [row["winner_2016"] for row in written] == ["", "B", "", "", "A", ""]
    emptied = [{**row, "winner_2016": ""} for row in case.tables[0]]
    assert [{**row, "winner_2016": ""} for row in written] == emptied


def test_hidden_labels_are_unknown(wild, tmp_path):
    found = wild.graphs.hidden_labels(counties(wild, tmp_path), np.array([1, 4]))
    assert found.tolist() == [-1, 1, -1, -1, 0, -1]


@pytest.mark.data
def test_the_features_of_counties_do_not_depend_on_labels(wild, data_root, tmp_path):
    from graphmix import Columns
    from graphmix.workflow.problems import read_problem

    case = wild.graphs.load_case("counties", data_root)
    known = wild.graphs.Draw("counties", "few", "class", 0).known(case.y)
    (tmp_path / "nodes.csv").write_text(wild.graphs.hidden_table(case, known))
    hidden = read_problem(tmp_path / "nodes.csv", case.tables[1], Columns(label="winner_2016"), ignore_unknown=True)
    assert (hidden.graph.x.to_scipy() != case.graph.x.to_scipy()).nnz == 0
    assert hidden.classes == case.classes
