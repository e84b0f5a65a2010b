"""graphmix explain, and the streams of graphmix predict, as people meet them."""

import csv
import gzip
import io
import subprocess
import sys

import pyarrow.csv
import pytest
from pyarrow import parquet

from command_line import COMMAND, graphmix, refused
from graphmix.workflow import output
from small_tables import fit_tables, rows, tree, write_edges, write_nodes

NEW = [{**row, "id": f"q{number}"} for number, row in enumerate(rows(4))]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    nodes, edges = write_nodes(folder / "n.csv"), write_edges(folder / "e.csv")
    fit_tables(folder, nodes, edges, methods=("logistic-regression",))
    write_nodes(folder / "new.csv", NEW)
    write_edges(folder / "new_e.csv", [("q0", "p0"), ("q1", "p1")])
    return folder


def test_words_and_numbers_on_the_screen_and_in_files(made, tmp_path):
    before = tree(made / "model")
    result = graphmix("explain", made / "model", "p1", "p4", "-o", tmp_path / "reasons.csv")
    assert result.returncode == 0, result.stderr
    assert "p1 is predicted as" in result.stdout
    assert "p4 is predicted as" in result.stdout
    assert "neighbour" in result.stdout
    with (tmp_path / "reasons.csv").open() as file:
        assert {row["id"] for row in csv.DictReader(file)} == {"p1", "p4"}
    assert tree(made / "model") == before


def test_a_page_and_new_nodes(made, tmp_path):
    tables = ["--nodes", made / "new.csv", "--edges", made / "new_e.csv"]
    result = graphmix("explain", made / "model", "q0", *tables, "-o", tmp_path / "page.html")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "page.html").read_text()
    assert "q0" in page
    assert "<svg" in page


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["p99"], ["'p99'", "'id'"]),
        (["p1", "-o", "reasons.xlsx"], ["reasons.xlsx", ".html"]),
        (["p1", "-o", "nowhere/reasons.csv"], ["nowhere"]),
        (["p1", "--nodes", "nowhere.csv"], ["nowhere.csv"]),
        (["p1", "--no-header", "tables"], ["--no-header", "tables"]),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(made, tmp_path, monkeypatch, options, parts):
    monkeypatch.chdir(tmp_path)
    refused(graphmix("explain", made / "model", *options), *parts)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_only_by_force(made, tmp_path):
    out = tmp_path / "reasons.csv"
    out.write_text("mine")
    refused(graphmix("explain", made / "model", "p1", "-o", out), "already", "--force")
    assert out.read_text() == "mine"
    assert graphmix("explain", made / "model", "p1", "-o", out, "--force").returncode == 0


def test_a_model_that_is_none(tmp_path):
    refused(graphmix("explain", tmp_path, "p1"), "not a model")


def test_the_table_on_standard_output_is_the_file(made, tmp_path, monkeypatch):
    monkeypatch.setattr(output, "PIECE", 3)
    options = ["--nodes", made / "new.csv", "--edges", made / "new_e.csv"]
    assert graphmix("predict", made / "model", "-o", tmp_path / "out.csv", *options).returncode == 0
    piped = graphmix("predict", made / "model", "-o", "-", *options)
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == (tmp_path / "out.csv").read_text()
    assert "4 predictions written to standard output" in piped.stderr


class Piped:
    """Standard input that holds bytes."""

    closed = False

    def __init__(self, content):
        self.buffer = io.BytesIO(content)


def as_parquet(path):
    sink = io.BytesIO()
    parquet.write_table(pyarrow.csv.read_csv(path), sink)
    return sink.getvalue()


FORMS = {
    "csv": lambda path: path.read_bytes(),
    "tsv": lambda path: path.read_bytes().replace(b",", b"\t"),
    "gz": lambda path: gzip.compress(path.read_bytes()),
    # The time is in the header of the file. Here it looks like a tab and the end of a line.
    "gz with a tab": lambda path: gzip.compress(path.read_bytes(), mtime=0x0A09),
    "parquet": as_parquet,
}


@pytest.mark.parametrize("form", FORMS)
def test_standard_input_in_every_form(made, monkeypatch, form):
    monkeypatch.setattr(sys, "stdin", Piped(FORMS[form](made / "new.csv")))
    result = graphmix("predict", made / "model", "-o", "-", "--nodes", "-", "--edges", made / "new_e.csv")
    assert result.returncode == 0, result.stderr
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["id", "q0", "q1", "q2", "q3"]


def test_standard_input_that_is_wrong(made, monkeypatch):
    def told(content, *more):
        monkeypatch.setattr(sys, "stdin", content)
        return graphmix("predict", made / "model", "-o", "-", "--nodes", "-", *more)

    refused(told(Piped(b"")), "standard input.csv")
    refused(told(Piped(b"id,title\nq0,a\n")), "standard input.csv", "'year'")
    refused(told(Piped(b""), "--edges", "-"), "only one")
    refused(told(None), "closed")


def test_a_real_pipe(made, tmp_path):
    with (made / "new.csv").open("rb") as nodes:
        command = [*COMMAND, "predict", str(made / "model"), "--nodes", "-", "-o", "-"]
        result = subprocess.run(command, stdin=nodes, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("id,label,predicted")
    assert len(result.stdout.splitlines()) == 5
    assert list(tmp_path.iterdir()) == []


def test_a_column_of_reasons(made, tmp_path):
    options = ["--nodes", made / "new.csv", "--edges", made / "new_e.csv", "--explain"]
    result = graphmix("predict", made / "model", "-o", tmp_path / "out.csv", *options)
    assert result.returncode == 0, result.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert len(table) == 4
    assert all(row["reason"].startswith("Of a row without") for row in table)
