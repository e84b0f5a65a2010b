"""A fit that is killed goes on with --resume, and comes to the same, byte by byte; bad_inputs/kills.py has more."""

import json
import os
import signal
from pathlib import Path

import pytest

from command_line import graphmix, graphmix_signalled
from small_tables import pairs, rows, tree, write_edges, write_nodes

NODES = 60
OPTIONS = ["--trials", "5", "--epochs", "30", "--hidden", "8", "--device", "cpu", "--no-report"]
OPTIONS += ["--methods", "label-propagation,supervised,fcn", "--backbone", "gpr"]


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
    # What a candidate predicted of held-out labels is kept with the seconds that it took.
    return {name: content for name, content in held.items() if Path(name).name != "heldout.safetensors"}, metrics


def files(out):
    """What a folder holds just now; unlike pathlib's, this walk does not mind that folders go while it looks."""
    return {Path(folder) / name for folder, _, names in os.walk(out) for name in names}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The tables, and the model that comes of them when nobody disturbs."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_nodes(folder / "nodes.csv", rows(NODES))
    write_edges(folder / "edges.csv", pairs(NODES))
    done = graphmix(*options(folder, folder / "model"))
    assert done.returncode == 0, done.stderr
    return folder


def go_on(folder, out):
    """Go on where there is something to go on with; whatever was left, the end is the same."""
    resume = ["--resume"] if out.exists() else []
    done = graphmix(*options(folder, out), *resume)
    assert done.returncode == 0, done.stderr
    (files, metrics), (expected, known) = result(out), result(folder / "model")
    assert [name for name in files | expected if files.get(name) != expected.get(name)] == []
    assert metrics == known
    model = "heldout.safetensors"
    assert (out / model).read_bytes() == (folder / "model" / model).read_bytes()


MOMENTS = {
    "in the middle of the second": ("supervised-gpr", 1, False, {"label-propagation": 1, "supervised-gpr": 0}),
    "after a member's weights": ("supervised-gpr", 2, True, {"fcn": 1, "supervised-gpr": 2}),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_fit_killed_between_candidates_goes_on(undisturbed, tmp_path, moment):
    folder, written, whole, left = MOMENTS[moment]
    out = tmp_path / "model"
    given = {"send": signal.SIGKILL, "folder": folder, "files": written, "whole": whole}
    killed = graphmix_signalled(*options(undisturbed, out), cwd=tmp_path, **given)
    assert killed.returncode == -signal.SIGKILL
    kept = [path.parent.name for path in files(out) if path.suffix == ".safetensors"]
    assert {name: kept.count(name) for name in left} == left
    assert any(path.name.endswith(".part") for path in files(out)) == (not whole)
    assert not (out / "model.json").exists()
    go_on(undisturbed, out)


def test_a_fit_killed_while_the_model_is_written_goes_on(undisturbed, tmp_path):
    out = tmp_path / "model"
    # config.json, predictions.csv, metrics.json and one part of the model.
    given = {"send": signal.SIGKILL, "folder": "model", "files": 4, "whole": True}
    killed = graphmix_signalled(*options(undisturbed, out), cwd=tmp_path, **given)
    assert killed.returncode == -signal.SIGKILL
    assert (out / "metrics.json").exists()
    assert not (out / "model.json").exists()
    go_on(undisturbed, out)


def test_damage_in_what_was_kept_is_one_sentence(undisturbed, tmp_path):
    out = tmp_path / "model"
    given = {"send": signal.SIGKILL, "folder": "logistic-regression", "files": 1, "whole": True}
    graphmix_signalled(*options(undisturbed, out), cwd=tmp_path, **given)
    path = out / "candidates" / "supervised-gpr" / "heldout.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    done = graphmix(*options(undisturbed, out), "--resume")
    assert done.returncode == 2
    assert "heldout.safetensors" in done.stderr
    path.unlink()
    go_on(undisturbed, out)
