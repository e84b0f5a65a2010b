"""The table of docs/howto/tune.md: for tables.py.

The record is the tune.json of `graphmix tune citeseer --trials 3 --epochs 300`, on CPU cores that others used too.
"""

from collections.abc import Callable
from pathlib import Path

from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.tuned import DONE, STOPPED, TuneResult
from graphmix.results.tuned_wording import say_checked
from graphmix.results.wording import settings_text, spread

RECORD = Path(__file__).parent / "results" / "tune-citeseer-cpu.json"
BEST = 3


def tune() -> str:
    """The best points of the search, the defaults, and how the best does with fresh seeds."""
    found = read_file(TuneResult, RECORD, formats.TUNED)
    done = sorted((each for each in found.points if each.state == DONE), key=lambda each: -(each.score or 0.0))
    start = found.start
    assert start is not None
    stopped = sum(each.state == STOPPED for each in found.points)
    lines = ["| point | validation accuracy (%) | settings |", "|---|---|---|"]
    for each in [*done[:BEST], start]:
        told = f"the defaults: {settings_text(each.settings)}" if each.start else settings_text(each.settings)
        lines.append(f"| {each.number} | {spread(each.score, each.std)} | {told} |")
    said = f"{say_checked(found)} {stopped} of {len(found.points)} points were stopped early."
    made = f"cpu, torch {found.versions['torch']}"
    given = f"{found.trials} trials, {settings_text(found.settings)}"
    lines += ["", said, "", f"{found.dataset}, {given}; {made}; `graphmix tune citeseer --trials 3 --epochs 300`."]
    return "\n".join(lines) + "\n"


TUNE_TABLES: dict[str, Callable[[], str]] = {"tune": tune}
