"""What `graphmix fit` and `graphmix advise` show while they work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.table import Table

from graphmix.cli.busy import Busy
from graphmix.cli.flags import in_flags
from graphmix.cli.screen import Bar, announce, errors, output, say, tell
from graphmix.results.columns import ColumnUse, shown_uses
from graphmix.text import name_for_screen

if TYPE_CHECKING:
    from graphmix.results.survey import Survey
    from graphmix.training import Config
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


@contextmanager
def fit_screen(*, quiet: bool = False) -> "Iterator[Watcher]":
    """Show stages and a progress bar for each method; unless quiet, also what the tables hold."""
    # Imported here: torch takes seconds to import.
    from graphmix.training.methods import METHODS
    from graphmix.workflow.watching import Watcher

    class Screen(Watcher):
        bar: Bar | None = None
        line = Busy()

        def stage(self, name: str) -> None:
            self.stop()
            if name in _STAGES:
                announce(_STAGES[name])
            self.line.show(name)

        def step(self, what: str, done: int = 0, total: int = 0) -> None:
            if self.bar is not None:
                self.stop()
            self.line.show(what, f"step {done:,} of at most {total:,}" if total else "")

        def understood(self, problem: "Problem", survey: "Survey") -> None:
            self.stop()
            if not quiet:
                _show_problem(problem, survey)

        def method(self, name: str, config: "Config") -> Any:
            self.stop()
            if METHODS[name].baseline or not errors.is_terminal:
                say(f"training {name}")
                self.line.show(f"training {name}")
                return None
            self.bar = Bar(name, config.trials, config.epochs)
            self.bar.__enter__()
            return self.bar.watch

        def stop(self) -> None:
            self.line.stop()
            if self.bar is not None:
                self.bar.__exit__(None, None, None)
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
