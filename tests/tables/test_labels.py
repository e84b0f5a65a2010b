"""What is said of a column of labels that holds something else than names, and of columns that repeat it."""

import datetime

import pyarrow as pa
import pytest

from graphmix.errors import DataError
from graphmix.tables.files import read_table
from graphmix.tables.labels import kind_of_labels, label_copies, label_notes
from graphmix.tables.nodes import check_classes


def notes(*cells):
    return label_notes(read_table(pa.table({"it": list(cells)})), "it")


@pytest.mark.parametrize(
    "labels",
    [
        ("a", "b", "a"),
        ("0", "1", "2"),
        (1, 2, 3),
        (True, False),
        ("-1", "1"),
        ("+", "-"),
        (-1, 0, 1),
        ("1", "b"),
        ("v1.0", "v2.0"),
    ],
)
def test_names_and_numbers_of_classes_need_no_note(labels):
    assert notes(*labels, None) == []


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ((1990, 1991, 2020), "numbers from 1990 to 2020: each of the 3 different ones is a class"),
        (("0.5", "-7e1", "2"), "numbers from -7e1 to 2: each of the 3"),
        ((0.5, 1.5), "numbers from 0.5 to 1.5"),
        ((0, 1, 1000), "numbers from 0 to 1000"),
        (("2020-01-01", "2021-01-01"), "dates or times such as '2020-01-01'"),
        (("01.02.2020", "3/4/99"), "dates or times such as '01.02.2020'"),
        (("12:30", "13:00:01"), "dates or times such as '12:30'"),
    ],
)
def test_numbers_and_dates_are_said_to_be_such(labels, found):
    (note,) = notes(*labels, None)
    assert note.startswith(f"column 'it' holds {found}")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2], pa.timestamp("ns")),
        pa.array([datetime.date(2020, 1, 1), None]),
        pa.array([1, 2], pa.duration("s")),
        pa.array([1, 2], pa.timestamp("us", "UTC")).dictionary_encode(),
    ],
)
def test_times_cannot_be_classes(column):
    table = read_table(pa.table({"it": column}), "nodes")
    with pytest.raises(DataError, match=r"^nodes: column 'it' holds dates or times \(.*\), and classes are names"):
        label_notes(table, "it")


def test_words_that_mean_missing_are_counted():
    assert notes("a", "NA", " NA ", "None", "", None, "b") == [
        "column 'it': 2 labels 'NA' taken as missing; rename it if it is a class",
        "column 'it': 1 label 'None' taken as missing; rename it if it is a class",
    ]


@pytest.mark.parametrize("labels", [("a", "b", "?", "?"), ("a", "b", "Unknown", "Unknown"), (-1, -1, 0, 1, 2)])
def test_words_that_may_mean_missing_are_named(labels):
    (note,) = notes(*labels)
    assert "2 labels" in note
    assert "taken as a class; leave a cell empty" in note


def test_too_many_classes_are_said_to_be_numbers_or_dates():
    numbers = [f"{number}.5" for number in range(20)]
    with pytest.raises(DataError, match=r"20 classes .*: it holds numbers from 0.5 to 19.5$"):
        check_classes(numbers, "n.csv: column 'x'")
    days = [f"2020-01-{day:02}" for day in range(1, 21)]
    with pytest.raises(DataError, match=r": it holds dates or times such as '2020-01-01'$"):
        check_classes(days, "n.csv: column 'x'")
    with pytest.raises(DataError, match=r"not a class$"):
        check_classes([f"c{number}" for number in range(20)], "n.csv: column 'x'")


def test_the_kind_of_nothing_is_nothing():
    assert kind_of_labels([]) == ""


LABELS = ["a", "b", "a", "b", "c", "c", None, None]


@pytest.mark.parametrize(
    ("cells", "is_copy"),
    [
        (["x", "y", "x", "y", "z", "z", "x", None], True),
        ([1, 2, 1, 2, 3, 3, None, None], True),
        ([0.5, 1.5, 0.5, 1.5, 3, 3, 7, 8], True),
        # One value missing, but the rest agrees.
        (["x", "y", "x", "y", "z", "z", None, None], True),
        (["x", "y", "x", "y", "z", None, None, None], False),
        # Two classes share a value; a class has two values; only one value; mostly missing; all different.
        (["x", "y", "x", "y", "x", "x", None, None], False),
        (["x", "y", "w", "y", "z", "z", None, None], False),
        (["x"] * 8, False),
        (["x", "y", "x", None, None, None, None, None], False),
        (list("stuvwxyz"), False),
        ([["x"]] * 8, False),
    ],
)
def test_columns_that_say_the_same_as_the_label(cells, is_copy):
    table = read_table(pa.table({"label": LABELS, "it": cells}))
    found = label_copies(table, ["it"], LABELS, "label")
    assert len(found) == is_copy
    if is_copy:
        assert "column 'it' says the same as the label 'label': on 6 labeled rows" in found["it"]
        assert "`ignore=['it']`" in found["it"]


def test_classes_that_differ_in_case_alone_are_named():
    (note,) = notes("café", "Café", "café", "bar", "Bar", "shop", None)
    assert note == (
        "column 'it': 'Café' (1) and 'café' (2) differ only in upper and lower case and are classes of their own, "
        "and 1 more such; if they are one class, write them alike"
    )
    assert notes("bar", "shop", "bar") == []


def test_classes_that_look_alike_are_named():
    (note,) = notes("New York", "New\u00a0York", "new  york", "shop")
    assert "(1) differ only in case, spaces or forms of the same characters and are classes of their own;" in note
    (note,) = notes("Caf\u00e9", "Cafe\u0301", "Cafe")
    assert "'Cafe\u0301' (1) and 'Caf\u00e9' (1) differ only in case, spaces or forms" in note
