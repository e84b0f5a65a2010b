"""Parquet's types, each brought down to text, numbers, or lists of either."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.files import read_table


@pytest.fixture
def stored(tmp_path):
    def stored(columns):
        path = tmp_path / "t.parquet"
        parquet.write_table(pa.table(columns), path)
        return read_table(path)

    return stored


_DAY = datetime.date(1970, 1, 3)
_NOON = datetime.datetime(1970, 1, 3, 12)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["x", None]), ["x", None]),
        (pa.array(["x", None], pa.large_string()), ["x", None]),
        (pa.array(["x", None]).dictionary_encode(), ["x", None]),
        (pa.array([True, None]), ["true", None]),
        (pa.array([None, None]), [None, None]),
        (pa.array([3, None], pa.int8()), [3, None]),
        (pa.array([2**63, 1], pa.uint64()), [2**63, 1]),
        (pa.array([0.5, None], pa.float32()), [0.5, None]),
        (pa.array(np.array([0.5, 2], np.float16)), [0.5, 2]),
        (pa.array([decimal.Decimal("1.50"), None]), [1.5, None]),
        (pa.array([_DAY, None], pa.date32()), [2, None]),
        (pa.array([_DAY, None], pa.date64()), [2, None]),
        (pa.array([_NOON, None], pa.timestamp("s")), [2.5, None]),
        (pa.array([_NOON, None], pa.timestamp("ns", tz="UTC")), [2.5, None]),
        (pa.array([datetime.time(18), None], pa.time32("ms")), [0.75, None]),
        (pa.array([datetime.time(18), None], pa.time64("us")), [0.75, None]),
        (pa.array([datetime.timedelta(hours=6), None], pa.duration("us")), [0.25, None]),
        (pa.array([[1, 2], None]), [[1, 2], None]),
        (pa.array([[2**62], []]), [[2.0**62], []]),
        (pa.array([[0.5], [2]], pa.list_(pa.float32(), 1)), [[0.5], [2]]),
        (pa.array([["a", "b"], []], pa.large_list(pa.string())), [["a", "b"], []]),
    ],
)
def test_types_become_text_numbers_or_lists(stored, column, expected):
    assert stored({"it": column}).columns["it"].to_pylist() == expected


@pytest.mark.parametrize(
    "column",
    [
        pa.array([{"x": 1}]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
        pa.array([b"x"]),
        pa.array([[[1]]]),
        pa.array([[{"x": 1}]]),
    ],
)
def test_other_types_are_ignored_and_named(stored, column):
    table = stored({"id": ["a"], "it": column})
    assert list(table.columns) == ["id"]
    assert table.ignored == {"it": f"its type is {table_type(column)}"}
    with pytest.raises(DataError, match=r"t.parquet: column 'it' cannot be used: its type is"):
        table.column("it")


def table_type(column):
    """The type a column has after a Parquet file, which names a list's members differently."""
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"it": column}), sink)
    return parquet.read_schema(pa.BufferReader(sink.getvalue())).field("it").type


def test_rows_are_numbered_from_one(stored):
    table = stored({"a.b": [1, 2, 3], " c ": ["x", "y", "z"]})
    assert table.where(2) == "t.parquet row 3"
    assert {name: column.to_pylist() for name, column in table.columns.items()} == {
        "a.b": [1, 2, 3],
        "c": ["x", "y", "z"],
    }


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": pa.array([], pa.int8())}, "t.parquet has columns but no rows$"),
        ({"a": [1], " a": [2]}, "t.parquet has two columns called 'a'"),
        ({" ": [1]}, "t.parquet: column 1 has no name"),
    ],
)
def test_what_is_wrong_is_named(stored, columns, message):
    with pytest.raises(DataError, match=message):
        stored(columns)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PAR1" + b"\0" * 40 + b"PAR1"])
def test_what_is_not_parquet_is_named(write, content):
    with pytest.raises(DataError, match=r"t.parquet is not a Parquet file that can be read: "):
        read_table(write(content, "t.parquet"))


def test_a_damaged_page_is_named(tmp_path, write):
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"a": np.arange(5000.0)}), sink, compression="zstd", use_dictionary=False)
    content = bytearray(sink.getvalue().to_pybytes())
    content[100:2000] = b"\xff" * 1900
    with pytest.raises(DataError, match=r"t.parquet is not a Parquet file that can be read: "):
        read_table(write(bytes(content), "t.parquet"))


def not_utf8():
    places = np.array([0, 2, 4], dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(places), pa.py_buffer(b"\xff\xfeab")])


@pytest.mark.parametrize("form", ["text", "list"])
def test_text_that_only_calls_itself_so_is_refused(stored, form):
    column = not_utf8()
    if form == "list":
        column = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), column)
    with pytest.raises(DataError, match=r"t.parquet: column 'it' holds text that is not UTF-8"):
        stored({"id": ["a", "b"], "it": column})


def test_what_pyarrow_says_of_damage_becomes_one_line(tmp_path, write):
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table({"a": np.arange(50.0)}), sink)
    whole = sink.getvalue().to_pybytes()
    refused = 0
    for place in range(4, 16):  # the head of its first page
        content = bytearray(whole)
        content[place] ^= 255
        try:
            read_table(write(bytes(content), "t.parquet"))
        except DataError as error:
            refused += 1
            said = str(error).splitlines()
            assert len(said) == 1, said
    assert refused > 3
