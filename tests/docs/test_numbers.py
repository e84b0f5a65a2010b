"""Numbers in the prose of pages without tables are those of the pages that they cite."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
CITED = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)")
CITING = ("faq.md", "alternatives.md")


def paragraphs(text):
    return [part for part in re.split(r"\n\s*\n", text) if DECIMAL.search(part) and CITED.search(part)]


FOUND = [
    pytest.param(name, part, id=f"{name}: {part[:40]}")
    for name in CITING
    for part in paragraphs((DOCS / name).read_text())
]


@pytest.mark.parametrize(("name", "paragraph"), FOUND)
def test_a_number_is_on_the_page_that_is_cited(name, paragraph):
    cited = "\n".join((DOCS / link).read_text() for link in CITED.findall(paragraph))
    known = set(DECIMAL.findall(cited))
    assert set(DECIMAL.findall(paragraph)) <= known, paragraph


def test_there_are_such_paragraphs():
    assert len(FOUND) > 5
