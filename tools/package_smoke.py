"""Try an installed graphmix: train, fit, predict, report, and the Python blocks of a README.

    python tools/package_smoke.py README.md [EXTRA]

Run it with the Python of the environment, in an empty folder. It knows from the installed packages what must work: a
report where plotly is installed, one sentence that names the extra where it is not. EXTRA is what was installed: with
`all`, no block may be skipped for a missing package. Blocks that load a dataset by name run if GRAPHMIX_DATA is set.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import graphmix
from graphmix.distribution import NAME, needs

SMALL = ("--trials", "2", "--epochs", "3", "--device", "cpu")


def main() -> None:
    """Try everything; an AssertionError or a traceback says what does not work."""
    readme, extra = Path(sys.argv[1]), (sys.argv[2:] or [""])[0]
    assert version(NAME) == graphmix.__version__, "the metadata has another version than the package"
    assert "site-packages" in graphmix.__file__, f"graphmix is imported from {graphmix.__file__}, not as installed"
    write_tables()
    try_commands()
    try_blocks(readme.read_text(encoding="utf-8"), whole=extra == "all")


def write_tables() -> None:
    """Write the tables that the commands below and the README's blocks read."""
    papers = [f"{paper},{'ab'[paper % 2] if paper < 30 else ''},{2000 + paper % 2}" for paper in range(40)]
    tables = {
        "papers": ["id,topic,year", *papers],
        "cites": ["citing,cited", *(f"{paper},{(paper + 2) % 40}" for paper in range(40))],
        "new_papers": ["id,year", "p1,2001"],
        "new_cites": ["citing,cited", "p1,3"],
    }
    for name, rows in tables.items():
        Path(f"{name}.csv").write_text("\n".join(rows) + "\n")


def try_commands() -> None:
    """Train, fit and predict with the command; then a report, or the sentence that says what it needs."""
    tables = ("--nodes", "papers.csv", "--edges", "cites.csv", "--label", "topic")
    new = ("--nodes", "new_papers.csv", "--edges", "new_cites.csv")
    assert command("--version").stdout.split() == ["graphmix", graphmix.__version__]
    written = [command("train", "synthetic", *SMALL, "--out", "run").stderr]
    written.append(command("fit", *tables, *SMALL, "--out", "fitted").stderr)
    command("predict", "fitted", *new, "-o", "new.csv")
    assert len(Path("new.csv").read_text().splitlines()) == 2
    sentence = needs("a report", "report")
    if installed("plotly"):
        assert Path("run/report.html").exists()
        assert Path("fitted/report.html").exists()
        command("report", "run", "-o", "again.html")
    else:
        for told in written:
            assert f"no report was written: {sentence}" in " ".join(told.split()), told
        assert sentence in " ".join(command("report", "run", code=2).stderr.split())
    print(f"train, fit, predict; {'a report' if installed('plotly') else 'no report, and a sentence that says so'}")


def command(*words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    """Run the installed command and check its exit code."""
    program = Path(sys.executable).with_name("graphmix")
    # A width at which no sentence is broken inside a word.
    environment = os.environ | {"COLUMNS": "200"}
    ran = subprocess.run([program, *words], capture_output=True, text=True, env=environment)
    assert ran.returncode == code, f"graphmix {' '.join(words)}: exit code {ran.returncode}\n{ran.stderr}"
    return ran


def try_blocks(readme: str, whole: bool) -> None:
    """Run the blocks in order, in one namespace; a block that needs a skipped one is skipped."""
    names = given_names()
    skipped = False
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE), start=1):
        why = why_not(block)
        if why is None:
            why = run(block, names, after_skipped=skipped)
        print(f"README block {number}: {'ran' if why is None else f'skipped, {why}'}")
        assert not (whole and why is not None and why.startswith("no ")), f"block {number}: {why}"
        skipped = skipped or why is not None


def given_names() -> dict[str, Any]:
    """The arrays that a README may speak of without making them."""
    rng = np.random.default_rng(0)
    own = {"x": rng.random((60, 8)), "edges": rng.integers(0, 60, (2, 150)), "y": np.arange(60) % 3}
    masks = np.arange(60) // 20 == np.arange(3)[:, None]
    return {"graphmix": graphmix, **own, **dict(zip(("train", "val", "test"), masks, strict=True))}


def why_not(block: str) -> str | None:
    """Say why a block cannot run here, if so."""
    if re.search(r'load\("(?!synthetic)', block) and "GRAPHMIX_DATA" not in os.environ:
        return "it loads a dataset by name, and GRAPHMIX_DATA is not set"
    for node in ast.walk(ast.parse(block)):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            imported = [node.module or ""]
        for name in imported:
            if not installed(name.partition(".")[0]):
                return f"no {name.partition('.')[0]}"
    return None


def run(block: str, names: dict[str, Any], after_skipped: bool) -> str | None:
    """Run a block with 2 epochs, which show that it runs; return why it did not, if that is no fault."""
    short = re.sub(r"trials=(\d+)(, epochs=\d+)?", r"trials=\1, epochs=2", block)
    try:
        exec(compile(short, "README", "exec"), names)
    except NameError as error:
        if not after_skipped:
            raise
        return f"it needs a block that was skipped ({error})"
    except graphmix.RunError as error:
        if f"pip install '{NAME}[" not in str(error):
            raise
        return f"no package: {error}"
    return None


def installed(package: str) -> bool:
    """Whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


if __name__ == "__main__":
    main()
