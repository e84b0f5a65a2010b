"""Files without a header are noticed before their first row is lost; headers that look odd are not taken for rows."""

import pytest

from graphmix.errors import DataError
from graphmix.tables.edges import check_first_line, read_edges
from graphmix.tables.links import read_labeled_links
from graphmix.tables.nodes import read_nodes
from graphmix.tables.reading import Reading

NO_HEADER = Reading(has_header=False)


@pytest.mark.parametrize(
    "content",
    [
        "35,1033\n35,103482\n",
        "0,1\n0,2\n",
        "n0,n1\nn1,n2\nn10,n3\n",
        "paper:12,paper:7\npaper:7,paper:12\n",
        "bob,amy\namy,bob\n",
        "3f2504e04f8911d3,9a0c0305e82c3301\n00000000aaaaaaaa,1111111122222222\n",
        "35,1033,0.5\n36,1033,0.7\n",
    ],
)
def test_edges_without_a_header_are_noticed(write, content):
    with pytest.raises(DataError, match=r"^table.csv seems to have no header: its first line, .*`no_header` edges"):
        read_edges(write(content))
    with pytest.raises(DataError, match="seems to have no header"):
        read_labeled_links(write(content))
    edges = read_edges(write(content), reading=NO_HEADER)
    assert edges.ends == ("column 1", "column 2")
    assert len(edges.source.texts) == content.count("\n")


@pytest.mark.parametrize(
    "content",
    [
        "source,target\nsource,target\n",
        "u,v\nv,u\nu,w\n",
        "a,b\n1,2\n",
        "paper1,paper2\n35,1033\n",
        "node1,node2\nnode1,node5\n",
        "from_2020,to_2020\nx1,y1\n",
        "citing paper,cited paper\n12,13\n",
        "id1,2nd id\n12,13\n",
    ],
)
def test_edges_with_a_header_are_not_taken_for_rows(write, content):
    edges = read_edges(write(content))
    assert len(edges.source.texts) == content.count("\n") - 1
    check_first_line(edges, ["x", "y"])


def test_columns_that_the_user_names_are_names(write):
    path = write("1995,1996\n1,2\n")
    assert read_edges(path, source="1995", target="1996").ends == ("1995", "1996")
    assert read_nodes(path, id="1995").ids == ["1"]


def test_ends_that_are_called_like_nodes_are_an_edge(write):
    edges = read_edges(write("amy,bob\ncat,dan\n"))
    check_first_line(edges, ["amy", "cat", "dan"])
    with pytest.raises(DataError, match=r"no header: its first line, with 'amy' and 'bob', looks like an edge"):
        check_first_line(edges, ["amy", "bob", "cat", "dan"])
    # The usual names may be ids too.
    check_first_line(read_edges(write("u,v\ncat,dan\n")), ["u", "v"])


@pytest.mark.parametrize("content", ["31336,x\n1061127,y\n", "n0\nn1\n", "p-1,1\np-2,2\n", "1995,1996\n1,2\n"])
def test_nodes_without_a_header_are_noticed(write, content):
    with pytest.raises(DataError, match=r"seems to have no header: .* looks like a node; .*`no_header` nodes"):
        read_nodes(write(content))
    assert len(read_nodes(write(content), reading=NO_HEADER).ids) == content.count("\n")


@pytest.mark.parametrize(
    "content",
    [
        "id,1995,1996\n1,5,6\n2,7,8\n",
        "paper,1995,1996\n1,5,6\n2,7,8\n",
        "1,size\nx,5\ny,6\n",
        "column1,size\n1,5\n2,6\n",
        "name,x1,x2\nx,1,2\n",
    ],
)
def test_nodes_with_a_header_are_not_taken_for_rows(write, content):
    assert len(read_nodes(write(content)).ids) == content.count("\n") - 1


def test_a_column_that_is_missing_from_what_looks_like_a_row(write):
    with pytest.raises(
        DataError, match=r"has no column 'topic'; it has 'n0', 'AI', '5'; if .* no header, give `no_header`"
    ):
        read_nodes(write("n0,AI,5\nn1,DB,6\n"), id="n0", label="topic")
    with pytest.raises(DataError, match=r"has no column 'topic'; it has 'id', 'label'$"):
        read_nodes(write("id,label\n1,DB\n"), label="topic")


@pytest.mark.parametrize("label", ["source", "Target"])
def test_a_label_that_is_called_like_an_end_moves_no_end_in_silence(write, label):
    path = write(f"{label},x,y\na,b,c\n")
    with pytest.raises(DataError, match=rf"column '{label}' is the `link_label`, .*`source` and `target`"):
        read_labeled_links(path, label=label)
    assert list(read_labeled_links(path, label=label, source="x", target="y").ids) == ["x", "y"]
    # Ends of the usual names are found whatever the label is called.
    assert list(read_labeled_links(write("from,source,target\na,b,c\n"), label="from").ids) == ["source", "target"]


def test_a_label_that_is_called_like_ids_moves_no_ids_in_silence(write):
    path = write("id,x\na,b\nc,d\n")
    with pytest.raises(DataError, match="column 'id' is the `label`, but its name is that of ids"):
        read_nodes(path, label="id")
    assert read_nodes(path, label="id", id="x").ids == ["b", "d"]


def test_a_header_in_a_table_that_is_said_to_have_none(write):
    with pytest.raises(DataError, match=r"^table.csv has a header: .*'id'; leave out `no_header`$"):
        read_nodes(write("id,x\na,b\n"), reading=NO_HEADER)
    path = write("Source,target\na,b\n")
    for read in (read_edges, read_labeled_links):
        with pytest.raises(
            DataError, match=r"^table.csv has a header: .*'Source' and 'target'; leave out `no_header`$"
        ):
            read(path, reading=NO_HEADER)


@pytest.mark.parametrize(("name", "content"), [("t.csv", "a b\n1 2\n"), ("t.tsv", "a,b\n1,2\n")])
def test_other_separators_than_the_name_says(write, name, content):
    with pytest.raises(DataError, match=r"needs two columns, .*'; if these are several names, end the file's name in "):
        read_edges(write(content, name))


def test_a_weight_that_is_called_like_an_end_moves_no_end_in_silence(write):
    with pytest.raises(DataError, match="column 'target' is the `weight`, but"):
        read_edges(write("source,target,x\n1,2,3\n"), weight="target")


def test_weights_are_read_unless_told_otherwise(write):
    path = write("source,target,Weight\na,b,2\n")
    assert read_edges(path).weight_column == "Weight"
    unweighted = read_edges(path, weighted=False)
    assert unweighted.weight_column is unweighted.weights is None
    # Whatever the cells hold.
    assert read_edges(write("source,target,weight\na,b,heavy\n"), weighted=False).weights is None
    with pytest.raises(DataError, match="`no_weight`"):
        read_edges(write("source,target,weight\na,b,\n"))
