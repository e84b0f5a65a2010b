"""graphmix advise as people meet it."""

import csv

import numpy as np
import pytest

from command_line import graphmix, refused
from small_tables import fit_tables, rows, write_edges, write_nodes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    tables = write_nodes(folder / "n.csv"), write_edges(folder / "e.csv")
    fit_tables(folder, *tables, methods=("supervised", "fcn"))
    return folder


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_both_tables_are_shown_and_written(made, tmp_path):
    result = graphmix("advise", made / "model", "--count", 3, "-o", tmp_path / "new" / "advice")
    assert result.returncode == 0, result.stderr
    assert "Label these next" in result.stdout
    suggested = read(tmp_path / "new" / "advice" / "label_next.csv")
    assert len(suggested) == 3
    unlabeled = {row["id"] for row in rows() if not row["topic"]}
    assert {row["id"] for row in suggested} <= unlabeled
    assert {row["id"] for row in read(tmp_path / "new" / "advice" / "suspects.csv")}.isdisjoint(unlabeled)


def test_suspects_come_with_how_good_the_networks_are(tmp_path):
    # Labels that tell nothing: some are contradicted, by networks that are hardly ever right.
    topics = np.random.default_rng(0).choice(["AI", "DB"], size=36)
    labeled = [{**row, "topic": topics[place] if row["topic"] else ""} for place, row in enumerate(rows())]
    tables = write_nodes(tmp_path / "n.csv", labeled), write_edges(tmp_path / "e.csv")
    model = fit_tables(tmp_path, *tables, methods=("supervised", "fcn"), epochs=30)
    result = graphmix("advise", tmp_path / "model")
    assert "Check these labels" in result.stdout
    gnn, fcn = model.held["supervised-gpr"].right, model.held["fcn"].right
    shares = f"the GNN predicts {100 * gnn.mean():.0f} % correctly, and the features alone {100 * fcn.mean():.0f} %"
    assert f"of {len(gnn)} held-out labels {shares}" in " ".join(result.stdout.split())


def test_a_graph_without_unlabeled_nodes(tmp_path):
    labeled = [{**row, "topic": row["topic"] or "AI"} for row in rows()]
    tables = write_nodes(tmp_path / "n.csv", labeled), write_edges(tmp_path / "e.csv")
    fit_tables(tmp_path, *tables, methods=("supervised", "fcn"))
    result = graphmix("advise", tmp_path / "model")
    assert result.returncode == 0, result.stderr
    assert "nothing to label" in result.stdout
    assert "Label these next" not in result.stdout


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--count", "0"], ["--count must be at least 1"]),
        (["--device", "tpu"], ["--device", "'tpu'"]),
        (["--out", "{made}/n.csv"], ["n.csv is a file", "--out"]),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(made, options, parts):
    refused(graphmix("advise", made / "model", *(option.format(made=made) for option in options)), *parts)


def test_a_model_that_is_none(made, tmp_path):
    refused(graphmix("advise", tmp_path / "nowhere"), "nowhere", "no such folder")
    refused(graphmix("advise", made / "n.csv"), "n.csv", "it is a file")
