"""Headers, comments and separators of text tables, and quotes that are not closed."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.errors import DataError
from graphmix.tables import checked_text
from graphmix.tables.checked_text import CheckedText
from graphmix.tables.files import read_table
from graphmix.tables.layout import find_layout
from graphmix.tables.quotes import find_open_quote
from graphmix.tables.reading import Reading


def cells(table):
    return {name: column.to_pylist() for name, column in table.columns.items()}


NO_HEADER = Reading(has_header=False)
SNAP = "# Directed graph: CA-GrQc.txt \n# Nodes: 5242 Edges: 28980\n# FromNodeId\tToNodeId\n3466\t937\n3466\t5233\n"


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["t.txt", "t.tsv", "t.txt.gz"])
@pytest.mark.parametrize("piece", [7, 2**20])
def test_comments_at_the_top_are_skipped_and_the_last_names_the_columns(write, monkeypatch, break_, name, piece):
    monkeypatch.setattr(checked_text, "PIECE", piece)
    raw = SNAP.replace("\n", break_).encode()
    table = read_table(write(gzip.compress(raw) if name.endswith("gz") else raw, name))
    assert cells(table) == {"FromNodeId": ["3466", "3466"], "ToNodeId": ["937", "5233"]}
    assert break_ == "\r" or table.where(1) == f"{name} line 5"


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        # A header of its own below the comments.
        ("# from the web\n# 2024\na,b\n1,2\n", "t.csv", {"a": ["1"], "b": ["2"]}),
        ("# from the web\na,b\n1,2\n", "t.csv", {"a": ["1"], "b": ["2"]}),
        ("# animals\nid\ncat\n", "t.csv", {"id": ["cat"]}),
        ("# from\tto\n1\t2\n", "t.tsv", {"from": ["1"], "to": ["2"]}),
        # Comments with as many words as there are columns.
        ("# a b c\n1 2 3\n4 5 6\n", "t.txt", {"a": ["1", "4"], "b": ["2", "5"], "c": ["3", "6"]}),
        ("# a  b\tc\n1 2 3\n4 5 6\n", "t.txt", {"a": ["1", "4"], "b": ["2", "5"], "c": ["3", "6"]}),
        ("# name city\nann rome\nbob oslo\n", "t.txt", {"name": ["ann", "bob"], "city": ["rome", "oslo"]}),
        ("# my own graph\nid x y\na p q\n", "t.txt", {"id": ["a"], "x": ["p"], "y": ["q"]}),
        ("# my graph\n\nFrom To\na b\n", "t.txt", {"From": ["a"], "To": ["b"]}),
        ("# my papers\npaper year\n\na 1990\n", "t.txt", {"paper": ["a"], "year": ["1990"]}),
        ("# id year\na unknown\nb 1990\n", "t.txt", {"id": ["a", "b"], "year": ["unknown", "1990"]}),
        ("# a b\na b\nc d\n", "t.txt", {"a": ["c"], "b": ["d"]}),
        ("# from,the,web\nid,x,y\n1,2,3\n", "t.csv", {"id": ["1"], "x": ["2"], "y": ["3"]}),
        # Rows that look like a header: the comment has the names, and no row is lost.
        ("# from_node,to_node\nu,v\nv,w\n", "t.csv", {"from_node": ["u", "v"], "to_node": ["v", "w"]}),
        ("# from_node to_node\nu v\nv w\n", "t.txt", {"from_node": ["u", "v"], "to_node": ["v", "w"]}),
        ("# name,score\nAlice,n/a\nBob,3\n", "t.csv", {"name": ["Alice", "Bob"], "score": ["n/a", "3"]}),
        ("# name score\nAlice unknown\nBob 3\n", "t.txt", {"name": ["Alice", "Bob"], "score": ["unknown", "3"]}),
        ("# term,pos\nnode,noun\ngraph,noun\n", "t.csv", {"term": ["node", "graph"], "pos": ["noun", "noun"]}),
        ("# user\tstars\nann\tnew\nbob\t3\n", "t.tsv", {"user": ["ann", "bob"], "stars": ["new", "3"]}),
        ("# source,target\nu,v\nsource,target\n", "t.csv", {"source": ["u", "source"], "target": ["v", "target"]}),
        # Headers below a comment with as many cells.
        ("# MovieLens, 100K\nuser,rating\n1,2\n4,5\n", "t.csv", {"user": ["1", "4"], "rating": ["2", "5"]}),
        ("# units: m\tkg\nheight\tweight\n1\t2\n", "t.tsv", {"height": ["1"], "weight": ["2"]}),
        ("# some, table\nid,kind\n1,id\n2,name\n", "t.csv", {"id": ["1", "2"], "kind": ["id", "name"]}),
        (
            "# made by me\nid year x\na 1990 x1\nb 1991 id\n",
            "t.txt",
            {"id": ["a", "b"], "year": ["1990", "1991"], "x": ["x1", "id"]},
        ),
        # The mark is part of a name.
        ("#id,b\n1,2\n", "t.csv", {"#id": ["1"], "b": ["2"]}),
        ("#id\n1\n", "t.csv", {"#id": ["1"]}),
        ("a,b\n#1,2\n", "t.csv", {"a": ["#1"], "b": ["2"]}),
        ("#tag,n\n#cat,1\ndog,2\n", "t.csv", {"#tag": ["#cat", "dog"], "n": ["1", "2"]}),
        ("#tag\n#cat\ndog\n", "t.csv", {"#tag": ["#cat", "dog"]}),
        ("#tag\n#cat\n", "t.csv", {"#tag": ["#cat"]}),
        ("# from the web\n\n\na,b\n1,2\n", "t.csv", {"a": ["1"], "b": ["2"]}),
        # Excel's line.
        ("sep=;\n\na;b\n1,5;2\n", "t.csv", {"a": ["1,5"], "b": ["2"]}),
        ("sep=;\na;b\n1,5;2\n", "t.csv", {"a": ["1,5"], "b": ["2"]}),
        ('"sep=|"\r\na|b\r\n1|2\r\n', "t.csv", {"a": ["1"], "b": ["2"]}),
        # Other separators.
        ("a|b\n1|2\n", "t.csv", {"a": ["1"], "b": ["2"]}),
        ("a b\n1 2\n", "t.txt", {"a": ["1"], "b": ["2"]}),
        ("id\none word\ntwo\n", "t.txt", {"id": ["one word", "two"]}),
        ("a title\none\ntwo words\nthree\n", "t.txt", {"a title": ["one", "two words", "three"]}),
    ],
)
def test_headers_and_separators(write, content, name, expected):
    assert cells(read_table(write(content, name))) == expected


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        ("1,2\n3,4\n", "t.csv", {"column 1": ["1", "3"], "column 2": ["2", "4"]}),
        ("1,2", "t.csv", {"column 1": ["1"], "column 2": ["2"]}),
        ("\ufeff\n1,2\n", "t.csv", {"column 1": ["1"], "column 2": ["2"]}),
        ('"x\ny",2\n', "t.csv", {"column 1": ["x\ny"], "column 2": ["2"]}),
        ("0 1\n0 2\n", "t.txt", {"column 1": ["0", "0"], "column 2": ["1", "2"]}),
        ("# a b\n0 1\n", "t.txt", {"column 1": ["0"], "column 2": ["1"]}),
        ("x,x\n", "t.csv", {"column 1": ["x"], "column 2": ["x"]}),
    ],
)
def test_without_a_header_columns_are_numbered(write, content, name, expected):
    assert cells(read_table(write(content, name), reading=NO_HEADER)) == expected
    latin = write(content.removeprefix("\ufeff").encode("latin-1"), name)
    assert cells(read_table(latin, reading=Reading("latin-1", has_header=False))) == expected


def test_lines_are_named_without_a_header(write):
    assert read_table(write("1,2\n3,4\n"), reading=NO_HEADER).where(1) == "table.csv line 2"
    with pytest.raises(DataError, match=r"^table.csv line 2 has 1 cell, "):
        read_table(write("1,2\n3\n"), reading=NO_HEADER)


def test_tables_that_always_name_their_columns(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"a": [1]})
    parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        with pytest.raises(DataError, match="names its columns itself; `no_header` is only for text files"):
            read_table(source, reading=NO_HEADER)


def test_cells_apart_by_several_spaces_are_named(write):
    with pytest.raises(DataError, match=r"^t.txt: several spaces separate its cells"):
        read_table(write("a   b\n1   2\n10  3\n", "t.txt"))


def test_a_separator_alone_is_no_table(write):
    with pytest.raises(DataError, match=r"^table.csv has a separator in its first line, but no rows$"):
        read_table(write("sep=;\n\n"))


def test_a_title_above_the_header_is_named(write):
    with pytest.raises(
        DataError, match=r"^table.csv line 3 has 2 cells, .*; if it is the header, remove the lines above"
    ):
        read_table(write("My papers\n\nid,topic\n1,a\n"))


def test_many_columns_do_not_take_long(write):
    names = [f"c{number}" for number in range(30_000)]
    assert len(read_table(write(",".join(names) + "\n" + ",".join("1" * 30_000) + "\n")).columns) == 30_000
    with pytest.raises(DataError, match="two columns called 'c7'"):
        read_table(write(",".join([*names, "c7"]) + "\n"))


@pytest.mark.parametrize(
    ("text", "most", "line"),
    [
        ('a,b\n1,"x\n2,y\n', None, 2),
        ('a,b\n1,"x\n2,y"\n', None, None),
        ('a,b\n1,"x ""y""\n2,y"\n"z', None, 4),
        ('"a\n', None, 1),
        ('5" disk,x "y"\n', None, None),
        ('a,""\n"",""""\n', None, None),
        ('a\n"1234567890"\n"', 5, 2),
        ('a\n"1234567890"\n"', 10, 3),
        ('a\n"1234567890', 5, 2),
        ("", None, None),
    ],
)
def test_where_an_open_quote_is(text, most, line):
    raw = text.encode()
    for size in (1, 2, 3, 100):
        pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
        found = find_open_quote(pieces, ",", most)
        # A quote that is still open at the end is open, however little follows it.
        assert found == line, size


@given(st.lists(st.sampled_from(["a", ",", "\n", '"']), max_size=30).map("".join), st.integers(1, 9))
def test_pieces_do_not_matter_to_open_quotes(text, size):
    raw = text.encode()
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    assert find_open_quote(pieces, ",") == find_open_quote([raw], ",")


def test_a_header_does_not_depend_on_how_much_of_the_file_was_read(write):
    head = b"# my, short, list\nid,label,text\n" + b"".join(b"n%d,A,%s\n" % (row, b"x" * 100) for row in range(1000))
    whole = head + b"id,label,text\n"
    path = write(whole, "t.csv")
    layouts = [find_layout(CheckedText(path, "utf-8"), read, ".csv", Reading()) for read in (head, whole)]
    assert [layout.names for layout in layouts] == [["id", "label", "text"]] * 2


def test_a_comment_names_the_columns_of_a_wide_table(write):
    names = [f"a rather long name of column {number}" for number in range(3000)]
    rows = [",".join(f"v{row}{number}" for number in range(3000)) for row in range(3)]
    table = read_table(write("\n".join(["# " + ",".join(names), *rows, ""]), "t.csv"))
    assert (list(table.columns), table.rows) == (names, 3)
