"""Commands that are killed at a random moment and run again: the end must be the same, byte by byte, times aside."""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from bad_inputs import server, stock
from bad_inputs.case import Case
from bad_inputs.stock import NODES
from bad_inputs.trying import remove

_TRAIN = ("--trials", "4", "--epochs", "4", "--device", "cpu", "--no-report", "--out", "out")
_FEW = ("--trials", "2", "--epochs", "3", "--device", "cpu", "--no-report", "--out", "out")
_FIT = ("fit", *NODES, *_TRAIN, "--hidden", "4", "--methods", "supervised,label-propagation,graphmix")
_NEW = ("--nodes", "new.csv", "--edges", "new-edges.csv")
# What each command needs, and what is added where something is there already.
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "fit": (("nodes.csv", "edges.csv"), _FIT, ("--resume",)),
    "train": (("graph.npz",), ("train", "graph.npz", *_TRAIN), ()),
    "reproduce": ((), ("reproduce", "joint-optimisation", "--only", "*/Cora", *_FEW), ()),
    "predict": (("model", "new.csv", "new-edges.csv"), ("predict", "model", *_NEW, "--out", "out.csv"), ("--force",)),
    "advise": (("model",), ("advise", "model", "--device", "cpu", "--out", "out"), ("--force",)),
    "select": (("graph.npz",), ("select", "graph.npz", "--alphas", "1", "--gammas", "1,2", *_FEW), ()),
    "demo": ((), ("demo", *_FEW), ()),
}
_TIMES = {"seconds", "peak_memory_gib", "date"}


@dataclass(frozen=True)
class Killed:
    """A kill and what came of it.

    Attributes:
        number: draws the moment, together with the seed.
        command: the command that was killed.
        moment: when.
        left: what it left: "nothing", "a part" or "all of it".
        fault: what was wrong after running it again; None if nothing was.
    """

    number: int
    command: str
    moment: str
    left: str
    fault: str | None


@dataclass(frozen=True)
class Undisturbed:
    """What comes of a command that nobody disturbs: its files, times aside, and how long it takes."""

    files: dict[str, Any]
    seconds: float


def kill_all(count: int, seed: int, folder: Path, stocked: Path) -> Iterator[Killed]:
    """Kill commands in turn until so many kills have met a running command."""
    known = {name: _undisturbed(name, folder, stocked) for name in COMMANDS}
    number = met = 0
    while met < count:
        name = list(COMMANDS)[met % len(COMMANDS)]
        outcome = _kill(name, number, seed, folder, stocked, known[name])
        number += 1
        if outcome is not None:
            met += 1
            yield outcome
    remove(folder)


def _undisturbed(name: str, folder: Path, stocked: Path) -> Undisturbed:
    case = _prepare(name, folder, stocked)
    ended = server.run(case, folder)
    if ended.code != 0:
        raise RuntimeError(f"{name} failed undisturbed: {ended.stderr.decode()}")
    return Undisturbed(_files(folder / "work"), ended.seconds)


def _prepare(name: str, folder: Path, stocked: Path) -> Case:
    remove(folder)
    for each in ("work", "home", "tmp"):
        (folder / each).mkdir(parents=True)
    needed, arguments, _ = COMMANDS[name]
    stock.copy(stocked, folder / "work", *needed)
    return Case(what=name, arguments=arguments, small=True, one_at_a_time=True)


def _kill(name: str, number: int, seed: int, folder: Path, stocked: Path, known: Undisturbed) -> Killed | None:
    """Kill a command at a random moment and run it again; None if it had ended before."""
    rng = Random(f"{seed} {number}")
    case = _prepare(name, folder, stocked)
    before = set(_files(folder / "work"))
    # By the clock, or when a file is all written but has not its name yet.
    moment: float = (
        rng.random() * known.seconds if rng.random() < 0.5 else rng.randint(1, len(known.files) - len(before) + 8)
    )
    ended = server.run(replace(case, moment=(signal.SIGKILL, moment)), folder)
    if ended.code != -signal.SIGKILL:
        return None
    held = _files(folder / "work")
    left = "nothing" if held.keys() == before else "all of it" if held == known.files else "a part"
    fault = None if left == "all of it" else _half_written(folder / "work") or _run_again(name, case, folder, known)
    return Killed(number, name, f"{moment:.3f} s" if isinstance(moment, float) else f"file {moment}", left, fault)


def _run_again(name: str, case: Case, folder: Path, known: Undisturbed) -> str | None:
    again = COMMANDS[name][2] if any((folder / "work" / out).exists() for out in ("out", "out.csv")) else ()
    ended = server.run(replace(case, arguments=(*case.arguments, *again)), folder)
    if ended.code != 0:
        return f"the second run ended with {ended.code}: {ended.stderr.decode(errors='replace')[-300:]}"
    held = _files(folder / "work")
    other = sorted(path for path in held.keys() | known.files.keys() if held.get(path) != known.files.get(path))
    return f"{len(other)} files differ: {other[:5]}" if other else None


def _half_written(work: Path) -> str | None:
    """The first file under its own name that is not whole."""
    from safetensors.numpy import load

    for root, _, names in os.walk(work):
        for name in names:
            path = Path(root) / name
            try:
                if path.suffix == ".json":
                    json.loads(path.read_bytes())
                elif path.suffix == ".safetensors":
                    load(path.read_bytes())
                elif path.suffix == ".csv" and not path.read_bytes().endswith(b"\n"):
                    raise ValueError("its last line has no end")
            except Exception as error:  # noqa: BLE001
                return f"{path.relative_to(work)} is half-written: {error}"
    return None


def _files(work: Path) -> dict[str, Any]:
    """Every file by its path, JSON without times."""
    found = {}
    for root, _, names in os.walk(work):
        for name in names:
            path = Path(root) / name
            content = path.read_bytes()
            found[str(path.relative_to(work))] = _timeless(json.loads(content)) if path.suffix == ".json" else content
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(held) for key, held in value.items() if key not in _TIMES}
    return [_timeless(held) for held in value] if isinstance(value, list) else value


def count_kills(kills: list[Killed]) -> dict[str, Any]:
    """How many kills there were, by command and by what they left, and how many did not end in the same bytes."""
    return {
        "kills": len(kills),
        "commands": dict(Counter(kill.command for kill in kills)),
        "left": dict(Counter(kill.left for kill in kills)),
        "same_bytes": sum(kill.fault is None for kill in kills),
    }
