"""graphmix label as a command: what it refuses, what it writes, and that a kill loses nothing."""

import re
import signal
import sys
import urllib.error
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import graphmix, refused
from graphmix import GraphMixClassifier, synthetic
from graphmix.errors import DataError
from graphmix.labeling.begin import begin_with_model, check_labels, own_model, read_matter, store
from graphmix.labeling.rounds import look
from graphmix.labeling.trainer import Trainer
from graphmix.labeling.written import replayed, written
from graphmix.limits import Limits
from graphmix.storage.folders import make_folder
from graphmix.tables.nodes import read_nodes
from graphmix.workflow.columns import Columns
from graphmix.workflow.model import load_model
from served_page import Served
from small_tables import fit_tables, rows, write_edges, write_nodes

CLASSES = "AI,DB,ML"


@pytest.fixture
def tables(tmp_path):
    write_nodes(tmp_path / "nodes.csv", [{**row, "topic": ""} for row in rows()])
    write_edges(tmp_path / "edges.csv")
    return ["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", "--out", "out"]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ["--out"]),
        (["model", "--out", "out"], ["--out"]),
        (["nowhere"], ["nowhere", "there is no such folder"]),
        (["--out", "out"], ["--nodes", "--edges", "--label"]),
        (["--nodes", "no.csv", "--edges", "edges.csv", "--label", "topic", "--out", "out"], ["no.csv"]),
        (["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", "--out", "out"], ["--classes"]),
        (["--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "tipoc", "--out", "out"], ["tipoc", "--classes"]),
        (["--every", "0", "out"], ["--every"]),
        (["--time-limit", "soon", "out"], ["--time-limit"]),
        (["--target-accuracy", "2", "out"], ["--target-accuracy"]),
        (
            ["--classes", "NA", "--nodes", "nodes.csv", "--edges", "edges.csv", "--label", "topic", "--out", "out"],
            ["NA"],
        ),
        (["out", "--write", "labels.csv"], ["out"]),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(tmp_path, tables, options, parts):
    before = sorted(path.name for path in tmp_path.iterdir())
    refused(graphmix("label", *options, "--no-browser", cwd=tmp_path), *parts)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_folder_of_something_else_and_a_port_that_is_taken(tmp_path, tables):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    refused(graphmix("label", *tables, "--classes", CLASSES, "--no-browser", cwd=tmp_path), "thesis.txt")
    tables[-1] = "other"
    refused(graphmix("label", *tables, "--classes", CLASSES, "--port", "99999", "--no-browser", cwd=tmp_path), "--port")
    assert not (tmp_path / "other").exists()


@pytest.fixture
def unserved(monkeypatch):
    """The command without its server and its training."""
    monkeypatch.setattr(Trainer, "order", lambda *arguments, **options: True)
    monkeypatch.setattr("graphmix.labeling.server.serve", lambda *arguments: None)


@pytest.mark.usefixtures("unserved")
def test_the_browser_is_not_told_the_token_on_its_command_line(tmp_path, tables, monkeypatch):
    opened = []

    def open_(address):
        path = Path(address.removeprefix("file://"))
        opened.append((address, path, path.stat().st_mode & 0o777, path.read_text()))

    monkeypatch.setattr("webbrowser.open", open_)
    done = graphmix("label", *tables, "--classes", CLASSES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = re.search(r"http://\S+", done.stdout + done.stderr)[0]
    ((address, path, mode, content),) = opened
    assert page.split("/")[-2] not in address
    assert mode == 0o600
    assert f"url={page}" in content
    assert not path.exists()


@pytest.mark.usefixtures("unserved")
def test_links_beside_the_answers_are_refused(tmp_path, tables):
    (tmp_path / "out" / "labels").mkdir(parents=True)
    (tmp_path / "mine.txt").write_text("")
    (tmp_path / "out" / "labels" / "answers.jsonl").symlink_to(tmp_path / "mine.txt")
    refused(graphmix("label", *tables, "--classes", CLASSES, "--no-browser", cwd=tmp_path), "answers.jsonl", "link")


def test_without_the_extra_the_sentence_names_it(tmp_path, tables, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused(graphmix("label", *tables, "--classes", CLASSES, cwd=tmp_path), "graphmix-learn[label]")
    assert not (tmp_path / "out").exists()


def test_a_model_of_links_or_with_a_split_is_refused(tmp_path):
    split = [{**row, "part": ("train", "val", "test")[place // 2 % 3]} for place, row in enumerate(rows())]
    nodes, edges = write_nodes(tmp_path / "nodes.csv", split), write_edges(tmp_path / "edges.csv")
    fit_tables(tmp_path, nodes, edges, columns=Columns(label="topic", split="part"), methods=("label-propagation",))
    refused(graphmix("label", "model", "--no-browser", cwd=tmp_path), "split")
    assert not (tmp_path / "model" / "labels").exists()


def test_killed_in_the_middle_and_reopened_nothing_is_lost(tmp_path, tables):
    first = Served(*tables, "--classes", CLASSES, "--device", "cpu", cwd=tmp_path)
    first.wait(lambda state: state["rounds"])
    card = first.ask("api/next?mode=label")
    for place in range(4):
        act = {"node": card["node"], "act": "label", "label": "AI" if place % 2 else "DB", "key": str(place)}
        got = first.ask("api/answer", act)
        card = got["next"]
    first.end(signal.SIGKILL)
    with pytest.raises(urllib.error.URLError):
        first.ask("api/state")
    # The same command continues, and so does the folder by itself.
    second = Served("out", "--device", "cpu", cwd=tmp_path)
    state = second.ask("api/state")
    for name in ("answers", "labeled", "mine", "last", "counts", "classes"):
        assert state[name] == got["state"][name], name
    assert second.ask("api/next?mode=label")["id"] == card["id"]
    # Meanwhile nobody else may label there, but the table can be written.
    refused(graphmix("label", "out", "--no-browser", cwd=tmp_path), "another process")
    written = graphmix("label", "out", "--write", "now.csv", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert sum(",AI," in line or ",DB," in line for line in (tmp_path / "now.csv").read_text().splitlines()) == 4
    refused(graphmix("label", "out", "--write", "now.csv", cwd=tmp_path), "--force")
    refused(graphmix("label", "out", "--write", "nodes.csv", "--force", cwd=tmp_path), "nodes.csv")
    for force in ((), ("--force",)):
        assert graphmix("label", "out", "--write", "out/mine.csv", *force, cwd=tmp_path).returncode == 0
    for own in ("answers.jsonl", "session.json"):
        before = (tmp_path / "out" / "labels" / own).read_bytes()
        refused(graphmix("label", "out", "--write", f"out/labels/{own}", "--force", cwd=tmp_path), own)
        assert (tmp_path / "out" / "labels" / own).read_bytes() == before
    code, rest = second.end(signal.SIGINT)
    assert code == 0, rest
    assert "labeled.csv" in rest
    assert (tmp_path / "out" / "labels" / "labeled.csv").read_bytes() == (tmp_path / "now.csv").read_bytes()
    assert not (tmp_path / "out" / "labels" / ".lock").exists()


def test_a_model_is_labeled_where_its_fit_read_the_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_nodes(tmp_path / "nodes.csv")
    write_edges(tmp_path / "edges.csv")
    fit_tables(Path(), Path("nodes.csv"), Path("edges.csv"), methods=("label-propagation",))
    folder = tmp_path / "model"
    model = load_model(folder)
    begun = begin_with_model(folder, model, None, ("Zoo",), Limits())
    matter = read_matter(folder, begun, Limits())
    assert matter.table.rows == 36
    result = look(matter, matter.problem.labels, 0)
    assert result.round.labels == 18
    assert np.allclose(result.probabilities, model.mixture.probabilities(model.problem.learned))
    # The model of the fit stays as it is.
    assert own_model(folder, begun) == folder / "labels" / "model"
    make_folder(folder / "labels")
    store(folder, begun)
    (tmp_path / "nodes.csv").rename(tmp_path / "moved.csv")
    refused(graphmix("label", "model", "--no-browser", cwd=tmp_path), "nodes.csv", "put it back")
    assert begin_with_model(folder, model, None, (), Limits()).nodes is None
    lacking = write_nodes(tmp_path / "less.csv", rows()[:30])
    with pytest.raises(DataError, match="lacks node"):
        read_matter(folder, begin_with_model(folder, model, lacking, (), Limits()), Limits())


def test_labels_of_a_table_that_the_model_does_not_know_are_refused(tmp_path):
    nodes, edges = write_nodes(tmp_path / "nodes.csv"), write_edges(tmp_path / "edges.csv")
    fit_tables(tmp_path, nodes, edges, methods=("label-propagation",))
    more = rows()
    more[3]["topic"] = "AI"
    write_nodes(nodes, more)
    refused(
        graphmix("label", "model", "--nodes", "nodes.csv", "--no-browser", cwd=tmp_path),
        "nodes.csv line 5",
        "'p3'",
        "AI",
    )
    assert not (tmp_path / "model" / "labels").exists()


def test_a_table_without_the_column_of_labels_is_written_with_all_of_them(tmp_path):
    nodes, edges = write_nodes(tmp_path / "nodes.csv"), write_edges(tmp_path / "edges.csv")
    fit_tables(tmp_path, nodes, edges, methods=("label-propagation",))
    bare = write_nodes(tmp_path / "bare.csv", [{name: row[name] for name in row if name != "topic"} for row in rows()])
    folder = tmp_path / "model"
    begun = begin_with_model(folder, load_model(folder), bare, (), Limits())
    matter = read_matter(folder, begun, Limits())
    check_labels(matter)
    answers = replayed(folder, matter, [{"n": 1, "act": "label", "node": "p1", "label": "AI"}])
    (tmp_path / "made.csv").write_bytes(written(folder, matter, answers.changed(), list(answers.labels().values())))
    found = read_nodes(tmp_path / "made.csv", id="id", label="topic")
    assert found.labels == [*matter.problem.labels[:1], "AI", *matter.problem.labels[2:]]


def test_a_model_of_arrays_is_labeled_beside_a_table(tmp_path):
    graph, _ = synthetic(nodes=40, classes=2, labels_per_class=8, seed=1)
    x = pd.DataFrame(graph.x.to_dense().numpy(), index=[f"v{node}" for node in range(40)])
    y = np.where(np.arange(40) < 16, graph.y.numpy(), -1)
    folder = tmp_path / "model"
    GraphMixClassifier(method="label-propagation", device="cpu").fit(x, y, graph.edge_index).save(folder)
    # The ids are not in the first column.
    x.reset_index(names="id").iloc[:, ::-1].to_csv(tmp_path / "nodes.csv", index=False)
    begun = begin_with_model(folder, load_model(folder), tmp_path / "nodes.csv", (), Limits())
    matter = read_matter(folder, begun, Limits())
    answers = replayed(folder, matter, [{"n": 1, "act": "label", "node": "v30", "label": "1"}])
    labels = list(answers.labels().values())
    (tmp_path / "made.csv").write_bytes(written(folder, matter, answers.changed(), labels))
    assert read_nodes(tmp_path / "made.csv", id="id", label="label").labels == labels
    assert labels[30] == "1"
