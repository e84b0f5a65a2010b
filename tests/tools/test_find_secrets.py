"""The check for secrets: planted ones are found and not shown, checksums are not taken for one."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "find_secrets.py"


def look(*files):
    return subprocess.run([sys.executable, TOOL, *files], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("line", "secret"),
    # In pieces, so that this file has none.
    [
        ("key = '{}'", "AKIA" + "IOSFODNN7EXAMPLA"),
        ("token: {}", "ghp_" + "x9Kd03mQz7" * 3 + "Ab12Cd"),
        ("{}", "-----BEGIN RSA " + "PRIVATE KEY-----"),
        ("pass" + "word = '{}'", "hunter2hunter2"),
        ("api = '{}'", hashlib.md5(b"a key of 32 digits").hexdigest()),
    ],
)
def test_a_planted_secret_is_found_and_not_shown(tmp_path, line, secret):
    planted = tmp_path / "settings.py"
    planted.write_text(f"# harmless\n{line.format(secret)}\n")
    found = look(planted)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "settings.py:2: looks like a secret" in found.stdout
    assert secret not in found.stdout + found.stderr


def test_a_secret_is_named_at_each_of_its_places(tmp_path):
    line, other = "pass" + "word = 'hunter2hunter2'\n", "".join(f"# line {number}\n" for number in range(20))
    for name, before in (("one.py", 9), ("two.py", 0), ("three.md", 13), ("four.cfg", 1)):
        lines = other.splitlines(keepends=True)
        (tmp_path / name).write_text("".join([*lines[:before], f"  {line}", *lines[before:]]))
    found = look(*sorted(tmp_path.iterdir()))
    assert found.returncode == 1
    places = [line.split(": looks")[0].rpartition("/")[2] for line in found.stdout.splitlines()[:-1]]
    assert places == ["four.cfg:2", "one.py:10", "three.md:14", "two.py:1"]


def test_a_file_that_is_not_there_is_not_called_clean(tmp_path):
    found = look(tmp_path / "nowhere.py")
    assert found.returncode == 1
    assert "no such file" in found.stderr


def test_checksums_and_allowed_lines_pass(tmp_path):
    harmless = tmp_path / "sums.py"
    digest = hashlib.sha256(b"a file").hexdigest()
    allowed = "pass" + "word = 'hunter2hunter2'  # pragma: allowlist secret"
    harmless.write_text(f"SUM = '{digest}'\nCOMMIT = '{digest[:40]}'\nSHORT = '{digest[:12]}'\n{allowed}\n")
    found = look(harmless, TOOL)
    assert (found.returncode, found.stdout) == (0, "no secrets found in 2 files\n")
