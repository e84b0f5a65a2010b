"""Links of the files beside the site, such as README.md: every file and every heading they name exists. No network."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
OUTSIDE = sorted(PROJECT.glob("*.md"))
LINK = re.compile(r"(?:\]\(|(?:href|src|srcset)=\")(?!\w+:)([^)\s\"#]*)(?:#([^)\s\"]+))?")


class Ids(HTMLParser):
    """The places that a built page has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value for key, value in attrs if key == "id" and value}


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def headings(path: Path) -> set[str]:
    return {slug(found) for found in re.findall(r"^#+ (.+)$", without_code(path.read_text()), re.MULTILINE)}


def broken(page: Path, site: Path) -> list[str]:
    """The links of a file that lead nowhere."""
    found = []
    for target, anchor in LINK.findall(without_code(page.read_text())):
        path = (page.parent / target).resolve() if target else page
        docs = PROJECT / "docs"
        if not path.exists():
            found.append(target)
        elif anchor and path.is_relative_to(docs) and path.suffix == ".md":
            built = site / path.relative_to(docs).with_suffix(".html")
            found += [] if anchor in Ids(built.read_text()).found else [f"{target}#{anchor}"]
        elif anchor and path.suffix == ".md":
            found += [] if anchor in headings(path) else [f"{target}#{anchor}"]
    return found


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path, site: Path) -> None:
    assert broken(page, site) == []


def test_what_leads_nowhere_is_found(tmp_path: Path, site: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Here: `it` is\n[a](#here-it-is) [b](#there) [c](none.md) [d](https://example.org/x)\n")
    assert broken(page, site) == ["#there", "none.md"]
