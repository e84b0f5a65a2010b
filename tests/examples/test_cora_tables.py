"""Cora as tables: read back with nothing but the csv module, they are Planetoid's graph and its public split."""

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from graphmix import DataError, Graph, load
from graphmix.data.datasets.sources import SourceUnavailable

SCRIPT = Path(__file__).parents[2] / "examples" / "cora_tables.py"


def import_script():
    spec = importlib.util.spec_from_file_location("cora_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cora_tables = import_script()


@pytest.fixture(scope="module")
def papers():
    try:
        return cora_tables.read_papers()
    except SourceUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def planetoid(data_root):
    return load("cora", data_root=data_root)


def read(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.data
def test_the_tables_are_planetoids_cora(papers, planetoid, tmp_path):
    graph, split = planetoid
    found = cora_tables.match(papers, graph)
    cora_tables.write_tables(tmp_path / "made", papers, split, found)
    table, cites, answers = (read(tmp_path / "made" / f"{name}.csv") for name in ("papers", "cites", "answers"))
    assert (len(table), len(cites), len(answers)) == (2708, 5429, 1000)

    # In Planetoid's order, everything is as Planetoid has it.
    rows = [table[place] for place in found]
    node = {row["id"]: number for number, row in enumerate(rows)}
    assert len(node) == 2708
    x = np.zeros((2708, 1433))
    for number, row in enumerate(rows):
        x[number, [int(word.removeprefix("word")) for word in row["keywords"].split(";")]] = 1
    edges = [[node[row["citing"]] for row in cites], [node[row["cited"]] for row in cites]]
    rebuilt = Graph.build(x, edges, graph.y)
    assert torch.equal(rebuilt.edge_index, graph.edge_index)
    torch.testing.assert_close(rebuilt.x, graph.x.to_dense())

    roles = {"train": split.train[0], "val": split.val[0]}
    for name, mask in roles.items():
        assert torch.equal(torch.tensor([row["split"] == name for row in rows]), mask)
    known = (split.train | split.val)[0]
    assert torch.equal(torch.tensor([row["topic"] != "" for row in rows]), known)
    assert {node[row["id"]] for row in answers} == set(split.test[0].nonzero().flatten().tolist())
    topics = {(graph.y[place].item(), rows[place]["topic"]) for place in known.nonzero().flatten().tolist()}
    topics |= {(graph.y[node[row["id"]]].item(), row["topic"]) for row in answers}
    assert len(topics) == 7
    assert len({label for label, _ in topics}) == 7


@pytest.mark.data
def test_another_graph_is_not_taken_for_cora(papers, planetoid):
    graph, _ = planetoid
    first, second = graph.edge_index
    fewer = Graph.build(graph.x, graph.edge_index[:, first < second][:, 1:], graph.y)
    with pytest.raises(DataError, match="Planetoid's Cora is not LINQS's"):
        cora_tables.match(papers, fewer)


def star():
    """A star with four leaves: two alike in every way, one of their words but of another topic, one of its own words.

    Returns:
        It as papers, and as a graph with its nodes in another order.
    """
    words = np.array([[1, 0], [0, 1], [0, 1], [0, 1], [1, 1]], dtype=bool)
    cites = np.array([[1, 2, 3, 4], [0, 0, 0, 0]])
    papers = cora_tables.Papers(list("pqrst"), words, ["a", "a", "a", "b", "b"], cites)
    order = [4, 1, 3, 0, 2]
    return papers, Graph.build(words[order].astype(float), [[0, 1, 2, 4], [3, 3, 3, 3]], [1, 0, 1, 0, 0])


def test_nodes_are_found_by_words_class_and_neighbours():
    assert cora_tables.match(*star()).tolist() == [4, 1, 3, 0, 2]
    # A path in which words and class alone say nothing of the two ends, but their neighbours do.
    words = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [1, 1]], dtype=bool)
    path = cora_tables.Papers(list("pqrst"), words, ["a"] * 5, np.array([[0, 1, 2, 4], [1, 2, 3, 3]]))
    graph = Graph.build([[1, 1], [1, 0], [0, 1], [0, 1], [1, 0]], [[0, 1, 2, 3], [1, 2, 3, 4]], [0] * 5)
    assert cora_tables.match(path, graph).tolist() == [4, 3, 2, 1, 0]


def test_bad_use_is_answered_in_one_sentence(capsys, monkeypatch, tmp_path):
    assert cora_tables.main([]) == 2
    assert capsys.readouterr().err == "usage: python examples/cora_tables.py FOLDER\n"
    papers, graph = star()
    monkeypatch.setattr(cora_tables, "read_papers", lambda: papers)
    monkeypatch.setattr(cora_tables, "load", lambda name: (graph, None))
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(cora_tables, "write_tables", lambda folder, *_: folder.mkdir())
    assert cora_tables.main([str(tmp_path / "file")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'file'} cannot be written to: File exists\n"
