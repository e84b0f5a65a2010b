"""The records in results/: what was run on a borrowed H200, and how records are made of it.

    timeout 560 python3 benchmarks/record.py train --parts first second --device cuda --commit C --out DIR
    python benchmarks/record.py collect --cells DIR --commit C --out results
    python benchmarks/record.py refresh --out results

`train` computes the cells of the parts in record_parts.py, in order, into OUT/cells; cells already there are not
computed again. `--job 3` trains the third entry alone: for several processes, each with its own OUT. `collect` writes
records from these cells and computes nothing; of two runs of a cell it keeps the one with more trials. `refresh`
rewrites the records of a folder with the current specs (titles, verdicts, commands), computes nothing and changes no
number; a spec without a record gets one whose cells are all to do. Parts have as many trials as the paper, or more; a
part with fewer had to fit into the borrowed time.
"""

import argparse
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from graphmix.errors import ConfigError
from graphmix.experiments.cells import Asked, plan
from graphmix.experiments.records import write_record
from graphmix.experiments.runner import Stage, reproduce
from graphmix.experiments.spec import Spec, load_spec, names
from graphmix.results import formats
from graphmix.results.reader import read_file
from graphmix.results.record import CellResult, Record
from graphmix.results.wording import spread_of
from record_parts import PARTS


def main() -> None:
    """Train, collect or refresh."""
    options = parse()
    if options.what != "train":
        {"collect": collect, "refresh": refresh}[options.what](options)
        return
    if options.commit is None:
        sys.exit("train needs --commit")
    jobs = [job for name in options.parts for job in PARTS[name]]
    if options.job is not None and not 1 <= options.job <= len(jobs):
        sys.exit(f"--job must be 1 to {len(jobs)}")
    for spec, cells, trials in jobs if options.job is None else [jobs[options.job - 1]]:
        print(f"{spec} {cells} {trials or ''}", flush=True)
        asked = Asked(trials=trials, only=cells or "/")
        reproduce(
            [load_spec(spec)],
            asked,
            options.out,
            device=options.device,
            commit=options.commit,
            watch=Log(),
        )


class Log:
    """Prints a line for each cell that was computed."""

    def __init__(self) -> None:
        self.place = -1

    def __call__(self, stage: Stage) -> None:
        """Print the cell before the current one, once."""
        if stage.step is None and not stage.part and 0 < stage.place != self.place:
            self.place = stage.place
            cell = stage.entries[stage.place - 1]
            seconds = None if cell.run is None else cell.run.seconds
            print("  ", *cell.place, spread_of(cell.run, stage.spec.metric), seconds, cell.error or "", flush=True)


def collect(options: argparse.Namespace) -> None:
    """Make records from gathered cells."""
    if options.cells is None or options.commit is None:
        sys.exit("collect needs --cells and --commit")
    shutil.copytree(options.cells, options.out / "cells", dirs_exist_ok=True)
    gathered = {path.stem for path in options.cells.glob("*.json")}
    for spec in map(load_spec, names()):
        path = options.out / f"{spec.name}.json"
        record = old = read_file(Record, path, formats.RECORD) if path.exists() else None
        # A cell of one table may have been trained for another, so every table looks for every number of trials.
        for trials in sorted({trials or spec.trials for jobs in PARTS.values() for _, _, trials in jobs}):
            asked = Asked(trials=trials)
            if old is None or spec.kind == "selection" or any(cell.key in gathered for cell in plan(spec, asked)):
                how = {"commit": options.commit, "stored_only": True, "command": f"graphmix reproduce {spec.name}"}
                (new,) = reproduce([spec], asked, options.out, device="cpu", **how)
                record = with_most_trials(record, new)
        write_record(options.out, record)
        own = sum(cell.status != "quoted" for cell in record.cells)
        print(f"{spec.name}: {numbers(record)} of {own} cells")


def with_most_trials(old: Record | None, new: Record) -> Record:
    """The new record with the old one's cells where these have more trials; the old one if nothing is new."""
    if old is None:
        return new
    held = {cell.place: cell for cell in old.cells}
    cells = tuple(
        held[cell.place] if cell.place in held and many(held[cell.place]) > many(cell) else cell for cell in new.cells
    )
    return old if cells == tuple(old.cells) else replace(new, cells=cells)


def many(cell: CellResult) -> int:
    """The number of trials of a cell."""
    return 0 if cell.run is None else cell.run.trials


def refresh(options: argparse.Namespace) -> None:
    """Rewrite every record of a folder from what it holds, and begin those that are missing."""
    for spec in map(load_spec, names()):
        path = options.out / f"{spec.name}.json"
        old = read_file(Record, path, formats.RECORD) if path.exists() else None
        held = None if old is None else old.command
        command = held if held is not None and runs(spec, held) else None
        commit = None if old is None else old.made["commit"]
        (new,) = reproduce([spec], Asked(), options.out, device="cpu", commit=commit, stored_only=True, command=command)
        kept = "begun" if old is None else f"{numbers(new)} of {numbers(old)} cells kept"
        print(f"{spec.name}: {kept}; {new.command}")


def runs(spec: Spec, command: str) -> bool:
    """Whether the cells that a record's command names exist."""
    words = shlex.split(command)
    only = words[words.index("--only") + 1] if "--only" in words else None
    try:
        plan(spec, Asked(only=only))
    except ConfigError:
        return False
    return True


def numbers(record: Record) -> int:
    """How many cells of a record are done."""
    return sum(cell.status == "done" for cell in record.cells)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "collect", "refresh"])
    parser.add_argument("--parts", nargs="+", default=[], choices=list(PARTS))
    parser.add_argument("--job", type=int, help="train only this entry of the parts, from 1")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--commit", help="commit of the code, for the record; refresh does not change it")
    parser.add_argument("--cells", type=Path, help="folder of gathered cells")
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
