"""What a column is taken for, and what is said when it is something else."""

import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from graphmix.errors import DataError
from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.tables.kinds import KINDS, column_class

WORDS = ["the cat sat on the mat", "a dog ate the cat", "no mat for the dog", "all the cats are grey"]


def kind_of(table):
    found = choose_columns(table, exclude=["id"])["it"]
    return None if found.why_not else found.kind, found.why_not or found.note


def kinds_of(table, *given, **named):
    return used_kinds(choose_columns(table, *given, **named))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e2", ".5", "+7", ""], "number"),
        (["1", "NA", "nan", "null", "None", "2"], "number"),
        (["1999", "2001", "1999", "2001"], "number"),
        (["ICML", "VLDB", "ICML", "", "VLDB"], "category"),
        (["True", "false", "True", "TRUE"], "number"),
        (["True", "false", "perhaps", "TRUE"] * 2, "category"),
        (["2020-12-31", "2021-01-01", ""], "date"),
        (["Journal of Machine Learning Research", "Annals of Pure Mathematics Today"] * 3, "category"),
        (WORDS, "text"),
        (["[0.1, 0.2]", "[1,2]", "", "[3e-1 , -4]"], "embedding"),
        (["[0.1 0.2]", "[1.  2. ]", "[3e-1 -4]"], "embedding"),
        (["[1, 2]", "[3]", "[1, 5, 7]"], "tokens"),
        (['["a", "b"]', '["b"]', "[]"], "tokens"),
        (["['a', 'b']", "['b']", "['c d']"], "tokens"),
        (["a;b", "b", "a;c;d", ""], "tokens"),
        (["graph neural networks|trees", "trees|logic", "logic"], "tokens"),
        # Semicolons in prose do not make a list of it.
        ([f"{text}; but then again, {text}" for text in WORDS], "text"),
    ],
)
def test_kinds_are_found(column, cells, kind):
    assert kind_of(column(*cells)) == (kind, "")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["", "NA", "null"], "it is empty"),
        (["3", "3.0", "3"], "all its numbers are the same"),
        (["x", "x", "x"], "all its values are the same"),
        (["yes", "Yes", "YES"], "all its values are the same"),
        (["2020-12-31", "2020-12-31"], "all its dates are the same"),
        (["1e308", "inf", "-inf"], "none of its numbers can be used"),
        (["4", "2", "3", "1"], "it looks like an id: every row has a different whole number"),
        (
            [f"z{number}" for number in range(20)],
            "it looks like an id or a name: nearly every row has a different value",
        ),
        (
            [f"Jo Lee{number}" for number in range(20)],
            "it looks like an id or a name: nearly every row has a different value",
        ),
        (["[0.5, 1]", "[1]", "[2, 3]"], "its lists differ in length: the first has 2, table.tsv line 3 has 1"),
        (["[]", "[]"], "its lists are empty"),
    ],
)
def test_columns_that_say_nothing_are_left_out(column, cells, why):
    assert kind_of(column(*cells)) == (None, why)


def test_numbers_under_a_name_like_an_id_are_left_out(table):
    text = "id,{}\na,10\nb,25\nc,17\n"
    assert kinds_of(table(text.format("author_id")), ["id"]) == {}
    assert kinds_of(table(text.format("authorId")), ["id"]) == {}
    for name in ("paid", "valid", "width"):
        assert kinds_of(table(text.format(name)), ["id"]) == {name: "number"}


def test_a_few_words_among_numbers_are_missing_numbers(column):
    numbers = [str(number % 7) for number in range(38)]
    table = column(*numbers, "soon", "later")
    assert kind_of(table) == ("number", "")
    assert Encoders.fit(table, {"it": "number"}).encode(table).notes == [
        "column 'it': 2 cells counted as missing: not a number (first 'soon', table.tsv line 40)"
    ]
    # 1 of 19 is more than 5 %.
    kind, note = kind_of(column(*numbers[:18], "soon"))
    assert kind == "category"
    assert note == "mostly numbers, but 1 cell is not (first 'soon', table.tsv line 20)"


def test_of_a_column_that_would_say_nothing_as_words_the_numbers_are_used(column):
    assert kind_of(column(*(f"{number}.5" for number in range(20)), ">5", "<7", "ca. 5", "8?")) == ("number", "")
    dates = [f"2020-12-{day:02d}" for day in range(1, 21)]
    assert kind_of(column(*dates, "early 2021", "late 2021", "2022 or so")) == ("date", "")


@pytest.mark.parametrize(
    "cells", [["x", "x", ""], ["3", "", "3"], ["yes", "", "yes"], ["", "2020-12-31", "2020-12-31"]]
)
def test_a_single_value_says_something_where_other_cells_are_empty(column, cells):
    table = column(*cells)
    kind, why = kind_of(table)
    assert not why
    x = Encoders.fit(table, {"it": kind}).encode(table).x.toarray()
    empty = cells.index("")
    assert (x[empty] != x[(empty + 1) % 3]).any()


def test_a_comma_before_the_fraction_is_read_where_semicolons_split(table):
    assert kinds_of(table("id;it\na;0,5\nb;-1,25e2\nc;3\n"), ["id"]) == {"it": "number"}
    assert kinds_of(table('id,it\na,"0,5"\nb,"1,5"\nc,"0,5"\n'), ["id"]) == {"it": "number"}


def test_parquet_types_say_what_they_are(tmp_path):
    columns = {
        "number": [1.5, None, 2.0],
        "flag": [True, False, True],
        "vector": [[0.5, 1.0], None, [2.0, 1.0]],
        "ragged": [[0.5], [1.5, 2], []],
        "bag": [[1, 2], [3], []],
        "keys": [["a"], ["b", "a"], None],
        "blob": [b"x", b"y", b"z"],
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    choices = choose_columns(read_table(tmp_path / "t.parquet"))
    assert used_kinds(choices) == {
        "number": "number",
        "flag": "number",
        "vector": "embedding",
        "bag": "tokens",
        "keys": "tokens",
    }
    assert {name: choice.why_not for name, choice in choices.items() if choice.why_not} == {
        "blob": "its type is binary",
        "ragged": "its lists differ in length: the first has 1, t.parquet row 2 has 2",
    }


THREE = "id,year,title,code\na,1990,the first one there,z1\nb,1991,a second one here,z2\nc,1991,one more of them,z3\n"


def test_only_what_is_asked_for_is_used(table):
    assert kinds_of(table(THREE), ["id"]) == {"year": "number", "title": "text"}
    assert kinds_of(table(THREE), ["id"], {"title": None}) == {"title": "text"}
    # What would be left out is used all the same, and the order is the file's.
    asked = {"code": None, "year": "category"}
    assert kinds_of(table(THREE), ["id"], asked) == {"year": "category", "code": "category"}
    assert kinds_of(table(THREE), ["id"], ignore=["title"]) == {"year": "number"}


@pytest.mark.parametrize(
    ("asked", "ignore", "message"),
    [
        ({"none": None}, (), "table.csv has no column 'none'; it has 'id', 'year', 'title', 'code'$"),
        ({"year": None}, ("none",), "table.csv has no column 'none'"),
        ({"id": None}, (), "column 'id' already holds ids, labels or the like"),
        ({"year": None}, ("year",), "column 'year' is chosen as a feature, but also named in `ignore`"),
        (
            {"year": "colour"},
            (),
            "^column 'year': there is no kind 'colour'; .*number, date, category, text, embedding, tokens$",
        ),
        ({"title": "number"}, (), "^table.csv line 2: 'the first one there' in column 'title' is not a number"),
        ({"year": "embedding"}, (), "^table.csv line 2: '1990' in column 'year' is not a list of numbers like"),
    ],
)
def test_what_cannot_be_had_is_named(table, asked, ignore, message):
    with pytest.raises(DataError, match=message):
        choose_columns(table(THREE), ["id"], asked, ignore)


@pytest.mark.parametrize(
    ("cells", "kind", "message"),
    [
        (["", "NA"], None, "column 'it' is empty, so it cannot be a feature"),
        (
            ["1", "2", "x"],
            "number",
            "^table.tsv line 4: 'x' in column 'it' is not a number; choose another kind",
        ),
        (["[1, 2]", "[3]"], "embedding", "column 'it' cannot be of kind embedding: its lists differ in length"),
        (["[1, 2]", "[x]"], "embedding", r"^table.tsv line 3: '\[x\]' in column 'it' is not a list of numbers"),
    ],
)
def test_a_kind_that_cannot_be_is_named_with_its_cell(column, cells, kind, message):
    with pytest.raises(DataError, match=message):
        choose_columns(column(*cells), ["id"], {"it": kind})


@pytest.mark.parametrize("kind", ["number", "category", "text"])
def test_lists_are_not_single_values(tmp_path, kind):
    parquet.write_table(pa.table({"it": [["a"], ["b"]]}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"t.parquet: column 'it' holds lists"):
        choose_columns(read_table(tmp_path / "t.parquet"), asked={"it": kind})


def test_a_column_of_split_parts_is_left_out_with_a_hint(column):
    kind, note = kind_of(column("train", "Test", "val", "", "train"))
    assert kind is None
    assert "train, val or test" in note
    assert "`split`" in note


def test_every_kind_is_one_entry(column):
    cells = {
        "number": "1",
        "date": "2020-12-31",
        "category": "x",
        "text": "a word or two",
        "embedding": "[1, 2]",
        "tokens": "a;b",
    }
    for kind in KINDS:
        table = column(cells[kind], cells[kind])
        assert column_class(kind).kind == kind
        assert column_class(kind).check(table, "it") == ""
        assert [each.kind for each in Encoders.fit(table, {"it": kind}).columns] == [kind]


def test_the_kinds_are_listed_without_waiting_for_numpy():
    # Of the package alone: what `import graphmix` loads is its own matter.
    code = (
        "import sys, types, pathlib, importlib.util\n"
        "place = importlib.util.find_spec('graphmix').submodule_search_locations\n"
        "package = types.ModuleType('graphmix'); package.__path__ = list(place); sys.modules['graphmix'] = package\n"
        "from graphmix.tables.kinds import KINDS\n"
        "print(len(KINDS), sorted({'numpy', 'scipy', 'torch', 'pyarrow'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout == f"{len(KINDS)} []\n"
