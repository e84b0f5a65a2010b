"""Look up the pinned packages in the advisory service of PyPI, with pip-audit.

    python tools/audit.py [FILE]

The file is constraints.txt unless another one is named. Ends with exit code 1 if a package has a known vulnerability.
Where the service cannot be reached it says "not audited" and ends with 0; pip-audit itself skips packages that it gets
no answer for, and would say "no known vulnerabilities".
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
SECONDS = 20
# Errors of pip-audit and requests that say that the service gave no answer.
UNREACHABLE = ("ConnectionError", "ServiceError", "Timeout", "ProxyError", "SSLError")
# Known vulnerabilities that do not matter here, each with the reason: {"PYSEC-2026-1": "only when …"}.
ACCEPTED: dict[str, str] = {}


class Verdict(NamedTuple):
    """What is to be said, and whether the check fails."""

    lines: list[str]
    failed: bool


def main() -> int:
    """Audit and print; return the exit code."""
    pins = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "constraints.txt"
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(pins), "--no-deps", "--disable-pip"]
    verdict = audit([*command, "--format", "json", "--progress-spinner", "off", "--timeout", "5"])
    print("\n".join(verdict.lines))
    return int(verdict.failed)


def audit(command: list[str], seconds: float = SECONDS) -> Verdict:
    """Run pip-audit and judge what it prints."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return Verdict([f"not audited: the advisory service did not answer within {seconds:g} s"], False)
    if ran.stdout.strip():
        return judge(json.loads(ran.stdout), ACCEPTED)
    last = (ran.stderr.strip().splitlines() or ["no output"])[-1]
    if any(word in ran.stderr for word in UNREACHABLE):
        return Verdict([f"not audited: advisory service unreachable ({last})"], False)
    return Verdict([f"pip-audit failed: {last}"], True)


def judge(report: dict[str, Any], accepted: dict[str, str]) -> Verdict:
    """Judge a report of pip-audit; what it skipped was not audited."""
    packages = report["dependencies"]
    audited = [package for package in packages if "vulns" in package]
    found = [(package, flaw) for package in audited for flaw in package["vulns"]]
    bad = [(package, flaw) for package, flaw in found if not accepted.keys() & {flaw["id"], *flaw["aliases"]}]
    lines = [
        f"{package['name']} {package['version']}: {flaw['id']}, fixed in "
        f"{', '.join(flaw['fix_versions']) or 'no version yet'}"
        for package, flaw in bad
    ]
    if not audited:
        return Verdict(
            [f"not audited: advisory service unreachable; it answered for 0 of {len(packages)} packages"], False
        )
    lines.append(f"{len(audited)} of {len(packages)} packages audited: {len(bad)} known vulnerabilities")
    skipped = [package["name"] for package in packages if "vulns" not in package]
    lines += [f"not audited: {', '.join(skipped)}"] if skipped else []
    return Verdict(lines, bool(bad))


if __name__ == "__main__":
    sys.exit(main())
