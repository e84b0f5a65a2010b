"""Words of the pages and docstrings are spelled right, or are in tools/words.txt."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("spellchecker", reason="pyspellchecker is in the extra `dev`; run `make setup`")
ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("spelling", ROOT / "tools" / "spelling.py")
spelling = importlib.util.module_from_spec(spec)
spec.loader.exec_module(spelling)


def found(tmp_path, text, name="page.md"):
    file = tmp_path / name
    file.write_text(text)
    return list(spelling.misspelled(file))


def test_every_page_and_docstring_is_spelled_right():
    files = spelling.all_files()
    wrong = [f"{file.relative_to(ROOT)}:{line}: {word}" for file in files for line, word in spelling.misspelled(file)]
    assert not wrong
    assert {ROOT / "README.md", ROOT / "src" / "graphmix" / "errors.py"} <= set(files)


def test_a_wrong_word_is_named_with_its_line(tmp_path):
    assert found(tmp_path, "# Title\n\nA graph and its\nneigbours.\n") == [(4, "neigbours")]
    assert found(tmp_path, "the held-oot label") == [(1, "oot")]


@pytest.mark.parametrize(
    "text",
    [
        "```python\nneigbour = 1\n```\n",
        "the option `neigbour` and ``neigbour``",
        "see [the page](neigbours.md) or https://neigbours.example",
        "<!-- neigbour -->",
        "with $neigbour^2$ and {py:func}`neigbour`",
        "NeigBour, neig_bour, neigbour.py and 3neigbours",
    ],
)
def test_code_links_and_names_are_not_read(tmp_path, text):
    assert found(tmp_path, text) == []


def test_docstrings_are_read_and_code_is_not(tmp_path):
    example = '"""Module.\n\nExample:\n    >>> neigbour\n    neigbour\n"""\n'
    function = 'def f():\n    """Return a neigbour."""\n    wrongg = 1\n'
    assert found(tmp_path, example + function, "code.py") == [(8, "neigbour")]


def test_names_need_their_capital(tmp_path):
    assert found(tmp_path, "Kipf's network") == []
    assert found(tmp_path, "kipf") == [(1, "kipf")]


def test_own_words_are_listed_once():
    lines = spelling.own_words(spelling.OWN_WORDS.read_text())
    assert len(lines) == len(set(lines))
