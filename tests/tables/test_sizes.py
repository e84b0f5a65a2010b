"""Limits of tables: rows, columns, cells, and what a compressed file unpacks to."""

import gzip
import re
import struct
import zlib

import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix import DataError, Limits
from graphmix.tables.files import TableFile, checksum, read_table
from peak_memory import refusal

READ = "from graphmix.tables.files import read_table\nimport pyarrow.parquet, pyarrow.compute, pyarrow.csv"
MIB = 2**20
NAMED = re.compile(r"`limit` ([a-z]+)=([0-9]+)(M?)")


@pytest.fixture
def read(write):
    """Write a table and read it with limits."""

    def read(content, name="table.csv", **limits):
        return read_table(TableFile(write(content, name), Limits(**limits)))

    return read


@pytest.fixture
def stored(tmp_path):
    """Write columns as Parquet, and read them with limits."""

    def stored(content, writing=None, **limits):
        path = tmp_path / "t.parquet"
        parquet.write_table(pa.table(content), path, **(writing or {}))
        return read_table(TableFile(path, Limits(**limits)))

    return stored


def test_limits_change_neither_the_table_nor_its_checksum(write):
    path = write("id\na\n")
    assert read_table(TableFile(path, Limits())).columns == read_table(path).columns
    assert checksum(TableFile(path, Limits())) == checksum(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_rows_up_to_the_limit_are_read_and_more_are_refused(read, name, end):
    content = ("id,text" + end + f"1,a{end}" * 60).encode()
    content = gzip.compress(content) if name.endswith("gz") else content
    assert read(content, name, rows=60).rows == 60
    with pytest.raises(DataError, match=r"table.csv.* rows, .*limit.*; if that is right, raise it with `limit` rows="):
        read(content, name, rows=59)


def test_line_breaks_in_quotes_are_no_rows(read):
    content = "id,text\n" + '1,"a\nb\n\nc ""quoted"" \n"\n' * 30
    assert read(content, rows=30).rows == 30
    with pytest.raises(DataError, match="limit"):
        read(content, rows=29)


def test_a_quote_inside_a_cell_does_not_hide_rows(read):
    with pytest.raises(DataError, match=r"table.csv has 50 rows, and the limit is 40"):
        read("id,text\n" + '1,a 5" disk\n' + "2,b\n" * 49, rows=40)


def test_a_gzip_file_of_four_gigabytes_is_refused_without_unpacking_it_into_memory(tmp_path):
    path = tmp_path / "t.csv.gz"
    piece, header, pieces = b"12,a,3.5\n" * 160_000, b"id,label,x\n", 2600
    packer = zlib.compressobj(1, wbits=-15)
    first = packer.compress(header) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush the same bytes are packed in the same way: once is enough.
    packed = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    size = len(header) + pieces * len(piece)
    with path.open("wb") as file:
        file.write(gzip.compress(b"")[:10] + first)
        for _ in range(pieces):
            file.write(packed)
        # A checksum of nought: whoever unpacked all of it would be told so, not of the limit.
        file.write(packer.flush() + struct.pack("<II", 0, size))
    done = refusal(f"read_table({str(path)!r})", READ)
    assert "unpacks to 3.49 GiB, and the limit is 2 GiB" in done.said
    # By its beginning alone: there are 416,000,000.
    assert "it has about 41" in done.said
    assert re.search(r"raise them with `limit` size=4G and `limit` rows=5\d{8}$", done.said)
    assert done.peak < 30 * MIB
    assert done.seconds < 5


def test_many_rows_of_one_value_are_refused_from_the_metadata(tmp_path):
    path = tmp_path / "t.parquet"
    million = pa.table({"id": pa.repeat(7, 10**6), "label": pa.repeat("a", 10**6)})
    with parquet.ParquetWriter(path, million.schema) as writer:
        for _ in range(30):
            writer.write_table(million)
    assert path.stat().st_size < MIB
    done = refusal(f"read_table({str(path)!r})", READ)
    assert "has 30,000,000 rows, and the limit is 20,000,000" in done.said
    assert done.said.endswith("raise it with `limit` rows=30000000")
    assert done.peak < 20 * MIB
    assert done.seconds < 2


def test_a_repeated_long_text_is_counted_as_often_as_it_occurs(tmp_path):
    path = tmp_path / "t.parquet"
    column = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), 200_000), ["x" * 100_000])
    parquet.write_table(pa.table({"id": pa.array(range(200_000)), "text": column}), path)
    assert path.stat().st_size < 3 * MIB
    done = refusal(f"read_table({str(path)!r})", READ)
    assert "t.parquet unpacks to 18.6 GiB, and the limit is 2 GiB" in done.said
    assert done.peak < 100 * MIB
    assert done.seconds < 5


def test_repeated_texts_in_lists_are_counted_too(stored):
    columns = {"id": pa.array(range(500)), "words": pa.array([["x" * 1000] * 10] * 500)}
    assert stored(columns, size=6 * MIB).rows == 500
    with pytest.raises(DataError, match=r"unpacks to 4.8\d MiB, and the limit is 4 MiB"):
        stored(columns, size=4 * MIB)


def test_the_items_of_lists_count(stored):
    columns = {"id": [1, 2], "numbers": pa.array([[0.0] * 10**6, [1.0] * 10**6])}
    with pytest.raises(DataError, match=r"unpacks to 15.3 MiB, and the limit is 8 MiB"):
        stored(columns, size=8 * MIB)
    with pytest.raises(DataError, match=r"t.parquet row 1: a cell of column 'numbers' has 7.63 MiB"):
        stored(columns, cell=4 * MIB)


def test_a_file_that_does_not_grow_is_read_whatever_its_size(stored):
    columns = {"id": pa.array(range(10_000)), "x": pa.array([place / 7 for place in range(10_000)])}
    plain = {"compression": "none", "use_dictionary": False}
    assert stored(columns, plain, size=1000).rows == 10_000


def test_columns_that_are_not_read_do_not_count(stored):
    columns = {"id": pa.array(range(100)), "picture": pa.repeat(b"\0" * 10_000, 100)}
    assert stored(columns, size=100_000).rows == 100


def test_cells_of_any_kind_have_a_limit(stored, read):
    with pytest.raises(DataError, match=r"t.parquet has cells larger than 1 MiB, the limit, in column 'text'; .*cell="):
        stored({"id": ["a"], "text": ["x" * 2**21]}, cell=MIB)
    with pytest.raises(DataError, match=r"t.parquet row 2: a cell of column 'text' has 1.95 KiB"):
        stored({"id": ["a", "b", "c"], "text": ["", "x" * 2000, "y"]}, cell=1000)
    with pytest.raises(DataError, match=r"table.csv line 3: a cell of column 'text' has 1.95 KiB"):
        read("id,text\na,\nb," + "x" * 2000 + "\n", cell=1000)
    assert read("id,text\na,\nb," + "x" * 2000 + "\n", cell=2000).rows == 2


def test_columns_have_a_limit(read, stored):
    names = [f"c{number}" for number in range(30)]
    with pytest.raises(DataError, match=r"table.csv has 30 columns, and the limit is 20"):
        read(",".join(names) + "\n" + ",".join("1" * 30) + "\n", columns=20)
    with pytest.raises(DataError, match=r"t.parquet has 30 columns, and the limit is 20"):
        stored({name: [1] for name in names}, columns=20)


def raised(error):
    """The limits that a message names."""
    return {name: int(value) * {"": 1, "M": MIB}[unit] for name, value, unit in NAMED.findall(str(error.value))}


def test_a_parquet_file_over_several_limits_is_read_once_all_that_are_named_are_raised(stored):
    numbers = {f"c{number}": pa.array(range(1000)) for number in range(29)}
    columns = {**numbers, "text": ["x" * 50_000] * 1000, "more": ["y" * 4000] * 1000}
    writing = {"compression": "zstd", "use_dictionary": ["text"]}
    with pytest.raises(DataError, match=r"has 1,000 rows.* it has 31 columns.* it unpacks to") as error:
        stored(columns, writing, size=2000, rows=20, columns=20, cell=100)
    assert raised(error).keys() == {"size", "rows", "columns", "cell"}
    # Texts that are stored once are counted only if the rest may be read.
    rest = raised(error)
    with pytest.raises(DataError, match="unpacks to") as error:
        stored(columns, writing, **rest)
    assert stored(columns, writing, **{**rest, **raised(error)}).rows == 1000


def test_a_size_that_is_named_is_that_of_all_columns(stored):
    columns = {f"c{number}": ["xy" * (400 + number)] * 5000 for number in range(4)} | {"id": pa.array(range(5000))}
    for writing in ({}, {"row_group_size": 700}):
        with pytest.raises(DataError, match=r"unpacks to 1\d(.\d)? MiB, and the limit is 3 MiB") as error:
            stored(columns, writing, size=3 * MIB)
        assert stored(columns, writing, **raised(error)).rows == 5000


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_a_number_of_rows_that_is_named_suffices(read, name):
    content = b"id,text\n" + b"".join(b"%d,%s\n" % (row, b"a" * (row % 50)) for row in range(800_000))
    content = gzip.compress(content) if name.endswith("gz") else content
    with pytest.raises(DataError, match=r"table.csv.* has about .* rows, and the limit is 900; if") as error:
        read(content, name, rows=900)
    assert read(content, name, **raised(error)).rows == 800_000


def test_a_number_of_rows_that_is_named_suffices_for_rows_that_are_all_the_same(read):
    # A hundredth of a megabyte unpacks to 24: what was read of the file is far ahead of what was unpacked.
    content = gzip.compress(b"a,b\n" * 6_000_000, mtime=0)
    with pytest.raises(DataError, match=r"has about (6,000,000|5,9\d\d,000|6,0\d\d,000) rows") as error:
        read(content, "table.csv.gz", rows=900)
    assert raised(error)["rows"] >= 6_000_000


def test_a_number_of_rows_that_was_counted_is_not_rounded(read):
    with pytest.raises(DataError, match=r"has 1,004 rows, and the limit is 1,003;"):
        read(b"id\n" + b"a\n" * 1004, "table.csv", rows=1003)


def test_the_largest_cell_is_named(read):
    with pytest.raises(DataError, match=r"table.csv line 3: a cell of column 'text' has 1.95 KiB") as error:
        read("id,text\n" + "a" * 1500 + ",\nb," + "x" * 2000 + "\n", cell=1000)
    assert read("id,text\n" + "a" * 1500 + ",\nb," + "x" * 2000 + "\n", **raised(error)).rows == 2


def test_a_sparse_file_is_refused_at_its_first_bytes(tmp_path):
    path = tmp_path / "t.csv"
    with path.open("wb") as file:
        file.truncate(10**12)
    done = refusal(f"read_table({str(path)!r})", READ)
    assert "has a NUL byte, so it is not a text table" in done.said
    assert done.seconds < 5
    assert done.peak < 50 * MIB
