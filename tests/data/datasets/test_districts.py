"""The example tables: they belong together, are written as people write, and each part says something."""

import csv
import io
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from graphmix.data import EXAMPLE_LABEL, districts, write_districts
from graphmix.errors import ConfigError, DataError


@pytest.fixture(scope="module")
def tables():
    return districts()


def column(rows, name):
    header, *body = rows
    return [row[header.index(name)] for row in body]


def test_the_files_belong_together(tables):
    old, new = column(tables["nodes.csv"], "code"), column(tables["new_nodes.csv"], "code")
    votes = dict(zip(old, column(tables["nodes.csv"], EXAMPLE_LABEL), strict=True))
    truth = dict(tables["truth.csv"][1:])
    assert (len(old), len(new)) == (588, 12)
    assert len({*old, *new}) == 600
    assert sum(vote != "" for vote in votes.values()) == 80
    # Every vote is either known or in truth.csv.
    assert set(truth) == {*new, *(code for code, vote in votes.items() if not vote)}
    assert {*truth.values(), *votes.values()} == {"For", "Against", ""}
    for a, b in tables["edges.csv"][1:]:
        assert a in votes
        assert b in votes
    for a, b in tables["new_edges.csv"][1:]:
        assert {a, b} <= {*old, *new}
        assert {a, b} & {*new}
    pairs = [frozenset(pair) for name in ("edges.csv", "new_edges.csv") for pair in tables[name][1:]]
    assert len(set(pairs)) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)


def test_every_district_has_neighbours_and_none_has_too_many(tables):
    ends = [end for name in ("edges.csv", "new_edges.csv") for pair in tables[name][1:] for end in pair]
    degree = {
        code: ends.count(code) for name in ("nodes.csv", "new_nodes.csv") for code in column(tables[name], "code")
    }
    assert min(degree.values()) >= 1
    assert max(degree.values()) == 6


def test_cells_are_written_as_people_write_them(tables):
    rows = tables["nodes.csv"]
    assert all(re.fullmatch(r"\d{5}", code) for code in column(rows, "code"))
    assert any(code.startswith("0") for code in column(rows, "code"))
    assert len(set(column(rows, "district"))) == 588
    assert all(re.fullmatch(r" [\d,]+ |n\.a\.", cell) for cell in column(rows, "Employed_2023"))
    assert all(re.fullmatch(r"\d+\.\d %|n\.a\.", cell) for cell in column(rows, "Unemployment_rate_2023"))
    assert {"yes", "no", "n.a."} == set(column(rows, "Metro"))


def test_columns_and_neighbours_both_tell_the_vote(tables):
    codes = column(tables["nodes.csv"], "code")
    truth = dict(tables["truth.csv"][1:])
    known = dict(zip(codes, column(tables["nodes.csv"], EXAMPLE_LABEL), strict=True))
    y = np.array([(known[code] or truth[code]) == "For" for code in codes])
    usual = max(y.mean(), 1 - y.mean())
    assert 0.5 < usual < 0.65
    place = {code: i for i, code in enumerate(codes)}
    edges = np.array([[place[end] for end in pair] for pair in tables["edges.csv"][1:]])
    assert (y[edges[:, 0]] == y[edges[:, 1]]).mean() > 0.68
    cells = column(tables["nodes.csv"], "GraduateRate2023")
    graduates = np.array([np.nan if cell == "n.a." else float(cell) for cell in cells])
    x = np.nan_to_num(graduates, nan=np.nanmean(graduates))[:, None]
    assert LogisticRegression().fit(x, y).score(x, y) > usual + 0.02


def test_the_files_are_those_rows_and_are_not_replaced_unasked(tables, tmp_path):
    written = write_districts(tmp_path / "new" / "folder")
    assert [path.name for path in written] == list(tables)
    for path in written:
        content = path.read_text(encoding="utf-8")
        assert list(map(tuple, csv.reader(io.StringIO(content)))) == tables[path.name]
    written[0].write_text("mine")
    with pytest.raises(ConfigError, match=r"nodes\.csv exists already"):
        write_districts(tmp_path / "new" / "folder")
    assert written[0].read_text() == "mine"
    assert write_districts(tmp_path / "new" / "folder", force=True) == written
    assert written[0].read_text() != "mine"


def test_nothing_is_written_if_one_file_is_in_the_way(tmp_path):
    (tmp_path / "new_edges.csv").write_text("mine")
    with pytest.raises(ConfigError, match=r"new_edges\.csv"):
        write_districts(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["new_edges.csv"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="file"):
        write_districts(tmp_path / "file" / "folder")
