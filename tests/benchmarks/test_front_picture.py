"""The picture and the sentence of the front page, and the pictures of hidden states."""

import importlib

import pytest

from wild_results import MADE, row


@pytest.fixture
def rows(wild):
    held = []
    for draw in range(3):
        held += [row("acm", "fit", draw, 93), row("acm", "gcn", draw, 88), row("acm", "logistic", draw, 70)]
        held += [row("dblp", "fit", draw, 75), row("dblp", "gcn", draw, 77.5), row("cora", "gcn", draw, 80)]
    return wild.rows.Rows(MADE | {"rows": held})


@pytest.fixture
def picture(wild, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(wild.tables.PLOTS.parents[2] / "benchmarks")
    return importlib.import_module("front_picture")


def test_only_graphs_with_ours_and_another_are_drawn(picture, rows):
    assert picture.means(rows) == {"acm": {"fit": 93, "gcn": 88, "logistic": 70}, "dblp": {"fit": 75, "gcn": 77.5}}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_the_same_again(picture, rows, theme):
    drawn = picture.draw(rows, picture.THEMES[theme])
    for words in (b"acm", b"dblp", b"graphmix fit", b"best other", b"accuracy"):
        assert words in drawn
    assert b">cora<" not in drawn
    assert picture.THEMES[theme].ours.encode() in drawn
    assert picture.draw(rows, picture.THEMES[theme]) == drawn


def test_the_sentence_says_where_another_method_is_ahead(wild, rows):
    said = wild.tables.front(rows)
    assert "`fit` is the most accurate on 1 of 2 graphs." in said
    assert "Another method is more accurate on dblp (GCN of PyG, five networks, by 2.5 points)." in said
    assert "two other methods" in said
    assert "mean of up to three draws" in said
    better = wild.rows.Rows(MADE | {"rows": [each for each in rows.rows if each["graph"] == "acm"]})
    assert "Another method" not in wild.tables.front(better)


def test_hidden_states_are_those_of_both_methods_under_one_reading(picture):
    tsne = importlib.import_module("tsne_picture")
    (record,) = tsne.read_records("t-sne")
    for column in record.columns:
        cells = tsne.drawn(record, column)
        assert [cell.row for cell in cells] == ["GCN", "GraphMix(GCN)"]
        assert len({cell.reading for cell in cells}) == 1
    drawn = tsne.draw(tsne.drawn(record, "Cora"), picture.THEMES["dark"])
    assert drawn.startswith(b"\x89PNG")
    assert tsne.class_names(tsne.drawn(record, "Cora")[0])[0] == "Theory"
