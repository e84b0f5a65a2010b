"""The table of columns on the screen, the options it names, and the files it is kept in."""

import json

import pytest

from command_line import graphmix, refused
from small_tables import rows, write_edges, write_nodes

QUICK = ["--trials", "2", "--epochs", "2", "--device", "cpu", "--methods", "label-propagation"]


def fit(folder, held, *options):
    write_nodes(folder / "nodes.csv", held)
    write_edges(folder / "edges.csv")
    tables = ["--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv", "--label", "topic"]
    return graphmix("fit", *tables, "-o", folder / "model", *QUICK, *options, COLUMNS="200")


def shown(result):
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


CODED = [row | {"zip code": f"z{place}", "paid": ("yes", "no", "-")[place % 3]} for place, row in enumerate(rows())]


def test_every_column_is_shown_and_the_option_that_keeps_it_works(tmp_path):
    said = shown(fit(tmp_path, CODED, "--no-report"))
    for row in (
        "id │ id │ │",
        "topic │ label │ │",
        "paid │ number (yes/no as 1 and 0) │ 2 │ 12 cells are missing",
        "source │ end of an edge │ │",
    ):
        assert f"│ {row} │" in said
    assert "nearly every row has a different value; --keep 'zip code=category' uses it │" in said
    assert said.index("What became of every column") < said.index("ids are read from column")
    (tmp_path / "kept").mkdir()
    said = shown(fit(tmp_path / "kept", CODED, "--no-report", "--keep", "zip code=category"))
    assert "│ zip code │ category │" in said
    assert "│ paid │ number (yes/no as 1 and 0) │ 2 │" in said


def test_the_table_is_kept_with_the_model_and_shown_in_its_report(tmp_path):
    shown(fit(tmp_path, CODED))
    kept = json.loads((tmp_path / "model" / "metrics.json").read_text())["columns"]
    found = {use["name"]: (use["table"], use["read_as"], use["features"]) for use in kept}
    assert found["zip code"] == ("nodes.csv", "left out", 0)
    assert found["paid"] == ("nodes.csv", "number (yes/no as 1 and 0)", 2)
    page = (tmp_path / "model" / "report.html").read_text()
    assert "What became of every column" in page
    assert '<th scope="row">zip code</th><td>left out</td>' in page
    # A report can be made of it again.
    again = graphmix("report", tmp_path / "model", "-o", tmp_path / "again.html")
    assert again.returncode == 0, again.stderr


def test_of_many_columns_a_screen_full_is_shown(tmp_path):
    wide = [row | {f"f{n}": (place * (n + 3)) % 11 for n in range(60)} for place, row in enumerate(rows())]
    wide = [row | {"f58": "" if place % 2 else "7.5"} for place, row in enumerate(wide)]
    said = shown(fit(tmp_path, wide, "--no-report"))
    assert "│ f58 │ number │ 2 │ 18 cells are missing │" in said
    assert "│ f59 │" not in said
    # 65 columns of the nodes and 2 of the edges.
    assert "and 27 more: 27 number" in said


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--keep", "none"], ["nodes.csv", "'none'"]),
        (["--keep", "year=colour"], ["'year=colour'", "number, date, category"]),
        (["--keep", "year", "--keep", "year=number"], ["--keep", "year", "twice"]),
        (["--keep", "year", "--feature", "year"], ["--feature", "--keep"]),
        (["--keep", "title=date"], ["line 2", "'title'", "not a date"]),
    ],
)
def test_what_cannot_be_kept_is_named(tmp_path, options, parts):
    refused(fit(tmp_path, None, *options), *parts)
