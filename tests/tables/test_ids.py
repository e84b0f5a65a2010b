"""Ids: the text and the type of every kind of column, and what cannot be told apart."""

import datetime
import math
import uuid
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.files import read_table
from graphmix.tables.ids import check_stored, id_text, read_ids, typed
from graphmix.tables.nodes import read_nodes

BIG = [2**63, 2**64 - 1]
HUGE = [10**37 + 1, -(10**37)]
DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12, 0, 0)
ONE = uuid.UUID("7239ddd8-aabf-491d-a7f4-55974a3912bb")
# Cells, what they are compared by, and the type they come back in.
COLUMNS = {
    "text": (pa.array(["a", " b ", "NA"]), ["a", " b ", "NA"], "text"),
    "large text": (pa.array(["a", "\u00e9", "e\u0301"], pa.large_string()), ["a", "\u00e9", "e\u0301"], "text"),
    "text view": (pa.array(["a", "b\0c"], pa.string_view()), ["a", "b\0c"], "text"),
    "categories": (pa.array(["b", "a"]).dictionary_encode(), ["b", "a"], "text"),
    "categories of integers": (pa.array([7, 2**60 + 1]).dictionary_encode(), ["7", str(2**60 + 1)], "integer"),
    "int8": (pa.array([-7, 7], pa.int8()), ["-7", "7"], "integer"),
    "int64": (pa.array([2**53, 2**53 + 1]), [str(2**53), str(2**53 + 1)], "integer"),
    "uint64": (pa.array(BIG, pa.uint64()), [str(value) for value in BIG], "integer"),
    "decimal128": (pa.array(HUGE, pa.decimal128(38)), [str(value) for value in HUGE], "integer"),
    "decimal256": (pa.array([10**70 + 1, 1], pa.decimal256(76)), [str(10**70 + 1), "1"], "integer"),
    "decimal without a fraction": (pa.array([Decimal("7.00"), Decimal("8.00")]), ["7", "8"], "integer"),
    "decimal with a fraction": (pa.array([Decimal("7.00"), Decimal("8.50")]), ["7", "8.5"], "decimal"),
    "small decimal": (pa.array([Decimal("1e-30"), Decimal(0)]), ["0." + "0" * 29 + "1", "0"], "decimal"),
    "decimal of hundreds": (pa.array([Decimal("12300")], pa.decimal128(5, -2)), ["12300"], "integer"),
    "whole float64": (pa.array([1.0, 2.0**53 - 1, -0.0]), ["1", str(2**53 - 1), "0"], "float"),
    "float64": (pa.array([0.1, -2.5, 3.0]), ["0.1", "-2.5", "3"], "float"),
    "float32": (pa.array([1, 2**24 - 1], pa.float32()), ["1", str(2**24 - 1)], "float"),
    "float16": (pa.array([1, 2**11 - 1], pa.float16()), ["1", str(2**11 - 1)], "float"),
    "booleans": (pa.array([True, False]), ["true", "false"], "text"),
    "date32": (pa.array([DAY]), ["2020-02-29"], "text"),
    "date64": (pa.array([DAY], pa.date64()), ["2020-02-29"], "text"),
    "late date": (pa.array([10**6], pa.int32()).cast(pa.date32()), ["4707-11-29"], "text"),
    "timestamp in s": (pa.array([NOON], pa.timestamp("s")), ["2020-02-29 12:00:00"], "text"),
    "timestamp in ns": (pa.array([NOON], pa.timestamp("ns")), ["2020-02-29 12:00:00"], "text"),
    "nanoseconds": (
        pa.array([1, 2, 1_500_000_000], pa.timestamp("ns")),
        ["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000002", "1970-01-01 00:00:01.5"],
        "text",
    ),
    "zoned": (pa.array([NOON], pa.timestamp("us", "UTC")), ["2020-02-29 12:00:00Z"], "text"),
    "another zone": (pa.array([NOON], pa.timestamp("ms", "+02:00")), ["2020-02-29 12:00:00Z"], "text"),
    "time": (pa.array([10**9], pa.time64("ns")), ["00:00:01"], "text"),
    "uuid": (pa.array([ONE.bytes], pa.uuid()), [str(ONE)], "text"),
}


@pytest.mark.parametrize("place", ["memory", "parquet"])
@pytest.mark.parametrize(("cells", "texts", "kind"), COLUMNS.values(), ids=COLUMNS)
def test_every_type_of_column(tmp_path, cells, texts, kind, place):
    table = pa.table({"x": cells})
    if place == "parquet":
        if getattr(cells.type, "scale", 0) < 0:
            pytest.skip("Parquet has no negative scale")
        parquet.write_table(table, tmp_path / "n.parquet")
        table = tmp_path / "n.parquet"
    nodes = read_nodes(table)
    assert (nodes.ids, nodes.id_kind) == (texts, kind)
    # What comes back has the same texts again, so it names the same nodes.
    assert [id_text(value) for value in typed(texts, kind)] == texts


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pd.Series([2**70, -1], dtype=object), "integer"),
        (pd.Series([2**64 - 1, 1]), "integer"),
        (pd.Series([10**75, 1], dtype=object), "integer"),
        (pd.Series([1, 2], dtype="Int32"), "integer"),
        (pd.Series([1, 2], dtype="category"), "integer"),
        (pd.Series([Decimal(10**30), Decimal(1)]), "integer"),
        (pd.Series(["1", "1.0"]), "text"),
        (pd.Series(["b", "a"], dtype="category"), "text"),
        (pd.Series([1.0, 2.0]), "float"),
    ],
)
def test_columns_of_a_frame(cells, kind):
    nodes = read_nodes(pd.DataFrame({"x": cells}))
    assert nodes.id_kind == kind
    assert typed(nodes.ids, kind) == cells.tolist()


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (pa.array([1.0, 2.0**53]), ["row 2", "9007199254740992.0", "64 bits", "store the ids as integers or as text"]),
        (pa.array([-1e300]), ["row 1", "-1e+300"]),
        (pa.array([math.inf]), ["row 1", "inf"]),
        (pa.array([1, 2**24], pa.float32()), ["row 2", "32 bits", "16,777,216"]),
        (pa.array([1, 2**11], pa.float16()), ["row 2", "16 bits", "2,048"]),
        (pa.array([1], pa.duration("s")), ["column 'id'", "duration[s]", "as text"]),
        (pa.array([-(2**31)], pa.int32()).cast(pa.date32()), ["row 1", "a date that cannot be written"]),
        (pa.array([b"a"]), ["column 'id' cannot be used", "binary"]),
        (pa.array([{"a": 1}]), ["column 'id' cannot be used", "struct"]),
        (pa.array([1.0, 1.0]), ["row 2", "id '1'", "row 1"]),
        (pa.array([Decimal("1.0"), Decimal("1.00")]), ["row 2", "id '1'", "row 1"]),
        (pa.array(["a", "\t\u2003"]), ["row 2", "has no id"]),
        (pa.array(["a", None]), ["row 2", "has no id"]),
        (pa.array([1.0, math.nan]), ["row 2", "has no id"]),
        (pa.nulls(1), ["row 1", "has no id"]),
    ],
)
def test_columns_that_cannot_be_ids(cells, parts):
    # A second column, which must not be taken for the ids instead.
    with pytest.raises(DataError) as raised:
        read_nodes(pa.table({"id": cells, "other": pa.array([f"o{row}" for row in range(len(cells))])}))
    for part in parts:
        assert part in str(raised.value)


def test_infinity_is_no_id():
    with pytest.raises(DataError, match=r"^row 2 of nodes: id inf in column 'id' is no number; correct it$"):
        read_nodes(pa.table({"id": [1.0, math.inf]}))


def test_an_unusable_end_is_not_replaced_by_another_column():
    from graphmix.tables.edges import read_edges

    with pytest.raises(DataError, match=r"column 'source' cannot be used: its type is binary; store it as text$"):
        read_edges(pa.table({"source": pa.array([b"a"]), "target": ["b"], "other": ["c"]}))


@given(st.lists(st.floats(-(2**53) + 1, 2**53 - 1), unique=True, min_size=1))
def test_floats_come_back_to_the_bit(values):
    ids = read_ids(read_table(pa.table({"id": pa.array(values, pa.float64())})), "id")
    texts = ids.texts.to_pylist()
    assert typed(texts, ids.kind) == values
    assert len(set(texts)) == len(values)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-(10**20), max_value=10**20)))
def test_decimals_are_compared_by_value(values):
    table = read_table(pa.table({"id": pa.array([*values, Decimal(1)], pa.decimal128(38, 9))}))
    ids = read_ids(table, "id")
    assert typed(ids.texts.to_pylist(), ids.kind) == [*values, 1]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a", "integer"),
        ("1" * 5000, "integer"),
        ("1_0", "integer"),
        (" 1", "integer"),
        ("nan", "float"),
        ("1" * 500, "decimal"),
        ("", "text"),
        ("1", "date"),
        ("1", None),
        ("1", ["text"]),
    ],
)
def test_stored_ids_are_of_their_type(text, kind):
    with pytest.raises((ValueError, TypeError)):
        check_stored([text], kind)
