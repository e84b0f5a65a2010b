"""What people see: a progress bar, tables, messages."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from graphmix.cli.flags import in_flags
from graphmix.cli.interrupts import INTERRUPTED, always_raised
from graphmix.data import DATASETS, resolve
from graphmix.results.names import METRICS, name_run
from graphmix.results.run import RunResult
from graphmix.results.wording import spread, spread_of
from graphmix.text import for_screen, name_for_screen

if TYPE_CHECKING:
    from graphmix.training import Progress as Step


class Screen(Console):
    """A console that shows text as text: no markup, no control characters, nothing longer than a screen can bear."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Lay out text; printed lines, titles and cells of tables all come here."""
        return super().render_str(for_screen(text), **options)


output = Screen()
errors = Screen(stderr=True)

_REFRESH_SECONDS = 0.2
_WIDE = 110


class Bar:
    """A progress bar on standard error: epoch, validation accuracy, time left. Shown on a terminal only."""

    def __init__(self, label: str, trials: int, epochs: int):
        self._trials, self._epochs, self._shown = trials, epochs, 0.0
        self._done: dict[int, int] = {}
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30 if errors.width >= _WIDE else 10),
            TextColumn("{task.percentage:>3.0f}% · {task.fields[state]}", markup=False),
            TimeRemainingColumn(),
            console=errors,
            disable=not errors.is_terminal,
        )
        self._task = self._progress.add_task(name_for_screen(label), total=trials * epochs, state="starting")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def watch(self, step: "Step") -> None:
        """Show how far training is; not every epoch, because reading the accuracy waits for the device."""
        now = time.monotonic()
        self._done[step.first] = step.trials * step.epoch
        if self._progress.disable or (now - self._shown < _REFRESH_SECONDS and step.epoch < self._epochs):
            return
        self._shown = now
        last = step.first + step.trials
        batch = f"trial {last}" if step.trials == 1 else f"trials {step.first + 1}-{last}"
        val = 100 * step.best.val.mean().item()
        # There may be no validation nodes.
        known = val == val
        epoch = f"epoch {step.epoch:,}/{self._epochs:,}"
        # A narrow screen has no room for the trials; the time left is always shown.
        wide = f"{batch} of {self._trials} · {epoch}" + f" · validation {val:.1f} %" * known
        state = wide if errors.width >= _WIDE else epoch + f" · {val:.1f} %" * known
        done, total = sum(self._done.values()), step.todo * self._epochs
        self._progress.update(self._task, completed=done, total=total, state=state)


def metrics_of(dataset: str) -> tuple[str, ...]:
    """Return the metrics to show: for links, where one class is rare and accuracy says little, also F1."""
    info = DATASETS.get(resolve(dataset))
    return tuple(METRICS) if info is not None and info.task == "links" else ("test_accuracy",)


def results_table(results: Iterable[RunResult], title: str, metrics: Sequence[str] = ("test_accuracy",)) -> Table:
    """Lay out runs, one row each, with the paper's number beside each; `metrics` are keys of `METRICS`."""
    from graphmix.experiments.quotes import quoted

    table = Table(title=title, title_justify="left")
    table.add_column("method", no_wrap=True)
    for metric in metrics:
        name = METRICS[metric] if len(metrics) > 1 else f"test {METRICS[metric]}"
        table.add_column(f"{name} (%)", justify="right")
    runs = list(results)
    papers = [quoted(run) for run in runs]
    measured = {METRICS[paper[1]] for paper in papers if paper}
    of = f" {measured.pop()}" if len(metrics) > 1 and len(measured) == 1 else ""
    table.add_column(f"paper{of} (%)", justify="right")
    table.add_column("trials", justify="right")
    table.add_column("seconds", justify="right")
    for run, paper in zip(runs, papers, strict=True):
        table.add_row(
            name_run(run),
            *(spread_of(run, metric) for metric in metrics),
            spread(paper[0].mean, paper[0].std) if paper else "–",
            str(run.trials),
            "–" if run.seconds is None else f"{run.seconds:.1f}",
        )
    return table


def fresh_folder(name: str) -> Path:
    """Choose a run folder that does not exist yet, in runs/ under the current folder."""
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    candidates = (Path("runs") / (stem if number == 1 else f"{stem}-{number}") for number in range(1, 10_000))
    return next(folder for folder in candidates if not folder.exists())


def say(message: str) -> None:
    """Print a message on standard error, in one line; parameters in backticks become options of the command."""
    errors.print(_line(message), highlight=False, soft_wrap=True)


def tell(message: str, style: str | None = None) -> None:
    """Print a message on standard output, in one line; parameters in backticks become options of the command."""
    output.print(_line(message), style=style, soft_wrap=True)


def _line(message: str) -> str:
    return in_flags(message).replace("\r", "\\r").replace("\n", "\\n")


def announce(message: str) -> None:
    """Say that something slow begins, if standard error is a terminal."""
    if errors.is_terminal:
        say(message)


def warn_of_divergence(results: RunResult) -> None:
    """Warn if the loss of a trial became infinite: its accuracy is not that of a trained network."""
    if results.failed:
        trials = ", ".join(map(str, results.failed))
        say(f"graphmix: the loss of {results.method} became infinite in trials {trials}; try a lower `learning_rate`")


def same_folder(folder: Path) -> str:
    """Return how to continue an interrupted run."""
    return f"the same command with --out {folder} goes on with the trials that are missing"


@contextmanager
def resumable(how: str) -> Iterator[None]:
    """On Ctrl-C, say how to continue, and exit with code 130."""
    try:
        with always_raised():
            yield
    except KeyboardInterrupt:
        say(f"graphmix: interrupted; {how}")
        raise typer.Exit(INTERRUPTED) from None
