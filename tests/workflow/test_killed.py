"""A fit that is killed goes on with --resume, and comes to the same, byte by byte; bad_inputs/kills.py has more."""

import json
import os
import signal
from pathlib import Path
from unittest import mock

import pytest

from command_line import graphmix, graphmix_signalled
from graphmix.training import loop
from small_tables import pairs, rows, tree, write_edges, write_nodes

NODES = 150
# Batches of one trial each, so that there are parts to go on with.
OPTIONS = ["--trials", "6", "--epochs", "6", "--hidden", "4", "--device", "cpu", "--no-report"]
OPTIONS += ["--methods", "supervised,label-propagation,graphmix"]
ONE_AT_A_TIME = """
from graphmix.training import loop
loop.trials_at_once = lambda graph, config, device: 1
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


def files(out):
    """What a folder holds just now; unlike pathlib's, this walk does not mind that folders go while it looks."""
    return {Path(folder) / name for folder, _, names in os.walk(out) for name in names}


def parts(out):
    """How many batches or whole methods are trained."""
    return sum(path.parent.name == "parts" and path.suffix == ".safetensors" for path in files(out)) + sum(
        path.name == "results.json" for path in files(out)
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, one_at_a_time):
    """The tables, and the model that comes of them when nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_nodes(folder / "nodes.csv", rows(NODES))
    write_edges(folder / "edges.csv", pairs(NODES))
    done = graphmix(*options(folder, folder / "model"))
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
    done = graphmix(*options(folder, out), *resume)
    assert done.returncode == 0, done.stderr
    (files, metrics), (expected, known) = result(out), result(folder / "model")
    assert [name for name in files | expected if files.get(name) != expected.get(name)] == []
    assert metrics == known


@pytest.mark.parametrize(
    ("written", "whole", "left"),
    [(1, True, 1), (8, False, 1 + 1)],
    ids=["after a part of the first network", "in the middle of a part of the second"],
)
def test_a_fit_killed_between_parts_goes_on(undisturbed, tmp_path, written, whole, left):
    out = tmp_path / "model"
    moment = {"send": signal.SIGKILL, "files": written, "whole": whole, "setup": ONE_AT_A_TIME}
    killed = graphmix_signalled(*options(undisturbed, out), cwd=tmp_path, **moment)
    assert killed.returncode == -signal.SIGKILL
    # Six parts make a network, whose parts go when it is whole.
    assert parts(out) == left
    assert any(path.name.endswith(".part") for path in files(out)) == (not whole)
    assert not (out / "model.json").exists()
    go_on(undisturbed, out)
