"""Numbers as people write them: every form by hand, and what is written comes back as the number."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmix.errors import DataError
from graphmix.tables.choosing import choose_columns, used_kinds
from graphmix.tables.edges import read_edges
from graphmix.tables.encoders import Encoders
from graphmix.tables.files import read_table
from graphmix.tables.numbers import as_numbers
from graphmix.tables.patterns import MARKS_OF_MISSING
from graphmix.tables.table import Table

EVERY_FORM = Path(__file__).parent / "as_people_write.csv"
NAN = float("nan")
# By column: the notation, and the numbers of the five rows.
NUMBERS = {
    "thousands": ("1,234.5", [43835, 1234567, 12, 2000, 0]),
    "spaces": ("1 234,5", [1234567, 1234, 7, 1000.5, NAN]),
    "apostrophes": ("1'234.5", [1234, 1000000, 5, 0, 1000.5]),
    "german": ("1.234,5", [1234567.5, 1234, 0.5, -7, 1000]),
    "indian": ("1,234.5", [1234567, 100000, 7, 1000, NAN]),
    "around": ("plain", [7, 12, 3, -1, NAN]),
    "dollars": ("1,234.5", [5, 1234.5, -3, -9, 0]),
    "codes": ("1234.5", [12, 7, 0, 3, 1]),
    "percent": ("1234.5", [5, 12.5, -3, 0, 100]),
    "decimal comma": ("1234,5", [0.5, 1.25, 3, -2.125, 0.001]),
    "brackets": ("1,234.5", [-1200, 300, 0, -4, NAN]),
    "trailing": ("1,234.5", [-1200, 300, 0, -4, 1]),
    "unicode": ("1234.5", [-5, -2.5, 4, 3, -1]),
    "plus": ("plain", [7, 0.5, -1, 2, NAN]),
    "truth": ("true/false", [1, 0, 1, 0, NAN]),
    "answer": ("yes/no", [1, 0, 1, 0, NAN]),
    "letter": ("y/n", [1, 0, 1, 0, NAN]),
    "short": ("t/f", [1, 0, 1, 0, NAN]),
    "switch": ("on/off", [1, 0, 1, 0, NAN]),
    "gaps": ("plain", [NAN, 5, NAN, NAN, 8]),
}


def texts(*cells, decimal="."):
    """A table of one column, called `it`, of text as if from a CSV file."""
    column = pa.chunked_array([pa.array(cells, pa.string())])
    return Table("memory.csv", {"it": column}, len(cells), decimal=decimal)


def numbers(*cells, decimal="."):
    return as_numbers(texts(*cells, decimal=decimal), "it")


@pytest.mark.parametrize("name", NUMBERS)
def test_every_form_is_read(name):
    table = read_table(EVERY_FORM)
    notation, values = NUMBERS[name]
    found = as_numbers(table, name)
    assert found.notation == notation
    assert not len(found.wrong)
    np.testing.assert_array_equal(found.values, values)


def test_every_column_of_numbers_is_a_feature():
    choices = choose_columns(read_table(EVERY_FORM), exclude=["id"])
    assert {name: choices[name].kind for name in NUMBERS if not choices[name].why_not} == dict.fromkeys(
        NUMBERS, "number"
    )
    assert "its units differ ($, EUR, GBP, USD, €) and are ignored" in choices["codes"].note


@pytest.mark.parametrize(
    ("decimal", "value", "said"),
    [
        (".", [1234, 5678], "1,234 is read as 1234; it could also be 1.234"),
        # In a file that is separated by semicolons, a comma is the decimal mark.
        (",", [1.234, 5.678], ""),
    ],
)
def test_a_mark_that_may_be_either_is_read_by_rule(decimal, value, said):
    found = numbers("1,234", "5,678", decimal=decimal)
    assert found.values.tolist() == value
    assert found.doubt == said


def test_with_units_a_comma_is_the_decimal_mark_of_a_file_with_semicolons_and_said():
    found = numbers("1,234 €", "5,678 €", decimal=",")
    assert found.values.tolist() == [1.234, 5.678]
    assert found.doubt == "1,234 is read as 1.234; it could also be 1234"


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        # One cell decides for the column.
        (("1,234", "0,5"), [1.234, 0.5]),
        (("1,234", "1,5"), [1.234, 1.5]),
        (("1,234", "1,234.5"), [1234, 1234.5]),
        (("1.234", "1.234.567"), [1234, 1234567]),
        (("1.234", "1,5"), [1234, 1.5]),
        (("1.234", "2.5"), [1.234, 2.5]),
        (("0,123", "4,567"), [0.123, 4.567]),
    ],
)
def test_one_cell_decides_for_all(cells, value):
    found = numbers(*cells)
    assert found.values.tolist() == value
    assert not found.doubt


@pytest.mark.parametrize(
    "cell", ["1,23", "1,2345", "12,3", "1.2.3", "--5", "(5", "5)", "$", "%", "5-5", "1 23", "$5€x", "(-5)", "5 apples"]
)
def test_what_is_no_number_in_the_notation_is_wrong(cell):
    found = numbers("1,234.5", "$7,000,000", cell)
    assert found.values[:2].tolist() == [1234.5, 7000000]
    assert found.wrong.tolist() == [2]


@pytest.mark.parametrize("mark", MARKS_OF_MISSING)
def test_marks_of_missing_cells_are_missing_among_numbers_and_names_elsewhere(mark):
    for cells in (("1", "2", mark.upper()), ("yes", "no", mark), ("1,200", "5", mark)):
        found = numbers(*cells)
        assert np.isnan(found.values).tolist() == [False, False, True]
        assert found.filled == 2
    table = texts(*["red", "blue", mark] * 3)
    assert choose_columns(table)["it"].kind == "category"


def test_three_words_are_categories():
    assert used_kinds(choose_columns(texts("yes", "no", "maybe", "yes", "no", "maybe"))) == {"it": "category"}
    assert used_kinds(choose_columns(texts("yes", "off", "yes", "off"))) == {"it": "category"}


def test_the_notation_is_kept_for_other_tables():
    encoders = Encoders.fit(texts("1.234,5", "0,5"), {"it": "number"})
    # Alone, 1.234 would be a little more than one.
    again = encoders.encode(texts("1.234", "0,5", "later"))
    assert again.x.toarray()[0, 0] == np.float32((1234 - 617.5) / 617)
    assert again.notes == ["column 'it': 1 cell counted as missing: not a number (first 'later', memory.csv row 3)"]
    assert Encoders.from_json(encoders.to_json()) == encoders


def test_cells_that_are_not_yes_or_no_are_told_so():
    encoders = Encoders.fit(texts("yes", "no", "yes"), {"it": "number"})
    again = encoders.encode(texts("no", "maybe"))
    assert again.notes == ["column 'it': 1 cell counted as missing: not yes or no (first 'maybe', memory.csv row 2)"]
    with pytest.raises(DataError, match=r"row 1: 'maybe' in column 'it' is not yes or no$"):
        encoders.encode(texts("maybe"))


def test_numbers_of_other_tables_may_have_a_type_of_their_own():
    encoders = Encoders.fit(texts("1,000", "3,000"), {"it": "number"})
    typed = Table("t.parquet", {"it": pa.chunked_array([pa.array([1000, 3000])])}, 2)
    assert encoders.encode(typed).x.toarray().tolist() == [[-1], [1]]


def test_encoders_of_version_1_read_as_they_did():
    stored = {"version": 1, "columns": [{"kind": "number", "name": "it", "mean": 2.0, "std": 1.0, "has_missing": True}]}
    encoders = Encoders.from_json(stored)
    found = encoders.encode(texts("1", "3", "1,234", "$5", "1000000", ""))
    assert found.x.toarray().tolist() == [[-1, 0], [1, 0], [0, 1], [0, 1], [10, 0], [0, 1]]
    assert "2 cells counted as missing: not a number (first '1,234'" in found.notes[0]


WRITERS = {
    "1,234.5": lambda value: f"{value:,}",
    "1.234,5": lambda value: f"{value:,}".translate(str.maketrans(",.", ".,")),
    "1 234,5": lambda value: f"{value:,}".translate(str.maketrans(",.", " ,")),
    "1'234.5": lambda value: f"{value:,}".replace(",", "'"),
    "1234,5": lambda value: f"{value}".replace(".", ","),
}
AROUND = {
    "bare": lambda text: text,
    "dollars": lambda text: f"-${text[1:]}" if text[0] == "-" else f"${text}",
    "euros": lambda text: f"{text} €",
    "code": lambda text: f"EUR {text}",
    "percent": lambda text: f"{text}%",
    "brackets": lambda text: f"({text[1:]})" if text[0] == "-" else text,
    "trailing": lambda text: f"{text[1:]}-" if text[0] == "-" else text,
    "unicode": lambda text: text.replace("-", "\u2212"),
    "spaces": lambda text: f"  {text}\u00a0",
}


@given(
    values=st.lists(st.integers(-(10**11), 10**11).map(lambda number: number / 100), min_size=1, max_size=30),
    writer=st.sampled_from(sorted(WRITERS)),
    around=st.sampled_from(sorted(AROUND)),
)
def test_what_is_written_comes_back_as_the_number(values, writer, around):
    # A number with every mark decides the notation.
    values = [*values, 1234567.25, -9876543.75]
    found = numbers(*(AROUND[around](WRITERS[writer](value)) for value in values))
    assert found.notation == writer
    assert not len(found.wrong)
    assert found.values.tolist() == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e29, max_value=1e29), min_size=1))
def test_plain_numbers_stay_as_programs_write_them(values):
    found = numbers(*map(repr, values))
    assert found.notation == "plain"
    assert found.values.tolist() == values


def test_weights_of_edges_are_read_as_they_are_written(tmp_path):
    (tmp_path / "e.csv").write_text('source,target,weight\na,b,"1,200"\nb,c,$7\n')
    assert read_edges(tmp_path / "e.csv").weights.tolist() == [1200, 7]
