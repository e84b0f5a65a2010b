"""Predictions as a table: what is in it, in three forms, safe to open in a spreadsheet, whole or not at all."""

import csv
import errno
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from graphmix.errors import ConfigError, RunError
from graphmix.workflow import output
from graphmix.workflow.formulas import escape
from graphmix.workflow.mixture import Decisions
from graphmix.workflow.output import OutputTable, check_ending
from graphmix.workflow.predictions import tabulate

IDS = ["p1", "-3", "=cmd|'/C calc'!A0"]
CLASSES = ("A", "+B", 'C "quoted", x')


def decisions(probabilities, abstain, sets):
    probabilities = np.array(probabilities)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    return Decisions(order, probabilities, np.array(abstain), np.array(sets), 0.5, 0.5)


@pytest.fixture
def columns():
    made = decisions(
        [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5]],
        [False, True, False],
        [[True, False, False], [False, True, True], [True, True, True]],
    )
    return tabulate({"id": IDS}, made, CLASSES, ["A", None, "A"])


def test_a_row_for_every_node(columns):
    a, b, c = CLASSES
    assert columns == {
        "id": IDS,
        "label": ["A", None, "A"],
        "predicted": [a, b, c],
        "probability": [0.7, 0.6, 0.5],
        "second": [b, c, a],
        "second_probability": [0.2, 0.3, 0.25],
        "third": [c, a, b],
        "third_probability": [0.1, 0.1, 0.25],
        "abstain": [False, True, False],
        "set": [a, '+B;"C ""quoted"", x"', '"C ""quoted"", x";A;+B'],
    }


def test_two_classes_have_one_alternative():
    made = tabulate({"id": ["x"]}, decisions([[0.3, 0.7]], [False], [[False, True]]), ("no", "yes"), [None])
    assert list(made) == ["id", "label", "predicted", "probability", "second", "second_probability", "abstain", "set"]


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t"), ("CSV", ",")])
def test_as_text_with_every_cell_as_it_is(tmp_path, columns, ending, separator):
    path = tmp_path / f"out.{ending}"
    OutputTable(columns).write(path)
    with path.open(newline="") as file:
        header, *read = csv.reader(file, delimiter=separator)
    assert header == list(columns)
    assert [row[0] for row in read] == IDS
    assert [row[1] for row in read] == ["A", "", "A"]
    assert [row[2] for row in read] == list(CLASSES)
    assert [float(row[3]) for row in read] == columns["probability"]
    assert [row[-2] for row in read] == ["false", "true", "false"]
    assert [row[-1] for row in read] == columns["set"]
    assert b"\r" not in path.read_bytes()


def test_as_parquet_with_types_and_nothing_escaped(tmp_path, columns):
    OutputTable(columns).write(tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").to_pydict() == columns
    unlabeled = columns | {"label": [None] * 3}
    OutputTable(unlabeled).write(tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.to_pydict() == unlabeled
    assert str(table.schema.field("label").type) == "string"


@pytest.mark.parametrize("text", ["a\rb", "a\nb", "a\r\nb", 'a"b', "a,b", "a\tb", "\u4e2d\U0001f600"])
@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
def test_any_id_comes_back(tmp_path, text, ending, separator):
    OutputTable({"id": [text, "x"], "set": ["y", text]}).write(tmp_path / f"out.{ending}")
    with (tmp_path / f"out.{ending}").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file, delimiter=separator)) == [["id", "set"], [text, "y"], ["x", text]]


FORMULAS = ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\rx", "-1+1", "=", "--1", "+-1", "-1 2", "+", "＝1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_is_escaped(text):
    assert escape(text) == "'" + text


@pytest.mark.parametrize("text", ["-1", "+1", "-3.5", "-.5", "+1e-9", "-1E5", "0", "a=b", "a-b", "", "'=1"])
def test_numbers_and_plain_text_are_not(text):
    assert escape(text) == text


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.csv.gz", "out.json", ".csv"])
def test_a_form_that_is_none(tmp_path, name):
    with pytest.raises(ConfigError, match=r"\.csv, \.tsv, \.parquet"):
        check_ending(tmp_path / name)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_a_full_disk_leaves_what_was_there(tmp_path, columns, monkeypatch, ending):
    path = tmp_path / f"out.{ending}"
    path.write_text("before")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"out\..* cannot be written: No space left on device"):
        OutputTable(columns).write(path)
    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_is_not_there(tmp_path, columns):
    with pytest.raises(RunError, match="cannot be written: No such file or directory"):
        OutputTable(columns).write(tmp_path / "nowhere" / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 5])
def test_text_in_pieces_is_that_of_one(rows, monkeypatch):
    table = OutputTable({"id": list(range(rows)), "=x": [None, "a", "=b", "c,d", 'e"f'][:rows]}, ("id",))
    whole = {escaped: table.content(Path("p.csv"), escape_formulas=escaped) for escaped in (False, True)}
    monkeypatch.setattr(output, "PIECE", 2)
    for escaped, content in whole.items():
        pieces = list(table.pieces(Path("p.csv"), escape_formulas=escaped))
        assert b"".join(pieces) == content
        assert len(pieces) == max(1, (rows + 1) // 2)


def test_the_whole_text_is_never_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "PIECE", 500)
    table = OutputTable({"id": ["x" * 400] * 10_000}, ("id",))
    tracemalloc.start()
    try:
        table.write(tmp_path / "p.csv")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (tmp_path / "p.csv").stat().st_size / 2


def test_a_piece_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "PIECE", 2)
    (tmp_path / "p.csv").write_text("mine")
    with pytest.raises(TypeError):
        OutputTable({"id": [1, 2, 3, _Untold()]}, ("id",)).write(tmp_path / "p.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]
    assert (tmp_path / "p.csv").read_text() == "mine"


class _Untold:
    """A cell that cannot be written."""

    def __str__(self):
        raise TypeError
