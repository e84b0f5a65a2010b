"""graphmix predict as people meet it."""

import csv
import json
import shutil

import pytest
from pyarrow import parquet

from command_line import graphmix, graphmix_process, refused
from small_tables import fit_tables, rows, tree, write_edges, write_nodes

NEW = [{**row, "id": f"q{number}"} for number, row in enumerate(rows(4))]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    fit_tables(folder, write_nodes(folder / "n.csv"), write_edges(folder / "e.csv"), methods=("label-propagation",))
    write_nodes(folder / "new.csv", NEW)
    write_edges(folder / "new_e.csv", [("q0", "p0"), ("q1", "p1"), ("q0", "q1")])
    return folder


def predict(folder, *options, out="out.csv"):
    return graphmix("predict", folder / "model", "-o", out, *options)


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_nodes_that_are_new_in_a_process_of_their_own(made, tmp_path):
    tables = ["--nodes", made / "new.csv", "--edges", made / "new_e.csv"]
    result = graphmix_process("predict", made / "model", *tables, "-o", "out.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "4 predictions" in result.stdout
    assert "out.csv" in result.stdout
    table = read(tmp_path / "out.csv")
    assert [row["id"] for row in table] == ["q0", "q1", "q2", "q3"]
    # Labels in that table are not known to the model.
    assert {row["label"] for row in table} == {""}


def test_without_tables_it_is_what_the_fit_wrote(made, tmp_path):
    before = tree(made / "model")
    result = predict(made, out=tmp_path / "out.csv")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out.csv").read_bytes() == before["predictions.csv"]
    assert tree(made / "model") == before


def test_all_nodes_other_wishes_and_other_forms(made, tmp_path):
    options = ["--nodes", made / "new.csv", "--all", "--coverage", "0.5", "--target-accuracy", "0.1"]
    assert predict(made, *options, out=tmp_path / "out.parquet").returncode == 0
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert table["id"] == [f"p{number}" for number in range(36)] + ["q0", "q1", "q2", "q3"]
    assert table["label"][:2] == ["AI", None]
    assert not any(table["abstain"])
    assert predict(made, *options, out=tmp_path / "out.tsv").returncode == 0
    assert len((tmp_path / "out.tsv").read_text().splitlines()) == 41


def test_a_file_is_replaced_only_by_force(made, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    refused(predict(made, out=out), "out.csv", "already", "--force")
    assert out.read_text() == "mine"
    assert predict(made, "--force", out=out).returncode == 0
    assert len(read(out)) == 36


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--target-accuracy", "0"], ["target", "accuracy", "above 0 and below 1"]),
        (["--coverage", "1"], ["coverage", "above 0 and below 1"]),
        (["--nodes", "nowhere.csv"], ["nowhere.csv"]),
        (["--edges", "{made}/new_e.csv"], ["edges", "nodes"]),
        (["--nodes", "{made}/n.csv"], ["n.csv line 2", "'p0'"]),
        (["--nodes", "{made}/bare.csv"], ["bare.csv", "'year'"]),
        (
            ["--nodes", "{made}/new.csv", "--edges", "{made}/stray.csv"],
            ["'x9'", "stray.csv line 2", "--ignore-unknown"],
        ),
        (["--out", "out.xlsx"], ["out.xlsx", ".csv"]),
        (["--out", "nowhere/out.csv"], ["nowhere/out.csv"]),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(made, tmp_path, monkeypatch, options, parts):
    monkeypatch.chdir(tmp_path)
    write_edges(made / "stray.csv", [("q0", "x9")])
    (made / "bare.csv").write_text("id\nq0\n")
    refused(predict(made, *(option.format(made=made) for option in options)), *parts)
    assert list(tmp_path.iterdir()) == []


def test_models_that_are_none(made, tmp_path):
    def told(folder):
        return graphmix("predict", folder, "-o", tmp_path / "out.csv")

    refused(told(tmp_path / "nowhere"), "nowhere")
    model = shutil.copytree(made / "model", tmp_path / "model")
    described = json.loads((model / "model.json").read_text())
    (model / "model.json").write_text(json.dumps(described | {"format": 99}))
    refused(told(model), "newer", "99")
    (model / "model.json").write_text(json.dumps(described))
    assert told(model).returncode == 0
    (tmp_path / "out.csv").unlink()
    content = (model / "weights.safetensors").read_bytes()
    (model / "weights.safetensors").write_bytes(content[:-1] + b"x")
    refused(told(model), "weights.safetensors")
    assert not (tmp_path / "out.csv").exists()
