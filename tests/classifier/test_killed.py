"""A fit that is killed at any moment goes on with --resume, and comes to the same, byte by byte."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from unittest import mock

import pytest

from command_line import COMMAND
from graphmix.training import loop
from small_tables import command, pairs, rows, tree, write_edges, write_nodes

NODES = 150
# Batches of one trial each, so that there are parts to go on with.
OPTIONS = ["--trials", "6", "--epochs", "6", "--hidden", "4", "--device", "cpu", "--no-report"]
OPTIONS += ["--methods", "supervised,label-propagation,graphmix"]
ONE_AT_A_TIME = """
import sys
from graphmix.training import loop
loop.trials_at_once = lambda graph, config, device: 1
sys.argv[0] = "graphmix"
from graphmix.cli.main import run
run()
"""


def options(folder, out):
    tables = ["--nodes", folder / "nodes.csv", "--edges", folder / "edges.csv", "--label", "topic"]
    return [str(each) for each in ("fit", *tables, *OPTIONS, "--out", out)]


def result(folder):
    """Every file of a model that is to be the same: all, but for times and memory."""
    held = tree(folder)
    assert not [name for name in held if name.endswith((".part", ".lock"))], held.keys()
    metrics = json.loads(held.pop("metrics.json"))
    for name in ("seconds", "peak_memory_gib"):
        metrics.pop(name)
    for place in metrics["candidates"]:
        place.pop("seconds")
    for name in [name for name in held if name.endswith(("results.json", "details.json"))]:
        run = json.loads(held.pop(name))
        run.pop("seconds", None)
        held[name] = run
    return held, metrics


def start(folder, out):
    variables = os.environ | {"OMP_NUM_THREADS": "1"}
    python = [COMMAND[0], "-c", ONE_AT_A_TIME]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*python, *options(folder, out)], env=variables, **streams)


def parts(out):
    return len(list(out.glob("candidates/*/parts/*.safetensors"))) + len(list(out.glob("candidates/*/results.json")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, one_at_a_time):
    """The tables, and the model that comes of them when nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_nodes(folder / "nodes.csv", rows(NODES))
    write_edges(folder / "edges.csv", pairs(NODES))
    done = command(*options(folder, folder / "model"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_at_a_time():
    """Batches as in the processes that are killed: another size may round otherwise."""
    with mock.patch.object(loop, "trials_at_once", return_value=1):
        yield


def go_on(folder, out):
    """Go on where there is something to go on with; whatever was left, the end is the same."""
    resume = ["--resume"] if out.exists() else []
    done = command(*options(folder, out), *resume)
    assert done.returncode == 0, done.stderr
    (files, metrics), (expected, known) = result(out), result(folder / "model")
    assert [name for name in files | expected if files.get(name) != expected.get(name)] == []
    assert metrics == known


@pytest.mark.parametrize("trained", [1, 7])
def test_a_fit_killed_between_parts_goes_on(undisturbed, tmp_path, trained):
    out = tmp_path / "model"
    process = start(undisturbed, out)
    deadline = time.monotonic() + 120
    while parts(out) < trained:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert parts(out) >= trained
    assert not (out / "model.json").exists()
    go_on(undisturbed, out)


@pytest.mark.slow
def test_a_fit_killed_at_twenty_random_moments_goes_on(undisturbed, tmp_path, record_property):
    rng, found = random.Random(5), []
    began = time.monotonic()
    assert start(undisturbed, tmp_path / "timed").wait() == 0
    whole = time.monotonic() - began
    assert result(tmp_path / "timed") == result(undisturbed / "model")
    for moment in range(20):
        out = tmp_path / f"model{moment}"
        process = start(undisturbed, out)
        # Importing takes most of the time, and nothing can go wrong in it: half of the moments are in the second half.
        time.sleep(whole * (rng.uniform(0.5, 1) if moment % 2 else rng.random()))
        process.kill()
        process.wait()
        found.append((out.exists(), parts(out), (out / "model.json").exists()))
        go_on(undisturbed, out)
        shutil.rmtree(out)
    record_property("moments", found)
    assert len({parts for _, parts, _ in found}) > 3, found
