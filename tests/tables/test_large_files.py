"""Tables that are read in pieces are those that are read at once, and it is told how far that is."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from graphmix.errors import DataError
from graphmix.limits import Limits
from graphmix.tables import delimited, matching
from graphmix.tables.edges import match, read_edges
from graphmix.tables.files import TableFile, read_table
from graphmix.tables.parquet_sizes import ParquetSizes
from graphmix.tables.reading import Reading
from graphmix.tables.texts import Texts

ROWS = 5000
TABLE = pa.table({"source": [f"n{row % 70}" for row in range(ROWS)], "target": [f"n{row % 90}" for row in range(ROWS)]})


def test_a_text_file_in_blocks(tmp_path, monkeypatch):
    csv.write_csv(TABLE, tmp_path / "edges.csv")
    once = read_table(tmp_path / "edges.csv")
    monkeypatch.setattr(delimited, "LARGE_FILE", 0)
    monkeypatch.setattr(delimited, "SMALL_BLOCK", 1000)
    said = []
    again = read_table(tmp_path / "edges.csv", reading=Reading(tell=lambda *told: said.append(told)))
    assert {name: column.to_pylist() for name, column in once.columns.items()} == {
        name: column.to_pylist() for name, column in again.columns.items()
    }
    assert len(said) > 10
    assert said[-1] == ("reading edges.csv", ROWS)
    (tmp_path / "edges.csv").write_text("source,target\n" + "a,b\n" * 600 + "a,b,c\n")
    with pytest.raises(DataError, match="line 602 has 3 cells"):
        read_table(tmp_path / "edges.csv")


def test_a_parquet_file_in_groups_of_rows(tmp_path):
    parquet.write_table(TABLE, tmp_path / "edges.parquet", row_group_size=512)
    said = []
    table = read_table(tmp_path / "edges.parquet", reading=Reading(tell=lambda *told: said.append(told)))
    assert table.columns["target"].to_pylist() == TABLE["target"].to_pylist()
    assert said[-1] == ("reading edges.parquet", ROWS)
    assert [rows for _, rows in said] == sorted(rows for _, rows in said)


def test_ends_are_found_in_pieces(monkeypatch):
    ids = [f"n{node}" for node in np.random.default_rng(0).permutation(90)]
    once = match(ids, read_edges(TABLE))
    monkeypatch.setattr(matching, "_PIECE", 64)
    said = []
    reading = Reading(tell=lambda *told: said.append(told))
    pieces = match(Texts(pa.array(ids)), read_edges(TABLE, reading=reading))
    assert np.array_equal(once.pairs, pieces.pairs)
    assert once.notes == pieces.notes
    assert [ids[node] for node in pieces.pairs[1]] == TABLE["target"].to_pylist()
    assert said[-1] == ("finding the ends of edges", ROWS)


def test_the_first_doubtful_id_of_any_piece_is_named(monkeypatch):
    monkeypatch.setattr(matching, "_PIECE", 4)
    cells = ["a", "b"] * 5 + ["c ", "x"]
    table = pa.table({"source": cells, "target": cells})
    with pytest.raises(DataError, match="row 11 of edges: 'c ' in column 'source' may mean more than one node"):
        match(["a", "b", " c", "  c", "x"], read_edges(table))
    with pytest.raises(DataError, match="1 edge names a node not among the nodes: 'x'"):
        match(["a", "b", "c"], read_edges(table))


def test_texts_are_a_list_without_python_objects():
    names = Texts(pa.chunked_array([["a", "b"], ["é"]]))
    assert (len(names), names[2], names[-1], list(names)) == (3, "é", "é", ["a", "b", "é"])
    assert names[1:] == ["b", "é"]
    assert names == Texts(pa.chunked_array([["a", "b", "é"]]))
    assert names != ["a", "b"]
    assert "b" in names
    assert names.index("é") == 2
    assert (
        pa.array(names).to_pylist()
        == [
            *names,
        ][:3]
    )


@pytest.mark.parametrize("count", [1, 3])
def test_texts_that_are_stored_once_are_counted_at_most_as_often_as_they_occur(tmp_path, monkeypatch, count):
    # As long as the longest, every text would take 40 bytes.
    words = pa.table({"word": (["x"] * 99 + ["y" * 40]) * 30})
    parquet.write_table(words, tmp_path / "t.parquet", row_group_size=3000 // count)
    read = []
    size_of = ParquetSizes._size_of
    monkeypatch.setattr(ParquetSizes, "_size_of", lambda *given: read.append(1) or size_of(*given))
    roomy = TableFile(tmp_path / "t.parquet", Limits(size=24_000 + 3000 * 40))
    assert read_table(roomy).rows == 3000
    assert not read  # without unpacking them
    tight = TableFile(tmp_path / "t.parquet", Limits(size=24_000 + 30 * 139))
    assert read_table(tight).rows == 3000
    assert len(read) >= count
    with pytest.raises(DataError, match="unpacks to"):
        read_table(TableFile(tmp_path / "t.parquet", Limits(size=24_000 + 30 * 139 - 1)))
