"""The threat model names a test for each guard; the tests are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text()


def test_every_test_that_the_page_names_exists():
    named = re.findall(r"^- `(tests/\S+\.py)::(test_\w+)`$", PAGE, flags=re.MULTILINE)
    assert len(named) > 20
    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert missing == []


def test_every_guard_names_a_test():
    guards = PAGE.partition("## The guards")[2].partition("## Out of scope")[0]
    for guard in re.split(r"^\*\*", guards, flags=re.MULTILINE)[1:]:
        assert "::test_" in guard, guard[:60]
