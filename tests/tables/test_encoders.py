"""Features by hand, scikit-learn as the oracle for text, and what comes back from a file."""

import copy
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from sklearn.feature_extraction.text import TfidfVectorizer

from graphmix.data import load
from graphmix.errors import DataError
from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.tables.kinds import KINDS
from graphmix.tables.table import Table


def encoded(table, **kinds):
    encoders = Encoders.fit(table, kinds)
    return encoders, encoders.encode(table)


def in_memory(**columns):
    """A table of text, as if from a CSV file."""
    arrays = {name: pa.chunked_array([pa.array(cells, pa.string())]) for name, cells in columns.items()}
    return Table("memory.csv", arrays, len(next(iter(columns.values()))))


def test_numbers_have_mean_0_and_deviation_1(column):
    encoders, found = encoded(column("1", "3", "1", "3"), it="number")
    assert encoders.feature_names == ["it"]
    assert found.x.dtype == np.float32
    assert found.x.toarray().tolist() == [[-1], [1], [-1], [1]]
    assert found.notes == []


def test_missing_wrong_and_huge_numbers_count_as_the_mean_and_are_said(column):
    encoders, found = encoded(column("1", "3", "", "1e308", "soon", "inf"), it="number")
    assert encoders.feature_names == ["it", "it is missing"]
    assert found.x.toarray().tolist() == [[-1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert found.notes == [
        "column 'it': 1 cell counted as missing: not a number (first 'soon', table.tsv line 6)",
        "column 'it': 2 cells counted as missing: beyond 1e+30 (first '1e308', table.tsv line 5)",
        "column 'it': 1 cell is missing; the mean is used",
    ]


def test_missing_numbers_that_training_had_not_are_the_mean(column):
    encoders, _ = encoded(column("1", "3"), it="number")
    assert encoders.encode(column("", "3", "1000")).x.toarray().tolist() == [[0], [1], [10]]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (("€5", "€1,200"), "its units are €, and in training they were $; its numbers are used as they are"),
        (("€5", "$7"), "its units are $, €, and in training they were $; its numbers are used as they are"),
        (("5", "7"), "its units are none, and in training they were $; its numbers are used as they are"),
        (("$5", ""), "1 cell is missing; the mean is used"),
        (("", ""), "2 cells are missing; the mean is used"),
    ],
)
def test_other_units_than_those_of_training_are_said(column, cells, said):
    encoders, found = encoded(column("$1", "$2,000", "$3"), it="number")
    assert found.notes == []
    again = Encoders.from_json(json.loads(json.dumps(encoders.to_json())))
    assert again == encoders
    assert again.encode(column(*cells)).notes == [f"column 'it': {said}"]


def test_units_that_training_had_too_are_not_said_and_those_of_older_encoders_are_unknown(column):
    encoders, _ = encoded(column("$1", "7 €", "3"), it="number")
    assert encoders.encode(column("4 €", "$5")).notes == []
    stored = encoders.to_json()
    del stored["columns"][0]["units"]
    assert Encoders.from_json(stored).encode(column("4 %")).notes == []
    assert encoded(column("1", "2"), it="number")[0].columns[0].units == ()


def test_a_column_of_numbers_has_no_units(tmp_path, column):
    encoders, _ = encoded(column("1 %", "20 %"), it="number")
    parquet.write_table(pa.table({"it": [0.01, 0.2]}), tmp_path / "t.parquet")
    (note,) = encoders.encode(read_table(tmp_path / "t.parquet")).notes
    assert "its units are none, and in training they were %" in note


def test_numbers_share_one_length(table):
    _, found = encoded(table("a,b,c,d\n1,9,5,-2\n3,1,0,2\n"), a="number", b="number", c="number", d="number")
    np.testing.assert_allclose(found.x.toarray(), [[-0.5, 0.5, 0.5, -0.5], [0.5, -0.5, -0.5, 0.5]])


@pytest.mark.parametrize("cells", [("7", "7", "7"), ("1e29", "1e29", "1e29"), ("0.1", "0.1", "0.1"), ("", "1", "1")])
def test_a_constant_column_gives_zeros(column, cells):
    encoders, found = encoded(column(*cells), it="number")
    assert not found.x.toarray()[:, 0].any()
    assert not encoders.encode(column("8", "1e30")).x.toarray()[:, 0].any()


def test_embeddings_are_scaled_place_by_place(column):
    encoders, found = encoded(column("[1, 10, 0.5, 3]", "[3, 30, 0.5, 1]", ""), it="embedding")
    assert encoders.feature_names == ["it[0]", "it[1]", "it[2]", "it[3]"]
    np.testing.assert_allclose(found.x.toarray(), [[-0.5, -0.5, 0, 0.5], [0.5, 0.5, 0, -0.5], [0, 0, 0, 0]])
    assert found.notes == ["column 'it': 1 row with missing numbers; the mean is used"]
    with pytest.raises(
        DataError, match=r"^table.tsv line 3: the list in column 'it' has 1 number, not 4 as the others"
    ):
        encoders.encode(column("[1, 2, 3, 4]", "[1]"))
    with pytest.raises(DataError, match=r"table.tsv: column 'it' must hold lists of numbers"):
        encoders.encode(column("[1, 2, 3, 4]", "soon"))


@pytest.mark.parametrize("form", [pa.list_(pa.float32()), pa.list_(pa.float64(), 2), pa.large_list(pa.int64())])
def test_embeddings_from_parquet_are_those_from_text(tmp_path, column, form):
    parquet.write_table(pa.table({"it": pa.array([[1, 2], None, [3, 8]], form)}), tmp_path / "t.parquet")
    found = encoded(read_table(tmp_path / "t.parquet"), it="embedding")[1]
    expected = encoded(column("[1, 2]", "", "[3, 8]"), it="embedding")[1]
    np.testing.assert_array_equal(found.x.toarray(), expected.x.toarray())


def test_nulls_in_parquets_lists_are_missing(tmp_path):
    vectors = pa.array([[1, 5], None, [3, None], [None, 7]], pa.list_(pa.float64(), 2))
    words = pa.array([["a", "b"], None, ["b", None], []])
    parquet.write_table(pa.table({"v": vectors, "w": words}), tmp_path / "t.parquet", row_group_size=2)
    found = encoded(read_table(tmp_path / "t.parquet"), v="embedding", w="tokens")[1].x.toarray()
    one = np.sqrt(0.5)
    np.testing.assert_allclose(found[:, :2], [[-one, -one], [0, 0], [one, 0], [0, one]], rtol=1e-6)
    assert found[:, 2:].tolist() == [[0.5, 0.5], [0, 0], [1, 0], [0, 0]]


def test_categories_are_ones_and_rare_ones_are_pooled(column):
    table = column("x", "y", "x", "", "y", "z", "w", " x ")
    encoders, found = encoded(table, it="category")
    assert encoders.feature_names == ["it=x", "it=y", "it=(other)"]
    assert found.x.toarray().argmax(axis=1)[[0, 1, 2, 4, 5, 6, 7]].tolist() == [0, 1, 0, 1, 2, 2, 0]
    assert found.x.toarray().sum(axis=1).tolist() == [1, 1, 1, 0, 1, 1, 1, 1]
    assert found.notes == [
        "column 'it': 2 cells with a rare or new category; pooled as (other)",
        "column 'it': 1 cell is missing; all features 0",
    ]


def test_new_categories_are_zero_where_there_were_no_rare_ones(column):
    encoders, found = encoded(column("x", "y", "x", "y"), it="category")
    assert not found.notes
    again = encoders.encode(column("y", "new"))
    assert again.x.toarray().tolist() == [[0, 1], [0, 0]]
    assert again.notes == ["column 'it': 1 cell with a rare or new category; all features 0"]


def test_a_new_category_that_looks_like_a_known_one_is_named(column):
    encoders, _ = encoded(column("Red", "Blue", "Red", "Blue"), it="category")
    again = encoders.encode(column("Blue", "pink", "red"))
    assert again.notes == [
        "column 'it': 2 cells with a rare or new category; all features 0; 'red' may be 'Red', written otherwise"
    ]


def test_at_most_100_categories_are_kept():
    # Category c comes c + 2 times, so the 20 first are the rare ones.
    table = in_memory(it=[f"c{number}" for number in range(120) for _ in range(number + 2)])
    encoders, found = encoded(table, it="category")
    assert set(encoders.feature_names) == {f"it=c{number}" for number in range(20, 120)} | {"it=(other)"}
    rare = sum(number + 2 for number in range(20))
    assert found.notes == [f"column 'it': {rare} cells with a rare or new category; pooled as (other)"]


def test_categories_of_fewer_than_a_thousandth_are_pooled():
    table = in_memory(it=["a"] * 3995 + ["b"] * 4 + ["c"] * 3 + ["d"] * 2)
    assert Encoders.fit(table, {"it": "category"}).feature_names == ["it=a", "it=(other)"]
    table = in_memory(it=["a"] * 1995 + ["b"] * 3 + ["c"] * 2)
    assert Encoders.fit(table, {"it": "category"}).feature_names == ["it=a", "it=b", "it=c"]


def test_truth_values_are_the_same_from_every_file(tmp_path, column):
    parquet.write_table(pa.table({"it": [True, False, True, False]}), tmp_path / "t.parquet")
    encoders, found = encoded(read_table(tmp_path / "t.parquet"), it="category")
    again = encoders.encode(column("True", "FALSE", "true", "False"))
    np.testing.assert_array_equal(again.x.toarray(), found.x.toarray())


@pytest.mark.parametrize(
    "cells",
    [
        ["a;b", "b; a;c", "c", "", "a;a;d"],
        ["a|b", "b|a|c|", "c", "NA", "a|a|d"],
        ['["a", "b"]', '["b", "a", "c"]', '["c"]', "[]", '["a", "a", "d"]'],
        ["['a', 'b']", "['b', 'a', 'c']", "['c']", "[]", "['a', 'a', 'd']"],
        ["[a, b]", "[b, a, c]", "[c]", "[]", "[a, a, d]"],
        ["a,b", "b,a,c", "c", "", "a,a,d"],
        ["a b", "b a  c", "c", "", "a a d"],
    ],
)
def test_keywords_are_counted_once_and_rows_sum_to_1(column, cells):
    encoders, found = encoded(column(*cells), it="tokens")
    assert encoders.feature_names == ["it: a", "it: b", "it: c", "it: d"]
    third = np.float32(1 / 3)
    expected = [[0.5, 0.5, 0, 0], [third, third, third, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0.5, 0, 0, 0.5]]
    np.testing.assert_array_equal(found.x.toarray(), np.array(expected, np.float32))
    assert not found.notes


def test_one_keyword_in_a_new_file_is_still_split(column):
    encoders, _ = encoded(column("a|b", "b|a"), it="tokens")
    again = encoders.encode(column("a", "a", "a|b", "c"))
    assert again.x.toarray().tolist() == [[1, 0], [1, 0], [0.5, 0.5], [0, 0]]
    assert again.notes == ["column 'it': 1 word is rare or new and left out"]


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=2, max_size=20))
def test_keywords_are_the_papers_bag_of_words(rows):
    # Two rows share a word; all others may be of one row.
    rows = [*rows, {0}, {0}]
    bag = np.zeros((len(rows), 31), np.float32)
    for row, words in enumerate(rows):
        bag[row, list(words)] = 1
    table = in_memory(it=[";".join(f"w{word}" for word in words) for words in rows])
    encoders, found = encoded(table, it="tokens")
    order = [int(name.removeprefix("it: w")) for name in encoders.feature_names]
    assert sorted(order) == np.flatnonzero(bag.any(axis=0)).tolist()
    normalised = (bag / bag.sum(axis=1, keepdims=True, dtype=np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found.x.toarray(), normalised[:, order])


@pytest.mark.data
def test_coras_words_as_keywords_are_its_features():
    expected = load("cora").graph.x.to_scipy().tocsr()
    cells = [";".join(f"w{word}" for word in row.indices) for row in expected]
    encoders, found = encoded(in_memory(it=cells), it="tokens")
    order = [int(name.removeprefix("it: w")) for name in encoders.feature_names]
    # No paper has the one word that is not among them.
    assert sorted(order) == np.unique(expected.indices).tolist()
    assert (found.x != expected[:, order]).nnz == 0


_LETTERS = "aàäbcdßéβδωжяА1٣中_  .,;'-\n"


@given(st.lists(st.text(_LETTERS, max_size=30), min_size=1, max_size=12))
def test_text_is_scikit_learns_tf_idf(rows):
    rows = [*rows, "common words", "words in common ΑΒΓ"]
    encoders, found = encoded(in_memory(it=rows), it="text")
    oracle = TfidfVectorizer(min_df=2, max_features=20_000, norm="l1")
    expected = oracle.fit_transform(rows)
    order = [oracle.vocabulary_[name.removeprefix("it: ")] for name in encoders.feature_names]
    assert sorted(order) == list(range(len(oracle.vocabulary_)))
    np.testing.assert_allclose(found.x.toarray(), expected.toarray()[:, order], rtol=1e-6)
    # And on text that was not there in training.
    fresh = ["words of another kind", "", "common"]
    again = encoders.encode(in_memory(it=fresh))
    np.testing.assert_allclose(again.x.toarray(), oracle.transform(fresh).toarray()[:, order], rtol=1e-6)
    unknown = sum(word not in oracle.vocabulary_ for text in fresh for word in oracle.build_analyzer()(text))
    said = "word is" if unknown == 1 else "words are"
    assert again.notes == [f"column 'it': {unknown} {said} rare or new and left out"] * (unknown > 0)


def test_only_the_most_frequent_words_are_kept(monkeypatch):
    monkeypatch.setattr("graphmix.tables.words.MOST_WORDS", 2)
    rows = ["aa bb dd cc", "aa bb dd cc", "cc bb bb"]
    # As text bb comes four times; of rows, three have bb and three cc.
    assert Encoders.fit(in_memory(it=rows), {"it": "text"}).feature_names == ["it: bb", "it: cc"]
    assert Encoders.fit(in_memory(it=[*rows, "cc dd"]), {"it": "tokens"}).feature_names == ["it: cc", "it: bb"]


@pytest.mark.parametrize("kind", ["text", "tokens"])
def test_a_column_without_common_words_gives_no_features(column, kind):
    encoders, found = encoded(column("one", "two", "three"), it=kind)
    assert encoders.width == 0
    assert found.x.shape == (3, 0)
    assert found.notes == ["column 'it': no word occurs in two rows, so the column gives no features"]


MIXED = """id,when,place,what,keys,vector
a,1,x,red green blue,k;l,"[1, 2]"
b,,y,green blue,l;k,"[2, 1]"
c,3,x,red tea,k;m,"[0, 1]"
d,4,y,blue green tea,m,
"""
KIND_OF = {"when": "number", "place": "category", "what": "text", "keys": "tokens", "vector": "embedding"}


def test_columns_stand_side_by_side_in_the_order_of_their_names(table):
    encoders, found = encoded(table(MIXED), what="text", when="number", place="category", keys="tokens")
    assert encoders.feature_names[:2] == ["when", "when is missing"]
    assert encoders.width == len(encoders.feature_names) == found.x.shape[1]
    alone = [
        encoded(table(MIXED), **{name: KIND_OF[name]})[1].x.toarray() for name in ("when", "what", "place", "keys")
    ]
    # A number and a category share one length.
    alone[0], alone[2] = (x / np.float32(np.sqrt(2)) for x in (alone[0], alone[2]))
    np.testing.assert_array_equal(found.x.toarray(), np.hstack(alone))


@pytest.mark.parametrize(("name", "kind"), KIND_OF.items())
def test_a_column_that_is_not_there_is_named(table, name, kind):
    encoders = Encoders.fit(table(MIXED), {name: kind})
    with pytest.raises(
        DataError, match=f"^table.csv has no column '{name}', which the model was trained with; it has 'id'"
    ):
        encoders.encode(table("id\na\n"))


def test_a_number_column_that_holds_words_now_is_named(column):
    encoders = Encoders.fit(column("1", "2"), {"it": "number"})
    with pytest.raises(DataError, match=r"^table.tsv line 3: 'x' in column 'it' is not a number$"):
        encoders.encode(column("", "x"))


@pytest.mark.parametrize("kind", ["number", "category", "text"])
def test_a_column_that_holds_lists_now_is_named(column, tmp_path, kind):
    encoders = Encoders.fit(column("1", "2", "1", "2"), {"it": kind})
    parquet.write_table(pa.table({"it": [["a"], ["b"]]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t.parquet: column 'it' holds lists"):
        encoders.encode(read_table(tmp_path / "t.parquet"))


def through_json(encoders):
    return Encoders.from_json(json.loads(json.dumps(encoders.to_json())))


_CELL = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.floats().map(str),
    st.integers(-5, 5).map(str),
    st.sampled_from(["", "NA", "a;b", "[1, 2]", "[0.5, -1e308]", '["x"]', "[", "[[[", "=1+1", "İ", "ﬀ", "true"]),
)


@given(data=st.data(), rows=st.integers(1, 8), kind=st.sampled_from([None, *KINDS]))
def test_any_table_gives_finite_features_or_a_sentence(data, rows, kind):
    table = in_memory(it=data.draw(st.lists(_CELL, min_size=rows, max_size=rows)))
    other = in_memory(it=data.draw(st.lists(_CELL, min_size=1, max_size=4)))
    try:
        kinds = used_kinds(choose_columns(table, asked={"it": kind}))
        encoders = Encoders.fit(table, kinds)
    except DataError:
        return
    assert through_json(encoders) == encoders
    found = encoders.encode(table)
    assert found.x.shape == (rows, len(encoders.feature_names))
    assert np.isfinite(found.x.data).all()
    try:
        fresh = encoders.encode(other)
    except DataError:
        assert encoders.columns[0].kind in ("number", "date", "embedding")
        return
    assert np.isfinite(fresh.x.data).all()
    np.testing.assert_array_equal(through_json(encoders).encode(other).x.toarray(), fresh.x.toarray())


def test_categories_share_the_length_of_numbers_since_version_2(table):
    found = table("a,b,c\n1,x,red;tea\n3,y,red;tea\n1,x,red;tea\n3,y,tea\n")
    encoders = Encoders.fit(found, {"a": "number", "b": "category", "c": "tokens"})
    x = encoders.encode(found).x.toarray()
    half = np.float32(np.sqrt(0.5))
    np.testing.assert_allclose(x[:2], [[-half, half, 0, 0.5, 0.5], [half, 0, half, 0.5, 0.5]], rtol=1e-6)
    old = Encoders.from_json(encoders.to_json() | {"version": 1})
    assert old.encode(found).x.toarray()[:2].tolist() == [[-1, 1, 0, 0.5, 0.5], [1, 0, 1, 0.5, 0.5]]
    assert old.to_json()["version"] == 1


def test_encoders_come_back_from_json_and_give_the_same_features(table):
    encoders, found = encoded(table(MIXED), **KIND_OF)
    again = through_json(encoders)
    assert again == encoders
    np.testing.assert_array_equal(again.encode(table(MIXED)).x.toarray(), found.x.toarray())


def places(value, path=()):
    """Every place in nested data."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


def changed(value, path, new):
    if not path:
        return new
    value = copy.deepcopy(value)
    at = value
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = new
    return value


@pytest.mark.parametrize(
    "new", [None, [], {}, float("nan"), float("inf"), -1, 1e300, 10**400, "\ud800", True, ["a", "a"], [1], "os.system"]
)
def test_whatever_is_damaged_is_refused_or_still_works(table, new):
    stored = Encoders.fit(table(MIXED), KIND_OF).to_json()
    refused = 0
    for path in places(stored):
        try:
            encoders = Encoders.from_json(changed(stored, path, new))
        except DataError:
            refused += 1
            continue
        try:
            assert np.isfinite(encoders.encode(table(MIXED)).x.data).all()
        except DataError as error:
            assert str(error).startswith("table.csv")  # noqa: PT017
    assert refused


@pytest.mark.parametrize(
    ("path", "new", "message"),
    [
        (("version",), 3, "the feature encoders have version '3', but this graphmix reads version 2"),
        (("columns",), {}, "damaged: columns is not a list"),
        (("columns", 0, "kind"), "eval", "damaged: column 1: there is no kind 'eval'"),
        (("columns", 0, "std"), -1.0, "damaged: column 1: std is negative"),
        (("columns", 0, "mean"), float("inf"), "damaged: column 1: mean is not a finite number"),
        (("columns", 0, "has_missing"), 1, "damaged: column 1: has_missing is not true or false"),
        (("columns", 0, "name"), "place", "damaged: a column is repeated"),
        (("columns", 1, "values"), ["x", "x"], "damaged: column 2: values repeats a word"),
        (("columns", 2, "idf"), [1.0], "damaged: column 3: words and idf do not match"),
        (("columns", 3, "separator"), "ab", "damaged: column 4: separator is invalid"),
        (("columns", 4, "std"), [1.0], "damaged: column 5: mean and std do not match"),
        (("columns", 4), [], "damaged: column 5: kind is missing"),
    ],
)
def test_what_is_damaged_is_named(table, path, new, message):
    stored = Encoders.fit(table(MIXED), KIND_OF).to_json()
    with pytest.raises(DataError, match=message):
        Encoders.from_json(changed(stored, path, new))
