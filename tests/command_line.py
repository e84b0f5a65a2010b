"""The command line, for the tests of it: in this process, or as a real one."""

import contextlib
import functools
import io
import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import numpy as np
import torch
from rich.console import Console

COMMAND = [sys.executable, "-m", "graphmix"]
QUICK = ["--trials", "2", "--epochs", "8", "--device", "cpu", "--no-report"]


def graphmix(*arguments, cwd=None, **environment):
    """Run the command in this process: its exit code and what it wrote, as `graphmix_process` gives them.

    An exception that nobody foresaw is raised here, so it fails the test. Folder, environment, streams and torch's
    threads are put back afterwards.
    """
    from graphmix.cli import screen
    from graphmix.cli.internal_errors import INTERNAL
    from graphmix.cli.main import run

    shown, told = Captured(), Captured()
    variables = _variables(cwd, environment)
    consoles = [held for held in vars(screen).values() if isinstance(held, Console)]
    code, threads = None, torch.get_num_threads()
    with contextlib.ExitStack() as stack:
        if cwd is not None:
            stack.enter_context(contextlib.chdir(cwd))
        stack.enter_context(mock.patch.dict(os.environ, variables, clear=True))
        stack.enter_context(mock.patch.object(sys, "argv", ["graphmix", *map(str, arguments)]))
        stack.enter_context(contextlib.redirect_stdout(shown))
        stack.enter_context(contextlib.redirect_stderr(told))
        for console in consoles:  # they took their width from the environment when they were made
            stack.enter_context(mock.patch.object(console, "_width", int(variables["COLUMNS"])))
        stack.callback(torch.set_num_threads, threads)
        try:
            run()
        except SystemExit as ended:
            code = ended.code
            if code == INTERNAL:  # the exception that it was made of says more than the sentence
                raise AssertionError(told.text()) from ended.__context__
    return SimpleNamespace(returncode=code or 0, stdout=shown.text(), stderr=told.text())


def graphmix_process(*arguments, cwd, **environment):
    """Run the command as a real process: for its streams, its exit code and what importing it does."""
    command = [*COMMAND, *map(str, arguments)]
    variables = _variables(cwd, environment)
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=300)


# The process sends the signal to itself: no other process could be sure to meet the moment.
SIGNALLED = """
import os, signal, sys
rename, written = os.replace, []
def replace(source, target, **options):
    if os.path.basename(os.path.dirname(target)) == {folder!r}:
        written.append(target)
    last = len(written) == {files}
    if last and not {whole}:
        os.kill(os.getpid(), {signal})
    rename(source, target, **options)
    if last:
        os.kill(os.getpid(), {signal})
os.replace = replace
{setup}
sys.argv[0] = "graphmix"
from graphmix.__main__ import run
run()
"""


def graphmix_signalled(*arguments, cwd, send, files, folder="parts", whole=True, setup="", **environment):
    """Run the command as a real process that gets a signal when it has written so many files to folders of a name.

    Args:
        arguments: those of the command.
        cwd: where it runs.
        send: the signal.
        files: how many files are written by then.
        folder: the name of the folders whose files count.
        whole: whether the last file has its name by then; otherwise all of it is written, but under another name.
        setup: Python to run first.
        environment: variables.
    """
    code = SIGNALLED.format(signal=int(send), files=files, folder=folder, whole=whole, setup=setup)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    # Tests that a shell started in the background ignore Ctrl-C, and so would what they start.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    streams = {"env": _variables(cwd, environment), "capture_output": True, "text": True, "timeout": 300}
    return subprocess.run(command, cwd=cwd, preexec_fn=heed, **streams)


class Captured(io.TextIOWrapper):
    """A stream like a process's own, a text layer over bytes, that keeps what is written."""

    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self):
        return self.buffer.getvalue().decode()


def _variables(cwd, environment):
    """The environment of a command: no datasets, a cache in its folder, one thread, a screen of 100 columns."""
    usual = {key: value for key, value in os.environ.items() if key != "GRAPHMIX_DATA"}
    if cwd is not None:
        usual["GRAPHMIX_CACHE"] = str(cwd / "cache")
    return usual | {"OMP_NUM_THREADS": "1", "COLUMNS": "100"} | environment


def refused(result, *parts):
    """The promise for bad input: exit code 2, one sentence on standard error, nothing on standard output."""
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    for part in parts:
        assert part in lines[0]


def arrays(**changes):
    """A small valid graph as the arrays of an .npz file."""
    rng = np.random.default_rng(0)
    nodes = 40
    train, val, test = (np.zeros(nodes, bool) for _ in range(3))
    train[:8], val[8:20], test[20:] = True, True, True
    held = {
        "x": rng.random((nodes, 6)),
        "edges": rng.integers(0, nodes, (2, 100)),
        "y": np.arange(nodes) % 3,
        "train": train,
        "val": val,
        "test": test,
    }
    return held | changes


def save(path, **changes):
    np.savez(path, **arrays(**changes))
    return path
