"""Cells that a spreadsheet would run: left as they are and counted, or made harmless; everything else comes back."""

import csv
import io
import re
import time

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from command_line import graphmix
from graphmix.workflow.formulas import count_formulas, escape, is_formula
from graphmix.workflow.output import OutputTable, formula_notes

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Letters that matter, with any text between them.
RISKY = st.text(st.one_of(st.sampled_from(f"{SIGNS};,\t\r\n\" '1.e"), st.characters(exclude_categories=["Cs"])))
COLUMNS = st.lists(st.lists(RISKY, min_size=3, max_size=3), min_size=1, max_size=4)
FORMS = pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])


def table(cells):
    """A table whose headings are risky too."""
    return OutputTable({f"{cell[0]}{number}": cell for number, cell in enumerate(cells)})


def written(made, ending, separator, **options):
    content = made._content(f".{ending}", escape if options.get("escape_formulas") else str).decode()
    return content, list(csv.reader(io.StringIO(content, newline=""), delimiter=separator))


@FORMS
@given(COLUMNS)
@example([["=1+1", "a;=1+1", "a,-3"]])
@example([["+1;-x", '"=1', " =1"]])
@example([["\t=1", "\r-1", "-1\n=1"]])
@example([["a,-3", "-3,5", 'x"-3']])
def test_no_piece_of_a_guarded_table_is_a_formula(ending, separator, cells):
    content, rows = written(table(cells), ending, separator, escape_formulas=True)
    # As any program could split it: what is in the file, and what is in its cells.
    texts = [content, *(cell for row in rows for cell in row)]
    pieces = [piece for text in texts for piece in re.split(r"[;,\t\r\n]", text)]
    for piece in pieces:
        for read in (piece, piece.strip(), piece.lstrip('" '), piece.lstrip("\ufeff\0")):
            assert read[:1] not in SIGNS or not read or NUMBER.fullmatch(read), (piece, content)


@FORMS
@given(COLUMNS)
@example([["", "", ""]])
@example([["\r", "\n", "\r\n"]])
def test_without_the_option_what_is_read_back_is_what_was_given(ending, separator, cells):
    made = table(cells)
    _, rows = written(made, ending, separator)
    assert rows == [list(made.columns), *map(list, zip(*made.columns.values(), strict=True))]


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_stay_numbers(number):
    assert escape(str(number)) == str(number)
    assert not is_formula(str(number))


@given(RISKY)
def test_nothing_but_apostrophes_is_added(text):
    guarded = escape(text)
    assert guarded.replace("'", "") == text.replace("'", "")
    # What is counted is guarded, and what is guarded stays so.
    assert guarded != text or not is_formula(text)
    assert not is_formula(guarded)
    assert escape(guarded) == guarded or guarded.startswith(("\t", "\r", "\n"))


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("a;=b", "a;'=b"),
        ("a,@b", "a,'@b"),
        ("a\t+b", "a\t'+b"),
        ("a\r\n-b", "a\r\n'-b"),
        ("\uff1d1", "'\uff1d1"),
        ("x;\uff0b1", "x;'\uff0b1"),
        # Spaces and quotes before a formula may be skipped.
        (" =1", " '=1"),
        ('"=1', "\"'=1"),
        # Classes that are numbers, in the column of sets.
        ("-1;1;+1", "-1;1;+1"),
        ("-3,5", "-3,5"),
        # The last piece of a cell in quotes is followed by a quote.
        ("a,-3", "a,'-3"),
        ("+;-", "'+;'-"),
        ("a=b;c-d", "a=b;c-d"),
    ],
)
def test_pieces(text, guarded):
    assert escape(text) == guarded


def test_what_is_counted():
    cells = ["=1", "a;@b", "+", "-", "-1", "+;-", "a", None, 3, "=\n1", "-1 2", "＝x"]
    assert count_formulas([cells]) == 5
    made = OutputTable({"id": cells, "=h": ["x"] * len(cells)})
    (note,) = formula_notes("out.csv", made)
    assert note.startswith("6 cells begin like a formula")
    assert "`escape_formulas`" in note
    assert formula_notes("out.csv", made, made)[0].startswith("12 cells")
    assert formula_notes("out.csv", OutputTable({"id": ["=1"]}))[0].startswith("1 cell begins")
    assert formula_notes("out.parquet", made) == formula_notes("out.tsv", made, escape_formulas=True) == []


@pytest.mark.parametrize("text", [" " * 10**6, '"' * 10**6, ";" * 10**6, "\t" * 10**6, "; " * 10**6, "=" * 10**6])
def test_long_cells_take_no_time(text):
    since = time.perf_counter()
    escape(text), is_formula(text)
    assert time.perf_counter() - since < 5


@FORMS
def test_other_programs_read_it_too(tmp_path, ending, separator):
    names = ["=1", "a\nb", "a\r\nb", 'a"b', '"', "a,b", "a\tb", " x ", "é", "NA", "a;b"]
    OutputTable({"id": names, "n": list(range(len(names)))}).write(tmp_path / f"o.{ending}")
    frame = pd.read_csv(tmp_path / f"o.{ending}", sep=separator, keep_default_na=False)
    assert frame["id"].tolist() == names
    from graphmix.tables.nodes import read_nodes

    assert read_nodes(tmp_path / f"o.{ending}").ids == names


def is_safe(path):
    """Whether no piece of a file, split where any spreadsheet might, is a formula."""
    pieces = [piece.lstrip('" ') for piece in re.split(r"[;,\t\r\n]", path.read_text(encoding="utf-8"))]
    return all(NUMBER.fullmatch(piece) for piece in pieces if piece and piece[0] in SIGNS)


def test_every_command_guards_its_outputs(tmp_path):
    ids = ["=1+1", "a;@b", "+1 2", "-x", "\uff1dx", "x,=y", "-5", *(f"n{number}" for number in range(17))]
    topics = ["=A;-b", "@C", "-1"]
    nodes = [[name, topics[number % 3] if number % 4 else "", number % 5] for number, name in enumerate(ids)]
    with (tmp_path / "n.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["=id", "topic", "size"], *nodes])
    with (tmp_path / "e.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b"], *([name, ids[number - 3]] for number, name in enumerate(ids))])
    tables = ["--nodes", tmp_path / "n.csv", "--edges", tmp_path / "e.csv", "--id", "=id", "--label", "topic"]
    small = ["--methods", "label-propagation", "--trials", "2", "--epochs", "2", "--device", "cpu", "--no-report"]
    model = tmp_path / "model"
    said = "puts an apostrophe before them"
    for option, guarded in (((), False), (("--escape-formulas",), True)):
        named = "guarded" if guarded else "plain"
        commands = {
            model / "predictions.csv": ["fit", *tables, "-o", model, *small],
            tmp_path / f"{named}.tsv": ["predict", model, "-o", tmp_path / f"{named}.tsv"],
            tmp_path / named / "label_next.csv": ["advise", model, "-o", tmp_path / named, "--device", "cpu"],
        }
        for path, command in commands.items():
            result = graphmix(*command, *option)
            assert result.returncode == 0, result.stderr
            assert is_safe(path) is guarded, path
            assert (said in result.stdout) is not guarded, command
        assert is_safe(tmp_path / named / "suspects.csv") or not guarded
        model = tmp_path / "another"
