"""The command line as a real process, for the tests of it."""

import os
import subprocess
import sys

import numpy as np

COMMAND = [sys.executable, "-m", "graphmix"]
QUICK = ["--trials", "2", "--epochs", "8", "--device", "cpu", "--no-report"]


def graphmix(*arguments, cwd, **environment):
    command = [*COMMAND, *map(str, arguments)]
    variables = {key: value for key, value in os.environ.items() if key not in ("GRAPHMIX_DATA", "GRAPHMIX_CACHE")}
    variables |= {"OMP_NUM_THREADS": "1", "GRAPHMIX_CACHE": str(cwd / "cache"), "COLUMNS": "100"} | environment
    return subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=300)


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
