"""Look for keys, tokens and passwords in the files of the repository.

    python tools/find_secrets.py [FILE …]

Without arguments every file that git tracks, or would add, is looked at. Prints the place of whatever detect-secrets
takes for a secret, never the secret itself, and ends with exit code 1 if there is any. A line that is known to be
harmless says so: `pragma: allowlist secret`.
"""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings

ROOT = Path(__file__).parents[1]
# Commits and SHA-256 sums, whole or their beginnings, look random and are meant to be public.
CHECKSUMS = r"^([0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{20}|[0-9a-f]{40}|[0-9a-f]{64})$"

# Files in which a secret is in one line, whatever stands around it.
BY_LINE = (".json", ".py", ".svg", ".md")


def main() -> int:
    """Look at the files that are named, or at all; return the exit code."""
    files = sys.argv[1:] or tracked_files()
    if missing := [name for name in files if not Path(name).is_file()]:
        sys.exit(f"{missing[0]}: no such file, so nothing was looked at")
    found = find(files)
    for place, kind in found:
        print(f"{place}: looks like a secret ({kind})")
    if found:
        print("remove it and revoke it; if it is harmless, end its line with a comment: pragma: allowlist secret")
    else:
        print(f"no secrets found in {len(files):,} files")
    return 1 if found else 0


def tracked_files() -> list[str]:
    """Return the files that git tracks or would add, as far as they are there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        sys.exit(f"files cannot be listed, so none was looked at: {listed.stderr.strip()}")
    paths = (ROOT / name for name in sorted(set(listed.stdout.split("\0"))) if name)
    return [str(path) for path in paths if path.is_file()]


def find(files: list[str]) -> list[tuple[str, str]]:
    """Return the place and the kind of everything that looks like a secret."""
    processes = min(os.cpu_count() or 1, 4)
    by_line = [name for name in files if Path(name).suffix in BY_LINE]
    whole = [name for name in files if Path(name).suffix not in BY_LINE]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(processes) as pool:
        places = _distinct_lines(by_line, Path(folder), processes)
        names = [*places, *whole]
        parts = pool.map(_scan, (names[part::processes] for part in range(processes)))
        found = [entry for part in parts for entry in part]
    return sorted(
        (place, kind)
        for name, line, kind in found
        for place in (places[name][line - 1] if name in places else [f"{name}:{line}"])
    )


def _distinct_lines(files: list[str], folder: Path, parts: int) -> dict[str, list[list[str]]]:
    """Write every line of some files once, to a few files for each suffix; return where each of their lines stands.

    Most lines of results and code are there many times, and the search takes a millisecond for each ten of them.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for name in files:
        text = Path(name).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            lines.setdefault((Path(name).suffix, line.strip()), []).append(f"{name}:{number}")
    written: dict[str, list[list[str]]] = {}
    for suffix in sorted({suffix for suffix, _ in lines}):
        distinct = [line for held, line in lines if held == suffix]
        for part in range(parts):
            path = folder / f"lines-{part}{suffix}"
            path.write_text("\n".join(distinct[part::parts]), encoding="utf-8")
            written[str(path)] = [lines[suffix, line] for line in distinct[part::parts]]
    return written


def _scan(files: list[str]) -> list[tuple[str, int, str]]:
    collection = SecretsCollection()
    with default_settings() as settings:
        settings.filters["detect_secrets.filters.regex.should_exclude_secret"] = {"pattern": [CHECKSUMS]}
        for name in files:
            collection.scan_file(name)
    return [(name, secret.line_number, secret.type) for name, secret in collection]


if __name__ == "__main__":
    sys.exit(main())
