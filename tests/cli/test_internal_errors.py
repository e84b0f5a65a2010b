"""Errors that nobody foresaw: one sentence, a log, exit code 70."""

import os
import re
import subprocess
import sys

import pytest

from command_line import graphmix
from graphmix import data
from graphmix.cli import internal_errors

# Run the command with a bug in one of its functions.
BROKEN = """
import graphmix.data, runpy
def where(*_):
    raise KeyError("a\\x1b[31m bug" + "!" * 10_000)
graphmix.data.where = where
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Run the command in an installation that lacks a package.
INCOMPLETE = """
import runpy, sys
sys.modules["typer"] = None
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""

# Run the command, while a thread and a finalizer fail.
ASIDE = """
import graphmix.data, runpy, threading
class Dying:
    def __del__(self):
        raise ValueError("in a finalizer")
def where(*_):
    Dying()
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
graphmix.data.where = where
runpy.run_module("graphmix", run_name="__main__", alter_sys=True)
"""


def run(code, *arguments, cwd, **variables):
    environment = os.environ | {"GRAPHMIX_CACHE": str(cwd / "cache")} | variables
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def log_named_in(line):
    return re.search(r"log file (.*)$", line)[1]


def test_a_bug_is_one_sentence_and_a_log(tmp_path):
    result = run(BROKEN, "data", "list", cwd=tmp_path)
    assert result.returncode == 70
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert "internal error (KeyError" in line
    assert "\x1b" not in line
    assert len(line) < 1000
    (log,) = (tmp_path / "cache" / "logs").iterdir()
    assert str(log) == log_named_in(line)
    assert "Traceback" in log.read_text()
    assert "'data', 'list'" in log.read_text()


def test_a_log_goes_where_it_can(tmp_path):
    # A folder cannot be made below a file, whoever asks.
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    nowhere = str(tmp_path / "file" / "nowhere")
    places = {"GRAPHMIX_CACHE": nowhere, "HOME": nowhere, "XDG_STATE_HOME": nowhere}
    result = run(BROKEN, "data", "list", cwd=tmp_path, **places, TMPDIR=str(tmp_path / "tmp"))
    assert result.returncode == 70
    (log,) = (tmp_path / "tmp").iterdir()
    assert str(log) == log_named_in(result.stderr.strip())


def test_a_package_that_is_missing(tmp_path):
    result = run(INCOMPLETE, "--help", cwd=tmp_path)
    assert result.returncode == 70
    (line,) = result.stderr.splitlines()
    assert "typer" in line
    assert "Traceback" not in line


def test_errors_beside_the_command_do_not_end_it(tmp_path):
    result = run(ASIDE, "data", "list", cwd=tmp_path)
    assert result.returncode == 0
    assert "cora" in result.stdout
    assert "Traceback" not in result.stderr
    assert {line.split(";")[0] for line in result.stderr.splitlines()} == {
        "graphmix: internal error (ZeroDivisionError: division by zero)"
    }
    logs = [path.read_text() for path in (tmp_path / "cache" / "logs").iterdir()]
    assert any("in a finalizer" in log for log in logs)


def test_a_message_that_cannot_be_made():
    class Broken(Exception):
        def __str__(self):
            raise ValueError

    assert internal_errors.summary(Broken()) == "Broken"


def test_a_log_is_written_where_versions_cannot_be_read(monkeypatch, tmp_path):
    def version(package):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(internal_errors, "version", version)
    monkeypatch.setenv("GRAPHMIX_CACHE", str(tmp_path))
    assert "ZeroDivisionError" in internal_errors.write_log(ZeroDivisionError()).read_text()


def test_a_bug_fails_the_tests_that_meet_it(monkeypatch, tmp_path):
    monkeypatch.setattr(data, "where", lambda *_: 1 / 0)
    with pytest.raises(AssertionError, match="internal error") as failed:
        graphmix("data", "list", cwd=tmp_path)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
