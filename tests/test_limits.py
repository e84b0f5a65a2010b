"""Limits: how they are written, and what a gzip file may unpack to."""

import gzip
import zlib

import pytest

from graphmix import ConfigError, DataError, Limits
from graphmix.limits import as_size, gzip_excess, gzip_pieces, refuse


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("size=500M", "size", 500 * 2**20),
        ("size=4G", "size", 4 * 2**30),
        ("size=4GiB", "size", 4 * 2**30),
        ("size=1t", "size", 2**40),
        ("cell=12", "cell", 12),
        ("rows=2_000_000", "rows", 2_000_000),
        ("rows=500M", "rows", 500_000_000),
        ("members=3k", "members", 3000),
    ],
)
def test_a_limit_is_a_name_and_a_number(text, name, value):
    assert getattr(Limits.parse([text]), name) == value


def test_several_limits_are_set_and_the_others_stay():
    assert Limits.parse(["size=1", "rows=2"]) == Limits(size=1, rows=2)
    assert Limits.parse([]) == Limits()


@pytest.mark.parametrize(
    "text",
    ["", "size", "size=", "=4G", "weight=3", "size=4X", "size=-1", "size=1e9", "size=4.5G", "size=٣", "rows=1__0"],
)
def test_anything_else_is_refused_with_the_names(text):
    with pytest.raises(ConfigError, match=r"`limit` must be NAME=VALUE, .* size, rows, columns, cell, members"):
        Limits.parse([text])


def test_a_limit_is_at_least_one_and_given_once():
    with pytest.raises(ConfigError, match="'rows' must be a whole number of at least 1, not 0"):
        Limits.parse(["rows=0"])
    with pytest.raises(ConfigError, match="`limit` size is given twice"):
        Limits.parse(["size=1", "size=2"])
    with pytest.raises(ConfigError, match="'cell' must be at most 1 GiB, not 2 GiB"):
        Limits.parse(["cell=2G"])
    with pytest.raises(ConfigError, match="'size' must be a whole number"):
        Limits(size="4G")


@pytest.mark.parametrize(
    ("count", "text"),
    [(12, "12 bytes"), (64 * 2**20, "64 MiB"), (1536 * 2**20, "1.5 GiB"), (2**43, "8,192 GiB")],
)
def test_sizes_are_for_people(count, text):
    assert as_size(count) == text


def check_gzip(path, limit):
    refuse(str(path), gzip_excess(path, limit))


def packed(*members):
    return b"".join(map(gzip.compress, members))


def test_a_file_that_unpacks_to_the_limit_passes_and_one_byte_more_does_not(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed(b"x" * 5000))
    check_gzip(path, Limits(size=5000))
    with pytest.raises(DataError, match=r"t.csv.gz unpacks to more than 4.88 KiB, the limit; .* `limit` size=19996$"):
        check_gzip(path, Limits(size=4999))


@pytest.mark.parametrize("said", [0, 17, 2**32 - 1])
def test_what_a_file_says_of_its_size_is_not_believed(tmp_path, said):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed(b"x" * 2**22)[:-4] + said.to_bytes(4, "little"))
    check_gzip(path, Limits(size=2**22))
    with pytest.raises(DataError, match=r"t.csv.gz unpacks to more than 3 MiB, the limit; .* `limit` size=12M"):
        check_gzip(path, Limits(size=3 * 2**20))


def test_the_members_of_a_file_are_counted_together(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed(*[b"x" * 10_000] * 60) + bytes(100))
    with path.open("rb") as file:
        pieces = list(gzip_pieces(file))
    assert sum(len(piece) for piece, _ in pieces) == 600_000
    places = [place for _, place in pieces]
    # Each member has the same share of the file, and zeros follow the last.
    assert places == [number * places[0] for number in range(1, 60)] + [path.stat().st_size]
    with pytest.raises(DataError, match="unpacks to more than"):
        check_gzip(path, Limits(size=599_999))
    check_gzip(path, Limits(size=600_000))


def test_a_file_is_not_unpacked_if_it_cannot_be_too_large(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed(b"id\n" * 1000))
    monkeypatch.setattr(zlib, "decompressobj", None)
    check_gzip(path, Limits())


@pytest.mark.parametrize("content", [b"", b"no gzip file", packed(b"x" * 2**20)[:500], packed(b"x" * 2**20) + b"rest"])
def test_damaged_files_are_left_to_their_reader(tmp_path, content):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    check_gzip(path, Limits(size=2**21))
