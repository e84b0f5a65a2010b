"""Tables in memory: read as the same table in a Parquet file is, and named in messages."""

import datetime
import hashlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables import simplified
from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.edges import match, read_edges
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import checksum, read_table
from graphmix.tables.links import read_labeled_links
from graphmix.tables.nodes import read_nodes
from graphmix.tables.reading import Reading

pd = pytest.importorskip("pandas")

COLUMNS = {
    "id": [1, 2, 3, 4],
    "topic": ["AI", "DB", None, "AI"],
    "year": [1990.5, 2000, np.nan, 2010],
    "open": [True, False, True, False],
    "day": [datetime.datetime(1970, 1, day) for day in (1, 2, 3, 5)],
    "vector": [[0.5, 1.0], [1.5, 2.0], [0.0, 1.0], [2.0, 2.0]],
    "words": [["a", "b"], ["b"], [], ["a"]],
}


def frame():
    return pd.DataFrame(COLUMNS)


@pytest.mark.parametrize("make", [frame, lambda: pa.Table.from_pandas(frame())], ids=["pandas", "pyarrow"])
def test_a_table_in_memory_is_the_table_in_a_file(tmp_path, make):
    parquet.write_table(pa.Table.from_pandas(frame(), preserve_index=False), tmp_path / "t.parquet")
    expected = read_table(tmp_path / "t.parquet")
    found = read_table(make())
    assert found.rows == 4
    for name, column in expected.columns.items():
        assert found.columns[name].type == column.type
        assert found.columns[name].to_pylist() == column.to_pylist()
    choices = choose_columns(found, exclude=["id"])
    assert choices == choose_columns(expected, exclude=["id"])
    kinds = used_kinds(choices)
    features = [Encoders.fit(table, kinds).encode(table).x.toarray() for table in (found, expected)]
    np.testing.assert_array_equal(*features)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y", "x"]),
        (pd.Series([1, None, 3], dtype="Int64"), [1, None, 3]),
        (pd.Series(["x", None, "z"], dtype="string"), ["x", None, "z"]),
        (pd.Series(["x", None, "z"], dtype=object), ["x", None, "z"]),
        (pd.to_datetime(pd.Series(["1970-01-02", None, "1970-01-04"])), [1, None, 3]),
        (pd.Series([None, None, None], dtype=object), [None, None, None]),
    ],
)
def test_pandas_types_become_text_or_numbers(column, expected):
    assert read_table(pd.DataFrame({"it": column})).columns["it"].to_pylist() == expected


def test_the_index_is_not_a_column():
    indexed = frame().set_index("id")
    assert "id" not in read_table(indexed).columns
    assert read_nodes(indexed.reset_index()).ids == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("cells", "name"), [([b"x"], "binary"), ([{"a": 1}], "struct"), (pa.array([pa.MonthDayNano([1, 2, 3])]), "month")]
)
def test_types_that_cannot_be_used_are_ignored_and_named(cells, name):
    table = read_table(pa.table({"id": ["a"], "it": cells}), "nodes")
    assert list(table.columns) == ["id"]
    with pytest.raises(DataError, match=f"^nodes: column 'it' cannot be used: its type is {name}"):
        table.column("it")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([1, "x"], r"its cells have several types \(int, str\); give them one, for example with astype\(str\)"),
        (["x", {"a": 1}], r"several types \(str, dict\)"),
        ([["x"], "y"], r"several types \(list, str\)"),
        ([range(2), range(3)], "its type is object"),
        ([1j, 2j], "its type is complex128"),
        (pd.Series(["\ud800", "x"], dtype=object), "pyarrow cannot convert it"),
    ],
)
def test_a_column_that_pandas_mixes_is_left_out_alone(cells, why):
    frame = pd.DataFrame({"id": [1, 2], "it": cells, "size": [0.5, 1.5]})
    table = read_table(frame, "nodes")
    assert list(table.columns) == ["id", "size"]
    with pytest.raises(DataError, match=f"^nodes: column 'it' cannot be used: .*{why}"):
        table.column("it")
    # What cannot be used cannot change a result.
    assert checksum(frame) == checksum(frame.drop(columns="it"))


def test_an_ignored_column_is_not_converted_until_it_is_needed(monkeypatch):
    converted = []
    real = simplified._simplified
    monkeypatch.setattr(simplified, "_simplified", lambda column: converted.append(column.type) or real(column))
    source = pa.table({"id": [1.0, 2.0], "when": pa.array([1, 2], pa.timestamp("ns"))})
    table = read_table(source, reading=Reading(ignore=["when"]))
    assert converted == [pa.float64()]
    assert list(table.columns) == ["id", "when"]
    assert table.column("when").to_pylist() == [1 / 86_400e9, 2 / 86_400e9]
    assert "when" in table.exact


def test_rows_are_named_with_their_table():
    assert read_table(frame(), "nodes").where(12) == "row 13 of nodes"
    with pytest.raises(DataError, match=r"^row 3 of nodes: id 'a' .*row 1 of nodes"):
        read_nodes(pd.DataFrame({"id": ["a", "b", "a"]}))
    with pytest.raises(DataError, match=r"^row 2 of edges has no id"):
        read_edges(pa.table({"source": ["a", "b"], "target": ["b", None]}))
    with pytest.raises(DataError, match=r"'x' \(row 1 of edges\)"):
        match(["a"], read_edges(pa.table({"source": ["a"], "target": ["x"]})))
    with pytest.raises(DataError, match=r"^row 1 of edges: 'half' in column 'part'"):
        read_labeled_links(pd.DataFrame({"source": ["a"], "target": ["b"], "part": ["half"]}), split="part")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pa.table({"a": pa.array([], pa.int8())}), "^nodes has no rows$"),
        (lambda: pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]), "^nodes has two columns called 'a'"),
        (lambda: pa.table({" ": [1]}), "^nodes: column 1 has no name"),
        (lambda: pd.DataFrame(), "^nodes has no rows$"),
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), "^nodes has two columns called 'a'"),
        (lambda: {"a": [1]}, "^nodes must be a path, a pyarrow Table or a pandas DataFrame, not dict$"),
        (lambda: None, "^nodes must be a path, .* not NoneType$"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(DataError, match=message) as caught:
        read_table(make(), "nodes")
    assert "\n" not in str(caught.value)


def test_the_checksum_of_a_file_is_that_of_its_bytes(write):
    path = write(b"a,b\n" + b"1,2\n" * 700_000)
    assert checksum(path) == checksum(str(path)) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_equal_tables_in_memory_have_equal_checksums():
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    # However it is cut into pieces, and whether pandas or pyarrow holds it.
    cut = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert checksum(table) == checksum(cut) == checksum(frame())
    changed = frame()
    changed.loc[3, "topic"] = "DB"
    renamed = frame().rename(columns={"topic": "label"})
    assert len({checksum(each) for each in (table, changed, renamed, table.slice(1))}) == 4


def test_importing_tables_loads_neither_pandas_nor_pyarrow():
    code = "import sys, graphmix.tables; print(sorted({'pandas', 'pyarrow'} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
