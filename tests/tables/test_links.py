"""Edges: their ends found among the nodes, and what is said of those that are not."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.edges import EdgeTable, match, read_edges
from graphmix.tables.ids import Ids


@pytest.fixture
def edges(write):
    def edges(content, **named):
        return read_edges(write(content, "edges.csv"), **named)

    return edges


@pytest.mark.parametrize(
    ("header", "named", "ends"),
    [
        ("x,Target,SOURCE", {}, ("SOURCE", "Target")),
        ("x,src,dst", {}, ("src", "dst")),
        ("to,from,x", {}, ("from", "to")),
        ("x,cited,citing", {}, ("citing", "cited")),
        ("x,y,z", {}, ("x", "y")),
        ("source,target,x", {"source": "x", "target": "source"}, ("x", "source")),
        ("x,y,z", {"source": "y"}, ("y", "x")),
        ("x,y,z", {"target": "x"}, ("y", "x")),
    ],
)
def test_the_ends_columns_are_found_or_named(edges, header, named, ends):
    table = edges(f"{header}\n1,2,3\n", **named)
    assert set(ends) <= table.used
    cells = dict(zip(header.split(","), "123", strict=True))
    assert (table.source.texts.to_pylist(), table.target.texts.to_pylist()) == ([cells[ends[0]]], [cells[ends[1]]])


def test_weights_are_found_or_named(edges):
    assert edges("a,b,c\n1,2,3\n").weights is None
    assert edges("a,b,Weight\n1,2,0.5\n2,1,0\n").weights.tolist() == [0.5, 0]
    named = edges("a,b,weight,w\n1,2,x,3\n", weight="w")
    assert named.weights.tolist() == [3]
    assert named.used == {"a", "b", "w"}


@pytest.mark.parametrize(
    ("content", "named", "message"),
    [
        ("a\n1\n", {}, "edges.csv needs two columns, one for each end; it has 'a'$"),
        ("a,b\n1,2\n", {"source": "x"}, "edges.csv has no column 'x'"),
        ("a,b\n1,2\n", {"weight": "x"}, "edges.csv has no column 'x'"),
        ("a,b\n1,2\n", {"source": "a", "target": "a"}, "column 'a' cannot be both ends of the edges"),
        ("a,b\n1,2\n3,\n", {}, "^edges.csv line 3 has no id: column 'b' is empty there$"),
        ("a,b,weight\n1,2,1\n1,2,-0.5\n", {}, "^edges.csv line 3: '-0.5' in column 'weight' is negative"),
        ("a,b,weight\n1,2,1\n1,2,\n", {}, "^edges.csv line 3: '' in column 'weight' is missing"),
        ("a,b,weight\n1,2,1\n1,2,NaN\n", {}, "^edges.csv line 3: 'NaN' in column 'weight' is missing"),
        ("a,b,weight\n1,2,1\n1,2,inf\n", {}, "^edges.csv line 3: 'inf' in column 'weight' is too large"),
        ("a,b,weight\n1,2,1\n1,2,much\n", {}, "^edges.csv line 3: 'much' in column 'weight' is not a number"),
    ],
)
def test_what_is_wrong_is_named(edges, content, named, message):
    with pytest.raises(DataError, match=message):
        edges(content, **named)


def test_lists_are_no_ends(tmp_path):
    parquet.write_table(pa.table({"a": [["x"]], "b": ["y"]}), tmp_path / "e.parquet")
    with pytest.raises(DataError, match=r"e.parquet: column 'a' holds lists"):
        read_edges(tmp_path / "e.parquet")


def test_ends_become_node_numbers(edges):
    found = match(["b", "a", "NA"], edges("s,t\na,b\nNA,a\nb,a\n"))
    assert found.pairs.tolist() == [[1, 2, 0], [0, 1, 1]]
    assert found.kept.tolist() == [0, 1, 2]
    assert (found.pairs.dtype, found.kept.dtype) == (np.int32, np.int64)


def test_what_becomes_of_directions_loops_and_repeats_is_said(edges):
    # a-b in both directions and again, a-c in one, a loop twice.
    found = match(["a", "b", "c"], edges("s,t\na,b\nb,a\na,b\na,c\nc,c\nc,c\n"))
    assert found.pairs.shape == (2, 6)
    assert found.notes == (
        "2 edges from a node to itself dropped",
        "1 repeated edge merged",
        "1 edge without a reverse, used in both directions",
    )
    assert match(["a", "b"], edges("s,t\na,b\nb,a\n")).notes == ()


def test_edges_of_weight_0_are_said_to_be_left_out(edges):
    # The last edge would be one without a reverse, if it were used.
    found = match(["a", "b", "c"], edges("s,t,weight\na,b,1\na,b,2\nb,a,1\na,c,0\n"))
    assert found.notes == ("1 edge of weight 0 left out", "1 repeated edge merged, weights added")
    kept = match(["a", "b"], edges("s,t,weight\nx,b,1\nb,a,0\na,b,1\n"), ignore_unknown=True)
    assert kept.notes[1:] == ("1 edge of weight 0 left out", "1 edge without a reverse, used in both directions")


@pytest.mark.parametrize(
    ("node", "end"),
    [("01001", "1001"), ("Ann", "ANN"), ("Caf\u00e9", "Cafe\u0301"), ("New York", "New\u00a0 York"), ("a", "\ufeffa")],
)
def test_an_unknown_id_that_looks_like_a_node_names_it(edges, node, end):
    with pytest.raises(DataError, match=r"\(edges.csv line 3\); '.*' may be '.*', written otherwise: ") as raised:
        match(["other", node], edges(f"s,t\nother,{node}\n{end},other\n"))
    assert str(raised.value).endswith("in both tables; `ignore_unknown` leaves them out")


UNKNOWN = "s,t\na,b\nx,b\nb,y\nz,x\na,b\nu,v\nw,a\n"


def test_unknown_ids_are_listed(edges):
    message = (
        r"^5 edges name nodes not among the nodes: 'x' \(edges.csv line 3\), 'y' \(edges.csv line 4\), "
        r"'z' \(edges.csv line 5\), 'u' \(edges.csv line 7\), 'v' \(edges.csv line 7\), …; `ignore_unknown` leaves"
    )
    with pytest.raises(DataError, match=message):
        match(["a", "b"], edges(UNKNOWN))
    with pytest.raises(
        DataError, match=r"^1 edge names a node not among the nodes: 'x' \(edges.csv line 2\); `ignore_unknown`"
    ):
        match(["a", "b"], edges("s,t\na,x\n"))


def test_unknown_ids_can_be_ignored(edges):
    found = match(["a", "b"], edges(UNKNOWN), ignore_unknown=True)
    assert found.kept.tolist() == [0, 4]
    assert found.pairs.tolist() == [[0, 0], [1, 1]]
    assert found.notes[0] == "5 edges left out because an end is not among the nodes"
    none = match(["c"], edges(UNKNOWN), ignore_unknown=True)
    assert none.pairs.shape == (2, 0)


def test_a_point_and_zero_after_whole_numbers_does_not_matter(edges):
    note = "edges.csv: ids like 12.0 and 12 are taken as the same where that matches the ids of the nodes"
    found = match(["1", "2", "x"], edges("s,t\n1.0,2\n2.0,x\n"))
    assert found.pairs.tolist() == [[0, 1], [1, 2]]
    assert found.notes[0] == note
    assert match(["1.0", "2.0"], edges("s,t\n1,2\n")).pairs.tolist() == [[0], [1]]
    # Ids that are known as they stand are left as they are.
    assert match(["1", "1.0"], edges("s,t\n1.0,1\n")).pairs.tolist() == [[1], [0]]
    with pytest.raises(DataError, match=r"^1 edge names a node not among the nodes: '3.0' \(edges.csv line 3\)"):
        match(["1", "2"], edges("s,t\n1.0,2\n2,3.0\n"))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30), st.permutations("abcde"))
def test_matching_is_looking_up(pairs, ids):
    source, target = ([f"{'abcdefg'[pair[end]]}" for pair in pairs] for end in (0, 1))
    arrays = (Ids(pa.array(end, pa.large_string())) for end in (source, target))
    found = match(ids, EdgeTable(None, *arrays, None, None, frozenset("st")), ignore_unknown=True)
    expected = [row for row, ends in enumerate(zip(source, target, strict=True)) if set(ends) <= set(ids)]
    assert found.kept.tolist() == expected
    assert [ids[node] for node in found.pairs[0]] == [source[row] for row in expected]
    assert [ids[node] for node in found.pairs[1]] == [target[row] for row in expected]
    directed = {(one, other) for one, other in found.pairs.T.tolist() if one != other}
    single = sum(ends[::-1] not in directed for ends in directed)
    said = [note for note in found.notes if "without a reverse" in note]
    assert [int(note.split()[0]) for note in said] == [single] * (single > 0)
