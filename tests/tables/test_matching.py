"""Which node an id means: exact first, then the only one that differs by spaces or `.0`; never a wrong one."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.errors import DataError
from graphmix.tables.edges import match, read_edges
from graphmix.tables.files import read_table
from graphmix.tables.ids import read_ids
from graphmix.tables.links import place_users, read_labeled_links
from graphmix.tables.matching import Finder, alike_notes
from graphmix.tables.nodes import read_nodes


def found(nodes, cells):
    """The nodes that cells mean, as places."""
    table = read_table(pa.table({"id": cells}), "edges")
    return Finder(nodes).find(read_ids(table, "id"), table, "id").numbers.tolist()


@pytest.mark.parametrize(
    ("nodes", "cells", "expected"),
    [
        # Exact, also where another form is a node too.
        (["1", "1.0", " 1", "01", "+1", "1e0"], ["1e0", "+1", "01", " 1", "1.0", "1"], [5, 4, 3, 2, 1, 0]),
        (["true", "True", "TRUE"], ["True", "TRUE", "true"], [1, 2, 0]),
        (["\u00e9", "e\u0301"], ["e\u0301", "\u00e9"], [1, 0]),
        (["NA", "null", "nan"], ["nan", "NA", "null"], [2, 0, 1]),
        (["a\0", "a"], ["a", "a\0"], [1, 0]),
        # Without outer spaces, on either side.
        (["a", "b "], [" a", "b", "a", "b "], [0, 1, 0, 1]),
        # Without `.0`, on either side.
        (["1", "2.0", "x"], ["1.0", "2", " 2", "x.0"], [0, 1, 1, -1]),
        # Nothing else is the same.
        (["1"], ["01", "+1", "1e0", "1,0", "1.", "1.5", "\u0661"], [-1] * 7),
        # By value, whatever the type.
        (["1", "12"], [1, 12], [0, 1]),
        (["1", "12"], [1.0, 12.0], [0, 1]),
        (["1", "12"], [Decimal("1.00"), Decimal("12.00")], [0, 1]),
        (["1.0", "12.0"], [1, 12], [0, 1]),
        ([str(2**53), str(2**53 + 1)], [2**53 + 1, 2**53], [1, 0]),
        (["true"], [True], [0]),
    ],
)
def test_which_node_is_meant(nodes, cells, expected):
    assert found(nodes, cells) == expected


@pytest.mark.parametrize(
    ("nodes", "cell"),
    [
        (["a", " a"], "a "),
        (["1", " 1"], "1.0"),
        (["1.0", "1.00"], "1"),
        (["1", "1.0"], "1.00"),
        # A program may have made 1.0 from either.
        (["1", "1.0"], 1.0),
    ],
)
def test_an_id_that_may_mean_two_nodes_is_refused(nodes, cell):
    with pytest.raises(DataError, match=r"^row 1 of edges: '.*' in column 'id' may mean more than one node"):
        found(nodes, [cell])
    # Not a problem while no edge needs it.
    assert found(nodes, nodes) == [0, 1]


def test_an_exact_end_is_kept_where_another_needs_a_form():
    edges = read_edges(pa.table({"source": ["1", "1.0", "2"], "target": ["1.0", "2.0", " 3"]}))
    matched = match(["1", "1.0", "2", "3"], edges)
    assert matched.pairs.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert matched.notes[:2] == (
        "edges: ids are read without outer spaces where that matches the ids of the nodes",
        "edges: ids like 12.0 and 12 are taken as the same where that matches the ids of the nodes",
    )


def test_unknown_and_doubtful_are_told_apart():
    edges = read_edges(pa.table({"source": ["x"], "target": [" a "]}))
    with pytest.raises(DataError, match="may mean more than one node"):
        match(["a", "a "], edges, ignore_unknown=True)
    edges = read_edges(pa.table({"source": ["x", "a"], "target": ["a", "a "]}))
    assert match(["a", "a "], edges, ignore_unknown=True).kept.tolist() == [1]


TYPES = {
    "int64": (pa.int64(), int),
    "uint64": (pa.uint64(), int),
    "float64": (pa.float64(), float),
    "decimal": (pa.decimal128(38, 2), Decimal),
    "text": (pa.string(), str),
}


@given(
    st.sets(st.integers(0, 2**53 - 1), min_size=1, max_size=20),
    st.sampled_from([*TYPES]),
    st.sampled_from([*TYPES]),
    st.randoms(),
)
def test_numbers_match_by_value_in_every_pair_of_types(numbers, one, other, random):
    """Python's own equality is the oracle: 1 == 1.0 == Decimal(1)."""
    numbers = list(numbers)
    ends = random.choices(numbers, k=5)
    held, wanted = (
        pa.array([make(number) for number in values], kind)
        for values, (kind, make) in ((numbers, TYPES[one]), (ends, TYPES[other]))
    )
    nodes = read_nodes(pa.table({"id": held}))
    assert found(nodes.ids, wanted) == [numbers.index(end) for end in ends]


WORDS = st.text(st.sampled_from("a 1.0+\u00e9\n\t"), min_size=1, max_size=4).filter(str.strip)


@given(st.lists(WORDS, unique=True, min_size=1, max_size=6), st.lists(WORDS, min_size=1, max_size=6))
def test_text_is_exact_or_has_one_form_or_is_refused(nodes, ends):
    def forms(text):
        trimmed = text.strip()
        head, point, tail = trimmed.partition(".")
        whole = (
            point
            and tail
            and not tail.strip("0")
            and head.lstrip("+-").isdecimal()
            and len(head.lstrip("+-")) >= len(head) - 1
        )
        return trimmed, head if whole else trimmed

    def oracle(end):
        if end in nodes:
            return nodes.index(end)
        for which in (0, 1):
            alike = [place for place, node in enumerate(nodes) if forms(node)[which] == forms(end)[which]]
            if alike:
                return alike[0] if len(alike) == 1 else None
        return -1

    expected = [oracle(end) for end in ends]
    if None in expected:
        with pytest.raises(DataError, match=f"^row {expected.index(None) + 1} of edges: "):
            found(nodes, ends)
    else:
        assert found(nodes, ends) == expected


def test_ids_that_are_nearly_the_same_are_noted():
    assert alike_notes(["a", "b", "1"]) == []
    (note,) = alike_notes(["a", "b", " a", "1", "1.0", "1.00"])
    assert note.startswith("3 ids differ from another by outer spaces or '.0' only, such as ' a' and 'a'; they are")
    assert alike_notes(["a", " a", "b"], since=2) == []
    assert alike_notes(["a", "b", " b"], since=2)[0].startswith("1 id differs")


def links(**columns):
    return read_labeled_links(pa.table(columns))


def test_links_keep_their_own_spelling():
    placed = place_users(links(source=["a", " b", "c"], target=["b", "c", "a "]), ["a", "b", "c"], "users")
    assert placed.ids == ["a", "b", "c"]
    assert placed.ends.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert placed.spellings == ({1: " b"}, {2: "a "})


def test_links_without_nodes_take_every_text_for_a_user():
    placed = place_users(links(source=["a", " a", "1"], target=["1.0", "1", "a"]), [], None)
    assert placed.ids == ["a", " a", "1", "1.0"]
    assert placed.ends.tolist() == [[0, 1, 2], [3, 2, 0]]
    assert placed.spellings == ({}, {})


def test_links_with_a_space_after_every_comma():
    placed = place_users(links(source=["a", "b", "c"], target=[" b", " c", " d"]), [], None)
    assert placed.ids == ["a", "b", "c", " d"]
    assert placed.ends.tolist() == [[0, 1, 2], [1, 2, 3]]
    assert placed.spellings == ({}, {0: " b", 1: " c"})
    assert placed.notes == ["edges: ids are read without outer spaces where that matches the ids of the nodes"]
    # One cell without a space: they are not the file's layout.
    placed = place_users(links(source=["a", "b", "c"], target=[" b", " c", "d"]), [], None)
    assert placed.ids == ["a", "b", "c", " b", " c", "d"]


def test_a_link_to_nobody_and_a_link_to_two():
    with pytest.raises(DataError, match=r"row 2 of edges: 'd' is not among the nodes of users.csv"):
        place_users(links(source=["a", "d"], target=["a", "a"]), ["a"], "users.csv")
    with pytest.raises(DataError, match="row 1 of edges: 'a  ' in column 'target' may mean more than one node"):
        place_users(links(source=["a"], target=["a  "]), ["a", "a "], None)
