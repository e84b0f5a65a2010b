"""Files whose names say another format than their bytes: each is named, with the way out."""

import gzip
import io
import os
import pickle
import socket
import sqlite3
import tarfile
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from graphmix.errors import DataError
from graphmix.tables.files import read_table
from graphmix.tables.reading import Reading

TABLE = pa.table({"a": [1, 2]})


def written(write, *arguments):
    sink = io.BytesIO()
    write(*arguments, sink)
    return sink.getvalue()


def zipped(*names):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, "a,b\n1,2\n")
    return sink.getvalue()


def tarred():
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.csv"))
    return sink.getvalue()


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (a)")
    connection.close()
    return path.read_bytes()


PARQUET = written(parquet.write_table, TABLE)
NPZ = written(lambda sink: np.savez(sink, x=np.arange(3)))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t.parquet", "t.csv.gz"])
@pytest.mark.parametrize(
    ("content", "what"),
    [
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook; save its sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "an Excel workbook"),
        (zipped("mimetype", "content.xml"), "an OpenDocument sheet"),
        (zipped("papers.csv"), "a zip archive; unpack it"),
        (NPZ, "a NumPy file"),
        (tarred(), "a tar archive"),
        (written(feather.write_feather, TABLE), "an Arrow or Feather file; convert it with pandas.read_feather"),
        (b'[\n {"id": 1}\n]', "JSON; convert it with pandas.read_json"),
        (b'\xef\xbb\xbf{"id": 1}\n{"id": 2}\n', "JSON"),
        (b"<!DOCTYPE html>\n<html><body>Not found</body></html>", "a web page or XML"),
        (b'<?xml version="1.0"?>', "a web page or XML"),
        (pickle.dumps({"a": list(range(9))}), "a Python pickle"),
        (b"%PDF-1.7\n", "a PDF"),
        (b"BZh91AY&SY", "a compressed file"),
        (b"\xfd7zXZ\0", "a compressed file"),
    ],
)
def test_other_formats_are_named_with_the_way_out(write, name, content, what):
    with pytest.raises(DataError, match=f"{name} is {what}".replace(";", ", despite its name;")):
        read_table(write(content, name))
    if name.endswith(".gz"):
        with pytest.raises(DataError, match=f"{name} contains {what.partition(';')[0]}; unpack it, then "):
            read_table(write(gzip.compress(content), name))


def test_a_database_is_named(tmp_path):
    database(tmp_path / "t.csv")
    with pytest.raises(DataError, match=r"t.csv is an SQLite database, .*export the table as CSV$"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), r"t.csv is a gzip file, .* ends in .gz"),
        ("t.parquet", gzip.compress(PARQUET, mtime=0), "t.parquet is a gzip file, .*; unpack it$"),
        ("t.csv", PARQUET, r"t.csv is a Parquet file, .* ends in .parquet$"),
        ("t.csv.gz", PARQUET, r"t.csv.gz is a Parquet file, .* ends in .parquet$"),
        ("t.csv.gz", gzip.compress(PARQUET, mtime=0), r"t.csv.gz contains a Parquet file; unpack it, then rename"),
        ("t.csv.gz", b"a,b\n1,2\n", "t.csv.gz is not a gzip file, .*; rename it without .gz$"),
    ],
)
def test_gzip_and_parquet_under_each_others_names(write, name, content, message):
    with pytest.raises(DataError, match=message):
        read_table(write(content, name))


@pytest.mark.parametrize(
    "content", [b"PAR1,b\n1,2\n", b"BZhang,b\n1,2\n", b"{id},b\n1,2\n", b"[a],b\n1,2\n", b"<5,b\n1,2\n"]
)
def test_text_that_begins_like_another_format_is_text(write, content):
    assert read_table(write(content)).rows == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("t.xlsx", "Excel workbook: save its sheet as CSV"),
        ("t.json", "JSON: convert it with pandas.read_json"),
        ("t.feather", "Feather file: convert it"),
        ("t.zip", "zip archive: unpack it"),
        ("t.csv.zip", "zip archive: unpack it"),
        ("t.csv.bz2", "compressed file: unpack it"),
        ("t.json.gz", "JSON"),
        ("cora.cites", "a list of edges"),
        ("t.graphml", "a graph file: save its nodes and its edges"),
        ("t.SQLITE", "SQLite"),
        ("t.docx", "t.docx: a table's name must end in"),
        ("t", "t: a table's name must end in"),
    ],
)
def test_other_endings_are_named_with_the_way_out(write, name, what):
    with pytest.raises(DataError, match=what) as caught:
        read_table(write(b"a,b\n1,2\n", name))
    assert ".csv, .tsv, .txt" in str(caught.value)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_an_empty_file_is_said_to_be_empty(write, name):
    with pytest.raises(DataError, match=f"{name} is empty$"):
        read_table(write(b"", name))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_named_and_read(write, encoding):
    path = write("a,b\n1,2\n".encode(encoding))
    with pytest.raises(DataError, match=f"table.csv line 1 .*looks like UTF-16: set `encoding` to {encoding}$"):
        read_table(path)
    assert list(read_table(path, reading=Reading(encoding)).columns) == ["a", "b"]


def test_utf_16_with_a_mark_is_named(write):
    with pytest.raises(DataError, match=r"begins like UTF-16: set `encoding` to utf-16$"):
        read_table(write("a,b\n1,2\n".encode("utf-16")))


def test_utf_32_is_not_taken_for_utf_16(write):
    path = write("a,b\n1,2\n".encode("utf-32"))
    with pytest.raises(DataError, match=r"begins like UTF-32: set `encoding` to utf-32$"):
        read_table(path)
    assert list(read_table(path, reading=Reading("utf-32")).columns) == ["a", "b"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_what_is_not_a_plain_file_is_refused_at_once(tmp_path, name, monkeypatch):
    os.mkfifo(tmp_path / name)
    with pytest.raises(DataError, match=f"{name} is a pipe; only plain files are read"):
        read_table(tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(DataError, match=f"{name} is a device"):
        read_table(tmp_path / name)
    (tmp_path / name).unlink()
    monkeypatch.chdir(tmp_path)  # a socket's path may only be short
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(name)
        with pytest.raises(DataError, match=f"{name} is a socket"):
            read_table(name)
