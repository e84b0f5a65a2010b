"""What `graphmix fit` and `graphmix advise` show while they work."""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from graphmix.cli.busy import Busy
from graphmix.cli.flags import in_flags
from graphmix.cli.screen import announce, errors, output, say, tell
from graphmix.results.columns import ColumnUse, shown_uses
from graphmix.text import name_for_screen

if TYPE_CHECKING:
    from graphmix.results.survey import Survey
    from graphmix.workflow.problem import Problem
    from graphmix.workflow.watching import Watcher

_MOST_COLUMNS_SHOWN = 40
_MOST_CLASSES_SHOWN = 20
_LONGEST_CLASS = 60
# How wide the bar of a plan is, and what stands beside its name: a spinner, the bar, the share and the time.
_BAR, _BESIDE = 12, 12 + 30
_SHORTEST_STEP = 20
_STAGES = {
    "reading": "reading the tables",
    "choosing": "choosing what to label",
    "holding out": "advice needs a network that has not seen the labels: training on folds of them",
}


class PlanBar:
    """A live line for the steps of a plan: which one it is at, how far that is, and the time since the fit began.

    The bar is that of the whole plan, in which every step counts the same. If several steps go on, it names the last
    that began. It is gone when it stops.
    """

    def __init__(self, clock: "Clock") -> None:
        # How much of each step that has begun is done, by its place.
        self._shares: dict[int, float] = {}
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=_BAR),
            TextColumn("{task.fields[state]}", markup=False),
            _Elapsed(clock),
            console=errors,
            transient=True,
        )
        self._task = self._progress.add_task("", total=1, state="")

    def begin(self, what: str, place: int, steps: int) -> Callable[[int, int], None]:
        """Say which step begins: `place`, from 0, of so many; the result shows how much of how much of it is done."""
        # Steps before it that are not known to run are done.
        self._shares = {each: self._shares.get(each, 1.0) for each in range(place)} | {place: 0.0}
        name, room = name_for_screen(numbered(what, place, steps)), max(errors.width - _BESIDE, _SHORTEST_STEP)
        shown = name if len(name) <= room else f"{name[: room - 1]}…"
        done = sum(self._shares.values())
        self._progress.update(self._task, description=shown, completed=done, total=steps, state="")
        # It may have started already.
        self._progress.start()
        return functools.partial(self._show, place)

    def _show(self, place: int, done: int, total: int) -> None:
        """Show how much of how much of a step is done; called from several threads."""
        self._shares[place] = share = min(max(done / total, 0.0), 1.0) if total else 0.0
        self._progress.update(self._task, completed=sum(self._shares.values()), state=f"{100 * share:.0f} %")

    def stop(self) -> None:
        """Remove the line."""
        self._progress.stop()


def numbered(what: str, place: int, steps: int) -> str:
    """Return what a step does, with its number if there are several.

    Example:
        >>> numbered("Random forest", 2, 9)
        '3 of 9 · Random forest'
    """
    return f"training {what}" if steps == 1 else f"{place + 1} of {steps} · {what}"


class Clock:
    """The time since it was made, and how much there may be; None for no limit."""

    def __init__(self, limit: float | None = None) -> None:
        self._limit, self._since = limit, time.monotonic()

    def __str__(self) -> str:
        passed = _clock_time(time.monotonic() - self._since)
        return passed if self._limit is None else f"{passed} of {_clock_time(self._limit)}"


def _clock_time(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Rate:
    """How many rows are done in a second, since the first time that something was told."""

    def __init__(self) -> None:
        self._what, self._since, self._first = "", 0.0, 0

    def after(self, what: str, rows: int) -> str:
        """Say how many rows are done, and how many in a second: `3,000,000 rows, 1,500,000 a second`."""
        if what != self._what:
            self._what, self._since, self._first = what, time.monotonic(), rows
            return f"{rows:,} rows"
        passed = max(time.monotonic() - self._since, 1e-9)
        return f"{rows:,} rows, {(rows - self._first) / passed:,.0f} a second"


class _Elapsed(ProgressColumn):
    """The time of a clock, whatever the task."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        """Return the time."""
        return Text(str(self._clock), style="progress.elapsed")


@contextmanager
def fit_screen(*, quiet: bool = False, limit: float | None = None) -> "Iterator[Watcher]":
    """Show stages and the progress of the whole plan.

    Args:
        quiet: whether to leave out what the tables hold, which goes to standard output.
        limit: how many seconds it may take, to be shown with the time that has passed.
    """
    # Imported here: torch takes seconds to import.
    from graphmix.workflow.watching import Watcher

    class Screen(Watcher):
        def __init__(self) -> None:
            self.bar: PlanBar | None = None
            self.line, self.clock, self.rate = Busy(), Clock(limit), Rate()

        def stage(self, name: str) -> None:
            self.stop()
            if name in _STAGES:
                announce(_STAGES[name])
            self.line.show(name)

        def step(self, what: str) -> None:
            self.stop()
            self.line.show(what)

        def expected(self, what: str) -> None:
            self.stop()
            announce(what)

        def rows(self, what: str, rows: int) -> None:
            self.line.show(what, self.rate.after(what, rows))

        def understood(self, problem: "Problem", survey: "Survey") -> None:
            self.stop()
            if not quiet:
                _show_problem(problem, survey)
            self.line.show("preparing")

        def begins(self, what: str, place: int, steps: int) -> Callable[[int, int], None]:
            self.line.stop()
            if not errors.is_terminal:
                say(numbered(what, place, steps))
                return super().begins(what, place, steps)
            self.bar = self.bar or PlanBar(self.clock)
            return self.bar.begin(what, place, steps)

        def stop(self) -> None:
            self.line.stop()
            if self.bar is not None:
                self.bar.stop()
                self.bar = None

    screen = Screen()
    try:
        yield screen
    finally:
        screen.stop()


def _show_problem(problem: "Problem", found: "Survey") -> None:
    """Print what was understood, before anything is trained."""
    table = Table(title=name_for_screen(f"What {problem.graph.name} holds"), title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in survey_rows(problem.task, found):
        table.add_row(name, value)
    output.print(table)
    if problem.uses:
        output.print(columns_table(problem.uses))
    for note in problem.notes:
        tell(f"· {note}")
    for warning in found.warnings:
        tell(f"! {warning}", style="yellow")


def columns_table(uses: Sequence[ColumnUse]) -> Table:
    """Lay out what became of every column, table by table."""
    shown, more = shown_uses(uses, _MOST_COLUMNS_SHOWN)
    table = Table(title="What became of every column", title_justify="left", caption=more, caption_justify="left")
    for name in ("column", "read as"):
        table.add_column(name, overflow="fold")
    table.add_column("features", justify="right", no_wrap=True)
    table.add_column("remark", overflow="fold")
    several = len({use.table for use in uses}) > 1
    for place, use in enumerate(shown):
        if several and (place == 0 or use.table != shown[place - 1].table):
            table.add_section()
            table.add_row(f"{name_for_screen(use.table, _LONGEST_CLASS)}:", style="bold")
        features = f"{use.features:,}" if use.features else ""
        table.add_row(name_for_screen(use.name, _LONGEST_CLASS), use.read_as, features, in_flags(use.remark))
    return table


def survey_rows(task: str, found: "Survey") -> list[tuple[str, str]]:
    """Return what a survey found, as names and values for people."""
    counts = [
        f"{name_for_screen(name, _LONGEST_CLASS)} {count:,}"
        for name, count in zip(found.class_names, found.class_counts, strict=True)
    ]
    shown = ", ".join(counts[:_MOST_CLASSES_SHOWN])
    more = len(counts) - _MOST_CLASSES_SHOWN
    homophily = "not known: no edge joins two labels"
    if found.homophily is not None and found.chance is not None:
        homophily = f"{found.homophily:.0%} of {found.labeled_edges:,} edges between labels join one class"
        homophily += f" ({found.chance:.0%} by chance)"
    return [
        (task, f"{found.nodes:,}, {found.labeled:,} of them labeled"),
        ("labels", shown + (f" and {more:,} more classes" if more > 0 else "")),
        (
            "edges",
            f"{found.edges:,}, {found.mean_degree:.1f} neighbours on average; {found.isolated:,} {task} have none",
        ),
        ("features", f"{found.features:,}"),
        ("homophily", homophily),
        ("reach", "-" if found.reached is None else f"{found.reached:.0%} of the rest are within two steps of a label"),
    ]
