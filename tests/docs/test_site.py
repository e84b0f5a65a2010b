"""The site in a browser: pages fit a phone and a desk, can be read in light and dark, and do without scripts."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
STATIC = HERE.parents[1] / "docs" / "_static"
PHONE, DESK = 390, 1440
THEMES = ("light", "dark")
# The report has tests of its own; the others are written by Sphinx and hold no text of ours.
LEFT_OUT = ("report.html", "genindex.html", "py-modindex.html", "search.html")
TABLE = "results/standard-split.html"
BOARD = "leaderboard.html"
Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, site: Path) -> Iterator[Open]:
    """Open a page of the site; everything is closed at the end."""
    contexts = []

    def opened(page: str, width: int = DESK, theme: str = "light", **options: Any) -> Any:
        size = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=size, color_scheme=theme, reduced_motion="reduce", **options))
        made = contexts[-1].new_page()
        made.goto((site / page).as_uri())
        return made

    yield opened
    for context in contexts:
        context.close()


def pages(site: Path) -> list[str]:
    found = sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))
    return [page for page in found if page not in LEFT_OUT and not page.startswith("_")]


# What sticks out of the window to the right, unless a box around it scrolls.
STICKS_OUT = """() => [...document.querySelectorAll("article *")].filter((element) => {
  const box = element.getBoundingClientRect();
  if (box.right <= innerWidth + 1 || !box.width || !box.height) return false;
  for (let each = element.parentElement; each; each = each.parentElement) {
    if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return false;
  }
  return true;
}).map((element) => element.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_no_page_scrolls_sideways(open_page: Open, site: Path, width: int) -> None:
    page = open_page("index.html", width)
    for name in pages(site):
        page.goto((site / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        assert not page.evaluate(STICKS_OUT), name


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_has_enough_contrast(open_page: Open, site: Path, theme: str) -> None:
    script, page = (HERE / "contrast.js").read_text(), open_page("index.html", DESK, theme)
    found = {}
    for name in pages(site):
        page.goto((site / name).as_uri())
        if too_faint := page.evaluate(script):
            found[name] = too_faint
    assert not found


def test_the_check_of_contrast_finds_what_is_too_faint(open_page: Open) -> None:
    page = open_page("index.html")
    page.evaluate("document.querySelector('h1').style.color = '#bbb'")
    (found,) = page.evaluate((HERE / "contrast.js").read_text())
    assert "graphmix" in found


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    "drawing",
    ["method.svg", "front-light.svg", "front-dark.svg", "leaderboard/cora-light.svg", "leaderboard/cora-dark.svg"],
)
def test_a_drawing_can_be_read(open_page: Open, drawing: str, theme: str) -> None:
    page = open_page("index.html", DESK, theme)
    page.goto((STATIC / drawing).as_uri())
    texts, least = page.evaluate((HERE / "drawing_contrast.js").read_text())
    assert texts > 10
    assert least >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_the_front_page_shows_the_picture_of_its_theme_and_three_doors(open_page: Open, theme: str) -> None:
    page = open_page("index.html", PHONE, theme)
    shown = [image for image in page.locator("article img").all() if image.is_visible()]
    assert [image.get_attribute("src").split("/")[-1] for image in shown] == [f"front-{theme}.svg"]
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")
    doors = [link.get_attribute("href") for link in page.locator(".doors a").all()]
    assert doors == [f"tutorials/{name}.html" for name in ("own-tables", "pyg-model", "reproduce-a-table")]


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_every_verdict_is_in_sight(open_page: Open, site: Path, width: int, scripts: bool) -> None:
    page = open_page("index.html", width, java_script_enabled=scripts)
    judged = [name for name in pages(site) if '<table class="verdicts' in (site / name).read_text()]
    assert len(judged) >= 7
    for name in judged:
        page.goto((site / name).as_uri())
        boxes = [cell.bounding_box() for cell in page.locator("table.verdicts td:last-child").all()]
        assert len(boxes) >= 5, name
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes), name


def test_a_table_can_be_filtered(open_page: Open) -> None:
    page = open_page(TABLE)
    rows = page.locator("table.verdicts tbody tr")
    every = rows.count()
    page.get_by_label("verdict").select_option("lower")
    page.get_by_label("dataset").select_option("Pubmed")
    left = [row.inner_text().split() for row in rows.all() if row.is_visible()]
    assert {(words[0], words[-1]) for words in left} == {("Pubmed", "lower")}
    assert 0 < len(left) < every
    assert page.locator(".filters .count").inner_text() == f"{len(left)} of {every} cells"
    page.get_by_label("verdict").select_option("")
    page.get_by_label("dataset").select_option("")
    assert all(row.is_visible() for row in rows.all())


def test_a_table_can_be_sorted_by_numbers_and_by_words(open_page: Open) -> None:
    page = open_page(TABLE)

    def column(place: int) -> list[str]:
        return page.locator(f"table.verdicts td:nth-child({place})").all_inner_texts()

    page.get_by_role("button", name="difference").click()
    differences = [float(text.split()[0]) for text in column(7)]
    assert differences == sorted(differences)
    page.get_by_role("button", name="difference").click()
    assert [float(text.split()[0]) for text in column(7)] == sorted(differences, reverse=True)
    page.get_by_role("button", name="verdict").click()
    assert column(8) == sorted(column(8))
    assert page.locator("th[aria-sort]").all_inner_texts() == ["verdict"]


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_leaderboard_can_be_filtered(open_page: Open, width: int) -> None:
    page = open_page(BOARD, width)
    rows = page.locator("table.board tbody tr")
    page.get_by_label("dataset").select_option("Cora")
    page.get_by_label("split").select_option("random")
    left = [row.locator("td").all_inner_texts()[1:3] for row in rows.all() if row.is_visible()]
    assert left
    assert all(words == ["Cora", "random"] for words in left)
    page.get_by_label("split").select_option("")
    page.get_by_label("method").select_option("GraphMix(GCN)")
    shown = [row for row in rows.all() if row.is_visible()]
    assert {row.locator("td").first.inner_text() for row in shown} == {"GraphMix(GCN)"}
    assert page.locator(".filters .count").inner_text() == f"{len(shown)} of {rows.count()} cells"


def test_the_leaderboard_can_be_sorted_and_what_has_no_number_stays_last(open_page: Open) -> None:
    page = open_page(BOARD)

    def numbers(texts: list[str]) -> list[float]:
        known = [text.lstrip("≈ ").split()[0].replace(",", "").replace("−", "-") for text in texts if text != "–"]
        assert texts[: len(known)] == [text for text in texts if text != "–"]
        return [float(text) for text in known]

    seconds = page.locator("table.board").get_by_role("button", name="seconds")
    for falling in (False, True):
        seconds.click()
        found = numbers(page.locator("table.board td:nth-child(6)").all_inner_texts())
        assert found == sorted(found, reverse=falling)
        assert len(set(found)) > 10
    glance = page.locator("table.grid").first.get_by_role("button", name="Pubmed, public")
    for falling in (False, True):
        glance.click()
        found = numbers(page.locator("table.grid").first.locator("td:nth-child(4)").all_inner_texts())
        assert found == sorted(found, reverse=falling)


def test_a_block_is_copied_without_its_prompts(open_page: Open) -> None:
    page = open_page("quickstart.html")
    page.evaluate("navigator.clipboard.writeText = (text) => { window.taken = text; return Promise.resolve(); }")
    block = page.locator(".highlight-console", has_text="$ graphmix").first
    block.hover()
    block.get_by_role("button").click()
    block.get_by_role("button", name="Copy").filter(has_text="Copied").wait_for()
    copied = page.evaluate("window.taken")
    assert copied.startswith("graphmix ")
    assert "$ " not in copied
    # What a block prints has no button.
    assert page.locator(":is(.highlight-python, .highlight-console) + .highlight-text button.copy").count() == 0
    assert page.locator(".highlight-python button.copy").count() == page.locator(".highlight-python").count()


def test_hidden_states_stand_side_by_side(open_page: Open) -> None:
    page = open_page("results/t-sne.html", PHONE, "dark")
    shown = [image for image in page.locator("article img").all() if image.is_visible()]
    assert [image.get_attribute("src").split("/")[-1] for image in shown] == [
        f"{name}-dark.png" for name in ("cora", "citeseer", "pubmed")
    ]
    assert all("GCN and of GraphMix(GCN)" in image.get_attribute("alt") for image in shown)


def test_the_picture_follows_the_theme_that_a_reader_chooses(open_page: Open) -> None:
    page = open_page("index.html", DESK, "light")
    for theme in ("dark", "light", "dark"):
        page.evaluate("(theme) => { document.body.dataset.theme = theme; }", theme)
        shown = [image.get_attribute("src") for image in page.locator("article img").all() if image.is_visible()]
        assert [path.split("/")[-1] for path in shown] == [f"front-{theme}.svg"]
