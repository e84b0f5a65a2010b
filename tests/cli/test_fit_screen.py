"""What a fit shows while it works: the whole plan, the time and its limit; in a file, one line a step."""

import io
import re
import time

import pytest
from rich.console import Console

from graphmix.cli import busy, fit_screen, screen
from graphmix.cli.fit_screen import Clock, PlanBar, Rate, numbered


@pytest.fixture
def shown(monkeypatch):
    """Make standard error a terminal, or not, and return what is shown there."""

    def shown(terminal, width=100):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=width, color_system=None, markup=False)
        for place in (busy, fit_screen, screen):
            monkeypatch.setattr(place, "errors", console)
        return stream

    return shown


def plain(stream):
    """What was shown, without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue()).replace("\r", "\n")


def test_steps_have_numbers_unless_there_is_one():
    assert numbered("Random forest", 2, 9) == "3 of 9 · Random forest"
    assert numbered("Random forest", 0, 1) == "training Random forest"


@pytest.mark.parametrize(
    ("passed", "limit", "told"),
    [(0, None, "0:00"), (72, None, "1:12"), (72, 300.0, "1:12 of 5:00"), (3725, 5400.0, "1:02:05 of 1:30:00")],
)
def test_the_time_and_its_limit(monkeypatch, passed, limit, told):
    clock, began = Clock(limit), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + passed + 0.5)
    assert str(clock) == told


def test_a_terminal_sees_the_whole_plan(shown):
    stream = shown(terminal=True)
    with fit_screen.fit_screen(limit=300.0) as watch:
        tell = watch.begins("Random forest", 2, 9)
        tell(1, 4)
        watch.begins("GPR-GNN", 4, 9)(1, 2)
    text = plain(stream)
    assert "3 of 9 · Random forest" in text
    assert "5 of 9 · GPR-GNN" in text
    assert "of 5:00" in text
    assert re.search(r"50 % +0:0\d of 5:00", text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_line_of_a_plan_fits_the_screen(shown, width):
    stream = shown(terminal=True, width=width)
    bar = PlanBar(Clock(36_000.0))
    bar.begin("Steady GraphMix(GraphSAGE) on 12,000 labels (1 of 2)", 8, 9)(100, 100)
    bar.stop()
    lines = [line for line in plain(stream).splitlines() if line.strip()]
    assert max(map(len, lines)) <= width
    assert all("9 of 9" in line and "10:00:00" in line for line in lines)


def test_steps_side_by_side_add_up(shown, monkeypatch):
    shown(terminal=True)
    bar, seen = PlanBar(Clock()), []
    monkeypatch.setattr(bar._progress, "update", lambda task, completed, **_: seen.append(completed))
    first = bar.begin("x", 1, 4)
    second = bar.begin("y", 2, 4)
    first(1, 2)
    second(1, 4)
    first(1, 1)
    bar.begin("z", 3, 4)
    bar.stop()
    # What came before the first step is done.
    assert seen == [1.0, 1.0, 1.5, 1.75, 2.25, 2.25]


def test_what_is_done_of_nothing_is_nothing(shown):
    stream = shown(terminal=True)
    bar = PlanBar(Clock())
    bar.begin("x", 0, 2)(0, 0)
    bar.stop()
    assert "0 %" in plain(stream)


def test_a_file_gets_one_line_a_step(shown):
    stream = shown(terminal=False)
    with fit_screen.fit_screen() as watch:
        watch.stage("training")
        tell = watch.begins("Random forest", 2, 9)
        tell(1, 4)
        watch.step("choosing the weights of the candidates")
        watch.begins("GPR-GNN", 8, 9)
    assert stream.getvalue().splitlines() == ["3 of 9 · Random forest", "9 of 9 · GPR-GNN"]


def test_names_do_not_move_the_cursor(shown):
    stream = shown(terminal=True)
    with fit_screen.fit_screen() as watch:
        watch.begins("\x1b]0;owned\x07", 0, 2)
    assert "\x1b]0;" not in stream.getvalue()


def test_rows_are_shown_with_how_many_there_are_in_a_second(shown, monkeypatch):
    rate, began = Rate(), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began)
    assert rate.after("reading edges.csv", 1_000) == "1,000 rows"
    monkeypatch.setattr(time, "monotonic", lambda: began + 2)
    assert rate.after("reading edges.csv", 3_001_000) == "3,001,000 rows, 1,500,000 a second"
    assert rate.after("finding the ends of edges", 500) == "500 rows"
    monkeypatch.undo()
    stream = shown(terminal=True)
    with fit_screen.fit_screen() as watch:
        watch.expected("about 10 nodes: reading them takes a moment")
        watch.rows("reading edges.csv", 70_000)
    assert "about 10 nodes: reading them takes a moment" in plain(stream)
    assert "reading edges.csv 70,000 rows" in plain(stream)
