"""Install the wheel and the sdist into empty environments, with each extra, and try them there.

    python tools/check_package.py [--dist dist] [--python PYTHON] [--extras none,report,…]

`make wheel` builds both. Every environment is made with `venv` in a temporary folder, filled with pip under
constraints.txt, tried by tools/package_smoke.py and removed. Ends with exit code 1 if one of them fails. A quarter
of an hour on two cores; PYTHON is another interpreter to try.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("none", "report", "pyg", "pandas", "all")


def main() -> int:
    """Try each package with each extra, and print a line for each; return the exit code."""
    parser = argparse.ArgumentParser(description="Install what was built into empty environments, and try it.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder with the wheel and the sdist")
    parser.add_argument("--python", default=sys.executable, help="the Python to make the environments with")
    parser.add_argument("--extras", default=",".join(EXTRAS), help="extras to try with the wheel, comma-separated")
    asked = parser.parse_args()
    wheel, sdist = (one_file(asked.dist, ending) for ending in (".whl", ".tar.gz"))
    wanted = [(wheel, extra) for extra in asked.extras.split(",")]
    results = [attempt(package, extra, asked.python) for package, extra in [*wanted, (sdist, "none")]]
    return 0 if all(results) else 1


def one_file(folder: Path, ending: str) -> Path:
    """Return the file in a folder with that ending; there must be exactly one."""
    found = sorted(folder.glob(f"*{ending}"))
    if len(found) != 1:
        sys.exit(f"{folder} must hold one file *{ending}, not {len(found)}: run `make clean wheel`")
    return found[0].resolve()


def attempt(package: Path, extra: str, python: str) -> bool:
    """Install and try one package; print whether it works, and everything it said if not."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="graphmix-package-") as folder:
        place = Path(folder)
        wanted = str(package) if extra == "none" else f"{package}[{extra}]"
        own = place / "env/bin/python"
        (place / "work").mkdir()
        steps = [
            [python, "-m", "venv", place / "env"],
            [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted],
            [own, "-m", "pip", "check"],
            [own, ROOT / "tools/package_smoke.py", ROOT / "README.md", extra],
        ]
        for step in steps:
            ran = subprocess.run(step, cwd=place / "work", env=environment(), capture_output=True, text=True)
            if ran.returncode:
                break
    print(
        f"{package.name}, extra {extra}: {'ok' if not ran.returncode else 'FAILED'}, {time.monotonic() - start:.0f} s"
    )
    said = ran.stdout + (ran.stderr if ran.returncode else "")
    print("".join(f"  {line}\n" for line in said.splitlines()), end="", flush=True)
    return ran.returncode == 0


def environment() -> dict[str, str]:
    """The environment of a step: pinned versions, one thread, and nothing of ours on the path."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return kept | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    sys.exit(main())
