"""What all tests share."""

import os
from pathlib import Path

import pytest
import torch
from hypothesis import settings

# The first call of a torch function can take a second on a busy machine; a time limit would fail at random.
settings.register_profile("graphmix", deadline=None)
settings.load_profile("graphmix")


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


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests marked `gpu` where there is no CUDA device."""
    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """One torch thread per test process: they share the cores already."""
    torch.set_num_threads(1)
