"""What large tables take is estimated before they are read, and what cannot fit is refused."""

import gzip

import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.limits import GIB
from graphmix.tables import estimates
from graphmix.tables.estimates import CELL, EDGE, NODE, Estimate, TableSize, estimate, size_of
from graphmix.tables.reading import Reading

LARGE = Estimate(TableSize(10_000_000, 52), TableSize(100_000_000, 2))


def test_sizes_are_those_of_the_metadata_and_of_the_first_lines(tmp_path):
    parquet.write_table(pa.table({"a": range(1000), "b": range(1000)}), tmp_path / "t.parquet")
    assert size_of(tmp_path / "t.parquet") == TableSize(1000, 2)
    (tmp_path / "t.csv").write_text("source,target\n" + "n1,n2\n" * 500)
    assert size_of(tmp_path / "t.csv") == TableSize(501, 2)
    long = "source;target;weight\n" + "n1;n2;3\n" * 400_000
    (tmp_path / "long.csv").write_text(long)
    found = size_of(tmp_path / "long.csv")
    assert found.columns == 3
    assert found.rows == pytest.approx(400_000, rel=0.01)
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n")
    assert size_of(tmp_path / "t.csv.gz") == TableSize(2, 2)
    (tmp_path / "no.parquet").write_text("no table")
    assert size_of(tmp_path / "no.parquet") is None
    assert size_of(tmp_path / "missing.csv") is None
    assert estimate(tmp_path / "t.csv", pa.table({"a": [1]})) is None
    assert estimate(tmp_path / "t.csv", tmp_path / "t.csv").edges.rows == 501


def test_columns_that_are_ignored_do_not_count(tmp_path):
    wide = pa.table({"id": ["a"], "topic": ["x"], "f.0": [1.0], "f1": [1.0], "words": [["a", "b"]]})
    parquet.write_table(wide, tmp_path / "t.parquet")
    for ignore, columns in (((), 5), (("f.0", "words"), 3), (("f", "nothing"), 4)):
        assert size_of(tmp_path / "t.parquet", Reading(ignore=ignore)).columns == columns, ignore
    (tmp_path / "t.csv").write_bytes('id;"Größe";f1\r\na;1;2\r\n'.encode("latin-1"))
    assert size_of(tmp_path / "t.csv", Reading("latin-1", ignore={"Größe", "f1"})).columns == 1
    assert size_of(tmp_path / "t.csv", Reading("latin-1", False, {"column 1", "f1"})).columns == 2
    assert size_of(tmp_path / "t.csv", Reading("no such encoding")) is None
    found = estimate(tmp_path / "t.parquet", tmp_path / "t.csv", Reading(ignore={"f1"}))
    assert (found.nodes.columns, found.edges.columns) == (4, 3)


def test_what_an_estimate_says():
    needed = 300 * 2**20 + 10_000_000 * (NODE + 52 * CELL) + 100_000_000 * EDGE
    assert LARGE.memory == needed
    assert str(LARGE).startswith("about 10,000,000 nodes and 100,000,000 edges: reading them takes about ")
    assert LARGE.is_large
    assert not Estimate(TableSize(1000, 5), TableSize(1000, 2)).is_large
    LARGE.check(free=needed, room=LARGE.disk)


def test_tables_that_cannot_fit_are_refused_with_what_would():
    with pytest.raises(DataError, match=r"only 13 GiB of memory are free; about .* edges would fit with all nodes"):
        LARGE.check(free=13 * GIB)
    with pytest.raises(DataError, match="not even the nodes fit, of which about 1,"):
        LARGE.check(free=2 * GIB)
    with pytest.raises(DataError, match="where only 1 GiB are free; make room, or choose another folder"):
        LARGE.check(free=2**40, room=GIB)


def test_a_refusal_names_ignore_where_it_would_help():
    with pytest.raises(DataError, match="leave others out; or leave columns out with `ignore`: of 52 about 44 would"):
        LARGE.check(free=13 * GIB)
    Estimate(TableSize(10_000_000, 44), LARGE.edges).check(free=13 * GIB)
    narrow = Estimate(TableSize(10_000_000, 2), LARGE.edges)
    with pytest.raises(DataError, match=r"leave others out$"):
        narrow.check(free=4 * GIB)
    with pytest.raises(DataError, match="would: leave columns out with `ignore`, or divide the graph"):
        LARGE.check(free=2 * GIB)
    with pytest.raises(DataError, match="would: divide the graph"):
        LARGE.check(free=GIB)


def test_what_is_said_to_fit_does(monkeypatch):
    free = int(0.6 * LARGE.memory)
    with pytest.raises(DataError) as error:
        LARGE.check(free=free)
    edges = int(str(error.value).split("free; about ")[1].split(" edges")[0].replace(",", ""))
    Estimate(LARGE.nodes, TableSize(int(0.99 * edges), 2)).check(free=free)
    assert estimates.EDGE * edges < free
