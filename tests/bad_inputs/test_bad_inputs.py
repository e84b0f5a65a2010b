"""Bad inputs of every kind: one sentence or success, and nobody's file is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"


def try_cases(request, *options):
    """Run cases in a process of its own, which forks and so must have no threads; show and return the counts."""
    variables = os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{TESTS}"}
    command = [sys.executable, "-m", "bad_inputs", *options]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(done.stdout)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return json.loads(done.stdout)


def test_a_hundred_bad_inputs(request):
    found = try_cases(request, "--cases", "100", "--workers", "1")
    assert found["cases"] == 100
    assert not any(found["faults"].values())


@pytest.mark.slow
def test_ten_thousand_bad_inputs_and_a_hundred_kills(request, tmp_path):
    found = try_cases(request, "--cases", "10000", "--kills", "100")
    assert found["cases"] == 10_000
    assert not any(found["faults"].values())
    assert found["killed"]["kills"] == found["killed"]["same_bytes"] == 100
    assert found["killed"]["left"]["a part"] > 20
