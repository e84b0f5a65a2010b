"""Nodes: their ids in every form, and labels and splits that cannot be meant."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.nodes import check_classes, read_nodes

TOY = "title,id,topic,part\nx,b,AI,train\ny,a, DB ,VAL\nz,NA,,\nw,7,NA,Test\nv, 08 ,AI,valid\n"


def test_ids_labels_and_split(write):
    nodes = read_nodes(write(TOY), label="topic", split="part")
    assert nodes.ids == ["b", "a", "NA", "7", " 08 "]
    assert nodes.labels == ["AI", "DB", None, None, "AI"]
    assert nodes.split == ["train", "val", None, "test", "val"]
    assert nodes.used == {"id", "topic", "part"}
    assert check_classes(nodes.labels, "here") == ["1 class has a single label, too few to train and validate on: 'DB'"]


def test_without_labels_every_node_is_unlabeled(write):
    nodes = read_nodes(write(TOY))
    assert nodes.labels == [None] * 5
    assert nodes.split is None
    assert nodes.used == {"id"}


@pytest.mark.parametrize(
    ("header", "named", "expected"),
    [
        ("a,ID,b", {}, "ID"),
        ("a,Node,b", {}, "Node"),
        ("node,id,b", {}, "id"),
        ("a,name,node_id", {}, "node_id"),
        ("a,b,c", {}, "a"),
        ("a,b,c", {"label": "a"}, "b"),
        ("node,id,c", {"label": "node"}, "id"),
        ("a,id,b", {"id": "b"}, "b"),
    ],
)
def test_the_column_of_ids_is_found_or_named(write, header, named, expected):
    assert read_nodes(write(f"{header}\n1,2,3\n4,5,6\n"), **named).id_column == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 10**17], pa.int64()),
        pa.array([1, 2, 10**17], pa.uint64()),
        pa.array(["1", "2", "100000000000000000"]).dictionary_encode(),
    ],
)
def test_whole_numbers_are_the_same_ids_in_every_type(tmp_path, column):
    parquet.write_table(pa.table({"id": column}), tmp_path / "n.parquet")
    assert read_nodes(tmp_path / "n.parquet").ids == ["1", "2", "100000000000000000"]


def test_other_numbers_keep_their_fraction(tmp_path):
    parquet.write_table(pa.table({"id": [0.5, -2.0]}), tmp_path / "n.parquet")
    assert read_nodes(tmp_path / "n.parquet").ids == ["0.5", "-2"]


@pytest.mark.parametrize(
    ("content", "named", "message"),
    [
        (
            "id,l\na,1\nb,2\na,3\nb,1\n",
            {},
            "^table.csv line 4: id 'a' in column 'id' is also the id of table.csv line 2; ids must be unique, or `id`",
        ),
        ("id,l\na,1\n ,2\n", {}, "^table.csv line 3 has no id: column 'id' is empty there$"),
        ("id,l\na,1\n", {"id": "x"}, "table.csv has no column 'x'; it has 'id', 'l'$"),
        ("id,l\na,1\n", {"label": "x"}, "table.csv has no column 'x'"),
        ("id,l\na,1\n", {"split": "x"}, "table.csv has no column 'x'"),
        ("id,l\na,1\n", {"id": "id", "label": "id"}, "column 'id' cannot have two roles"),
        ("l\n1\n", {"label": "l"}, "table.csv has no column left for the nodes' ids"),
        (
            "id,s\na,train\nb,rest\n",
            {"split": "s"},
            "^table.csv line 3: 'rest' in column 's' is not train, val or test$",
        ),
    ],
)
def test_what_is_wrong_is_named(write, content, named, message):
    with pytest.raises(DataError, match=message):
        read_nodes(write(content), **named)


def test_an_empty_id_in_parquet_is_named(tmp_path):
    for column in (["a", None], [1, None], [1.0, float("nan")]):
        parquet.write_table(pa.table({"id": column}), tmp_path / "n.parquet")
        with pytest.raises(DataError, match=r"^n.parquet row 2 has no id"):
            read_nodes(tmp_path / "n.parquet")


def test_lists_are_no_ids(tmp_path):
    parquet.write_table(pa.table({"id": [["a"], ["b"]]}), tmp_path / "n.parquet")
    with pytest.raises(DataError, match=r"n.parquet: column 'id' holds lists"):
        read_nodes(tmp_path / "n.parquet")


def test_a_label_column_that_is_an_id_column_is_named(write):
    nodes = read_nodes(write("key,id\n" + "".join(f"k{row},i{row}\n" for row in range(9))), id="key", label="id")
    message = "table.csv: column 'id' has 9 classes for 9 labeled rows; it looks like an id or a number, not a class$"
    with pytest.raises(DataError, match=message):
        check_classes(nodes.labels, "table.csv: column 'id'")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None, None], "here has no label at all"),
        ([], "here has no label at all"),
        (["a", None, "a"], "here has one class only, 'a'; at least two"),
        (["a", "b", "c", "d", "a"], "here has 4 classes for 5 labeled rows"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(labels, message):
    with pytest.raises(DataError, match=message):
        check_classes(labels, "here")


def test_many_classes_are_fine_while_each_has_labels():
    assert check_classes([f"c{number % 10_000}" for number in range(20_000)], "here") == []
    # Two nodes of two classes: too few to call it an id.
    assert check_classes(["a", "b"], "here") == [
        "2 classes have a single label, too few to train and validate on: 'a', 'b'"
    ]
    (note,) = check_classes([f"c{number}" for number in range(7)] + ["x"] * 9, "here")
    assert note.endswith("on: 'c0', 'c1', 'c2', 'c3', 'c4' and 2 more")


def test_a_class_that_is_a_word_for_missing_is_named():
    ending = "'NA' is taken as missing: rename it if it is a class$"
    with pytest.raises(DataError, match=f"^here has one class only, 'a'; at least two are needed; {ending}"):
        check_classes(["a", None], "here", {"NA"})
    with pytest.raises(DataError, match=f"^here has no label at all; label some nodes of every class; {ending}"):
        check_classes([None, None], "here", {"NA"})
