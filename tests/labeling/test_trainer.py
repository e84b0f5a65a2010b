"""The server's end of the worker: it reports whatever happens, and nobody waits for it."""

import io
import queue
import subprocess
import threading
from pathlib import Path

import pytest

from graphmix.errors import RunError
from graphmix.labeling import trainer
from graphmix.labeling.trainer import Trainer


class Process:
    """A worker that says what it is told to and ends, or lives until it is killed."""

    def __init__(self, said="", stdin=None, lives=False):
        self.stdin, self.ended = stdin or io.StringIO(), threading.Event()
        self.stdout = self._lines(said)
        if not lives:
            self.ended.set()

    def _lines(self, said):
        yield from said.splitlines(keepends=True)
        self.ended.wait()

    def poll(self):
        return 1 if self.ended.is_set() else None

    def wait(self):
        self.ended.wait()
        return 1

    def kill(self):
        self.ended.set()


@pytest.fixture
def make(monkeypatch):
    """Make a trainer whose processes are these, or fail; returns it and the queue of its reports."""

    def made(*processes, report=None):
        waiting, reports = iter(processes), queue.Queue()

        def start(*arguments, **options):
            each = next(waiting)
            if isinstance(each, Exception):
                raise each
            return each

        monkeypatch.setattr(trainer.subprocess, "Popen", start)

        def note(told):
            try:
                if report is not None:
                    report(told)
            finally:
                reports.put(told)

        return Trainer(Path("model"), note, scratch=Path("scratch")), reports

    return made


def test_a_report_that_cannot_be_stored_is_a_failure_and_the_next_round_may_begin(make):
    def store(told):
        if told["did"] == "round":
            raise RunError("the disk is full")

    process = Process('{"did": "step", "step": "x"}\n{"did": "round"}\n{"did": "map"}\n', lives=True)
    each, reports = make(process, report=store)
    assert each.order("round")
    told = [reports.get(timeout=60) for _ in range(3)]
    assert [report["did"] for report in told] == ["round", "failed", "map"]
    assert "the disk is full" in told[1]["why"]
    assert each.order("round")
    each.close()


def test_a_process_that_cannot_be_started_is_told(make):
    each, reports = make(OSError("no processes left"), Process('{"did": "round"}\n'))
    assert each.order("round")
    assert "no processes left" in reports.get(timeout=60)["why"]
    assert each.step is None
    assert each.order("round")
    assert reports.get(timeout=60)["did"] == "round"


def test_a_system_without_threads_is_told_and_leaves_no_process(make, monkeypatch):
    unheard = Process(lives=True)
    each, reports = make(unheard, Process('{"did": "round"}\n'))
    start = threading.Thread.start

    def refuse(name):
        def begin(thread):
            if thread._target.__name__ == name:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", begin)

    refuse("_send")
    assert not each.order("round")
    assert "new thread" in reports.get(timeout=60)["why"]
    refuse("_listen")
    assert each.order("round")
    assert "new thread" in reports.get(timeout=60)["why"]
    assert unheard.ended.is_set()
    refuse("nothing")
    assert each.order("round")
    assert reports.get(timeout=60)["did"] == "round"


def test_a_report_that_was_cut_off_is_told_by_the_end_of_the_process(make):
    each, reports = make(Process('{"did": "rou'))
    each.order("round")
    assert "ended with code 1" in reports.get(timeout=60)["why"]
    assert each.step is None


def test_nobody_waits_until_a_process_reads_its_order(make):
    class Full(io.StringIO):
        may, wrote = threading.Event(), threading.Event()

        def write(self, line):
            self.may.wait(60)
            self.wrote.set()

    each, _ = make(Process(stdin=Full(), lives=True))
    assert each.order("round", labels={})
    assert not Full.wrote.is_set()
    assert not each.order("round")
    Full.may.set()
    assert Full.wrote.wait(60)
    each.close()


def test_a_closed_trainer_takes_no_orders_and_an_ended_one_does(make):
    first, second = Process(lives=True), Process(lives=True)
    each, _ = make(first, second)
    for process in (first, second):
        assert each.order("map")
        while each._process is not process:
            pass
        each.end()
        assert process.ended.is_set()
    each.close()
    assert not each.order("map")


def test_the_process_imports_nothing_from_the_current_folder(tmp_path):
    """As the command does not: the folder may come from elsewhere."""
    (tmp_path / "fractions.py").write_text("open('imported', 'w').close()")
    command = Trainer(Path("model"), print, scratch=Path("scratch"))._command
    made = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert "ModuleNotFoundError" not in made.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fractions.py"]
