"""The documentation site, built once for all tests of it."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site; test processes that run side by side share one."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    html, done = folder / "site" / "html", folder / "site" / "done"
    (folder / "site").mkdir(exist_ok=True)
    with (folder / "site" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", html.parent / "trees"]
            built = subprocess.run([*command, "-b", "html", DOCS, html], capture_output=True, text=True, timeout=300)
            done.write_text(built.stderr if built.returncode else "")
    # Every process reads what the one that built it was told.
    assert not done.read_text(), done.read_text()
    return html
