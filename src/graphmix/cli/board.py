"""The live view of a reproduction, and its tables."""

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from graphmix.cli.screen import errors, say, spread
from graphmix.experiments.cells import Asked, fits, plan
from graphmix.experiments.names import METRICS
from graphmix.experiments.runner import Stage
from graphmix.experiments.spec import Spec

_REFRESH_SECONDS = 0.5
# Told apart without colour too.
MARKS = {
    "reproduced": ("✓", "green"),
    "higher": ("▲", "blue"),
    "lower": ("▼", "red"),
    "undecided": ("?", "yellow"),
    "done": ("✓", "green"),
    "failed": ("✗", "bold red"),
    "unavailable": ("–", "dim"),
    "to do": ("·", "dim"),
}


class Board:
    """Cells done and to come, on standard error: a table that is kept up to date, or a line for each cell in a log."""

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

    def watch(self, stage: Stage) -> None:
        """Take in where things stand."""
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

    def _log(self, stage: Stage, ended: list[int]) -> None:
        for place in ended:
            if (stage.spec.name, place) not in self._told:
                self._told.add((stage.spec.name, place))
                done, total = len(self._told), self._total
                say(f"[{done}/{total}] {stage.spec.name}: {_line(stage.entries[place], stage.spec.metric)}")

    def _picture(self, stage: Stage) -> Group:
        done, total = sum(self._done.values()), self._total
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        head = f"{done} of {total} cells · {minutes}:{seconds:02d} · {stage.spec.name}: {stage.spec.title}"
        by = f"each cell by reading {' and '.join(stage.spec.readings)}; " if len(stage.spec.readings) > 1 else ""
        key = f"{by}▶ in hand, · to come, ✓ reproduced, ▲ higher, ▼ lower, ? undecided"
        table = _progress_table(stage, self._asked[stage.spec.name])
        return Group(Text(head), table, Text(key, style="dim"), Text(_now(stage)))


def verdict_tables(record: dict[str, Any]) -> list[Table]:
    """Our numbers beside the paper's, with verdicts: a table for each column and reading."""
    places = dict.fromkeys((cell["column"], cell["reading"]) for cell in record["cells"] if _asked(cell))
    return [_verdict_table(record, *place) for place in places]


def _verdict_table(record: dict[str, Any], column: str, reading: str | None) -> Table:
    cells = [cell for cell in record["cells"] if (cell["column"], cell["reading"]) == (column, reading)]
    by = f", reading “{reading}”" if reading and len(record["readings"]) > 1 else ""
    table = Table(title=f"{record['title']}: {column}{by}", title_justify="left")
    table.add_column("", overflow="fold")
    for name in (f"{METRICS[record['metric']]} (%)", "paper (%)", "off by", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for cell in filter(_asked, cells):
        run, paper, verdict = cell["run"], cell["paper"], cell["verdict"]
        table.add_row(
            cell["row"],
            _ours(cell, record["metric"]),
            spread(paper["mean"], paper["std"]) if paper else "-",
            f"{verdict['difference']:+.2f}" if verdict else "-",
            str(run["trials"]) if run else "-",
            _mark(cell),
        )
    return table


def tally(records: list[dict[str, Any]]) -> str:
    """How many cells came out how, in a sentence."""
    words = [_word(cell) for record in records for cell in record["cells"] if _asked(cell)]
    counts = {word: words.count(word) for word in dict.fromkeys([*MARKS, *words])}
    return f"{len(words)} cells: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _asked(cell: dict[str, Any]) -> bool:
    return cell["status"] not in ("quoted", "to do")


def _word(cell: dict[str, Any]) -> str:
    # A run of fewer epochs than the paper's has no verdict, not an undecided one.
    return str(cell["verdict"]["word"] if cell["verdict"] else cell["status"])


def _mark(cell: dict[str, Any]) -> Text:
    word = _word(cell)
    sign, style = MARKS[word]
    text = Text(f"{sign} {word}", style=style)
    failed = len((cell["run"] or {}).get("diverged", []))
    return text.append(f"\n{failed} of {cell['run']['trials']} trials failed", style="red") if failed else text


def _ours(cell: dict[str, Any], metric: str) -> str:
    run = cell["run"]
    return spread(run[f"{metric}_mean"], run[f"{metric}_std"]) if run else "-"


def _line(cell: dict[str, Any], metric: str) -> str:
    parts = [" / ".join(part for part in (cell["row"], cell["column"], cell["reading"]) if part)]
    if cell["run"]:
        parts.append(f"{_ours(cell, metric)} ({cell['run']['trials']} trials, {cell['run']['seconds']:.1f} s)")
    if cell["paper"]:
        parts.append(f"paper {spread(cell['paper']['mean'], cell['paper']['std'])}")
    return ", ".join([*parts, cell["error"] or _mark(cell).plain.replace("\n", ", ")])


def _progress_table(stage: Stage, asked: list[bool]) -> Table:
    table = Table()
    table.add_column("", overflow="fold")
    for column in stage.spec.columns:
        table.add_column(column.name, justify="right")
    for row in stage.spec.rows:
        if row.quoted:
            continue
        cells = [Text() for _ in stage.spec.columns]
        for place, entry in enumerate(stage.entries):
            if entry["row"] == row.name and asked[place]:
                place_of = [column.name for column in stage.spec.columns].index(entry["column"])
                cells[place_of].append("  ").append(_glance(stage, place, entry))
        if any(cell.plain for cell in cells):
            table.add_row(row.name, *cells)
    return table


def _glance(stage: Stage, place: int, entry: dict[str, Any]) -> Text:
    if place == stage.place and stage.todo[place]:
        return Text("▶", style="bold yellow")
    if stage.todo[place]:
        return Text("·", style="dim")
    sign, style = MARKS[_word(entry)]
    mean = entry["run"][f"{stage.spec.metric}_mean"] if entry["run"] else None
    return Text(sign if mean is None else f"{mean:.2f} {sign}", style=style)


def _now(stage: Stage) -> str:
    if stage.place >= len(stage.entries):
        return "done"
    entry, step = stage.entries[stage.place], stage.step
    name = " / ".join(part for part in (entry["row"], entry["column"], entry["reading"]) if part)
    parts = [f"▶ {name}", stage.part]
    if step is not None:
        last = step.first + step.trials
        parts.append(f"trials {step.first + 1}-{last}, epoch {step.epoch:,} of {stage.epochs:,}")
    return ", ".join(part for part in parts if part)
