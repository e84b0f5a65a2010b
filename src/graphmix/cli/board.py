"""The live view of `graphmix reproduce`, and its tables."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from graphmix.cli.screen import errors, say
from graphmix.experiments.cells import Asked, fits, plan
from graphmix.experiments.spec import Spec
from graphmix.results.claim import QUANTITIES, Claim
from graphmix.results.claim_wording import by_column, expectation, seen, verdict
from graphmix.results.names import METRICS
from graphmix.results.record import CellResult, Record
from graphmix.results.wording import COMPARED, MARKS, failed_trials, outcome, spread, spread_of
from graphmix.text import counted, for_screen, signed

if TYPE_CHECKING:
    from graphmix.experiments.runner import Stage

_REFRESH_SECONDS = 0.5
STYLES = {
    "reproduced": "green",
    "higher": "blue",
    "lower": "red",
    "undecided": "yellow",
    "no verdict": "dim",
    "failed": "bold red",
    "unavailable": "dim",
    "not run": "dim",
    "quoted": "dim",
}


class Board:
    """Cells done and to come, on standard error: a live table, or a line for each cell where that is no terminal."""

    def __init__(self, specs: list[Spec], asked: Asked):
        self._asked = {
            spec.name: [cell.method is not None and fits(cell, asked.only) for cell in plan(spec, asked)]
            for spec in specs
        }
        self._total = sum(map(sum, self._asked.values()))
        self._done: dict[str, int] = {}
        self._told: set[tuple[str, int]] = set()
        self._started, self._shown = time.monotonic(), 0.0
        self._live = Live(console=errors, auto_refresh=False, transient=True) if errors.is_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def watch(self, stage: "Stage") -> None:
        """Show how far the work is."""
        asked = self._asked[stage.spec.name]
        ended = [place for place, wanted in enumerate(asked) if wanted and not stage.todo[place]]
        self._done[stage.spec.name] = len(ended)
        if self._live is None:
            self._log(stage, ended)
            return
        now = time.monotonic()
        if stage.step is None or now - self._shown >= _REFRESH_SECONDS:
            self._shown = now
            self._live.update(self._picture(stage), refresh=True)

    def _log(self, stage: "Stage", ended: list[int]) -> None:
        for place in ended:
            if (stage.spec.name, place) not in self._told:
                self._told.add((stage.spec.name, place))
                done, total = len(self._told), self._total
                say(f"[{done}/{total}] {stage.spec.name}: {_line(stage.entries[place], stage.spec.metric)}")

    def _picture(self, stage: "Stage") -> Group:
        done, total = sum(self._done.values()), self._total
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        head = f"{done} of {total} cells · {minutes}:{seconds:02d} · {stage.spec.name}: {stage.spec.title}"
        by = f"each cell by reading {' and '.join(stage.spec.readings)}; " if len(stage.spec.readings) > 1 else ""
        marks = ", ".join(f"{MARKS[word]} {word}" for word in COMPARED)
        key = f"{by}▶ running, · to come, {marks}"
        table = _progress_table(stage, self._asked[stage.spec.name])
        return Group(Text(for_screen(head)), table, Text(key, style="dim"), Text(for_screen(_now(stage))))


def claim_table(record: Record, claim: Claim) -> Table:
    """The verdict on a record's claim, and what was found in every column."""
    title = f"{record.title}: {verdict(claim)} ({by_column(claim)})"
    table = Table(title=title, title_justify="left")
    for name in ("", "what", "expected", "found", "verdict"):
        table.add_column(name, overflow="fold")
    for each in claim.findings:
        table.add_row(each.column, QUANTITIES[each.asked.quantity], expectation(each.asked), seen(each), verdict(each))
    return table


def verdict_tables(record: Record) -> list[Table]:
    """Our numbers beside the paper's, with verdicts: a table for each column and reading."""
    places = dict.fromkeys((cell.column, cell.reading) for cell in record.cells if _tried(cell))
    return [_verdict_table(record, *place) for place in places]


def _verdict_table(record: Record, column: str, reading: str | None) -> Table:
    by = f", reading “{reading}”" if reading and len(record.readings) > 1 else ""
    table = Table(title=f"{record.title}: {column}{by}", title_justify="left")
    table.add_column("", overflow="fold")
    for name in (f"{METRICS[record.metric]} (%)", "paper (%)", "off by", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for cell in record.cells:
        if (cell.column, cell.reading) != (column, reading) or not _tried(cell):
            continue
        difference = None if cell.verdict is None else cell.verdict.difference
        table.add_row(
            cell.row,
            spread_of(cell.run, record.metric),
            spread(cell.paper.mean, cell.paper.std) if cell.paper else "–",
            "–" if difference is None else signed(difference),
            str(cell.run.trials) if cell.run else "–",
            _mark(cell),
        )
    return table


def _tried(cell: CellResult) -> bool:
    return cell.status not in ("quoted", "to do")


def _mark(cell: CellResult) -> Text:
    sign, word, style = _sign(cell)
    text = Text(f"{sign} {word}", style=style)
    if cell.run is not None and cell.run.failed:
        text.append(f"\n{failed_trials(cell.run)}", style="red")
    return text


def _sign(cell: CellResult) -> tuple[str, str, str]:
    """The sign, the word and the colour of a cell."""
    word = outcome(cell)
    return ("✓", "done", "green") if word is None else (MARKS[word], word, STYLES[word])


def _line(cell: CellResult, metric: str) -> str:
    parts = [_name(cell)]
    if cell.run is not None:
        time_taken = "" if cell.run.seconds is None else f", {cell.run.seconds:.1f} s"
        parts.append(f"{spread_of(cell.run, metric)} ({counted(cell.run.trials, 'trial')}{time_taken})")
    if cell.paper is not None:
        parts.append(f"paper {spread(cell.paper.mean, cell.paper.std)}")
    return ", ".join([*parts, cell.error or _mark(cell).plain.replace("\n", ", ")])


def _name(cell: CellResult) -> str:
    return " / ".join(part for part in cell.place if part)


def _progress_table(stage: "Stage", asked: list[bool]) -> Table:
    table = Table()
    table.add_column("", overflow="fold")
    for column in stage.spec.columns:
        table.add_column(column.name, justify="right")
    for row in stage.spec.rows:
        if not row.runs:
            continue
        cells = [Text() for _ in stage.spec.columns]
        for place, entry in enumerate(stage.entries):
            if entry.row == row.name and asked[place]:
                place_of = [column.name for column in stage.spec.columns].index(entry.column)
                cells[place_of].append("  ").append(_glance(stage, place, entry))
        if any(cell.plain for cell in cells):
            table.add_row(row.name, *cells)
    return table


def _glance(stage: "Stage", place: int, entry: CellResult) -> Text:
    if stage.todo[place] and (place == stage.place or place in stage.running):
        return Text("▶", style="bold yellow")
    if stage.todo[place]:
        return Text("·", style="dim")
    sign, _, style = _sign(entry)
    score = entry.score(stage.spec.metric)
    mean = None if score is None else score.mean
    return Text(sign if mean is None else f"{mean:.2f} {sign}", style=style)


def _now(stage: "Stage") -> str:
    if stage.place >= len(stage.entries):
        return "done"
    entry, step = stage.entries[stage.place], stage.step
    parts = [f"▶ {_name(entry)}", stage.part]
    if step is not None:
        last = step.first + step.trials
        parts.append(f"trials {step.first + 1}-{last}, epoch {step.epoch:,} of {stage.epochs:,}")
    return ", ".join(part for part in parts if part)
