"""What `graphmix fit` and `graphmix advise` show while they work."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

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
_STAGES = {
    "reading": "reading the tables",
    "choosing": "choosing what to label",
    "holding out": "the model's labels were not held out of its networks: training on folds of them",
}


class PlanBar:
    """A bar for one step of a plan, which says how many steps there are; gone when it stops."""

    def __init__(self, what: str, place: int, steps: int) -> None:
        self._lock = threading.Lock()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.percentage:>3.0f}%", markup=False),
            TimeElapsedColumn(),
            console=errors,
            transient=True,
        )
        self._task = self._progress.add_task(f"{place + 1} of {steps} · {name_for_screen(what)}", total=None)
        self._progress.start()

    def show(self, done: int, total: int) -> None:
        """Show how much of how much is done; called from several threads."""
        with self._lock:
            self._progress.update(self._task, completed=done, total=total)

    def stop(self) -> None:
        """Remove the bar."""
        self._progress.stop()


@contextmanager
def fit_screen(*, quiet: bool = False) -> "Iterator[Watcher]":
    """Show stages and the progress of the whole plan; unless quiet, also what the tables hold."""
    # Imported here: torch takes seconds to import.
    from graphmix.workflow.watching import Watcher

    class Screen(Watcher):
        bar: PlanBar | None = None
        line = Busy()

        def stage(self, name: str) -> None:
            self.stop()
            if name in _STAGES:
                announce(_STAGES[name])
            self.line.show(name)

        def step(self, what: str) -> None:
            self.stop()
            self.line.show(what)

        def understood(self, problem: "Problem", survey: "Survey") -> None:
            self.stop()
            if not quiet:
                _show_problem(problem, survey)

        def begins(self, what: str, place: int, steps: int) -> Callable[[int, int], None]:
            self.stop()
            if not errors.is_terminal:
                say(f"{place + 1} of {steps}: {what}")
                return super().begins(what, place, steps)
            self.bar = PlanBar(what, place, steps)
            return self.bar.show

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
