"""From tables to a problem: classes, columns, splits and weights, by hand."""

import numpy as np
import pytest
import torch

from graphmix.errors import DataError
from graphmix.workflow.columns import Columns
from graphmix.workflow.features import number_classes
from graphmix.workflow.problem import given_split, graph_name
from graphmix.workflow.problems import read_problem


@pytest.mark.parametrize(
    ("labels", "names", "numbers"),
    [
        (["b", None, "a", "b"], ("a", "b"), [1, -1, 0, 1]),
        (["10", "9", "-1"], ("-1", "9", "10"), [2, 1, 0]),
        (["10", "9", "x"], ("10", "9", "x"), [0, 1, 2]),
        (["1", "01"], ("01", "1"), [1, 0]),
        (["²", "1"], ("1", "²"), [1, 0]),
        ([None], (), [-1]),
        ([], (), []),
        (["9" * 30, "8"], ("8", "9" * 30), [1, 0]),
    ],
)
def test_classes_are_numbered_by_name_or_size(labels, names, numbers):
    found, y = number_classes(labels)
    assert found == names
    assert y.tolist() == numbers
    assert y.dtype == np.int64


def test_the_order_of_rows_does_not_change_the_numbers():
    labels = ["x", "é", "E", "10", None]
    names, _ = number_classes(labels)
    assert number_classes(labels[::-1])[0] == names


@pytest.mark.parametrize(
    ("name", "called"), [("papers.csv", "papers"), ("a.b.csv.gz", "a"), (".csv", "graph"), ("x", "x")]
)
def test_what_a_graph_is_called(name, called):
    assert graph_name(name) == called


def test_a_split_leaves_unlabeled_rows_out():
    split, notes = given_split("n.csv", ["train", "val", "test", None, "train"], np.array([0, 1, 0, 1, -1]), "ab")
    assert split.train.tolist() == [[True, False, False, False, False]]
    assert split.val.tolist() == [[False, True, False, False, False]]
    assert split.test.tolist() == [[False, False, True, False, False]]
    assert not split.held_out
    assert notes == [
        "1 label is in no part of the split and not used",
        "1 class has labels in val or test but none in train, and cannot be learned: 'b'",
    ]
    assert given_split("n.csv", ["train", "val", "train"], np.array([0, 1, 1]), "ab")[1] == []
    assert given_split("n.csv", None, np.array([0, 1]), "ab") == (None, [])
    with pytest.raises(DataError, match="no labeled row has 'val' in the `split` column"):
        given_split("n.csv", ["train", "val"], np.array([0, -1]), "a")


@pytest.fixture
def read(tmp_path):
    def read(nodes, edges, **columns):
        (tmp_path / "nodes.csv").write_text(nodes)
        (tmp_path / "edges.csv").write_text(edges)
        return read_problem(tmp_path / "nodes.csv", tmp_path / "edges.csv", Columns(label="y", **columns))

    return read


NODES = "id,y,part\na,0,train\nb,1,val\nc,1,test\nd,0,\ne,,train\n"


def test_what_may_be_learned_from(read):
    problem = read(NODES, "s,t\na,b\nb,c\n")
    assert problem.split is None
    assert problem.known.tolist() == [True, True, True, True, False]
    assert problem.learned.y.tolist() == problem.graph.y.tolist() == [0, 1, 1, 0, -1]
    # With a split neither its test labels nor rows that are in no part.
    problem = read(NODES, "s,t\na,b\nb,c\n", split="part")
    assert problem.known.tolist() == [True, True, False, False, False]
    assert problem.graph.y.tolist() == [0, 1, 1, 0, -1]
    assert problem.learned.y.tolist() == [0, 1, -1, -1, -1]
    assert problem.splits(3, 0) is problem.split


def test_weights_are_divided_by_their_mean(read):
    problem = read(NODES, "s,t,weight\na,b,1\nb,c,2\nc,d,3\n")
    assert problem.weight_scale == 2
    assert problem.graph.edge_weights.tolist() == [0.5, 0.5, 1, 1, 1.5, 1.5]
    assert read(NODES, "s,t\na,b\n").weight_scale is None
    huge = read(NODES, "s,t,weight\na,b,1e30\nb,c,1e30\n")
    assert huge.graph.edge_weights.tolist() == [1, 1, 1, 1]
    with pytest.raises(DataError, match=r"edges.csv: every edge has weight 0"):
        read(NODES, "s,t,weight\na,b,0\nb,c,0\n")


def test_columns_named_for_something_are_no_ends(read):
    problem = read(NODES, "w,one,other\n2,a,b\n4,b,c\n", weight="w")
    assert problem.graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_few_zeros_make_dense_features(read):
    dense = read("id,y,n\na,0,1.5\nb,1,2.5\nc,1,-1\nd,0,9\n", "s,t\na,b\n")
    assert isinstance(dense.graph.x, torch.Tensor)
    words = "id,y,w\n" + "".join(f"{n},{n % 2},k{n % 10}\n" for n in range(40))
    assert not isinstance(read(words, "s,t\n1,2\n").graph.x, torch.Tensor)


def test_structural_features_come_from_the_edges_that_count(read):
    # A weight of 0, a loop and a repeat are no neighbours more.
    plain = read(NODES, "s,t,weight\na,b,2\nb,c,2\n", ignore=("part",))
    same = read(NODES, "s,t,weight\na,b,1\nb,c,1\nb,c,0\nc,d,0\na,a,5\nb,a,1\nc,b,1\n", ignore=("part",))
    assert plain.structural is not None
    np.testing.assert_allclose(same.graph.x.numpy(), plain.graph.x.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("columns", "part"),
    [
        ({"link_label": "y"}, "not both: give `label` or `link_label`"),
        ({"split": "y"}, "cannot have two roles"),
        ({"features": {"x": None}}, "has no column 'x'"),
        ({"features": {"y": None}}, "already holds ids, labels"),
        ({"ignore": ("x",)}, "has no column 'x'"),
    ],
)
def test_columns_that_cannot_be(read, columns, part):
    with pytest.raises(DataError, match=part):
        read(NODES, "s,t\na,b\n", **columns)


def test_a_table_of_nodes_and_labels_are_needed(tmp_path):
    with pytest.raises(DataError, match="`nodes` and its column of classes, `label`"):
        read_problem(None, tmp_path / "e.csv", Columns(label="y"))
    with pytest.raises(DataError, match="`nodes` and its column of classes, `label`"):
        read_problem(tmp_path / "n.csv", tmp_path / "e.csv", Columns())


def test_columns_as_json():
    chosen = Columns(label="a", features={"b": "text", "c": None}, ignore=("d",), encoding="latin-1")
    assert Columns.from_json(chosen.to_json()) == chosen
