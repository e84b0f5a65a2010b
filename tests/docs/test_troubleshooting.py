"""Every message that docs/troubleshooting.md quotes is still one of the source's."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "troubleshooting.md"
SOURCE = ROOT / "src" / "graphmix"
ANYTHING = "…"
ENTRY = re.compile(r"^(`.+`.*)\n: ", re.MULTILINE)
PARAMETER = re.compile(r"`(\w+)`")


def quoted():
    return [code for entry in ENTRY.findall(PAGE.read_text()) for code in re.findall(r"`([^`]+)`", entry)]


def in_flags(text):
    """Parameters in backticks as the command line shows them; other backticks are left out."""
    return PARAMETER.sub(lambda name: "--" + name[1].replace("_", "-"), text).replace("`", "")


def template(node):
    """A string with … for every value; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return in_flags(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else ANYTHING for part in node.values]
        return in_flags("".join(parts))
    return None


@pytest.fixture(scope="module")
def messages():
    trees = (ast.parse(path.read_text()) for path in SOURCE.rglob("*.py"))
    found = (template(node) for tree in trees for node in ast.walk(tree))
    return [text for text in found if text]


def matches(quote, message):
    """Whether fixed parts of a quote follow each other in a message; a … stands for anything."""
    fixed = [re.escape(part.strip()) for part in quote.split(ANYTHING) if part.strip()]
    return re.search(".*".join(fixed), message, re.DOTALL) is not None


@pytest.mark.parametrize("quote", quoted())
def test_the_message_is_still_there(quote, messages):
    assert any(matches(quote, message) for message in messages), quote


def test_a_message_that_is_gone_is_noticed(messages):
    assert len(quoted()) > 30
    assert not any(matches("… has too many labels: each of … folds", message) for message in messages)
