"""The labeled table: only the cells of new labels differ, and it is read back as what was said."""

import csv
import gzip

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.labeling import export
from graphmix.labeling.export import labeled_table, two_columns
from graphmix.tables.nodes import read_nodes
from graphmix.workflow.columns import Columns

COLUMNS = Columns(id="id", label="kind")


def exported(path, labels, columns=COLUMNS, ids=()):
    return labeled_table(path, columns, list(ids), labels)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_labels_change(tmp_path, end):
    path = tmp_path / "nodes.csv"
    rows = ["id,kind,note", '1,"a","x, ""y"""', "2,, 17 ", '3,b,"two', 'lines"', "4,,"]
    path.write_bytes(end.join(rows).encode())
    expected = ["id,kind,note", '1,,"x, ""y"""', '2,"c, d", 17 ', '3,b,"two', 'lines"', '4,"say ""hi""",']
    assert exported(path, {"1": None, "2": "c, d", "4": 'say "hi"'}) == end.join(expected).encode()


def test_empty_cells_before_a_quoted_one_stay(tmp_path):
    path = tmp_path / "nodes.tsv"
    path.write_text('id\ta\tb\tkind\tc\n1\t\t"q"\t\t \n2\t\t\t"x"\t"y\tz"\n')
    made = exported(path, {"1": "new", "2": "old"}).decode()
    assert made == 'id\ta\tb\tkind\tc\n1\t\t"q"\tnew\t \n2\t\t\told\t"y\tz"\n'


def test_a_cell_larger_than_csv_reads_by_default(tmp_path):
    path, before = tmp_path / "nodes.csv", csv.field_size_limit()
    path.write_text(f"id,note,kind\n1,{'x' * (before + 1)},\n")
    assert exported(path, {"1": "new"}).decode().endswith("x,new\n")
    assert csv.field_size_limit() == before


def test_cells_that_cannot_be_told_apart_are_named(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text('id,note,kind\n1,n,\n2,"m,b\n3,k,\n')
    with pytest.raises(DataError, match=r"nodes\.csv line 3"):
        exported(path, {"2": "a"})


def test_what_csv_cannot_read_is_named(tmp_path, monkeypatch):
    path = tmp_path / "nodes.csv"
    path.write_text("id,kind\n1,\n2,long\n")
    monkeypatch.setattr(export, "LARGEST_CELL", 3)
    with pytest.raises(DataError, match=r"nodes\.csv line 1 cannot be read"):
        exported(path, {"1": "a"})


def test_a_new_column_is_added_to_every_row(tmp_path):
    path = tmp_path / "nodes.tsv"
    path.write_text("# made by hand\nid\tyear\n1\t1990\n2\t1991\n\n")
    columns = Columns(id="id", label="kind")
    assert exported(path, {"2": "a"}, columns).decode() == "# made by hand\nid\tyear\tkind\n1\t1990\t\n2\t1991\ta\n\n"


def read_back(path, made, columns=COLUMNS):
    path.write_bytes(made)
    return read_nodes(path, id=columns.id, label=columns.label, reading=columns.reading("nodes")).labels


def test_a_new_column_takes_the_place_of_one_without_a_name(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("id,note,,\n1,n,,\n2,m, ,\n,,,\n")
    made = exported(path, {"2": "a"})
    assert made.decode() == "id,note,kind,\n1,n,,\n2,m,a,\n,,,\n"
    assert read_back(path, made) == [None, "a"]


def test_a_new_column_has_a_cell_in_blank_rows_too(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("id,note\n1,n\n2,m\n , \n\n,\n")
    made = exported(path, {"2": "a"})
    assert made.decode() == "id,note,kind\n1,n,\n2,m,a\n , ,\n\n,,\n"
    assert read_back(path, made) == [None, "a"]


def test_a_new_column_is_named_where_a_comment_names_the_others(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("# made by hand\n# id,note\n\n1,n\n2,m\n")
    made = exported(path, {"2": "a"})
    assert made.decode() == "# made by hand\n# id,note,kind\n\n1,n,\n2,m,a\n"
    assert read_back(path, made) == [None, "a"]


@pytest.mark.parametrize(("header", "rows"), [("id note kind", ["1 n a", "2 m b"]), ("id note", ["1 n", "2 m"])])
def test_cells_between_spaces(tmp_path, header, rows):
    path = tmp_path / "nodes.txt"
    path.write_text("\n".join([header, *rows, ""]))
    assert read_back(path, exported(path, {"1": None, "2": "c d"})) == [None, "c d"]


def test_a_comment_is_not_the_header_of_a_table_that_has_one_column_more(tmp_path):
    path = tmp_path / "nodes.txt"
    path.write_text("# made by hand\nid note\np n\nq m\n")
    made = exported(path, {"q": "a"})
    assert made.decode() == '# made by hand\nid note kind\np n ""\nq m a\n'
    assert read_back(path, made) == [None, "a"]


def test_short_rows_marks_and_gzip(tmp_path):
    path = tmp_path / "nodes.csv.gz"
    path.write_bytes(gzip.compress("\ufeffid;note;kind\n1;n;\n2;m;b\n".encode()))
    made = exported(path, {"1": "Ä"})
    assert gzip.decompress(made) == "\ufeffid;note;kind\n1;n;Ä\n2;m;b\n".encode()
    assert made == exported(path, {"1": "Ä"})


def test_another_encoding_is_kept(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_bytes("id,kind\nä,\nb,x\n".encode("latin-1"))
    columns = Columns(id="id", label="kind", encoding="latin-1")
    assert exported(path, {"ä": "ö"}, columns) == "id,kind\nä,ö\nb,x\n".encode("latin-1")


@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_keeps_its_order_of_bytes(tmp_path, order):
    path = tmp_path / "nodes.csv"
    path.write_bytes("\ufeffid,kind\nä,\n".encode(f"utf-16-{order}"))
    columns = Columns(id="id", label="kind", encoding="utf-16")
    assert exported(path, {"ä": "x"}, columns) == "\ufeffid,kind\nä,x\n".encode(f"utf-16-{order}")


def test_a_table_without_a_header(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("n1,\nn2,x\n")
    columns = Columns(id="column 1", label="column 2", no_header=("nodes",))
    assert exported(path, {"n1": "y"}, columns) == b"n1,y\nn2,x\n"


def test_a_row_that_is_gone_is_named(tmp_path):
    path = tmp_path / "nodes.csv"
    path.write_text("id,kind\n1,\n")
    with pytest.raises(DataError, match="'2'"):
        exported(path, {"2": "a"})


@pytest.mark.parametrize(("kind", "new"), [("str", "b"), ("Int64", "2"), ("Int64", "b"), ("category", "b")])
def test_parquet_keeps_its_types_where_it_can(tmp_path, kind, new):
    path = tmp_path / "nodes.parquet"
    first = "1" if kind == "Int64" else "a"
    frame = pd.DataFrame({"id": [1, 2, 3], "kind": [first, None, None], "size": [1.5, 2.5, 3.5]})
    frame.astype({"kind": kind}).to_parquet(path)
    (tmp_path / "out.parquet").write_bytes(exported(path, {"2": new}, ids=["1", "2", "3"]))
    back = pd.read_parquet(tmp_path / "out.parquet")
    assert [None if pd.isna(value) else str(value) for value in back["kind"]] == [first, new, None]
    assert back["size"].tolist() == [1.5, 2.5, 3.5]
    assert (back["kind"].dtype.kind in "if") == (kind == "Int64" and new == "2")


@pytest.mark.parametrize(
    ("kind", "new"),
    [
        (pa.decimal128(5, 2), "a"),
        (pa.decimal128(5, 2), "3"),
        (pa.bool_(), "1"),
        (pa.int64(), "03"),
        (pa.float32(), "0.1"),
        (pa.float64(), "1e3"),
    ],
)
def test_a_parquet_file_is_read_back_with_the_classes_that_were_said(tmp_path, kind, new):
    path = tmp_path / "nodes.parquet"
    old = pa.array([1, 0, None]).cast(pa.int8()).cast(kind)
    parquet.write_table(pa.table({"id": ["a", "b", "c"], "kind": old}), path)
    before = read_nodes(path, id="id", label="kind").labels
    made = exported(path, {"c": new}, ids=["a", "b", "c"])
    assert read_back(path, made) == [*before[:2], new]


def test_a_parquet_column_with_spaces_around_its_name_is_the_same_column(tmp_path):
    path = tmp_path / "nodes.parquet"
    parquet.write_table(pa.table({"id": ["a", "b"], " kind ": ["x", None]}), path)
    made = exported(path, {"b": "y"}, ids=["a", "b"])
    assert read_back(path, made) == ["x", "y"]
    assert parquet.read_table(path).column_names == ["id", " kind "]


CELLS = st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from('",;\n\t'), max_size=6)


@given(
    st.lists(st.tuples(CELLS, st.sampled_from(["", "a", "b c"])), min_size=1, max_size=6),
    st.dictionaries(st.integers(0, 5), st.sampled_from([None, "a", 'q"', "x,y", " z"]), max_size=4),
)
def test_whatever_the_cells_are_the_labels_are_read_back(tmp_path_factory, rows, new):
    path = tmp_path_factory.mktemp("export") / "nodes.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "note", "kind", "more"])
        writer.writerows([f"n{place}", note, label, note] for place, (note, label) in enumerate(rows))
    labels = {f"n{place}": label for place, label in new.items() if place < len(rows)}
    expected = [labels.get(f"n{place}", label) or None for place, (_, label) in enumerate(rows)]
    made = path.with_name("made.csv")
    made.write_bytes(exported(path, labels))
    before, after = (read_nodes(each, id="id", label="kind") for each in (path, made))
    assert after.labels == [None if label is None else label.strip() for label in expected]
    assert after.ids == before.ids
    for name in ("note", "more"):
        assert after.table.column(name).to_pylist() == before.table.column(name).to_pylist()


def test_ids_and_labels_alone():
    assert two_columns("id", [1, 2], "kind", ["a", None]) == b"id,kind\n1,a\n2,\n"
