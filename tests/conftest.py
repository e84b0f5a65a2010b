"""What all tests share."""

import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

from repeats import repeats

# The first call of a torch function can take a second on a busy machine; a time limit would fail at random.
settings.register_profile("graphmix", deadline=None, max_examples=repeats(50, 500))
settings.load_profile("graphmix")

# What takes longest and is alone in that: begun first, so that no process is left with it at the end.
FIRST = (
    "tests/bad_inputs/test_bad_inputs.py::",
    "tests/test_readme.py::test_the_code_runs_as_it_stands",
    "tests/docs/test_pages.py::test_the_site_builds",
    "tests/docs/test_site.py::",
    "tests/cli/test_cli.py::test_the_package_installs_from_its_wheel",
    "tests/cli/test_reproduce.py::test_a_machine_without_plotly",
    "tests/cli/test_cli.py::test_a_terminal_that_knows_only_ascii",
    "tests/docs/test_walkthrough.py::",
    "tests/experiments/test_runner.py::test_killed_in_the_middle",
    "tests/workflow/test_killed.py::",
    "tests/training/test_trial_axis.py::test_a_trial_in_a_batch_of_a_hundred_on_cora",
)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder with the real datasets; mark tests that use it `data`."""
    named = os.environ.get("GRAPHMIX_DATA")
    if not named:
        pytest.skip("GRAPHMIX_DATA is not set: it names the folder with the real datasets")
    root = Path(named)
    if not root.is_dir():
        pytest.fail(f"GRAPHMIX_DATA names {root}, which is not a folder")
    return root


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `gpu` where there is no CUDA device."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """One torch thread per test process: they share the cores already."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's Chromium, once for all tests."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def quick_tsne(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of t-SNE's steps, for tests that only need that there is a picture."""
    import sklearn.manifold

    monkeypatch.setattr(sklearn.manifold, "TSNE", functools.partial(sklearn.manifold.TSNE, max_iter=250))
