"""The page's script in node, with a document and a server of the test: what keys and buttons mean at odd moments."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import graphmix.labeling

PAGE = Path(graphmix.labeling.__file__).parent / "page"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    folder = tmp_path_factory.mktemp("page")
    for script in (*PAGE.glob("*.js"), Path(__file__).with_name("page.mjs")):
        shutil.copy(script, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    run = subprocess.run([node, "page.mjs"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_an_answer_is_about_the_node_that_is_shown(found):
    assert found["after_a_key_in_between"] == ["n2", [1]]
    assert found["of_a_button"] == [2]
    assert found["without_a_node"] == ["", []]


def test_what_went_wrong_is_said_until_something_else_was_done(found):
    assert found["trouble"] == [False, "not stored"]
    assert found["trouble_is_over"] == [True, "n4"]


def test_a_search_is_for_all_that_was_typed_and_shown_in_its_view_only(found):
    assert found["searched"] == "abc"
    assert found["after_a_late_search"] == ["n4", False]
