"""Studies: points that are claimed once, told, given back and claimed again; and storages that cannot be used."""

import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import optuna
import pytest

from graphmix.errors import ConfigError, RunError
from graphmix.results.tuned import DONE, FAILED, STOPPED, best_of, devices_of
from graphmix.training.config import Config
from graphmix.tuning import storages
from graphmix.tuning.scoring import STEPS, Score
from graphmix.tuning.space import parse_space, space_values
from graphmix.tuning.study import Study

SPACE = parse_space(
    {
        "backbone": ["gcn", "gpr"],
        "hidden": [8, 16, 32],
        "hops": {"low": 2, "high": 8},
        "gamma": {"low": 0.1, "high": 20, "log": True},
        "input_dropout": {"low": 0.0, "high": 0.8, "step": 0.1},
    }
)
MAKE = partial(Config.for_dataset, "citeseer")


def study(storage=None, name="mine", space=SPACE, fixed=None, seed=0, **asked):
    asked = {"space": space_values(space), **asked}
    return Study(storage, name, asked=asked, space=space, make=MAKE, fixed=fixed or {}, seed=seed)


def found(settings, stop=False):
    """A score that depends on the settings alone."""
    mean = 70 - 10 * abs(settings["input_dropout"] - 0.3) - abs(settings["hidden"] - 16) / 8
    reached = tuple(round(mean * step / STEPS, 4) for step in range(1, STEPS + 1))
    return Score((), reached[:5], 1.0) if stop else Score((mean - 1, mean + 1), reached, 1.0)


def fill(held, points):
    while (claim := held.claim(points)) is not None:
        held.settle(claim, found(claim.settings))
    return held.points()


def test_the_first_point_has_the_usual_values_and_the_others_are_in_the_space():
    points = fill(study(), 12)
    assert [point.number for point in points] == list(range(12))
    assert [point.start for point in points] == [True] + [False] * 11
    usual = MAKE()
    assert points[0].settings == {name: getattr(usual, name) for name in SPACE if name != "hops"}
    for point in points:
        # Hops are read by the one network alone.
        assert ("hops" in point.settings) == (point.settings["backbone"] == "gpr")
        assert all(SPACE[name].holds(value) for name, value in point.settings.items())
    assert best_of(points) == max(points, key=lambda point: point.score).number


def test_usual_values_that_the_space_lacks_are_tried_all_the_same():
    space = parse_space({"hidden": [64, 128], "gamma": {"low": 2.0, "high": 3.0}})
    first, second = fill_some(study(space=space), 2)
    assert first.settings == {"hidden": 16, "gamma": 1.0}
    assert second.settings["hidden"] in (64, 128)


def test_rounding_does_not_leave_an_interval():
    # To three digits most of these are 0.123 and 1, which dropout cannot be.
    ends = {"gamma": (0.12341, 0.12349), "input_dropout": (0.99951, 0.99959)}
    space = parse_space({name: {"low": low, "high": high} for name, (low, high) in ends.items()})
    _, *others = fill_some(study(space=space), 5)
    assert all(low <= point.settings[name] <= high for point in others for name, (low, high) in ends.items())


def fill_some(held, points):
    while (claim := held.claim(points)) is not None:
        held.settle(claim, Score((60.0, 61.0), (60.5,) * STEPS, 1.0))
    return held.points()


def test_a_point_knows_what_computed_it_and_one_of_an_older_study_does_not():
    held = study()
    for device in ("cpu", "cuda (H200)", None, "cpu"):
        held.settle(held.claim(4), Score((60.0, 61.0), (60.5,) * STEPS, 1.0, device))
    assert [point.device for point in held.points()] == ["cpu", "cuda (H200)", None, "cpu"]
    assert devices_of(held.points()) == ("cpu", "cuda (H200)")


def test_points_depend_on_the_seed_and_not_on_the_process():
    one, same, other = (fill(study(seed=seed), 13) for seed in (0, 0, 1))
    assert one == same
    assert one[1:] != other[1:]


def test_the_search_learns():
    points = fill(study(), 30)
    early, late = ([point.score for point in part] for part in (points[1:11], points[20:]))
    assert np.mean(late) > np.mean(early)


@pytest.mark.parametrize("storage", ["study.db", "study.log"])
def test_a_study_goes_on_and_a_killed_one_ends_like_one_that_was_not(tmp_path, storage, monkeypatch):
    whole = fill(study(), 12)
    # A process that is gone; nobody has this number.
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    fill(study(tmp_path / storage), 4)
    with monkeypatch.context() as patched:
        patched.setattr(os, "getpid", lambda: gone.pid)
        lost = study(tmp_path / storage).claim(12)
    assert lost.settings == whole[4].settings
    assert fill(study(tmp_path / storage), 11) == whole[:11]
    assert fill(study(tmp_path / storage), 12) == whole


def test_a_point_of_a_living_process_is_left_alone_until_it_is_silent(tmp_path, monkeypatch):
    held = study(tmp_path / "study.db")
    mine = held.claim(3)
    other = study(tmp_path / "study.db")
    assert other.claim(3).settings != mine.settings
    later = time.time() + 1000
    monkeypatch.setattr(time, "time", lambda: later)
    again = study(tmp_path / "study.db").claim(3)
    assert again.settings == mine.settings
    # The first process is not dead after all: what it tells comes too late, and does no harm.
    held.settle(mine, found(mine.settings))
    assert [point.number for point in held.points()] == []


def test_what_is_given_back_is_claimed_again():
    held = study()
    fill(held, 2)
    with held.at_work():
        claim = held.claim(5)
    assert held.claim(5).settings == claim.settings
    assert len(held.points()) == 2


def test_two_workers_share_a_study_and_compute_every_point_once(tmp_path):
    claimed, lock = [], threading.Lock()

    def work():
        held = study(tmp_path / "study.db")
        while (claim := held.claim(8)) is not None:
            with lock:
                claimed.append(claim.number)
            held.settle(claim, found(claim.settings))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == len(set(claimed)) == 8
    points = study(tmp_path / "study.db").points()
    assert [point.number for point in points] == list(range(8))
    assert sum(point.start for point in points) == 1
    assert len({str(point.settings) for point in points}) == 8


def test_bars_are_the_median_of_all_points_and_stopped_ones_stay_where_they_were():
    held = study()
    curves, done = [], 0
    for place in range(9):
        claim = held.claim(20)
        assert claim.bars == pytest.approx(tuple(np.median(curves, axis=0).tolist()) if done >= 5 else ())
        score = found(claim.settings, stop=place in (2, 6))
        held.settle(claim, score)
        done += not score.stopped
        curves.append(score.reached + score.reached[-1:] * (STEPS - len(score.reached)))
    stopped = [point for point in held.points() if point.state == STOPPED]
    assert [point.number for point in stopped] == [2, 6]
    assert [point.score for point in stopped] == pytest.approx([point.reached[-1] for point in stopped])


def test_a_point_that_cannot_be_computed_counts_and_is_not_tried_again():
    held = study()
    claim = held.claim(3)
    held.refuse(claim, "there is no such thing")
    points = fill(held, 3)
    assert [point.state for point in points] == [FAILED, DONE, DONE]
    assert points[0].error == "there is no such thing"
    assert points[0].score is None


def test_importances_name_what_matters():
    held = study()
    assert held.importances() == {}
    fill(held, 14)
    shares = held.importances()
    assert next(iter(shares)) == "input_dropout"
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-3)
    assert "hops" not in shares  # not every point has it


def test_another_question_is_not_answered_by_the_same_study(tmp_path):
    study(tmp_path / "study.db", trials=2)
    study(tmp_path / "study.db", trials=2)
    with pytest.raises(RunError, match="begun with another number of `trials`"):
        study(tmp_path / "study.db", trials=3)
    study(tmp_path / "study.db", name="other", trials=3)


def test_a_study_of_another_program_is_left_alone(tmp_path):
    url = f"sqlite:///{tmp_path / 'theirs.db'}"
    theirs = optuna.create_study(storage=url, study_name="mine")
    theirs.add_trial(optuna.trial.create_trial(value=1.0))
    with pytest.raises(RunError, match="not one of graphmix tune"):
        study(tmp_path / "theirs.db")
    assert len(theirs.trials) == 1
    assert theirs.user_attrs == {}


def test_points_of_another_program_in_a_study_are_one_sentence(tmp_path):
    held = study(tmp_path / "study.db")
    fill(held, 1)
    theirs = optuna.load_study(study_name="mine", storage=f"sqlite:///{tmp_path / 'study.db'}")
    theirs.add_trial(optuna.trial.create_trial(value=1.0, user_attrs={"score": {"values": "many"}}))
    with pytest.raises(RunError, match="points that graphmix did not write"):
        held.points()


@pytest.mark.parametrize("name", ["a?b#c.db", "{d} 50% ü.db"])
def test_a_storage_may_have_any_name(tmp_path, name):
    fill(study(tmp_path / name), 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_locked_storage_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(storages, "_WAIT", 0.2)
    study(tmp_path / "study.db")
    held = sqlite3.connect(tmp_path / "study.db")
    held.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(RunError, match=r"study\.db cannot be used: another program has locked it") as error:
            study(tmp_path / "study.db")
    finally:
        held.close()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("storage", "said"),
    [
        ("{folder}/none/study.db", "the folder .* does not exist"),
        ("{folder}/text.db", "not a database"),
        ("{folder}", "cannot be used"),
        ("nothing://here", "nothing"),
        ("postgresql://me:hidden@localhost:1/x", "postgresql://me:\\*\\*\\*@localhost:1/x"),  # pragma: allowlist secret
        ("sqlite:///{folder}/none/study.db", "unable to open"),
    ],
)
def test_a_storage_that_cannot_be_used_is_one_sentence_without_a_password(tmp_path, storage, said):
    (tmp_path / "text.db").write_text("this is a text, and long enough to be no database at all" * 10)
    with pytest.raises((RunError, ConfigError), match=said) as error:
        study(storage.format(folder=tmp_path))
    assert "\n" not in str(error.value)
    assert "hidden" not in str(error.value)


def test_an_optuna_that_cannot_read_its_own_files_is_one_sentence(tmp_path, monkeypatch):
    def assert_versions(*_, **__):
        raise AssertionError

    monkeypatch.setattr("optuna.storages.RDBStorage", assert_versions)
    with pytest.raises(RunError, match=r"s\.db cannot be used: Optuna cannot read its own files"):
        storages.open_storage(tmp_path / "s.db")


def test_a_worker_is_known_by_its_machine_and_process(tmp_path):
    held = study(tmp_path / "study.db")
    held.claim(1)
    (trial,) = optuna.load_study(study_name="mine", storage=f"sqlite:///{tmp_path / 'study.db'}").trials
    worker = trial.user_attrs["worker"]
    assert (worker["host"], worker["process"]) == (socket.gethostname(), os.getpid())
