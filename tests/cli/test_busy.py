"""The line that shows that work goes on: on a terminal only, and gone when it stops."""

import io

import pytest
from rich.console import Console

from graphmix.cli import busy as module
from graphmix.cli.busy import Busy, busy
from graphmix.cli.fit_screen import fit_screen


@pytest.fixture
def shown(monkeypatch):
    """Make standard error a terminal, or not, and return what is shown there."""

    def shown(terminal):
        stream = io.StringIO()
        console = Console(file=stream, force_terminal=terminal, width=100, color_system=None)
        for place in (module, __import__("graphmix.cli.fit_screen", fromlist=["x"])):
            monkeypatch.setattr(place, "errors", console)
        return stream

    return shown


def test_a_terminal_sees_what_goes_on_and_how_far_it_is(shown):
    stream = shown(terminal=True)
    line = Busy()
    line.show("propagating", "step 3 of at most 1,000")
    line.show("propagating", "step 4 of at most 1,000")
    line.show("calibrating")
    line.stop()
    line.stop()
    told = stream.getvalue()
    assert "propagating" in told
    assert "step 4 of at most 1,000" in told or "step 3 of at most 1,000" in told
    assert "calibrating" in told
    assert "0:00:00" in told


def test_a_file_sees_nothing(shown):
    stream = shown(terminal=False)
    with busy("starting"):
        pass
    assert stream.getvalue() == ""


def test_an_error_removes_the_line(shown):
    stream = shown(terminal=True)
    with pytest.raises(KeyError), busy("starting"):
        raise KeyError
    # The cursor comes back.
    assert stream.getvalue().rstrip().endswith("\x1b[2K") or "\x1b[?25h" in stream.getvalue()


def test_steps_of_a_fit_take_the_place_of_each_other(shown):
    stream = shown(terminal=True)
    with fit_screen() as screen:
        screen.stage("training")
        screen.begins("Label propagation", 0, 9)(7, 1000)
        screen.step("choosing the weights")
        screen.stage("writing")
    told = stream.getvalue()
    assert told.index("1 of 9 · Label propagation") < told.index("choosing the weights") < told.index("writing")
