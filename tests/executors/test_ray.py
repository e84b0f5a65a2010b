"""The executor ray: what comes back, what happens when workers die, and the same bytes as in this process."""

import pytest

import ray_jobs
from graphmix.errors import ConfigError, DataError, WorkerLostError
from graphmix.executors import Job

pytestmark = pytest.mark.usefixtures("ray_executor")


def test_each_job_comes_back_with_its_place_and_its_own_error(ray_executor):
    jobs = [Job(ray_jobs.refuse if number == 2 else ray_jobs.square, (number,)) for number in range(4)]
    found = {done.place: done for done in ray_executor.finished(jobs, at_once=2)}
    assert [found[place].value for place in (0, 1, 3)] == [0, 1, 9]
    with pytest.raises(DataError, match="number 2 is refused"):
        found[2].get()
    with pytest.raises(DataError, match="number 2 is refused"):
        list(ray_executor.results(jobs, at_once=2))


def test_jobs_are_drawn_when_a_worker_is_free(ray_executor):
    ended, seen = [], []

    def jobs():
        for number in range(5):
            seen.append(len(ended))
            yield Job(ray_jobs.square, (number,))

    for done in ray_executor.finished(jobs(), at_once=2):
        ended.append(done.place)
    # Two begin at once; each other one only when there is one result more.
    assert seen[:2] == [0, 0]
    assert all(drawn - done <= 2 for drawn, done in zip(range(1, 6), seen, strict=True))
    assert sorted(ended) == [0, 1, 2, 3, 4]


def test_a_job_tells_how_far_it_is(ray_executor):
    told = []
    assert list(ray_executor.results([Job(ray_jobs.speak, (20,), tell=told.append)])) == [(0, 20)]
    assert told == sorted(told)
    assert len(told) >= 2


def test_what_jobs_share_is_made_once_in_each_process(ray_executor, tmp_path):
    shared = ray_executor.share(ray_jobs.make, str(tmp_path))
    jobs = [Job(ray_jobs.give_back, (shared, number)) for number in range(6)]
    found = [value for _, value in ray_executor.results(jobs, at_once=2)]
    assert {(made, number) for made, number, _ in found} == {("made", number) for number in range(6)}
    assert len(list(tmp_path.iterdir())) == len({process for *_, process in found})


def test_a_job_whose_worker_was_killed_is_tried_again(ray_executor, tmp_path):
    assert ray_executor.result(ray_jobs.die_once, str(tmp_path)) == "second"


def test_a_job_that_kills_every_worker_is_named(ray_executor, monkeypatch):
    monkeypatch.setattr("graphmix.executors.ray_executor.RETRIES", 0)
    with pytest.raises(WorkerLostError, match="point 7: the Ray worker died 1 time "):
        list(ray_executor.results([Job(ray_jobs.die, name="point 7")]))


def test_devices_are_those_of_the_cluster(ray_executor):
    assert ray_executor.device("cpu") == "cpu"
    with pytest.raises(ConfigError, match="assigns GPUs itself"):
        ray_executor.device("cuda:1")
