"""What `graphmix tune` shows: the space, a line for each point as it ends, and the best points."""

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from graphmix.cli.screen import errors, say
from graphmix.results.tuned import DONE, FAILED, STOPPED, Point, TuneResult
from graphmix.results.tuned_wording import METRICS
from graphmix.results.wording import duration, settings_text, spread
from graphmix.text import name_for_screen
from graphmix.tuning.space import Choices, Space
from graphmix.tuning.watching import TuneWatcher

if TYPE_CHECKING:
    from graphmix.training import Config
    from graphmix.training import Progress as Step

_REFRESH_SECONDS = 0.2
_SHOWN = 5
# What stands beside the settings of a point in its live line.
_BESIDE = 60


class TuneScreen(TuneWatcher):
    """Progress of a search on standard error: a live line on a terminal, and a line for each point that ended."""

    def __init__(self) -> None:
        self._points, self._tried, self._shown = 0, 0, 0.0
        self._lock = threading.Lock()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=10),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=errors,
            disable=not errors.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=1, state="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begins(self, settings: Mapping[str, Any], config: "Config", tried: int, points: int) -> Any:
        """Show a point that begins; return what shows its epochs."""
        self._tried, self._points = tried, points
        what = f"point {tried} of {points}" if tried else "the best and the defaults, fresh seeds"
        told = name_for_screen(f"{what}: {settings_text(settings)}", 400)
        room = max(errors.width - _BESIDE, 20)
        line = told if len(told) <= room else f"{told[: room - 1]}…"
        self._progress.update(self._task, description=line, completed=0, total=config.trials * config.epochs, state="")
        done: dict[int, int] = {}

        def watch(step: "Step") -> None:
            # Called from several threads.
            with self._lock:
                done[step.first] = step.trials * step.epoch
                now = time.monotonic()
                if self._progress.disable or now - self._shown < _REFRESH_SECONDS:
                    return
                self._shown = now
            state = f"epoch {step.epoch:,}/{config.epochs:,}"
            self._progress.update(self._task, completed=sum(done.values()), state=state)

        return watch

    def ended(self, point: Point, best: Point | None) -> None:
        """Print how good a point is."""
        scores = {
            DONE: f"{spread(point.score, point.std)} %",
            STOPPED: f"stopped at {spread(point.score, None)} %",
            FAILED: f"failed: {point.error}",
        }
        mark = " (best so far)" if best is not None and best.number == point.number else ""
        place = f"[{self._tried}/{self._points}]" if self._points else ""
        who = "the defaults: " if point.start else ""
        taken = f", {duration(point.seconds)}" if point.seconds else ""
        say(f"{place} {scores[point.state]}{mark}{taken}: {who}{settings_text(point.settings)}")


def space_table(space: Space, usual: "Config") -> Table:
    """Lay out a space: hyperparameters, their values, and the usual ones."""
    table = Table(title="The space", title_justify="left")
    table.add_column("hyperparameter", no_wrap=True)
    table.add_column("values", overflow="fold")
    table.add_column("default", justify="right", overflow="fold")
    for name, values in space.items():
        if isinstance(values, Choices):
            shown = ", ".join(map(str, values.values))
        else:
            step = f", in steps of {values.step:g}" if values.step is not None else ""
            shown = f"{values.low:g} to {values.high:g}{step}{', logarithmic' if values.log else ''}"
        table.add_row(name, shown, str(getattr(usual, name)))
    return table


def points_table(found: TuneResult) -> Table:
    """Lay out the best points and the defaults."""
    done = [point for point in found.points if point.state == DONE]
    best = sorted(done, key=lambda point: (-(point.score or 0.0), point.number))[:_SHOWN]
    start = found.start
    table = Table(title=f"The best points on {found.dataset}, by {METRICS[found.metric]}", title_justify="left")
    table.add_column("point", justify="right")
    table.add_column(f"{'macro F1' if found.metric == 'macro-f1' else 'accuracy'} (%)", justify="right", no_wrap=True)
    table.add_column("settings", overflow="fold")
    for point in [*best, *([start] if start is not None and start not in best else [])]:
        told = f"{'the defaults: ' if point.start else ''}{settings_text(point.settings)}"
        table.add_row(
            str(point.number),
            spread(point.score, point.std),
            told,
            style="bold" if point.number == found.best else None,
        )
    return table
