"""Every code block of the README and the pages runs, and prints what the page says.

The blocks of a page run in order, in one namespace and one folder, without a network. Comments in the page say what is
special about the block that follows:

`<!-- not run: REASON -->`     it never runs here: it needs a GPU, a network or minutes
`<!-- needs data: cora -->`    it runs where the dataset's files are on the machine
`<!-- run first: CODE -->`     Python that runs before it and is not shown

A ```text block on the line after a ```python block is, word for word, what that prints. In the tutorials it is what
`benchmarks/walks.py` has kept.
"""

import importlib.util
import json
import re
import socket
import subprocess
import sys
from pathlib import Path

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

PROJECT = Path(__file__).parents[2]
DOCS, README = PROJECT / "docs", PROJECT / "README.md"
ROOT = typer.main.get_command(app)
# What makes a command quick, where it has the option.
QUICK = ("--trials 2", "--epochs 8", "--device cpu", "--no-report")
RUN_FIRST = re.compile(r"<!-- run first:\n(.*?)\n?-->", re.DOTALL)
LANGUAGES = {"python", "console", "text", "bibtex", "toml", "json", "mermaid"}


def load(path):
    """Import a script, which is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


walks = load(PROJECT / "benchmarks" / "walks.py")
smoke = load(PROJECT / "tools" / "package_smoke.py")


def blocks(page):
    return walks.blocks(page.read_text(encoding="utf-8"))


def name(page):
    return page.relative_to(PROJECT).with_suffix("").as_posix().removeprefix("docs/")


def data_of(block):
    """The dataset that a block needs the files of, or None."""
    return block.mark.removeprefix("needs data: ") if block.mark.startswith("needs data: ") else None


PAGES = [README, *sorted(page for page in DOCS.rglob("*.md") if page.parent.name != "design")]
WITH_CODE = [page for page in PAGES if blocks(page)]
WITH_DATA = [page for page in WITH_CODE if any(data_of(block) for block in blocks(page))]
TUTORIALS = [page for page in WITH_CODE if page.parent == walks.TUTORIALS]
COMMANDS = [
    pytest.param(words, id=f"{name(page)}: {' '.join(words)}")
    for page in WITH_CODE
    for block in blocks(page)
    for program, *words in block.lines
    if program == "graphmix" and words != ["--version"]
]


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """A folder of its own, torch's generator left as it was, no dataset on the machine and no network."""

    def refuse(*args, **options):
        raise OSError("tests of the pages have no network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GRAPHMIX_DATA", raising=False)
    monkeypatch.setenv("GRAPHMIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(socket, "create_connection", refuse)
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
    if page == README:
        smoke.write_tables()
        names = smoke.given_names()
    hidden = hidden_code(page)
    for place, block in enumerate(blocks(page)):
        if place in hidden:
            exec(compile(hidden[place], name(page), "exec"), names)
        if block.mark.startswith("not run: ") or (data_of(block) and not with_data):
            continue
        capsys.readouterr()
        if block.language == "console":
            for words in block.lines:
                run_command(words)
            continue
        exec(compile(shorten(block.text), name(page), "exec"), names)
        if block.output is not None and page not in TUTORIALS:
            assert capsys.readouterr().out == block.output, block.text


def hidden_code(page):
    """Code that runs before a block and is not shown, by the place of the block."""
    text = page.read_text(encoding="utf-8")
    return {len(walks.blocks(text[: found.start()])): found[1] for found in RUN_FIRST.finditer(text)}


def shorten(text):
    """Leave a block word for word but for the number of epochs: a few show that it runs."""
    text = re.sub(r"epochs=\d+", "epochs=8", text)
    # Calls that train and leave the epochs to the defaults.
    unsaid = r"(Config(?:\.for_dataset)?\((?=[^()]*trials=)(?![^()]*epochs=)[^()]*)\)"
    text = re.sub(unsaid, r"\1, epochs=8)", text)
    fits = r"((?:fit_tables|GraphMixClassifier)\((?![^()]*epochs=)[^()]*)\)"
    return re.sub(fits, r"\1, epochs=8, trials=2)", text).replace("(, ", "(")


def run_command(words):
    """Run a command as it stands, but with fewer trials and epochs and without pictures."""
    program, *rest = words
    if program != "graphmix":
        # Plain looks at files; anything else must be marked.
        assert program in ("head", "python"), f"a page runs {program}: mark the block as not run, and say why"
        subprocess.run([sys.executable if program == "python" else program, *rest], check=True, capture_output=True)
        return
    has = {option for param in parse(rest).command.params for option in (*param.opts, *param.secondary_opts)}
    short = [option for option in QUICK if option.split()[0] in has]
    assert app([*rest, *" ".join(short).split()], standalone_mode=False) in (None, 0), words


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


def test_few_blocks_are_not_run_and_each_says_why():
    every = [(page, block) for page in WITH_CODE for block in blocks(page)]
    marked = [(page, block) for page, block in every if block.mark.startswith(("not run", "needs data"))]
    assert len(every) > 90
    assert len(marked) <= 0.25 * len(every), [f"{name(page)}: {block.mark}" for page, block in marked]
    for page, block in marked:
        dataset = data_of(block)
        assert dataset in graphmix.DATASETS if dataset else len(block.mark) > len("not run: why"), name(page)


def test_no_block_escapes():
    """Every fence is at the margin and has a language that is known, so that none is skipped unseen."""
    for page in PAGES:
        fences = re.findall(r"^([ \t]*)(?:```|~~~)([^\n`]*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        for indent, language in fences[::2]:
            assert not indent or language not in ("python", "console"), name(page)
            assert not language or language.startswith("{") or language in LANGUAGES, f"{name(page)}: {language}"


@pytest.mark.parametrize("page", TUTORIALS, ids=name)
def test_a_tutorial_shows_what_was_printed(page):
    kept = json.loads(walks.RESULTS.read_text())[page.stem]
    text = page.read_text(encoding="utf-8")
    assert walks.render(text, kept) == text
    # As it stands now, not as it stood when it was run.
    ran = [block.text for block in walks.blocks(text) if not block.mark.startswith("not run")]
    assert [each["text"] for each in kept["blocks"]] == ran


def test_shortening_leaves_everything_but_the_epochs():
    assert shorten("Config(trials=3)") == "Config(trials=3, epochs=8)"
    assert shorten("Config(trials=3, epochs=500)") == "Config(trials=3, epochs=8)"
    assert shorten("print(1)") == "print(1)"


def test_a_page_that_is_wrong_fails(tmp_path, apart, capsys, monkeypatch):
    page = PROJECT / "wrong.md"
    texts = {
        "```python\nprint(1)\n```\n```text\n2\n```\n": AssertionError,
        "```python\nraise KeyError\n```\n": KeyError,
        "```console\n$ graphmix train nothing-of-the-kind\n```\n": Exception,
        "```console\n$ make demo\n```\n": AssertionError,
    }
    for text, error in texts.items():
        monkeypatch.setattr(type(page), "read_text", lambda self, text=text, **options: text)
        with pytest.raises(error):
            run_page(page, capsys, with_data=False)
