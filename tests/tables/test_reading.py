"""CSV and its kin: every form that is read, and a sentence for every one that is not."""

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphmix.errors import DataError
from graphmix.limits import Limits
from graphmix.tables import checked_text, delimited
from graphmix.tables.files import TableFile, read_table
from graphmix.tables.reading import Reading

TOY = {"a": ["1", "x y"], "b": ["", "é"]}


def cells(table):
    return {name: column.to_pylist() for name, column in table.columns.items()}


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("t.csv", "a,b\n1,\nx y,é\n", "utf-8"),
        ("t.CSV", "a,b\r\n1,\r\nx y,é\r\n", "utf-8"),
        ("t.csv", "a,b\n1,\nx y,é", "utf-8"),
        ("t.csv", "a,b\r1,\rx y,é\r", "utf-8"),
        ("t.csv", '"a","b"\n"1",""\n"x y","é"\n', "utf-8"),
        ("t.csv", "a;b\n1;\nx y;é\n", "utf-8"),
        ("t.csv", "a\tb\n1\t\nx y\té\n", "utf-8"),
        ("t.tsv", "a\tb\n1\t\nx y\té\n", "utf-8"),
        ("t.tab", "a\tb\n1\t\nx y\té\n", "utf-8"),
        ("t.txt", "a\tb\n1\t\nx y\té\n", "utf-8"),
        ("t.txt", "a,b\n1,\nx y,é\n", "utf-8"),
        ("t.txt", "a;b\n1;\nx y;é\n", "utf-8"),
        ("t.csv", "\ufeffa,b\n1,\nx y,é\n", "utf-8"),
        ("t.csv", "\n\r\na,b\n1,\n\nx y,é\n\n", "utf-8"),
        ("t.csv", " a ,b\n1,\nx y,é\n", "utf-8"),
        ("t.csv", "a,b\n1,\nx y,é\n", "latin-1"),
        ("t.csv", "a,b\n1,\nx y,é\n", "utf-16"),
        ("t.csv", "\ufeffa,b\n1,\nx y,é\n", "utf-16-le"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_table_is_the_same_in_every_form(write, name, content, encoding, zipped):
    raw = content.encode(encoding)
    path = write(gzip.compress(raw, mtime=0) if zipped else raw, name + ".gz" * zipped)
    assert cells(read_table(path, reading=Reading(encoding))) == TOY


def test_cells_stay_as_they_stand(table):
    assert cells(table("a,b,c\nNA, 007 ,1.0\nnull,1e5,true\n")) == {
        "a": ["NA", "null"],
        "b": [" 007 ", "1e5"],
        "c": ["1.0", "true"],
    }


def test_quotes_hold_separators_line_ends_and_quotes(table):
    found = table('a,b\n"x, ""y""","one\ntwo\r\nthree"\n5" disk,z\n')
    assert cells(found) == {"a": ['x, "y"', '5" disk'], "b": ["one\ntwo\r\nthree", "z"]}


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("a,b\n1,2\n3,4\n5,6\n", "table.csv line 4"),
        ("a,b\r\n1,2\r\n3,4\r\n5,6\r\n\r\n\r\n", "table.csv line 4"),
        ('a,b\n1,"2"\n3,"4"\n5,"6"', "table.csv line 4"),
        # Where a row's line cannot be counted, it is not guessed.
        ('a,b\n1,"2\n2"\n3,4\n5,6\n', "table.csv row 3"),
        ("a,b\n1,2\n\n3,4\n5,6\n", "table.csv row 3"),
        ("\na,b\n1,2\n3,4\n5,6\n", "table.csv row 3"),
    ],
)
def test_rows_are_named_by_their_lines(table, content, where):
    assert table(content).where(2) == where


@pytest.mark.parametrize(
    "content",
    [
        "a,b,\n1,,\nx y,é,\n",
        "a,b, ,,\n1,,,,\nx y,é,, ,\n",
        "a,b\n1,\nx y,é\n,\n , \n",
        'a,b,""\n1,,\nx y,é,\n,,\n',
        "a,b,\r\n1,,\r\nx y,é,\r\n,,\r\n\r\n",
    ],
)
def test_what_a_spreadsheet_leaves_at_the_edges_is_left_out(table, content):
    found = table(content)
    assert cells(found) == TOY
    assert (found.rows, found.where(1)) == (2, "table.csv line 3")


def test_a_blank_row_between_others_is_a_row(table):
    assert cells(table("a,b\n,\n1,2\n")) == {"a": ["", "1"], "b": ["", "2"]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,\n1,2,\n3,4,5\n", "table.csv: column 3 has no name; name it"),
        (",\n1,2\n", "table.csv: column 1 has no name"),
        ("a,b,\n1,2\n", "table.csv line 2 has 2 cells, but the header has 3, the last without a name"),
        ("a,b\n,\n,\n", "table.csv has a header but no rows$"),
        ("", "table.csv is empty$"),
        ("\n\n", "table.csv is empty$"),
        ("\ufeff", "table.csv is empty$"),
        ("a,b\n", "table.csv has a header but no rows$"),
        ("a,b", "table.csv has a header but no rows$"),
        ("a,b,a\n1,2,3\n", "table.csv has two columns called 'a'; rename one of them$"),
        ("a,,b\n1,2,3\n", "table.csv: column 2 has no name; name it"),
        ("a,b\n1,2\n3\n", "^table.csv line 3 has 1 cell, but the header names 2; it begins '3'$"),
        ("a,b\n1,2\n\n\n3,4,5\n", "^table.csv line 5 has 3 cells, but the header names 2"),
        ('a,b\n1,"x\ny"\n3\n1,3\n3\n', "^table.csv line 4 has 1 cell"),
        ("\n\na,b\n1,2\n3\n", "^table.csv line 5 has 1 cell"),
        ('a,b\n1,"x\n2,y\n', "^table.csv line 2: a quote opens here and is never closed"),
        ('a,b\n"x\ny",1\n"2,y\n3,4\n', "^table.csv line 4: a quote opens here and is never closed"),
        ('a,b\n5" disk,1\n2,"y\n', "^table.csv line 3: a quote opens here and is never closed"),
        ('"a,b\n1,2\n', "^table.csv line 1: a quote opens here and is never closed"),
        ('a,b\n"1,2\n3,4\n5,"6"\n', "^table.csv line 2 has 1 cell, .*a quote on it is closed only 2 lines below$"),
        (b"a,b\n1,2\n\xff,4\n", "^table.csv line 3 is not utf-8: invalid start byte; .*`encoding` to latin-1$"),
        (b"a,b\n1,2\n3,\xc3", "^table.csv line 3 is not utf-8: unexpected end of data"),
        (b"a,b\n1,2\n3,\0\n", "^table.csv line 3 has a NUL byte"),
        (
            "a,b\n1,2\n".encode("utf-16"),
            "^table.csv line 1 is not utf-8.*UTF-16: set `encoding` to utf-16$",
        ),
        ("a,b\n1,2\n".encode("utf-16-le"), "has a NUL byte.*`encoding` to utf-16-le$"),
        ("a" * 200_000 + ",b\n1,2\n", "table.csv: its first line is not a header"),
        (",".join(f"column{number}" for number in range(150_000)), "table.csv: its header is longer than 1 MiB$"),
        (",".join(f"{'列' * 12}{number}" for number in range(40_000)), "table.csv: its header is longer than 1 MiB$"),
    ],
)
def test_what_is_wrong_is_named(write, content, message):
    with pytest.raises(DataError, match=message):
        read_table(write(content))


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"a\n1\n", "t.csv.gz", "t.csv.gz is not a gzip file, despite its name; rename it without .gz"),
        (
            gzip.compress(b"a\n1\n" * 999, mtime=0)[:-9],
            "t.csv.gz",
            "t.csv.gz is not a complete gzip file: .* ended before",
        ),
        (gzip.compress(b"a\n1\n" * 999, mtime=0)[:-8] + b"12345678", "t.csv.gz", "is not a complete gzip file: CRC"),
        (gzip.compress(b"a\n1\n", mtime=0)[:10] + b"\xff" * 20, "t.csv.gz", "is not a complete gzip file: "),
        (b"a\n1\n", "t.xlsx", "t.xlsx: a table's name must end in .csv, .tsv"),
        (b"a\n1\n", "t", "t: a table's name must end in .csv, .tsv"),
        (b"a\n1\n", "t.parquet.gz", "a table's name must end in .csv, .tsv"),
    ],
)
def test_what_is_no_table_is_named(write, content, name, message):
    with pytest.raises(DataError, match=message):
        read_table(write(content, name))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"^there is no file .*none.csv$"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match=r"folder.csv is a folder; name the table in it$"):
        read_table(tmp_path / "folder.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_file_that_may_not_be_read_is_named(write, name, monkeypatch):
    path = write(b"a\n1\n", name)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    monkeypatch.setattr("gzip.GzipFile.__init__", refuse)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.__init__", refuse)
    with pytest.raises(DataError, match=r"cannot be read: Permission denied$"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["klingon", "hex", "undefined", "a\0b"])
def test_an_encoding_that_does_not_exist_is_named(write, encoding):
    with pytest.raises(DataError, match=r"^there is no encoding .*; try utf-8, latin-1 or utf-16$"):
        read_table(write("a\n1\n"), reading=Reading(encoding))


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"a,b\n\xd8\x00,2\n"])
def test_text_in_another_encoding_than_said_is_named(write, content):
    with pytest.raises(DataError, match=r"table.csv .*is not utf-16"):
        read_table(write(content + b"1"), reading=Reading("utf-16"))


def test_a_row_of_any_size_up_to_the_limit_is_read(write, monkeypatch):
    monkeypatch.setattr(delimited, "SMALL_BLOCK", 16)
    rows = [f"{'x' * size},{size}" for size in (1, 5, 60, 1000, 4000, 2)]
    path = TableFile(write("a,b\n" + "\n".join(rows) + "\n"), Limits(cell=2**12))
    assert [f"{a},{b}" for a, b in zip(*cells(read_table(path)).values(), strict=True)] == rows


_LARGE = ["x" * 10_000, '"' + "x\n" * 5_000, '"' + "x\n" * 5_000 + '"']


@pytest.mark.parametrize("cell", _LARGE)
@pytest.mark.parametrize("piece", [1, 10, 500, 1024])
def test_the_line_of_a_row_beyond_the_limit_is_found(write, monkeypatch, cell, piece):
    path = write('a,b\n1,"2\n2"\n1,2\n' + f"3,{cell}\n5,6\n")
    monkeypatch.setattr(checked_text, "PIECE", piece)
    assert checked_text.CheckedText(path, "utf-8").find_large_row(2**10) == 5
    assert checked_text.CheckedText(path, "utf-8").find_large_row(2**20) is None


@pytest.mark.parametrize("cell", _LARGE)
def test_a_row_beyond_the_limit_is_named(write, monkeypatch, cell):
    monkeypatch.setattr(delimited, "SMALL_BLOCK", 16)
    monkeypatch.setattr(checked_text, "PIECE", 2**10)
    fault = {"x": "a row is larger than 1 KiB; .*`limit`", "\n": "a quote opens here and is never closed; close"}.get(
        cell[-1], "a quote opens here and is not closed within 1 KiB; .*`limit`"
    )
    with pytest.raises(DataError, match=f"^table.csv line 3: {fault} "):
        read_table(TableFile(write(f"a,b\n7,8\n1,{cell}\n5,6\n"), Limits(cell=2**10)))


def test_a_line_beyond_measure_is_refused_before_the_file_ends(write, monkeypatch):
    monkeypatch.setattr(checked_text, "PIECE", 100)
    # What comes after the second block is never read, or it would be refused for its bytes.
    path = TableFile(write(b"a,b\n1,2\n3," + b"x" * 5000 + b"\xff\n"), Limits(cell=2**10))
    with pytest.raises(DataError, match=r"^table.csv line 3: a row is larger than"):
        read_table(path)


def test_wrong_rows_are_found_behind_many_blocks(write, monkeypatch):
    monkeypatch.setattr(delimited, "SMALL_BLOCK", 64)
    with pytest.raises(DataError, match=r"^table.csv line 202 has 1 cell"):
        read_table(write("a,b\n" + "1,2\n" * 200 + "3\n" + "1,2\n" * 9))
    assert read_table(write("a,b\n" + "1,2\n" * 200)).where(199) == "table.csv line 201"


@pytest.mark.parametrize("piece", [3, 4, 7])
def test_it_does_not_matter_where_a_file_is_cut_into_pieces(write, monkeypatch, piece):
    for content in ("\ufeff\r\na,é\r\n1,中\r\n\r\n", "a,é\n1,中"):
        for encoding in ("utf-8", "utf-16"):
            path = write(content.encode(encoding))
            whole = checked_text.CheckedText(path, encoding)
            expected = b"".join(whole.pieces())
            monkeypatch.setattr(checked_text, "PIECE", piece)
            cut = checked_text.CheckedText(path, encoding)
            assert b"".join(cut.pieces()) == expected
            assert (cut.lines, cut.skipped) == (whole.lines, whole.skipped)
            monkeypatch.undo()


@pytest.fixture
def passes(monkeypatch):
    """How often a file was gone through byte by byte."""
    counted = []
    pieces = checked_text.CheckedText.pieces

    def count(text):
        yield from pieces(text)
        counted.append(text.path.name)

    monkeypatch.setattr(checked_text.CheckedText, "pieces", count)
    return counted


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_only_pyarrow_goes_through_a_sound_file_until_a_line_is_asked_for(write, passes, name):
    content = b"a,b\n" + b"1,2\n" * 300_000
    table = read_table(write(gzip.compress(content, 1, mtime=0) if name.endswith("gz") else content, name))
    assert passes == []
    assert table.where(299_999) == f"{name} line 300001"
    assert table.where(0) == f"{name} line 2"
    assert passes == [name]


_LONG = b"a,b\n" + b"1,2\n" * 300_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_LONG + b"3,\0\n", "^t.csv.* line 300002 has a NUL byte"),
        (_LONG + b"3,\xff\n", "^t.csv.* line 300002 is not utf-8"),
        # Of two defects, the one that other text hides behind comes first.
        (_LONG + b"3\n4,\xff\n", "^t.csv.* line 300003 is not utf-8"),
        (_LONG + b"\xff\n", "^t.csv.* line 300002 is not utf-8"),
        (_LONG + b"3\n", "^t.csv.* line 300002 has 1 cell"),
        (_LONG + b'3,"4\n' + b"5,6\n", "^t.csv.* line 300002: a quote opens here and is never closed"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_what_is_wrong_far_below_is_named(write, capfd, content, message, zipped):
    path = write(gzip.compress(content, 1, mtime=0) if zipped else content, "t.csv" + ".gz" * zipped)
    with pytest.raises(DataError, match=message):
        read_table(path)
    assert capfd.readouterr() == ("", "")


def test_a_cell_that_ends_in_a_line_break_is_not_an_open_quote(write):
    assert cells(read_table(write('a,b\n1,"x\n"\n')))["b"] == ["x\n"]
    assert cells(read_table(write('a,b\n1,"x ""y"" 5"" \n"')))["b"] == ['x "y" 5" \n']


@pytest.mark.parametrize("damage", ["cut", "checksum", "middle"])
def test_a_large_gzip_file_that_is_damaged_below_is_named(write, damage):
    whole = bytearray(gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(300_000)), mtime=0))
    if damage == "cut":
        del whole[-9:]
    else:
        place = -8 if damage == "checksum" else -len(whole) // 3
        whole[place] ^= 255
    # As pyarrow gives up on deflate's errors in its own words, so does zlib; a cell's text may break first.
    message = "is not a complete gzip file: " if damage != "middle" else "t.csv.gz"
    with pytest.raises(DataError, match=message):
        read_table(write(bytes(whole), "t.csv.gz"))


def test_rows_are_named_where_the_file_is_gone_or_changed(write):
    path = write("a,b\n1,2\n3,4\n")
    gone, changed = read_table(path), read_table(path)
    path.unlink()
    assert gone.where(1) == "table.csv row 2"
    write("a,b\n1,2\n\n3,4\n")
    assert changed.where(1) == "table.csv row 2"


def test_archives_in_several_parts_are_read_whole(write):
    path = write(gzip.compress(b"a,b\n1,2\n", mtime=0) + gzip.compress(b"3,4\n", mtime=0), "t.csv.gz")
    assert cells(read_table(path)) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_nothing_is_left_behind(write, monkeypatch, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    read_table(write("a,b\n1,é\n".encode("latin-1")), reading=Reading("latin-1"))
    with pytest.raises(DataError):
        read_table(write("a,b\n1,é\n3\n".encode("latin-1")), reading=Reading("latin-1"))
    assert list(scratch.iterdir()) == []


_BYTES = st.lists(
    st.sampled_from(
        [
            b"a",
            b",",
            b"\n",
            b"\r",
            b'"',
            b"1",
            b";",
            b"\t",
            b" ",
            b"\xff",
            b"\xef\xbb\xbf",
            b"\0",
            b"#",
            b"# ",
            b"|",
            b"sep=;\n",
        ]
    )
)


@given(
    content=_BYTES.map(b"".join),
    name=st.sampled_from(["any.csv", "any.tsv", "any.txt", "any.csv.gz"]),
    piece=st.sampled_from([8, 2**20]),
    has_header=st.booleans(),
)
@example(content=b"aa\xef\xbb\xbf\xef\xbb\xbf\xff\na", name="any.csv", piece=8, has_header=True)
def test_any_bytes_are_a_table_or_a_sentence(tmp_path_factory, content, name, piece, has_header):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    try:
        with pytest.MonkeyPatch.context() as patch:
            # With small pieces, the top of the file does not show what is wrong below.
            patch.setattr(checked_text, "PIECE", piece)
            table = read_table(path, reading=Reading(has_header=has_header))
    except DataError as error:
        # One sentence, on one line.
        assert "\n" not in str(error)  # noqa: PT017
        assert "any" in str(error)  # noqa: PT017
        return
    assert {len(column) for column in table.columns.values()} == {table.rows}
    assert b"\0" not in content
    content.decode()


_CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=8)


@given(rows=st.lists(st.tuples(_CELLS, _CELLS), min_size=1, max_size=6), ending=st.sampled_from(["\n", "\r\n"]))
def test_any_text_in_quotes_comes_back(tmp_path_factory, rows, ending):
    # Blank rows at the end are left out.
    rows = [*rows, ("a", "b")]
    path = tmp_path_factory.getbasetemp() / "any.csv"
    lines = ["a,b", *(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)]
    path.write_bytes((ending.join(lines) + ending).encode())
    found = cells(read_table(path))
    assert list(zip(found["a"], found["b"], strict=True)) == rows
