"""Files and folders that are something else than a command needs: other kinds, pipes, loops, odd JSON, holes."""

import os
import shutil

import pytest

from command_line import graphmix, refused, save
from small_tables import fit_tables, write_edges, write_nodes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Tables, a model and a run."""
    folder = tmp_path_factory.mktemp("made")
    fit_tables(folder, write_nodes(folder / "n.csv"), write_edges(folder / "e.csv"), methods=("supervised", "fcn"))
    graphmix("train", "synthetic", "--trials", 1, "--epochs", 2, "--out", "run", "--no-report", cwd=folder)
    return folder


@pytest.fixture
def place(made, tmp_path):
    """A copy of them to work in."""
    return shutil.copytree(made, tmp_path / "place")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("run", "it holds a run, which graphmix report shows"),
        ("run/results.json", "give the run's folder, run"),
        ("model/model.json", "give the model's folder, model"),
        ("model/candidates", "it is a part of a model; give the model's folder, model"),
        ("model/candidates/fcn", "it is a part of a model; give the model's folder, model"),
        ("empty", "it is empty"),
        ("results", "it holds records of experiments, which graphmix report shows"),
        ("results/theorem.json", "it is a record of experiments, which graphmix report shows"),
        ("n.csv", "it is a file"),
        ("nowhere", "there is no such folder"),
        (".", "it holds models; name one of them, model"),
        ("unfinished", "the same graphmix fit with `resume` continues it"),
        ("begun", "it holds an unfinished run"),
        ("pipe", "it is a pipe"),
    ],
)
def test_what_is_not_a_model_is_named(place, given, said):
    for name in ("empty", "results", "unfinished", "begun"):
        (place / name).mkdir()
    (place / "results" / "theorem.json").write_text('{"format": 1, "cells": []}')
    (place / "unfinished" / "config.json").write_text('{"wishes": {}}')
    (place / "begun" / "config.json").write_text("{}")
    os.mkfifo(place / "pipe")
    for command in (["predict", given, "-o", "new.csv"], ["advise", given]):
        refused(graphmix(*command, cwd=place), f"{given} is not a model's folder", said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("n.csv", "is not a record"),
        ("model/model.json", "give the model's folder, model"),
        ("model/ids.json", "give the model's folder, model"),
        ("run/results.json", "give the run's folder, run"),
        ("run/weights.safetensors", "is not a record"),
        ("empty", "holds no results"),
        ("pipe", "is a pipe"),
        ("/dev/zero", "is a device"),
    ],
)
def test_what_is_not_results_is_named(place, given, said):
    (place / "empty").mkdir()
    os.mkfifo(place / "pipe")
    refused(graphmix("report", given, "-o", "new.html", cwd=place), given, said)


def test_long_names_and_links_in_a_circle(place):
    (place / "loop.csv").symlink_to("loop.csv")
    (place / "loop").symlink_to("loop")
    refused(graphmix("predict", "model", "-o", "loop.csv", "--force", cwd=place), "loop.csv", "symbolic links")
    refused(graphmix("predict", "loop", "-o", "new.csv", cwd=place), "loop")
    refused(graphmix("report", "loop", cwd=place), "loop")
    refused(graphmix("train", "synthetic", "--out", "loop", cwd=place), "loop")
    refused(graphmix("predict", "model", "-o", f"{'x' * 300}.csv", cwd=place), "File name too long")
    refused(graphmix("predict", "model", "-o", f"{'y/' * 3000}x.csv", cwd=place), "File name too long")
    refused(graphmix("advise", "model", "-o", "x" * 300, cwd=place), "File name too long")
    # As long as the system allows, temporary file included.
    assert graphmix("predict", "model", "-o", f"{'x' * 251}.csv", cwd=place).returncode == 0


ODD = {
    "5,000 digits": "9" * 5000,
    "NaN": "NaN",
    "infinite": "-Infinity",
    "too large": "1e999",
    "nested": "[" * 100_000,
    "half a character": '"\\ud800"',
    "twice": '1, "odd": 2',
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["model.json", "metrics.json", "config.json", "ids.json"])
def test_odd_json_in_a_model(place, name, odd):
    path = place / "model" / name
    path.write_text(path.read_text().replace("{", f'{{"odd": {ODD[odd]}, ', 1))
    fit = ["fit", "--nodes", "n.csv", "--edges", "e.csv", "--label", "topic", "-o", "model", "--resume"]
    for command in (["predict", "model", "-o", "new.csv"], ["advise", "model"], ["report", "model", "--force"], fit):
        result = graphmix(*command, cwd=place)
        assert result.returncode in (0, 2)
        if result.returncode:
            assert len(result.stderr.splitlines()) == 1
    if name == "model.json" and odd != "twice":
        refused(graphmix("predict", "model", "-o", "other.csv", cwd=place), "model.json")


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd != "twice"])
def test_odd_json_in_a_record(place, odd):
    (place / "record.json").write_text(f'{{"format": 1, "name": "x", "trials": {ODD[odd]}, "cells": []}}')
    refused(graphmix("report", "record.json", cwd=place), "record.json")


@pytest.mark.parametrize("name", ["model.json", "ids.json", "weights.safetensors", "metrics.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop"])
def test_a_part_of_a_model_that_is_no_file(place, name, kind):
    part = place / "model" / name
    part.unlink()
    match kind:
        case "pipe":
            os.mkfifo(part)
        case "device":
            part.symlink_to("/dev/zero")
        case "folder":
            part.mkdir()
        case "loop":
            part.symlink_to(name)
    commands = [["report", "model", "--force"]]
    if name != "metrics.json":  # predictions do not need it
        commands += [["predict", "model", "-o", "new.csv"], ["advise", "model"]]
    if name in ("ids.json", "weights.safetensors"):  # a report does not show them
        commands = commands[1:]
    for command in commands:
        refused(graphmix(*command, cwd=place))


def test_a_part_that_is_larger_than_the_memory(place):
    for name in ("weights.safetensors", "ids.json", "model.json"):
        copy = shutil.copytree(place / "model", place / "copy")
        # A file with a hole takes no room.
        with (copy / name).open("r+b") as stream:
            stream.truncate(2**43 if name != "model.json" else 2**29)
        refused(graphmix("predict", "copy", "-o", "new.csv", cwd=place), name)
        shutil.rmtree(copy)


def test_pipes_in_the_place_of_graphs_splits_and_runs(place):
    os.mkfifo(place / "g.npz")
    save(place / "h.npz")
    for command in (
        ["train", "g.npz"],
        ["train", "h.npz", "--split", "g.npz"],
        ["select", "g.npz"],
    ):
        refused(graphmix(*command, cwd=place), "g.npz is a pipe")
    for name in ("results.json", "config.json"):
        copy = shutil.copytree(place / "run", place / "copy")
        (copy / name).unlink()
        os.mkfifo(copy / name)
        refused(graphmix("train", "synthetic", "--trials", 1, "--epochs", 2, "--out", "copy", cwd=place), "copy")
        if name == "results.json":
            refused(graphmix("report", "copy", cwd=place), "is a pipe")
        shutil.rmtree(copy)
