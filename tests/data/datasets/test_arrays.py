"""Arrays of .npz files: read as numpy reads them, and refused before they take memory."""

import io
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from graphmix import DataError, Limits
from graphmix.data import Split
from graphmix.data.datasets.arrays import parse_arrays, read_arrays
from peak_memory import refusal

PLAIN = "x.npz cannot be read as a graph: it is not an .npz file of plain arrays"
MIB = 2**20


def archive(*members, compression=zipfile.ZIP_DEFLATED):
    """An archive of named contents."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression) as file:
        for name, held in members:
            file.writestr(name, held)
    return content.getvalue()


def npy(array):
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def parse(content, *wanted, **limits):
    return parse_arrays(content, "x.npz", "a graph", wanted or ("x",), Limits(**limits))


def header(text, version=1):
    """A header as numpy lays it out, and 8 bytes of content."""
    text = text.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + bytes(8)


@given(
    arrays_of.arrays(
        st.sampled_from(["<f8", ">f4", "<i8", ">i2", "|u1", "|b1", "<U3", "|S2", "<f2", ">u8"]),
        arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    st.booleans(),
)
def test_arrays_are_what_numpy_reads(array, columns_first):
    array = np.asfortranarray(array) if columns_first and array.ndim else array
    found = parse(archive(("x.npy", npy(array))))["x"]
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)


def test_headers_of_other_programs_are_read():
    for text in (
        "{'descr':'<i8','fortran_order':False,'shape':(1,)}",
        "{ 'descr': '<i8', 'fortran_order': False, 'shape': (1L,), }   \n",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (), }",
    ):
        assert parse(archive(("x.npy", header(text))))["x"].ravel().tolist() == [0]
    assert parse(archive(("x.npy", header("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}", 2))))["x"] == [0]


@pytest.mark.parametrize(
    "text",
    [
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (999999999999999999, 0, 1), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<i3', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<i8', 'fortran_order': __import__('os').abort(), 'shape': (1,), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (" + "1," * 500 + "), }",
        "(" * 5000,
        "-" * 5000 + "1",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (1 1,), }",
        "",
    ],
)
def test_other_headers_are_refused(text):
    with pytest.raises(DataError, match=PLAIN):
        parse(archive(("x.npy", header(text))))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\5\6" + bytes(18),
        b"no archive",
        archive(("x.npy", b"")),
        archive(("x.npy", b"\x93NUMPY\1")),
        archive(("x.npy", npy(np.arange(9))), compression=zipfile.ZIP_STORED).replace(b"\x93NUMPY", b"\x93NUMPX"),
        archive(("x.npy", npy(np.arange(9))))[:-30],
        archive(("x.npy", npy(np.arange(9))), compression=zipfile.ZIP_LZMA),
        archive(("x.npy", npy(np.array([{}])))),
        archive(("x.npy", header("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }")[:-8] + b"\xff" * 8)),
    ],
)
def test_damaged_files_are_refused(content):
    try:
        assert parse(content) == {}  # an empty archive has none of the arrays
    except DataError as error:
        assert PLAIN in str(error)  # noqa: PT017 - both are fine, anything else is not


def test_an_encrypted_array_is_refused():
    content = bytearray(archive(("x.npy", npy(np.arange(3)))))
    content[6] |= 1
    content[content.rfind(b"PK\1\2") + 8] |= 1
    with pytest.raises(DataError, match=PLAIN):
        parse(bytes(content))


def test_two_arrays_of_one_name_are_refused():
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = archive(("x.npy", npy(np.arange(3))), ("x.npy", npy(np.arange(4))))
    with pytest.raises(DataError, match=r"x.npz has two arrays called 'x'; write it again"):
        parse(content)


def test_an_array_that_is_not_wanted_is_not_looked_at():
    content = archive(("x.npy", npy(np.arange(3))), ("names.npy", npy(np.array([{}]))), ("big.npy", bytes(10**6)))
    assert list(parse(content, size=1000)) == ["x"]


def test_the_arrays_that_are_read_count_together():
    content = archive(*((name, npy(np.zeros(1000))) for name in ("x.npy", "y.npy")))
    assert len(parse(content, "x", "y", size=2 * 8128)) == 2
    with pytest.raises(DataError, match=r"x.npz unpacks to 15.9 KiB, and the limit is 15.6 KiB; .* `limit` size=16256"):
        parse(content, "x", "y", size=16_000)
    assert len(parse(archive(("x.npy", npy(np.zeros(1000))), compression=zipfile.ZIP_STORED), size=10)) == 1


def test_members_have_a_limit_whether_they_are_read_or_not():
    content = archive(*((f"a{number}.npy", b"") for number in range(50)))
    assert parse(content, members=50) == {}
    with pytest.raises(DataError, match=r"x.npz has 50 members, and the limit is 49; .* `limit` members=50"):
        parse(content, members=49)


def test_a_large_directory_is_refused_whatever_it_says_of_itself():
    content = bytearray(archive(*((f"a{number}.npy", b"") for number in range(3000))))
    place = content.rfind(b"PK\5\6")
    content[place + 8 : place + 12] = bytes(4)
    with pytest.raises(DataError, match=r"directory of .* bytes, which is too large for the limit of 100 members"):
        parse(bytes(content), members=100)


def test_the_directory_of_a_very_large_archive_counts_too(monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 10)
    content = bytearray(archive(*((f"a{number}.npy", b"") for number in range(50))))
    assert b"PK\6\6" in content
    place = content.rfind(b"PK\5\6")
    content[place + 8 : place + 16] = b"\xff" * 8
    assert parse(bytes(content), members=50) == {}
    with pytest.raises(DataError, match=r"x.npz has 50 members, and the limit is 49"):
        parse(bytes(content), members=49)


def test_a_gigabyte_in_a_megabyte_is_refused_without_memory(tmp_path):
    path = tmp_path / "x.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("x.npy", "w", force_zip64=True) as member,
    ):
        first = npy(np.zeros((0, 100)))[:10] + b"{'descr': '<f8', 'fortran_order': False, 'shape': (134217712,), }"
        member.write(first.ljust(127) + b"\n")
        for _ in range(63):
            member.write(bytes(16 * MIB))
        member.write(bytes(16 * MIB - 128))
    assert path.stat().st_size < 5 * MIB
    limit = "limit=graphmix.Limits(size=2**29)"
    done = refusal(f"graphmix.load({str(path)!r}, {limit})", "import graphmix.data.datasets.loading")
    assert "x.npz unpacks to 1 GiB, and the limit is 512 MiB" in done.said
    assert done.peak < 20 * MIB
    assert done.seconds < 2


def test_a_size_that_is_not_there_takes_no_memory(tmp_path):
    path = tmp_path / "x.npz"
    held = header("{'descr': '<f8', 'fortran_order': False, 'shape': (200000000,), }")
    content = bytearray(archive(("x.npy", held), ("y.npy", b"")))
    said = struct.pack("<I", len(held) - 8 + 1_600_000_000)
    place = content.find(b"PK\1\2") + 24
    content[place : place + 4] = said
    path.write_bytes(content)
    done = refusal(f"graphmix.load({str(path)!r})", "import graphmix.data.datasets.loading")
    assert "it is not an .npz file of plain arrays" in done.said
    assert done.peak < 20 * MIB


def test_a_split_of_gigabytes_is_refused(tmp_path):
    path = tmp_path / "s.npz"
    np.savez_compressed(path, train=np.zeros((1000, 10_000), bool), val=[True], test=[True], name="s")
    with pytest.raises(DataError, match=r"s.npz unpacks to 9.54 MiB, and the limit is 1 MiB"):
        Split.load(path, Limits(size=MIB))
    assert list(read_arrays(path, "a split", ["val"])) == ["val"]
