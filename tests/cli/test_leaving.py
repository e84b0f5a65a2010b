"""The end of the process: nothing is lost, and a failed command ends as any Python process."""

import subprocess
import sys

import pytest

# Notes what happens when: handlers of atexit and threads before the end, objects of modules never.
ENDING = """
import atexit, sys, threading, time
class Kept:
    def __del__(self):
        print("taken apart", file=sys.stderr)
kept = Kept()
from graphmix.__main__ import run
def work():
    time.sleep(0.3)
    print("a thread has ended", file=sys.stderr)
try:
    run()
finally:
    atexit.register(print, "a handler ran", file=sys.stderr)
    {imported}
    threading.Thread(target=work).start()
    print("last words", end="")
"""


def ended(*arguments: str, imported: str = "sys.modules['torch'] = None") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ENDING.format(imported=imported), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_command_that_succeeded_leaves_without_taking_python_apart():
    done = ended("--version")
    assert done.returncode == 0
    assert done.stderr.splitlines() == ["a thread has ended", "a handler ran"]
    assert done.stdout.endswith("last words")


@pytest.mark.parametrize(
    ("arguments", "imported", "code"),
    [(["train", "--nothing"], "sys.modules['torch'] = None", 2), (["--version"], "", 0)],
)
def test_after_an_error_or_without_torch_it_ends_as_python_does(arguments, imported, code):
    done = ended(*arguments, imported=imported)
    assert done.returncode == code
    assert done.stderr.splitlines()[-3:] == ["a thread has ended", "a handler ran", "taken apart"]
    assert done.stdout.endswith("last words")
