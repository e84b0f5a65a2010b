"""What the site takes from the code: tables of commands, datasets, methods and specs, and links to what it exports.

A page writes `<!-- from code: commands -->` where a table belongs. Nothing of it is copied by hand, so nothing can go
stale.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

import graphmix
from graphmix.cli.main import app as graphmix_app
from graphmix.data import DatasetInfo
from graphmix.experiments.spec import load_spec, names
from graphmix.training.methods import METHODS

DOCS = Path(__file__).parents[1]
_PLACE = re.compile(r"<!-- from code: (\w+) -->")
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]+)?\)")
_ORDER = ("nodes", "edges", "features", "classes", "split", "source")


def commands() -> str:
    """Write a section for each command: what it does, how it is called, its options by panel."""
    return "\n\n".join(_command_sections(typer.main.get_command(graphmix_app), "graphmix", None))


def datasets() -> str:
    """Write the table of datasets."""
    rows = [_dataset_row(name, info) for name, info in graphmix.DATASETS.items()]
    return _table(("name", *_ORDER), rows)


def methods() -> str:
    """Write the table of methods that train a network."""
    rows = [(f"`{name}`", method.about) for name, method in METHODS.items() if not method.baseline]
    return _table(("method", "what is trained, and how"), rows)


def specs() -> str:
    """Write the table of the paper's tables and figures."""
    rows = [(f"`{spec.name}`", spec.title, spec.source, str(spec.trials)) for spec in map(load_spec, names())]
    return _table(("spec", "what it repeats", "in the paper", "trials"), rows)


TABLES = {"commands": commands, "datasets": datasets, "methods": methods, "specs": specs}


def _command_sections(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.make_context(name.split()[-1], [], parent=parent, resilient_parsing=True)
    children = getattr(command, "commands", {})
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield f"## {name}\n\n{_escape(command.help or '')}\n\n```text\n{usage}\n```"
    for panel, params in _panels(command.params).items():
        rows = [(f"`{shown}`", _escape(meaning)) for shown, meaning in _records(params, context)]
        if rows:
            yield _table((panel, ""), rows)
    for child in children:
        yield from _command_sections(children[child], f"{name} {child}", context)


def _panels(params: list[Any]) -> dict[str, list[Any]]:
    """Sort parameters as `--help` does: arguments, options without a panel, then the panels in their order."""
    sorted_: dict[str, list[Any]] = {"Arguments": [], "Options": []}
    for param in params:
        usual = "Arguments" if param.param_type_name == "argument" else "Options"
        sorted_.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(param)
    return {name: held for name, held in sorted_.items() if held}


def _records(params: list[Any], context: Any) -> Iterator[tuple[str, str]]:
    for param in params:
        record = param.get_help_record(context)
        if record is not None:
            yield record[0], " ".join(record[1].split())


def _dataset_row(name: str, info: DatasetInfo) -> tuple[str, ...]:
    values = (getattr(info, field) for field in _ORDER)
    return (f"`{name}`", *(f"{value:,}" if isinstance(value, int) else value for value in values))


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _escape(text: str) -> str:
    """Keep Markdown from reading marks into a help text; what stands in backticks is code already."""
    parts = text.split("`")
    return "`".join(part if place % 2 else re.sub(r"([*_<>\[\]])", r"\\\1", part) for place, part in enumerate(parts))


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put tables in their places, and mend links that lead out of the site."""
    text = _PLACE.sub(lambda found: TABLES[found[1]](), source[0])
    page = DOCS / f"{docname}.md"

    def mend(found: re.Match[str]) -> str:
        words, path, _ = found.groups()
        target = (page.parent / path).resolve()
        if not target.exists() or target.is_relative_to(DOCS):
            return found[0]
        # The design pages may name files of the repository, which the site does not carry.
        if target.name == "README.md":
            return f"[{words}]({'../' * docname.count('/')}results/index.md)"
        return words

    source[0] = _LINK.sub(mend, text)


def mend_docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Write a docstring so that napoleon and reStructuredText read it as it was meant."""
    lines[:] = [_escape_bars(line) for line in _as_lists(lines)]
    if what == "property":
        # Napoleon takes what stands before a colon in a property's first line for its type: give it another first line.
        lines.insert(0, "\\ ")


def _escape_bars(line: str) -> str:
    """Keep |p| from being a substitution, outside code."""
    parts = line.split("`")
    return "`".join(part if place % 2 else part.replace("|", r"\|") for place, part in enumerate(parts))


def _as_lists(lines: list[str]) -> list[str]:
    """Make a list of a paragraph whose lines are "`name`: meaning", further lines of a meaning being indented."""
    text = "\n".join(lines)
    for paragraph in text.split("\n\n"):
        items = paragraph.split("\n")
        heads = [item for item in items if not item.startswith(" ")]
        if len(heads) > 1 and all(re.match(r"`.+?: ", item) for item in heads):
            listed = (f"  {item.strip()}" if item.startswith(" ") else f"- {item}" for item in items)
            text = text.replace(paragraph, "\n".join(listed))
    return text.split("\n")


def link_exported(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contents: nodes.TextElement
) -> nodes.reference | None:
    """Resolve `graphmix.data.graph.Graph`, as annotations call it, to `graphmix.Graph`, as it is documented."""
    target = node.get("reftarget", "")
    python = env.domains.python_domain
    same = [name for name in python.objects if name.rpartition(".")[2] == target.rpartition(".")[2]]
    if node.get("refdomain") != "py" or not target.startswith("graphmix.") or len(same) != 1:
        return None
    found = python.resolve_any_xref(env, node["refdoc"], app.builder, same[0], node, contents)
    return found[0][1] if found else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", fill_in)
    # Before napoleon, whose own priority is the usual 500.
    app.connect("autodoc-process-docstring", mend_docstring, priority=400)
    app.connect("missing-reference", link_exported)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
