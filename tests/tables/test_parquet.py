"""Parquet's types, each brought down to text, numbers, or lists of either."""

import datetime
import decimal
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.files import read_table
from graphmix.tables.reading import Reading


@pytest.fixture
def stored(tmp_path):
    def stored(columns):
        path = tmp_path / "t.parquet"
        parquet.write_table(pa.table(columns), path)
        return read_table(path)

    return stored


_DAY = datetime.date(1970, 1, 3)
_NOON = datetime.datetime(1970, 1, 3, 12)
_NOW = 1_700_000_000_123_456_789
_FAR = datetime.datetime(9999, 1, 1)
_UUID = uuid.UUID(int=7)


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
        (pa.array([_NOW, None], pa.timestamp("ns")), [_NOW / 86_400e9, None]),
        (pa.array([_FAR, None], pa.timestamp("us")), [2_932_532, None]),
        (pa.array([_FAR, None], pa.timestamp("us", tz="Europe/Berlin")), [2_932_532, None]),
        (pa.array([datetime.datetime(1, 1, 1), None], pa.timestamp("us")), [-719_162, None]),
        (pa.array([2**31 - 1, -(2**31)], pa.date32()), [2**31 - 1, -(2**31)]),
        (pa.array([_NOW, 1], pa.duration("ns")), [_NOW / 86_400e9, 1 / 86_400e9]),
        (pa.array([_FAR, None], pa.timestamp("us")).dictionary_encode(), [2_932_532, None]),
        (pa.array([decimal.Decimal("1.5"), None], pa.decimal256(60, 2)), [1.5, None]),
        (pa.array([decimal.Decimal("9" * 60), None], pa.decimal256(70, 0)), [1e60, None]),
        (pa.array([decimal.Decimal("1.5"), None]).dictionary_encode(), [1.5, None]),
        (pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.uint64()), ["a", "b"]), ["b", "a"]),
        (pa.array(["x", None], pa.string_view()), ["x", None]),
        (pa.array([_UUID.bytes, None], pa.uuid()), [str(_UUID), None]),
        (pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(["{}", None])), ["{}", None]),
        (pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(4.0).reshape(2, 2, 1)), [[0, 1], [2, 3]]),
        (pa.array([[1, 2], None]), [[1, 2], None]),
        (pa.array([[True], [False, None]]), [[1], [0, None]]),
        (pa.array([[None], []]), [[None], []]),
        (pa.ListArray.from_arrays([0, 1, 2], pa.array(["a", "b"]).dictionary_encode()), [["a"], ["b"]]),
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
        pa.array([b"x"], pa.binary_view()),
        pa.array([b"xy"], pa.binary(2)),
        pa.array([[1]], pa.list_view(pa.int64())),
        pa.array([[datetime.date(2020, 1, 1)]]),
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


# Types that a Parquet file cannot hold, but a table in memory can.
@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pc.run_end_encode(pa.array(["a", "a"])), ["a", "a"]),
        (pa.DictionaryArray.from_arrays([1, 0], pa.array(["a", "b"]).dictionary_encode()), ["b", "a"]),
        (pa.DictionaryArray.from_arrays([1, 0], pa.array([[1], [2, 3]])), [[2, 3], [1]]),
        (pa.DictionaryArray.from_arrays([None, 0], pa.nulls(1)), [None, None]),
        (pa.DictionaryArray.from_arrays([1, 0], pa.array(["x", None])), [None, "x"]),
        (pa.array([2**62, -(2**62)], pa.timestamp("s")), [2**62 / 86_400, -(2**62) / 86_400]),
        (pa.DictionaryArray.from_arrays([0, 0], pa.array([{"a": 1}])), None),
        (pa.array([pa.MonthDayNano([1, 2, 3]), None]), None),
        (pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["x", "y"])]), None),
    ],
)
def test_types_of_tables_in_memory(column, expected):
    table = read_table(pa.table({"id": ["a", "b"], "it": column}))
    assert list(table.columns) == (["id"] if expected is None else ["id", "it"])
    assert expected is None or table.column("it").to_pylist() == expected


def test_the_name_of_a_huge_type_is_cut(stored):
    column = pa.array([{f"field {number}\x1b": number for number in range(10_000)}])
    (why,) = stored({"id": ["a"], "it": column}).ignored.values()
    assert len(why) < 200
    assert why.isprintable()


def test_a_damaged_column_that_is_ignored_is_not_read(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"bad": np.arange(5000.0), "id": ["a"] * 5000}), path, use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[20:2000] = b"\xff" * 1980
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a Parquet file that can be read"):
        read_table(path)
    table = read_table(path, reading=Reading(ignore=["bad"]))
    assert table.column("id")[4999].as_py() == "a"


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


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"PAR1" + b"\0" * 40 + b"PAR1"])
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
def test_text_that_only_calls_itself_so_is_left_out(stored, form):
    column = not_utf8()
    if form == "list":
        column = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), column)
    table = stored({"id": ["a", "b"], "it": column})
    assert list(table.columns) == ["id"]
    with pytest.raises(DataError, match=r"t.parquet: column 'it' cannot be used: it holds text that is not UTF-8"):
        table.column("it")


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
