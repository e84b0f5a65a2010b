"""The tables people really have, through the command: read, or refused in one sentence that names the way out."""

import csv
import gzip
import json
import os

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from command_line import graphmix, refused
from small_tables import lines, pairs, rows, write_edges, write_nodes

QUICK = ["--trials", "2", "--epochs", "2", "--hidden", "4", "--device", "cpu", "--no-report"]
METHOD = ["--methods", "label-propagation"]


@pytest.fixture
def tables(tmp_path):
    write_nodes(tmp_path / "nodes.csv")
    write_edges(tmp_path / "edges.csv")
    return tmp_path


def fit(folder, *options, nodes="nodes.csv", edges="edges.csv", label="topic"):
    named = ["--nodes", folder / nodes, "--label", label] if nodes else []
    out = ["--out", folder / "model"]
    return graphmix("fit", *named, "--edges", folder / edges, *out, *QUICK, *METHOD, *options, COLUMNS="200")


def fitted(folder, *options, **chosen):
    result = fit(folder, *options, **chosen)
    assert result.returncode == 0, result.stderr
    return result


def predict(folder, *options):
    return graphmix("predict", folder / "model", "-o", folder / "out.csv", *options, COLUMNS="200")


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def headless(path, cells):
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in cells))
    return path


def test_the_columns_that_were_taken_are_printed_before_training(tables):
    write_edges(tables / "edges.csv", [(*pair, 2) for pair in pairs()])
    shown = fitted(tables).stdout
    assert "ids are read from column 'id' of nodes.csv" in shown
    assert "edges are read from columns 'source' and 'target' of edges.csv, with weights from 'weight'" in shown
    assert shown.index("edges are read") < shown.index("held-out labels")
    notes = json.loads((tables / "model" / "metrics.json").read_text())["notes"]
    assert "ids are read from column 'id' of nodes.csv" in notes
    write_nodes(tables / "new.csv", [{**row, "id": f"q{row['id']}"} for row in rows(4)])
    write_edges(tables / "new_e.csv", [("qp0", "p1")])
    shown = predict(tables, "--nodes", tables / "new.csv", "--edges", tables / "new_e.csv").stdout
    assert "ids are read from column 'id' of new.csv" in shown
    assert "edges are read from columns 'source' and 'target' of new_e.csv, without weights" in shown
    # Two of the four rows have a topic.
    assert "column 'topic' of new.csv is not used: the 2 labels in it are only learned from by another fit" in shown


def test_weights_can_be_ignored(tables):
    write_edges(tables / "edges.csv", [(*pair, "heavy") for pair in pairs()])
    refused(fit(tables), "'heavy'", "'weight'", "not a number", "--no-weight")
    refused(fit(tables, "--no-weight", "--weight", "weight"), "--weight", "--no-weight", "both")
    shown = fitted(tables, "--no-weight").stdout
    assert "of edges.csv, without weights" in shown
    # So they are in new tables, whatever these hold.
    write_nodes(tables / "new.csv", [{**row, "id": f"q{row['id']}"} for row in rows(2)])
    write_edges(tables / "new_e.csv", [("qp0", "p1", "light")])
    result = predict(tables, "--nodes", tables / "new.csv", "--edges", tables / "new_e.csv")
    assert result.returncode == 0, result.stderr
    assert "of new_e.csv, without weights" in result.stdout


def test_edges_without_a_header_are_noticed_and_read_on_request(tables):
    headless(tables / "edges.csv", pairs())
    refused(fit(tables), "edges.csv seems to have no header", "'p0' and 'p3'", "--no-header edges")
    shown = fitted(tables, "--no-header", "edges").stdout
    assert "columns 'column 1' and 'column 2' of edges.csv" in shown
    # No edge is lost: with a header the graph is the same.
    edges = json.loads((tables / "model" / "metrics.json").read_text())["survey"]["edges"]
    write_edges(tables / "edges.csv")
    (tables / "model").rename(tables / "other")
    fitted(tables)
    assert json.loads((tables / "model" / "metrics.json").read_text())["survey"]["edges"] == edges


def test_names_of_nodes_above_edges_are_an_edge_even_if_they_look_like_names(tmp_path):
    names = ["amy", "bob", "cat", "dan", "eve", "fay", "guy", "hal"]
    headless(tmp_path / "nodes.csv", [("person", "topic"), *((name, "xy"[n % 2]) for n, name in enumerate(names))])
    headless(tmp_path / "edges.csv", list(zip(names, names[2:], strict=False)))
    refused(fit(tmp_path), "edges.csv seems to have no header", "'amy' and 'cat'", "--no-header edges")
    fitted(tmp_path, "--no-header", "edges")


def test_nodes_without_a_header_are_noticed_and_read_on_request(tables):
    headless(tables / "nodes.csv", (row.values() for row in rows()))
    refused(fit(tables, "--id", "p0"), "nodes.csv has no column 'topic'", "no header", "--no-header")
    refused(fit(tables, label="AI"), "nodes.csv seems to have no header", "'p0'", "--no-header nodes")
    fitted(tables, "--no-header", "nodes", label="column 2")
    assert [row["column 1"] for row in read(tables / "model" / "predictions.csv")][:2] == ["p0", "p1"]
    # The model's own tables have no header, so new ones have none either.
    new = headless(tables / "new.csv", ([f"q{n}", "", *list(row.values())[2:]] for n, row in enumerate(rows(3))))
    result = predict(tables, "--nodes", new)
    assert result.returncode == 0, result.stderr
    assert [row["column 1"] for row in read(tables / "out.csv")] == ["q0", "q1", "q2"]


def test_new_edges_without_a_header(tables):
    refused(fit(tables, "--no-header", "links"), "--no-header", "nodes or edges", "'links'")
    fitted(tables, "--source", "source", "--target", "target")
    new = write_nodes(tables / "new.csv", [{**row, "id": f"q{row['id']}"} for row in rows(2)])
    edges = headless(tables / "new_e.csv", [("qp0", "p1"), ("qp1", "p2")])
    refused(predict(tables, "--nodes", new, "--edges", edges), "new_e.csv has no column 'source'", "--no-header")
    result = predict(tables, "--nodes", new, "--edges", edges, "--no-header", "edges")
    assert result.returncode == 0, result.stderr
    refused(predict(tables, "--no-header", "links"), "--no-header", "nodes or edges", "'links'")


@pytest.mark.parametrize("name", ["edges.txt", "edges.txt.gz", "edges.tsv"])
def test_edges_as_snap_writes_them(tables, name):
    text = "# Undirected graph: x\n# Nodes: 36 Edges: 48\n# FromNodeId\tToNodeId\n"
    text += "".join(f"{source}\t{target}\n" for source, target in pairs())
    (tables / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    shown = fitted(tables, edges=name).stdout
    assert f"columns 'FromNodeId' and 'ToNodeId' of {name}" in shown


def test_years_are_names_of_columns(tables):
    held = [{"id": row["id"], "topic": row["topic"], "1995": n % 5, "1996": n % 7} for n, row in enumerate(rows())]
    write_nodes(tables / "nodes.csv", held)
    shown = " ".join(fitted(tables).stdout.split())
    assert "│ 1995 │ number │ 1 │" in shown
    assert "│ 1996 │ number │ 1 │" in shown


def test_parquet_with_every_kind_of_column(tables):
    held = rows()
    now = pa.array([1_700_000_000_123_456_789 + n * 10**15 for n in range(len(held))], pa.timestamp("ns"))
    far = pa.array([pd.Timestamp("9999-01-01").to_pydatetime()] * len(held), pa.timestamp("us"))
    columns = {name: pa.array([row[name] or None for row in held]) for name in held[0]} | {
        "when": now,
        "far": far,
        "nested": pa.array([{"a": n, "b": [n]} for n in range(len(held))]),
        "kind": pa.array(["xyz"[n % 3] for n in range(len(held))]).dictionary_encode(),
        "raw": pa.array([b"\xff"] * len(held)),
    }
    parquet.write_table(pa.table(columns), tables / "nodes.parquet")
    refused(fit(tables, "--id", "nested", nodes="nodes.parquet"), "nodes.parquet: column 'nested' cannot be used")
    refused(fit(tables, nodes="nodes.parquet", label="nested"), "nodes.parquet: column 'nested' cannot be used")
    refused(fit(tables, nodes="nodes.parquet", label="when"), "'when' holds dates or times", "names")
    shown = " ".join(fitted(tables, nodes="nodes.parquet").stdout.split())
    assert "│ year │ number │" in shown
    assert "│ when │ date │" in shown
    assert "│ far │ left out │ │ all its dates are the same; --keep far=date uses it │" in shown
    assert "│ nested │ left out │ │ its type is struct<" in shown
    assert "│ raw │ left out │ │ its type is binary │" in shown


def test_labels_that_are_numbers_or_mean_missing_are_said_to_be(tables):
    held = [row | {"topic": (1990, 2000, 2010, "NA")[n % 4]} for n, row in enumerate(rows())]
    write_nodes(tables / "nodes.csv", held)
    shown = fitted(tables).stdout
    assert "column 'topic' holds numbers from 1990 to 2010: each of the 3 different ones is a class" in shown
    assert "column 'topic': 9 labels 'NA' taken as missing" in shown


def test_a_column_that_repeats_the_label_is_warned_of(tables):
    held = [row | {"code": {"": "7", "AI": "1", "DB": "2", "ML": "3"}[row["topic"]]} for row in rows()]
    write_nodes(tables / "nodes.csv", held)
    result = fitted(tables)
    assert "! column 'code' says the same as the label 'topic': on 18 labeled rows" in result.stdout
    assert "--ignore" in result.stdout
    stored = json.loads((tables / "model" / "metrics.json").read_text())["survey"]["warnings"]
    assert any("'code' says the same as the label" in warning for warning in stored)


def test_a_label_that_is_an_end_is_named(tmp_path):
    (tmp_path / "links.csv").write_text("source,target,sign\n" + "a,b,+\nb,c,-\n" * 5)
    result = fit(tmp_path, "--link-label", "source", nodes=None, edges="links.csv")
    refused(result, "'source' is the --link-label", "--source and --target")


@pytest.mark.parametrize("option", ["nodes", "edges"])
def test_pipes_are_refused_at_once(tables, option):
    os.mkfifo(tables / "pipe.csv")
    refused(fit(tables, **{option: "pipe.csv"}), "pipe.csv is a pipe")


def test_names_of_columns_are_cut_and_escaped(tables):
    name = "x" * 100_000
    red = "red\x1b[31m\u202e"
    held = [{**row, name: n % 5, red: n % 7, "c" * 5000: ["a b", "c d"][n % 2]} for n, row in enumerate(rows())]
    csv.field_size_limit(10**6)
    (tables / "nodes.csv").write_text(lines(held[0], (row.values() for row in held)))
    missing = fit(tables, label=name + "y")
    refused(missing, "100,001 characters")
    assert len(missing.stderr) < 3000
    result = fitted(tables)
    assert len(result.stdout) < 20_000
    assert "\x1b[31m" not in result.stdout
    assert "\u202e" not in result.stdout
