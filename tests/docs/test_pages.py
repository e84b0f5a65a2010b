"""The pages keep their word: their Python runs and prints what they say, their commands are real, their links lead on.

A page's blocks run in order, in one namespace and one folder. A ```text block right after a ```python block is, word
for word, what that prints.
"""

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
import torch
import typer

import graphmix
from graphmix.baselines import BASELINES
from graphmix.cli.main import app
from graphmix.cli.options import read
from graphmix.data import resolve
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.spec import load_spec

# Importing it warns, which is an error inside a test.
pytest.importorskip("torch_geometric.nn")

DOCS = Path(__file__).parents[2] / "docs"
README = DOCS.parent / "README.md"
ROOT = typer.main.get_command(app)
QUICK = ("--trials 2", "--epochs 8", "--device cpu", "--no-report")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$(?=(?:\n```text\n(.*?)^```$)?)", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    language: str
    text: str
    output: str | None

    @property
    def needs_data(self):
        return re.search(r'load\("(?!synthetic)', self.text) is not None

    @property
    def commands(self):
        """The arguments of every `$ graphmix …` line."""
        lines = re.sub(r"\\\n\s*", " ", self.text).splitlines()
        return [shlex.split(line, comments=True)[2:] for line in lines if line.startswith("$ graphmix ")]


def blocks(page):
    found = (Block(*match.groups()) for match in FENCED.finditer(page.read_text()))
    return [block for block in found if block.language in ("python", "console")]


def name(page):
    return page.relative_to(DOCS.parent).with_suffix("").as_posix().removeprefix("docs/")


PAGES = sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "design")
WITH_CODE = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]
WITH_DATA = [page for page in WITH_CODE if any(block.needs_data for block in blocks(page))]
COMMANDS = [
    pytest.param(words, id=f"{name(page)}: {' '.join(words)}")
    for page in (*PAGES, README)
    for block in blocks(page)
    for words in block.commands
]


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """A folder of its own, torch's generator left as it was, and no dataset on the machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHMIX_DATA", raising=False)
    monkeypatch.setenv("GRAPHMIX_CACHE", str(tmp_path / "cache"))
    with torch.random.fork_rng(devices=[]):
        yield


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_code_runs_and_prints_what_the_page_says(page, apart, capsys):
    run_page(page, capsys, with_data=False)


@pytest.mark.data
@pytest.mark.parametrize("page", WITH_DATA, ids=name)
def test_the_code_runs_on_real_datasets(page, apart, data_root, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHMIX_DATA", str(data_root))
    run_page(page, capsys, with_data=True)


def run_page(page, capsys, *, with_data):
    names = {}
    for block in blocks(page):
        if block.language == "console":
            for words in filter(is_cheap, block.commands):
                run_command(words)
        elif with_data or not block.needs_data:
            capsys.readouterr()
            exec(compile(shorten(block.text), name(page), "exec"), names)
            if block.output is not None:
                assert capsys.readouterr().out == block.output, block.text
    assert names


def shorten(text):
    """Leave a block word for word but for the number of epochs: a few show that it runs."""
    text = re.sub(r"epochs=\d+", "epochs=8", text)
    # A config that trains and leaves the epochs to the paper.
    unsaid = r"(Config(?:\.for_dataset)?\((?=[^()]*trials=)(?![^()]*epochs=)[^()]*)\)"
    return re.sub(unsaid, r"\1, epochs=8)", text)


def is_cheap(words):
    if words[0] in ("train", "select", "report"):
        return words[1] == "synthetic" or Path(words[1]).exists()
    return words in (["data", "list"], ["reproduce", "--list"])


def run_command(words):
    """Run a command, with fewer trials and epochs and without pictures."""
    has = {option for param in parse(words).command.params for option in (*param.opts, *param.secondary_opts)}
    short = [option for option in QUICK if option.split()[0] in has]
    assert app([*words, *" ".join(short).split()], standalone_mode=False) in (None, 0), words


def parse(words):
    """Parse a command line without running it: the context of the command it ends in."""
    command, context, called = ROOT, None, "graphmix"
    while True:
        context = command.make_context(called, list(words), parent=context)
        if not hasattr(command, "commands"):
            return context
        called, command, words = command.resolve_command(context, [*context._protected_args, *context.args])


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_one_that_there_is(words, apart):
    given = parse(words).params
    # What a parser takes for any text must be one of the names that there are.
    if words[0] in ("train", "select"):
        dataset = resolve(given["dataset"])
        assert dataset in graphmix.DATASETS or dataset.endswith(".npz")
        config = {key: read(key, value) for key, value in given.items() if key in graphmix.Config.__dataclass_fields__}
        if config.get("method") in BASELINES:
            del config["method"]
        graphmix.Config.for_dataset(dataset, **config)
    if words[0] == "reproduce" and given["spec"] not in (None, "all"):
        assert plan(load_spec(given["spec"]), Asked(only=given["only"]))


def test_there_are_pages_to_test():
    assert len(WITH_CODE) >= 12
    assert len(COMMANDS) >= 30
    assert sum(block.output is not None for page in WITH_CODE for block in blocks(page)) >= 25


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_names_no_machine_and_no_package_index(page):
    found = re.search(r"/work/|/home/|/root/|/tmp/|pypi\.|pythonhosted|--index-url", page.read_text())
    assert found is None, found


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
