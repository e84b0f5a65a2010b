"""The benchmarks of large graphs: what they write and measure, and that the pictures are those of the results."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    return json.loads((ROOT / "benchmarks/results/table-scale.json").read_text())["rows"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_written_in_pieces(tmp_path, monkeypatch, benchmark_module, ending):
    tables = benchmark_module("large_tables")
    monkeypatch.setattr(tables, "PIECE", 300)
    tables.write_tables(tmp_path, 1000, 2500, features=3, classes=4, ending=ending)
    read = pq.read_table if ending == "parquet" else csv.read_csv
    nodes, edges = (read(tmp_path / f"{name}.{ending}") for name in ("nodes", "edges"))
    answers = csv.read_csv(tmp_path / "answers.csv")
    assert nodes.column_names == ["id", "f0", "f1", "f2", "label"]
    assert (nodes.num_rows, edges.num_rows) == (1000, 2500)
    ids = nodes["id"].to_pylist()
    assert sorted(ids) == sorted(f"n{node}" for node in range(1000))
    assert answers["id"].to_pylist() == ids
    label = dict(zip(ids, answers["label"].to_pylist(), strict=True))
    given = {node: name for node, name in zip(ids, nodes["label"].to_pylist(), strict=True) if name}
    assert len(given) == 4 * tables.LABELS_PER_CLASS
    assert all(label[node] == name for node, name in given.items())
    pairs = zip(edges["source"].to_pylist(), edges["target"].to_pylist(), strict=True)
    assert np.mean([label[one] == label[other] for one, other in pairs]) == pytest.approx(tables.HOMOPHILY, abs=0.05)


def test_a_size_is_measured_in_a_process_of_its_own(benchmark_module, tmp_path):
    # It is imported when tables are written, from the folder of the benchmarks.
    benchmark_module("large_tables")
    row = benchmark_module("table_scale").measured(2000, "parquet", tmp_path)
    assert (row["nodes"], row["edges"], row["format"]) == (200, 2000, "parquet")
    assert 0 < row["graph_edges"] <= 2000
    assert row["peak_bytes"] > 2**26
    assert not list(tmp_path.iterdir())


def test_what_was_measured_is_within_the_estimate_and_in_proportion(rows):
    largest = {row["format"]: row for row in rows}
    for row in rows:
        # What is refused must not have fit.
        assert 0.75 * row["estimated_bytes"] < row["peak_bytes"] < 20 * 2**30
        assert row["graph_edges"] > 0.99 * row["edges"]
        last = largest[row["format"]]
        assert row["peak_bytes"] / last["peak_bytes"] >= row["edges"] / last["edges"]


@pytest.mark.parametrize("scheme", ["full", "mini"])
def test_a_training_is_measured(benchmark_module, scheme, monkeypatch):
    scale = benchmark_module("training_scale")
    monkeypatch.setitem(scale.SCHEMES, scheme, scale.SCHEMES[scheme] | {"epochs": 9})
    monkeypatch.setitem(scale.SCHEMES["mini"], "evaluate_every", 4)
    row = scale.measure(10_000, scheme)
    assert (row["nodes"], row["edges"], row["epochs"]) == (1000, 10_000, 9)
    assert row["epoch" if scheme == "full" else "step"] > 0


def test_evaluations_are_told_from_steps(benchmark_module):
    # Epochs 2 to 9; the fourth and the eighth are evaluated.
    taken = np.array([1.0, 3.0, 6.0, 2.0, 2.0, 2.0, 8.0, 2.0])
    means = benchmark_module("training_scale").means
    assert means(taken, 4) == {"step": 2.0, "evaluation": 5.0}
    assert means(taken, 0) == {"epoch": 3.25}


@pytest.mark.parametrize("name", ["tables", "training"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_committed_picture_is_that_of_the_results(name, theme, benchmark_module):
    pytest.importorskip("matplotlib")
    picture = benchmark_module("scale_picture")
    rows = picture.read(name)
    drawn = picture.draw(name, rows, benchmark_module("front_picture").THEMES[theme])
    committed = (ROOT / f"docs/_static/scale/{name}-{theme}.svg").read_bytes()
    marks = [re.findall(rb'<use xlink:href="#[^"]*" x="[0-9.]+" y="[0-9.]+"', each) for each in (committed, drawn)]
    assert len(marks[0]) == len(marks[1]) >= 2 * len(rows)
