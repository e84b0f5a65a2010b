"""Measure `graphmix fit` and its peers on graphs nobody tuned for. docs/wild.md shows the results.

    python benchmarks/wild.py --device cuda --before OLD --workers 12 --out benchmarks/results/wild-h200.json

Few labels of a graph are known, 5 or 20 a class (counties 10 or 40); all other nodes are the test nodes. Labels are
drawn by class, as many of each, or as many in all regardless of class, but at least three of each. Every draw has a
seed of its own. All systems get the same graph and the same labels. docs/wild.md says what of the peers was chosen on
test nodes: how their features are scaled.

OLD is a checkout of the library before it had mixtures, made by `git archive 352b930`. Without it that system is left
out. Rows are written as they come, the cheapest graphs first. `--limit` ends a run in time, and a second call goes on
where the first one stopped. With `--workers`, peers that do not use the card run in processes of their own, with one
thread each; the seconds of a row are those of its system with the threads that the row names.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_version
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from threadpoolctl import threadpool_limits

from graphmix.evaluation.calibration import expected_calibration_error
from graphmix.experiments.records import source_commit
from graphmix.results.describe import device_name, versions
from graphmix.storage.files import write_json
from graphmix.training.devices import choose_device
from wild_fit import Answer, fit_elsewhere, fit_folder, hide, hide_tables
from wild_graphs import (
    COUNTIES_LABEL,
    Case,
    Draw,
    Ints,
    data_folder,
    hidden_labels,
    hidden_table,
    load_case,
)
from wild_names import ANY, BEFORE, BY_CLASS, FEW, GRAPHS, MANY, OURS
from wild_peers import PEERS, Work, run_peer

BEFORE_COMMIT = "352b930"
SYSTEMS = (*PEERS, OURS, BEFORE)
DRAWS = 5
KEY = ("graph", "amount", "drawn", "draw", "system")
Row = dict[str, Any]


class Task(NamedTuple):
    """A system on a draw, and where to run it."""

    draw: Draw
    system: str
    data: Path
    device: str
    before: Path | None
    commit: str | None
    threads: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What a row is found by."""
        return (self.draw.graph, self.draw.amount, self.draw.drawn, self.draw.number, self.system)

    @property
    def on_device(self) -> bool:
        """Whether the system uses the card, if there is one."""
        return uses_device(self.system)


def main(words: list[str] | None = None) -> None:
    """Run what is missing."""
    options = parse(words)
    record = begin(options)
    done = {tuple(row[name] for name in KEY) for row in record["rows"]}
    tasks = [task for task in plan(options) if task.key not in done]
    deadline = float("inf") if options.limit is None else time.monotonic() + options.limit
    print(f"{len(tasks)} to do, {len(done)} done", flush=True)
    for row in run_all(tasks, options.workers, deadline):
        record["rows"].append(row)
        record["rows"].sort(key=_place)
        write_json(options.out, record)
        print(*(row[name] for name in KEY), f"{row['accuracy']:.1f} % in {row['seconds']:.1f} s", flush=True)


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="the folder of datasets; default: GRAPHMIX_DATA")
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS))
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--labels", nargs="+", choices=[FEW, MANY], default=[MANY, FEW])
    parser.add_argument("--drawn", nargs="+", choices=[BY_CLASS, ANY], default=[BY_CLASS, ANY])
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--before", type=Path, help=f"a checkout of commit {BEFORE_COMMIT}")
    parser.add_argument("--workers", type=int, default=0, help="processes for peers that do not use the card")
    parser.add_argument("--limit", type=float, help="seconds after which nothing new begins")
    parser.add_argument("--commit", help="commit of the code, if git does not know it")
    return parser.parse_args(words)


def begin(options: argparse.Namespace) -> dict[str, Any]:
    """Read what is done, or begin a record. A record is of one machine."""
    device = device_name(choose_device(options.device))
    made = {
        "command": "python benchmarks/wild.py",
        "device": device,
        "cores": os.cpu_count(),
        "versions": versions() | {"scikit-learn": sklearn_version, "torch-geometric": _pyg_version()},
    }
    if not options.out.exists():
        return made | {"rows": []}
    record: dict[str, Any] = json.loads(options.out.read_text())
    if (record["device"], record["cores"]) != (device, made["cores"]):
        raise SystemExit(f"{options.out} was measured on {record['device']}, not on {device}; give another --out")
    return record


def plan(options: argparse.Namespace) -> Iterator[Task]:
    """All tasks: graph by graph, the cheapest first."""
    commit = options.commit or source_commit()
    data = data_folder(options.data)
    chosen = [name for name in SYSTEMS if name in options.systems and (name != BEFORE or options.before)]
    device = choose_device(options.device).type
    for graph in (name for name in GRAPHS if name in options.graphs):
        for drawn in options.drawn:
            for amount in options.labels:
                for number in range(options.draws):
                    for name in chosen:
                        draw = Draw(graph, amount, drawn, number)
                        threads = 1 if options.workers and not uses_device(name) else torch.get_num_threads()
                        yield Task(draw, name, data, device, options.before, commit, threads)


def run_all(tasks: list[Task], workers: int, deadline: float) -> Iterator[Row]:
    """Run tasks until the deadline; yield rows as they are done."""
    if not workers:
        for task in tasks:
            if time.monotonic() < deadline:
                yield run(task)
        return
    waiting = [task for task in tasks if not task.on_device]
    here = [task for task in tasks if task.on_device]
    # A process that is forked could not use CUDA.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        running: list[Future[Row]] = []
        while time.monotonic() < deadline and (waiting or here or running):
            while waiting and len(running) < workers:
                running.append(pool.submit(run, waiting.pop(0)))
            if here:
                yield run(here.pop(0))
            else:
                wait(running, timeout=1, return_when=FIRST_COMPLETED)
            ready = [row for row in running if row.done()]
            running = [row for row in running if row not in ready]
            yield from (row.result() for row in ready)
        if running:
            # The time is up: what still runs is ended, and the next call begins it anew.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()


def run(task: Task) -> Row:
    """Run one system on one draw and measure it."""
    case = load_case(task.draw.graph, task.data)
    known = task.draw.known(case.y)
    test = np.setdiff1d(np.flatnonzero(case.y >= 0), known)
    row: Row = dict(zip(KEY, task.key, strict=True)) | {
        "labels": len(known),
        "per_class": task.draw.per_class,
        "test_nodes": len(test),
    }
    with threadpool_limits(task.threads):
        torch.set_num_threads(task.threads)
        if task.system in PEERS:
            device = task.device if task.on_device else "cpu"
            work = Work(case, known, task.draw.number, device)
            probabilities, seconds = run_peer(task.system, work, task.data)
            row |= {"seconds": round(seconds, 3)} | measure(probabilities[test], case.y[test])
        else:
            answer = run_fit(task, case, known)
            row |= answer.facts | measure(answer.probabilities[test], case.y[test]) | certainty(answer, case.y, test)
    where = task.device if task.on_device else "cpu"
    return row | {"where": where, "threads": task.threads, "commit": _commit(task)}


def run_fit(task: Task, case: Case, known: Ints) -> Answer:
    """Run `fit`, ours or that of the older checkout, on files that hold no other labels than the known ones."""
    with tempfile.TemporaryDirectory() as place:
        folder, graph = Path(place), case.graph
        if case.tables is None:
            hide(folder, case.features, graph.edge_index.numpy(), hidden_labels(case, known), len(case.classes))
        else:
            hide_tables(folder, hidden_table(case, known), case.tables[1])
        if task.system == OURS:
            return fit_folder(folder, COUNTIES_LABEL, case.classes, task.device)
        assert task.before is not None
        return fit_elsewhere(task.before.resolve(), folder, COUNTIES_LABEL, case.classes, task.device)


def measure(probabilities: NDArray[np.float64], labels: Ints) -> Row:
    """Measures of every system, in percent."""
    predicted = probabilities.argmax(axis=1)
    binary = probabilities.shape[1] == 2
    return {
        "accuracy": percent((predicted == labels).mean()),
        "balanced_accuracy": percent(balanced_accuracy_score(labels, predicted)),
        "roc_auc": percent(roc_auc_score(labels, probabilities[:, 1])) if binary else None,
        "calibration_error": percent(expected_calibration_error(probabilities, labels)),
    }


def certainty(answer: Answer, y: Ints, test: Ints) -> Row:
    """Measures of prediction sets, and of predictions that do not abstain, on test nodes."""
    sets, kept = answer.sets[test], ~answer.abstain[test]
    right = answer.probabilities[test].argmax(axis=1) == y[test]
    return {
        "coverage": percent(sets[np.arange(len(test)), y[test]].mean()),
        "set_size": round(float(sets.sum(axis=1).mean()), 4),
        "kept": percent(kept.mean()),
        "kept_accuracy": percent(right[kept].mean()) if kept.any() else None,
    }


def percent(share: Any) -> float:
    """A share in percent, to four places."""
    return round(100 * float(share), 4)


def uses_device(system: str) -> bool:
    """Whether a system uses the card, if there is one."""
    return system not in PEERS or PEERS[system].on_device


def _commit(task: Task) -> str | None:
    return BEFORE_COMMIT if task.system == BEFORE else task.commit


def _place(row: Row) -> tuple[Any, ...]:
    """Order rows as the suite has its graphs."""
    return (list(GRAPHS).index(row["graph"]), *(row[name] for name in KEY[1:4]), SYSTEMS.index(row["system"]))


def _pyg_version() -> str:
    import torch_geometric

    return str(torch_geometric.__version__)


if __name__ == "__main__":
    main()
