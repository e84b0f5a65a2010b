"""graphmix tune as a command: its files, its options, what it refuses; a kill, and two processes on one study."""

import json
import shutil
import sqlite3
import subprocess
import sys
import tomllib

import pytest

from command_line import COMMAND, graphmix, graphmix_process, refused, save
from graphmix.tuning import storages
from small_tables import pairs, rows, write_edges, write_nodes

SPACE = """
[space]
hidden = [4, 8, 16]
learning_rate = { low = 0.005, high = 0.1, log = true }
"""
QUICK = ["--trials", "2", "--epochs", "8", "--points", "4", "--check-trials", "2", "--device", "cpu"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tune")
    save(folder / "mine.npz")
    (folder / "space.toml").write_text(SPACE)
    return folder


def tune(*arguments, cwd, out="found", quick=QUICK):
    return graphmix("tune", "mine.npz", "--space", "space.toml", *quick, "--out", out, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def found(place):
    result = tune("--json", cwd=place)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def scores(record):
    return [(point["settings"], point["values"], point["state"]) for point in record["points"]]


def test_a_search_leaves_a_study_a_record_a_page_and_the_best_settings(place, found):
    folder = place / "found"
    assert sorted(path.name for path in folder.iterdir()) == ["best.toml", "report.html", "study.db", "tune.json"]
    assert json.loads((folder / "tune.json").read_text()) == {name: found[name] for name in found if name != "out"}
    best = tomllib.loads((folder / "best.toml").read_text())["config"]
    chosen = found["points"][found["best"]]
    assert best == {"method": "graphmix", "epochs": 8} | chosen["settings"]
    assert chosen["score"] == max(point["score"] for point in found["points"])
    assert found["points"][0]["start"]


def test_the_same_command_computes_nothing_again_and_more_points_go_on(place, found):
    shutil.copytree(place / "found", place / "more")
    again = tune(out="more", cwd=place)
    assert again.returncode == 0, again.stderr
    assert "[" not in again.stderr.replace("graphmix: with", "")  # no point ended
    assert "Best settings written to more/best.toml" in again.stdout
    assert "4 points of 4" in again.stdout
    more = tune("--json", "--points", "5", "--no-report", out="more", cwd=place)
    record = json.loads(more.stdout)
    assert scores(record)[:4] == scores(found)
    assert len(record["points"]) == 5
    assert "[5/5]" in more.stderr


def test_a_search_that_goes_on_on_another_device_says_so(place, found, monkeypatch):
    assert {point["device"] for point in found["points"]} == {"cpu"}
    shutil.copytree(place / "found", place / "moved")
    again = tune(out="moved", cwd=place)
    assert "computed on" not in again.stderr
    for module in ("search", "scoring"):
        monkeypatch.setattr(f"graphmix.tuning.{module}.device_name", lambda device: "cuda (H200)")
    more = tune("--json", "--points", "5", "--no-report", out="moved", cwd=place)
    assert "points of this study were computed on cpu" in more.stderr
    assert [point["device"] for point in json.loads(more.stdout)["points"]] == ["cpu"] * 4 + ["cuda (H200)"]


def test_another_search_replaces_nothing(place, found):
    shutil.copytree(place / "found", place / "kept")
    before = (place / "kept" / "tune.json").read_bytes()
    refused(tune("--study", "theirs", out="kept", cwd=place), "kept holds a search", f"'{found['study']}'", "--out")
    refused(tune("--trials", "3", out="kept", cwd=place), "another number of --trials", "--study")
    assert (place / "kept" / "tune.json").read_bytes() == before


def test_train_takes_the_best_settings_and_options_win(place, found, tmp_path):
    best = place / "found" / "best.toml"
    run = ["train", place / "mine.npz", "--config", best, "--trials", "2", "--no-report", "--json"]
    done = json.loads(graphmix(*run, cwd=tmp_path).stdout)
    settings = found["points"][found["best"]]["settings"]
    assert {name: done[name] for name in settings} == settings
    assert done["epochs"] == 8
    done = json.loads(graphmix(*run, "--hidden", "3", "--epochs", "5", cwd=tmp_path).stdout)
    assert (done["hidden"], done["epochs"], done["learning_rate"]) == (3, 5, settings["learning_rate"])


def test_the_space_is_printed_and_taken_back(place, tmp_path):
    shown = graphmix("tune", place / "mine.npz", "--print-space", "--hidden", "8", cwd=tmp_path)
    assert shown.returncode == 0
    (tmp_path / "all.toml").write_text(shown.stdout)
    assert {"backbone", "alpha", "gamma", "temperature", "weight_decay", "hops"} < set(
        tomllib.loads(shown.stdout)["space"]
    )
    assert "hidden" not in tomllib.loads(shown.stdout)["space"]
    quick = ["--trials", "1", "--epochs", "3", "--points", "2", "--check-trials", "0", "--no-report", "--out", "all"]
    done = graphmix("tune", place / "mine.npz", "--space", "all.toml", *quick, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "backbone" in done.stdout
    assert not list(tmp_path.glob("runs"))


def test_own_tables(tmp_path):
    write_nodes(tmp_path / "n.csv", rows(60))
    write_edges(tmp_path / "e.csv", pairs(60))
    (tmp_path / "space.toml").write_text("[space]\nhidden = [4, 8]\n")
    tables = ["--nodes", "n.csv", "--edges", "e.csv", "--label", "topic"]
    search = ["tune", *tables, "--space", "space.toml", "--points", "2", "--trials", "5", "--check-trials", "5"]
    done = graphmix(*search, "--balanced", "--epochs", "8", "--splits", "3", "--json", "--out", "found", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "--splits has no effect with tables" in done.stderr
    record = json.loads(done.stdout)
    assert (record["metric"], record["method"], record["split"]) == ("macro-f1", "graphmix-steady", "folds")
    assert record["settings"]["class_weight"] == "balanced"
    quick = ["--methods", "label-propagation", "--trials", "3", "--epochs", "8", "--no-report", "--json"]
    fitted = graphmix("fit", *tables, "--config", "found/best.toml", *quick, "--out", "model", cwd=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    tried = {each["method"] for each in json.loads(fitted.stdout)["candidates"]}
    assert {"label-propagation", "graphmix-steady"} <= tried


BAD = {
    "nothing to search on": ([], ["needs a dataset", "--edges"]),
    "both": (["mine.npz", "--edges", "mine.npz"], ["give one of them"]),
    "no such table": (["--edges", "none.csv", "--nodes", "none.csv", "--label", "a"], ["none.csv"]),
    "no such graph": (["none.npz"], ["none.npz"]),
    "no such dataset": (["coraa"], ["coraa"]),
    "a space with an unknown name": (["mine.npz", "--space", "unknown.toml"], ["unknown.toml", "'hiden'"]),
    "an empty space": (["mine.npz", "--space", "empty.toml"], ["empty.toml", "the space is empty"]),
    "no space": (["mine.npz", "--space", "none.toml"], ["none.toml"]),
    "a space without effect": (["mine.npz", "--space", "hops.toml", "--backbone", "gcn"], ["has an effect"]),
    "fixed and searched": (["mine.npz", "--space", "space.toml", "--hidden", "3"], ["--hidden is given and also"]),
    "no points": (["mine.npz", "--points", "0"], ["--points"]),
    "no trials": (["mine.npz", "--trials", "0"], ["--trials"]),
    "no time": (["mine.npz", "--time", "0s"], ["--time-limit"]),
    "a folder of something else": (["mine.npz", "--out", "other"], ["other holds other files"]),
    "a storage that is none": (
        ["mine.npz", "--storage", "space.toml", "--out", "new"],
        ["space.toml", "not a database"],
    ),
    "a storage of no kind": (["mine.npz", "--storage", "nothing://here", "--out", "new"], ["nothing"]),
    "a split without validation nodes": (
        ["mine.npz", "--split", "1-per-class-no-validation", "--out", "new"],
        ["validation"],
    ),
    "no such device": (["mine.npz", "--device", "tpu", "--out", "new"], ["--device must be", "'tpu'"]),
    "a note is not said before a refusal": (["mine.npz", "--label", "x", "--teacher-decay", "7"], ["--teacher-decay"]),
    "no such executor": (["mine.npz", "--executor", "dask"], ["--executor", "dask"]),
    "too long": (["mine.npz", "--points", "1000000000", "--epochs", "1000000000"], ["--epochs"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(place, case):
    (place / "unknown.toml").write_text("[space]\nhiden = [3]\n")
    (place / "empty.toml").write_text("[space]\n")
    (place / "hops.toml").write_text("[space]\nhops = [2, 3]\n")
    (place / "other").mkdir(exist_ok=True)
    (place / "other" / "mine.txt").write_text("mine")
    arguments, parts = BAD[case]
    before = sorted(path.name for path in place.iterdir())
    refused(graphmix("tune", *arguments, cwd=place), *parts)
    assert sorted(path.name for path in place.iterdir()) == before


def test_a_locked_storage_is_one_sentence(place, found, monkeypatch):
    monkeypatch.setattr(storages, "_WAIT", 0.2)
    held = sqlite3.connect(place / "found" / "study.db")
    held.execute("BEGIN EXCLUSIVE")
    try:
        done = tune("--json", cwd=place)
    finally:
        held.close()
    refused(done, "study.db", "locked")


def test_a_configuration_file_with_an_unknown_name_is_one_sentence(place):
    (place / "bad.toml").write_text("[config]\nhiden = 3\n")
    refused(graphmix("train", "mine.npz", "--config", "bad.toml", cwd=place), "bad.toml", "'hiden'")
    tables = ["--edges", "space.toml", "--out", "model"]
    refused(graphmix("fit", *tables, "--config", "bad.toml", cwd=place), "bad.toml", "'hiden'")


def test_what_has_no_effect_is_named(place):
    (place / "some.toml").write_text("[space]\nhidden = [4, 8]\nhops = [2, 3]\n")
    search = ["tune", "mine.npz", "--space", "some.toml", "--label", "x", *QUICK, "--points", "1", "--no-report"]
    search += ["--splits", "2"]
    done = graphmix(*search, "--out", "some", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "--label has no effect with the dataset mine.npz" in done.stderr
    assert "--hops of the space has no effect" in done.stderr
    assert "--splits has no effect with the custom split" in done.stderr


def test_a_damaged_record_is_one_sentence(place, found, tmp_path):
    record = json.loads((place / "found" / "tune.json").read_text())
    (tmp_path / "tune.json").write_text(json.dumps(record | {"points": [{"number": 0}]}))
    refused(graphmix("report", tmp_path, cwd=place), "tune.json", "points")
    done = graphmix("predict", tmp_path, "-o", "x.csv", cwd=place)
    refused(done, "it holds a search")


KILLED = """
import os, signal, sys
from graphmix.tuning.study import Study
settle, told = Study.settle, []
def killed(self, claim, found):
    told.append(claim)
    if len(told) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    settle(self, claim, found)
Study.settle = killed
sys.argv[0] = "graphmix"
from graphmix.__main__ import run
run()
"""


# Slow because of the process; tests/tuning/test_study.py has the same of a process that is gone.
@pytest.mark.slow
def test_a_killed_search_ends_like_one_that_was_not(place, found):
    arguments = ["tune", "mine.npz", "--space", "space.toml", *QUICK, "--no-report", "--out", "killed"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], cwd=place, capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    assert not (place / "killed" / "tune.json").exists()
    resumed = json.loads(tune("--json", "--no-report", out="killed", cwd=place).stdout)
    assert scores(resumed) == scores(found)
    assert resumed["checked"] == found["checked"]
    assert resumed["best"] == found["best"]


@pytest.mark.slow
def test_two_processes_share_one_study(place):
    quick = ["--trials", "2", "--epochs", "30", "--points", "12", "--check-trials", "2", "--no-report"]
    common = ["tune", "mine.npz", "--space", "space.toml", *quick, "--storage", "sqlite:///shared.db"]
    both = [
        subprocess.Popen([*COMMAND, *common, "--out", name], cwd=place, stderr=subprocess.PIPE, text=True)
        for name in ("one", "two")
    ]
    told = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    ended = [sum(line.startswith("[") for line in text.splitlines()) for text in told]
    assert sum(ended) == 12
    assert min(ended) > 0
    records = [json.loads((place / name / "tune.json").read_text()) for name in ("one", "two")]
    last = max(records, key=lambda record: len(record["points"]))
    assert len(last["points"]) == 12
    assert sum(point["start"] for point in last["points"]) == 1


@pytest.mark.slow
def test_ray_computes_the_same_points(place, found):
    # The first ten points are drawn at random, whatever is done by then.
    done = tune("--json", "--no-report", "--executor", "ray", out="ray", cwd=place)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert scores(record) == scores(found)
    assert record["checked"] == found["checked"]


@pytest.mark.slow
def test_without_optuna_it_says_what_is_missing(place):
    code = (
        "import sys; sys.modules['optuna'] = None; from graphmix.__main__ import run; sys.argv[0] = 'graphmix'; run()"
    )
    arguments = ["tune", "mine.npz", "--out", "new"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=place, capture_output=True, text=True)
    refused(done, "graphmix-learn[tune]")
    assert graphmix_process("train", "--help", cwd=place).returncode == 0
