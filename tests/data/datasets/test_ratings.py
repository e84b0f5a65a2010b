"""SNAP's rating files: a toy one read by hand, what is refused, and the real ones."""

import numpy as np
import pytest

from graphmix.data import load
from graphmix.data.datasets import file_sets, ratings, sources
from graphmix.errors import DataError

TOY = b"""7,2,10,1407470400
2,7,-4,1376539200.5
9,2,3,1369713600
2,7,-10,1
30,30,4,2
"""


def parse(content):
    return ratings.parse({"toy.csv": content})


def test_strong_ratings_are_instances_and_every_user_has_a_number():
    raw = parse(TOY)
    # Users 2, 7, 9, 30; user 9 has a weak rating alone.
    assert raw.num_users == 4
    assert raw.links.tolist() == [[1, 0, 0, 3], [0, 1, 1, 3]]
    assert raw.y.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_line_ends_do_not_matter(ending):
    again = parse(TOY.replace(b"\n", ending).rstrip())
    assert np.array_equal(again.links, parse(TOY).links)


@pytest.mark.parametrize("weak", [3, -3, 0])
def test_ratings_up_to_three_are_no_instances(weak):
    assert parse(TOY + b"2,9,%d,1\n" % weak).links.shape == (2, 4)


@pytest.mark.parametrize("line", [b"1,2,3", b"1,2,x,4", b"1,2,5,4,5", b"", b"a,2,5,4", b"1,2,5,soon", b"\xff,1,5,2"])
def test_a_malformed_line_is_named(line):
    with pytest.raises(DataError, match=r"^toy.csv line 3: '.*' is not source,target,rating,time in numbers$"):
        parse(b"1,2,5,1\n2,1,-5,1\n" + line + b"\n1,2,5,1\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,2,10,1\n1,3,-3,1\n", "toy.csv has no link rated below -3, so there is no negative class to learn"),
        (b"1,2,-10,1\n1,3,3,1\n", "toy.csv has no link rated above 3, so there is no positive class to learn"),
        (b"", "toy.csv has no link rated below -3"),
    ],
)
def test_a_sign_that_is_missing_is_named(content, message):
    with pytest.raises(DataError, match=message):
        parse(content)


@pytest.mark.data
@pytest.mark.parametrize(
    ("files", "users", "negative", "positive"),
    [(file_sets.BITCOIN_ALPHA, 3783, 977, 2844), (file_sets.BITCOIN_OTC, 5881, 2689, 3858)],
)
def test_the_real_files_have_the_papers_sizes(data_root, files, users, negative, positive):
    raw = ratings.parse(sources.read(files, data_root))
    assert raw.num_users == users
    assert np.bincount(raw.y).tolist() == [negative, positive]
    assert raw.links.shape == (2, negative + positive)


@pytest.mark.data
def test_a_file_with_a_line_less_is_not_the_official_one(data_root, tmp_path):
    folder = tmp_path / "BitcoinAlpha/raw"
    folder.mkdir(parents=True)
    content = (data_root / "BitcoinAlpha/raw/soc-sign-bitcoinalpha.csv").read_bytes()
    (folder / "soc-sign-bitcoinalpha.csv").write_bytes(content.partition(b"\n")[2])
    expected = f"the file of Bitcoin Alpha here gives 3,820 nodes, but there are 3,821; put .* into {folder}"
    with pytest.raises(DataError, match=expected):
        load("bitcoin-alpha", data_root=tmp_path)
