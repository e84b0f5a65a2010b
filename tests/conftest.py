"""What all tests share."""

import functools
import importlib
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

_NO_DATA = "GRAPHMIX_DATA is not set: it names the folder with the real datasets"

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
        pytest.skip(_NO_DATA)
    root = Path(named)
    if not root.is_dir():
        pytest.fail(f"GRAPHMIX_DATA names {root}, which is not a folder")
    return root


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first."""
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `gpu` where there is no CUDA device, and those marked `data` where there are no datasets."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    if item.get_closest_marker("data") and not os.environ.get("GRAPHMIX_DATA"):
        pytest.skip(_NO_DATA)


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """One torch thread per test process: they share the cores already."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def no_waiting_for_disks() -> Iterator[None]:
    """Files need not survive a power cut in the middle of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def usual_trees() -> Iterator[int]:
    """Small forests, which were most of the time of a fit in a test; the number of trees of real ones.

    Processes that a test starts grow real ones: whoever compares with them leaves the forest out.
    """
    from graphmix.baselines import forest

    usual = forest.TREES
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forest, "TREES", 30)
        yield usual


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
def quick_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps of SemiEmb, Planetoid and GraphSGAN, for tests that do not compare their predictions."""
    from graphmix.baselines import descent
    from graphmix.training.rules import graphsgan

    def descend(optimizer: Any, loss: Any, steps: int) -> None:
        descent.descend(optimizer, loss, min(steps, 50))

    def predict_best(network: Any, optimizer: Any, val: Any, epochs: int) -> torch.Tensor:
        return descent.predict_best(network, optimizer, val, min(epochs, 50))

    # Not by their names in the package, which are functions.
    semiemb, planetoid = (importlib.import_module(f"graphmix.baselines.{name}") for name in ("semiemb", "planetoid"))
    for module in (semiemb, planetoid):
        monkeypatch.setattr(module, "predict_best", predict_best)
    monkeypatch.setattr(planetoid, "descend", descend)
    monkeypatch.setattr(graphsgan, "STEPS", 2)


@pytest.fixture
def quick_tsne(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of t-SNE's steps, for tests that only need that there is a picture."""
    import sklearn.manifold

    monkeypatch.setattr(sklearn.manifold, "TSNE", functools.partial(sklearn.manifold.TSNE, max_iter=250))
