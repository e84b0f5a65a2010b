"""Cases by number: made, run and judged, always the same for a number and a seed."""

import contextlib
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from bad_inputs import oracle, server, snapshot
from bad_inputs.case import Case, Place
from bad_inputs.judge import FAULTS, Fault, judge
from bad_inputs.kinds import choose
from bad_inputs.snapshot import Snapshot

COMMANDS = (
    "demo",
    "fit",
    "predict",
    "explain",
    "advise",
    "label",
    "train",
    "tune",
    "select",
    "reproduce",
    "report",
    "data list",
    "data get",
)


@dataclass(frozen=True)
class Outcome:
    """A case and how it ended."""

    number: int
    kind: str
    command: str
    what: str
    arguments: tuple[str, ...]
    code: int | None
    seconds: float
    said: str
    faults: list[Fault]


def try_case(number: int, seed: int, folder: Path, stock: Path) -> Outcome:
    """Make a case in a folder, run it and judge it."""
    remove(folder)
    for name in ("work", "home", "tmp"):
        (folder / name).mkdir(parents=True)
        # For a user without rights.
        (folder / name).chmod(0o777)
    # In a child: writing Parquet may start threads, which a later fork would not survive.
    kind, case, before = server.in_child(lambda: _make(number, seed, folder, stock))
    ended = server.run(case, folder)
    faults = _judge(case, ended, before, folder)
    command = next(
        (name for name in COMMANDS if case.arguments[: len(name.split())] == tuple(name.split())), "graphmix"
    )
    said = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return Outcome(number, kind, command, case.what, case.arguments, ended.code, ended.seconds, said, faults)


def _make(number: int, seed: int, folder: Path, stock: Path) -> tuple[str, Case, Snapshot]:
    rng = Random(f"{seed} {number}")
    kind, draw = choose(rng)
    case = draw(Place(folder / "work", stock, rng))
    return kind, case, snapshot.take(folder)


def _judge(case: Case, ended: server.Ended, before: Snapshot, folder: Path) -> list[Fault]:
    after = {path: held for path, held in snapshot.take(folder).items() if path not in ("stdout", "stderr", "screen")}
    return judge(case, ended, before, after, lambda: _wrong_ids(case, folder / "work"))


def _wrong_ids(case: Case, work: Path) -> str | None:
    if case.ids_error is not None:
        return f"accepted, but {case.ids_error}"
    return None if case.ids is None else server.in_child(lambda: oracle.wrong_ids(work, case.ids))


def remove(folder: Path) -> None:
    """Remove a folder and what is in it, whatever its rights."""
    for root, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            os.chmod(root, stat.S_IRWXU)  # noqa: PTH101
    if folder.exists():
        shutil.rmtree(folder)


@dataclass
class Counts:
    """How many cases of each kind and command were tried, and what was wrong."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    commands: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(FAULTS, 0)))
    longest: float = 0.0
    slowest: int = 0

    def add(self, outcome: Outcome) -> None:
        self.cases += 1
        self.kinds[outcome.kind] += 1
        self.commands[outcome.command] += 1
        self.codes[str(outcome.code)] += 1
        self.faults.update({fault.kind for fault in outcome.faults})
        if outcome.seconds > self.longest:
            self.longest, self.slowest = outcome.seconds, outcome.number

    def to_json(self) -> dict[str, Any]:
        counted = {name: dict(sorted(getattr(self, name).items())) for name in ("kinds", "commands", "codes")}
        return {
            "cases": self.cases,
            **counted,
            "faults": dict(self.faults),
            "longest_seconds": round(self.longest, 1),
            "slowest_case": self.slowest,
        }


def try_all(numbers: Iterable[int], seed: int, folder: Path, stock: Path) -> Iterator[Outcome]:
    """Try cases one after another in one folder."""
    for number in numbers:
        yield try_case(number, seed, folder, stock)
    remove(folder)
