"""The pages name no machine, the site builds without a warning, and its links lead somewhere."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer

import graphmix
from graphmix.cli.main import app
from graphmix.models.registry import BACKBONES, NETWORKS

DOCS = Path(__file__).parents[2] / "docs"
ROOT = typer.main.get_command(app)


def name(page):
    return page.relative_to(DOCS.parent).with_suffix("").as_posix().removeprefix("docs/")


PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "design")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_names_no_machine_and_no_package_index(page):
    found = re.search(r"/work/|/home/|/root/|/tmp/|pypi\.|pythonhosted|--index-url", page.read_text())
    assert found is None, found


def test_the_page_of_networks_has_all_of_them_and_says_which_use_weights():
    page = (DOCS / "networks.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(BACKBONES)
    (said,) = re.findall(r"^(.*) use edge weights\.", page, re.MULTILINE)
    assert re.findall(r"`(\w+)`", said) == [name for name in BACKBONES if NETWORKS[name].uses_edge_weights]


class Links(HTMLParser):
    """The places a built page has, those it points to, and what it makes a browser fetch."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.targets, self.fetched = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        targets = {held[key] for key in ("href", "src") if held.get(key)}
        self.ids |= {held[key] for key in ("id", "name") if held.get(key)}
        self.targets |= targets
        self.fetched |= targets if tag != "a" else set()


def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(site):
    html = site
    site = {path: Links(path.read_text()) for path in html.rglob("*.html")}

    design = (f"design/{page.stem}" for page in (DOCS / "design").glob("*.md"))
    assert {html / f"{page}.html" for page in (*map(name, PAGES), *design)} <= set(site)
    for page, links in site.items():
        assert not [target for target in links.fetched if "//" in target], page
        for target in links.targets:
            check_link(site, page, target)
    assert not {f"graphmix.{exported}" for exported in graphmix.__all__} - site[html / "api.html"].ids
    check_commands(ROOT, "graphmix", (html / "cli.html").read_text())


def check_link(site, page, target):
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    assert path.exists(), f"{page.name} -> {target}"
    if parts.fragment and path in site:
        assert unquote(parts.fragment) in site[path].ids, f"{page.name} -> {target}"


def check_commands(command, called, text):
    assert f">{called}<" in text, called
    for option in (option for param in command.params for option in param.opts):
        assert option in text, f"{called} {option}"
    for child, held in getattr(command, "commands", {}).items():
        check_commands(held, f"{called} {child}", text)
