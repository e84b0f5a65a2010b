"""A line that says what goes on and for how long, where there is no other progress to show. On a terminal only."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from graphmix.cli.screen import errors


class Busy:
    """A live line on standard error: what goes on, how far it is, and the time since it began; gone when it stops."""

    def __init__(self) -> None:
        self._progress: Progress | None = None

    def show(self, what: str, state: str = "") -> None:
        """Say what goes on; the time counts from the first call with the same words."""
        if not errors.is_terminal:
            return
        if self._progress is None:
            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                TextColumn("{task.fields[state]}", markup=False),
                TimeElapsedColumn(),
                console=errors,
                transient=True,
            )
            self._progress.start()
        task = next(iter(self._progress.tasks), None)
        if task is None or task.description != what:
            for old in self._progress.task_ids:
                self._progress.remove_task(old)
            self._progress.add_task(what, total=None, state=state)
        else:
            self._progress.update(task.id, state=state)

    def stop(self) -> None:
        """Remove the line."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a line while something runs that tells nothing of its progress."""
    line = Busy()
    line.show(what)
    try:
        yield
    finally:
        line.stop()
