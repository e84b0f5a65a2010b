"""Try bad inputs against every command.

    PYTHONPATH=src:tests python -m bad_inputs --cases 10000 --kills 100     try cases 0 to 9,999, and kill 100 commands
    PYTHONPATH=src:tests python -m bad_inputs --only 1234 --keep /tmp/1234  try one again, and keep its folder

A case is always the same for its number and its seed, but for the moment of a signal. Each case with a fault is
printed, and the counts; `--out` gets the counts as JSON. It ends with exit code 1 if there was a fault.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from bad_inputs import stock
from bad_inputs.judge import Fault
from bad_inputs.kills import count_kills, kill_all
from bad_inputs.trying import Counts, Outcome, remove, try_all, try_case


def main() -> None:
    """Read the options, try the cases, print what came out."""
    options = _parse()
    began = time.monotonic()
    counts, kills = Counts(), []
    with scratch() as root:
        stock.make(root / "stock")
        for outcome in _tried(options, root):
            counts.add(outcome)
            if outcome.faults or options.only is not None:
                print(_line(outcome), flush=True)
        if options.keep is not None:
            shutil.copytree(root / "case", options.keep, symlinks=True, ignore=_without_pipes)
        for kill in kill_all(options.kills, options.seed, root / "killed", root / "stock") if options.kills else ():
            kills.append(kill)
            if kill.fault is not None:
                print(kill, flush=True)
    found = {"seed": options.seed, **counts.to_json(), "killed": count_kills(kills)}
    found |= {"seconds": round(time.monotonic() - began)}
    text = json.dumps(found, indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(f"{text}\n")
    sys.exit(any(counts.faults.values()) or any(kill.fault for kill in kills))


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for cases; in memory where there is such a file system, because every file is synchronised."""
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(prefix="bad-inputs-", dir=memory if os.access(memory, os.W_OK) else None))
    root.chmod(0o755)
    try:
        yield root
    finally:
        remove(root)


def in_parallel(numbers: list[int], seed: int, root: Path, workers: int) -> Iterator[Outcome]:
    """Try cases in several processes; outcomes come as they end."""
    reader, writer = os.pipe()
    children = []
    for worker in range(workers):
        child = os.fork()
        if not child:
            os.close(reader)
            _work(numbers[worker::workers], seed, root / f"case{worker}", root / "stock", writer)
        children.append(child)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as pipe:
        for line in pipe:
            held = json.loads(line)
            yield Outcome(**held | {"faults": [Fault(**fault) for fault in held["faults"]]})
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        raise RuntimeError(f"a worker ended with {codes}")


def _work(numbers: list[int], seed: int, folder: Path, stocked: Path, pipe: int) -> NoReturn:
    """Try cases in this child, and end it: whatever happens, what its parent has begun is not its own to end."""
    try:
        for outcome in try_all(numbers, seed, folder, stocked):
            _send(pipe, outcome)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _send(pipe: int, outcome: Outcome) -> None:
    """Write an outcome in one piece: a pipe does not mix what is shorter than a page."""
    held = asdict(outcome)
    for most in (1000, 100, 10):
        short = {name: value[:most] if isinstance(value, str) else value for name, value in held.items()}
        short["arguments"] = [word[:most] for word in held["arguments"][:60]]
        short["faults"] = [{name: text[:most] for name, text in fault.items()} for fault in held["faults"]]
        line = json.dumps(short).encode() + b"\n"
        if len(line) <= 4096:
            break
    os.write(pipe, line)


def _tried(options: argparse.Namespace, root: Path) -> Iterator[Outcome]:
    if options.only is not None:
        yield try_case(options.only, options.seed, root / "case", root / "stock")
        return
    yield from in_parallel(
        list(range(options.first, options.first + options.cases)), options.seed, root, options.workers
    )


def _line(outcome: Outcome) -> str:
    faults = "; ".join(f"{fault.kind}: {fault.details[:300]!r}" for fault in outcome.faults) or "fine"
    words = " ".join(outcome.arguments)[:300]
    return (
        f"#{outcome.number} {outcome.kind}: {faults}\n    what: {outcome.what[:300]!a}\n    graphmix {words!a}\n"
        f"    exit {outcome.code} after {outcome.seconds:.2f} s: {outcome.said[:400]!a}"
    )


def _without_pipes(folder: str, names: list[str]) -> list[str]:
    return [
        name
        for name in names
        if not (path := Path(folder) / name).is_symlink() and not path.is_file() and not path.is_dir()
    ]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
