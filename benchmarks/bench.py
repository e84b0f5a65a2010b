"""Milliseconds per epoch and trial: ours and the plain implementation, in one run with fixed threads.

    python benchmarks/bench.py [--device cpu|cuda] [--datasets cora citeseer pubmed amazon-photo] [--out results.json]

Ramp-up starts at epoch 0 in both, so that every FCN step computes targets, which is the larger part of GraphMix.
The last line is one JSON object with the figures of the table. amazon-photo, whose features have 2 million non-zeros,
is left out where its file is missing.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from cell_times import measure_cells
from graphmix.data import Dataset, load, make_split
from graphmix.errors import DataError
from graphmix.training import Config, fit
from peer_times import OURS, about, measure_all
from plain import PlainTrial
from wild_graphs import load_case

PHOTO = "amazon-photo"

# Epochs of two runs of ours. On CUDA the first hundreds capture graphs; the thousands after them are what counts.
EPOCHS = {"cpu": (5, 35), "cuda": (200, 600)}
# Trials and epochs of whole runs: ours as in the paper on CUDA; others are the same from epoch to epoch.
RUN_SIZES = {
    "cpu": {OURS: (10, 30), "others": (1, 10)},
    "cuda": {OURS: (100, 2000), "others": (1, 300)},
}


def main() -> None:
    """Measure, print the table, and end with the JSON line."""
    options = parse()
    torch.set_num_threads(options.threads)
    rows = []
    for name in options.datasets:
        dataset = read(name)
        for method in ("supervised", "graphmix"):
            rows.append(measure(name, dataset, method, options))
            print(table_row(rows[-1]), flush=True)
    record = about(options.commit, device_name(options.device)) | {
        "threads": options.threads,
        "torch": torch.__version__,
        "numba": numba_version(),
        "trials": options.trials,
        "epochs": EPOCHS[options.device],
        "plain_epochs": options.plain_epochs,
        "rows": rows,
        "runs": whole_runs(options),
    }
    if options.device == "cuda":
        record["cells"] = measure_cells(options.limit)
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--datasets", nargs="+", default=default_datasets())
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--trials", type=int, default=40, help="trials of our implementation, as many at once as fit")
    parser.add_argument("--plain-epochs", type=int, default=8, help="epochs of the plain implementation; half heads")
    parser.add_argument("--run-datasets", nargs="*", default=["cora"], help="where whole runs are timed, cold and warm")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds for one runner of whole runs, and for the cells"
    )
    parser.add_argument("--commit", help="what the code is at; asks git when not given")
    parser.add_argument("--out", type=Path, help="also write the JSON here")
    return parser.parse_args()


def default_datasets() -> list[str]:
    """The graphs to measure: the paper's three, and amazon-photo if its file is there."""
    return ["cora", "citeseer", "pubmed", *([PHOTO] if photo_file().is_file() else [])]


def photo_file() -> Path:
    """Where amazon-photo is, among the graphs of benchmarks/wild.py."""
    return Path(os.environ.get("GRAPHMIX_DATA", ".")) / "Wild" / f"{PHOTO}.npz"


def read(name: str) -> Dataset:
    """Load a dataset, or exit with the reason."""
    if name == PHOTO:
        graph = load_case(name, photo_file().parents[1]).graph
        return Dataset(graph, make_split("benchmark", graph, seeds=[0]))
    try:
        return load(name)
    except DataError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def config_of(name: str, choices: dict[str, object]) -> Config:
    """The paper's hyperparameters of a dataset; its defaults for amazon-photo, which it does not have."""
    return Config(**choices) if name == PHOTO else Config.for_dataset(name, **choices)


def measure(name: str, dataset: Dataset, method: str, options: argparse.Namespace) -> dict[str, object]:
    """Time one epoch of both implementations with the same hyperparameters."""
    choices = {"method": method, "trials": options.trials, "rampup_start": 0, "rampup_end": 1}
    ours = statistics.median(ours_ms(dataset, name, choices, options.device) for _ in range(3))
    plain = plain_ms(dataset, config_of(name, choices), options)
    return {"dataset": name, "method": method, "ours_ms": ours, "plain_ms": plain, "ratio": plain / ours}


def ours_ms(dataset: Dataset, name: str, choices: dict[str, object], device: str) -> float:
    """Milliseconds per epoch and trial; the difference of two runs removes the set-up time."""
    short, long = EPOCHS[device]
    seconds = []
    for epochs in (2, short, long):  # the first warms up: kernels are compiled on first use
        config = config_of(name, choices | {"epochs": epochs})
        seconds.append(fit(*dataset, config, device=device).seconds)
    return 1000 * (seconds[2] - seconds[1]) / (long - short) / config.trials


def plain_ms(dataset: Dataset, config: Config, options: argparse.Namespace) -> float:
    """Milliseconds per epoch: the mean of a median FCN step and a median GNN step for GraphMix."""
    trial = PlainTrial(*dataset, config, options.device)
    sides = (True, False) if config.method == "graphmix" else (False,)
    medians = []
    for heads in sides:
        times = []
        for number in range(1 + options.plain_epochs // 2):
            started = time.perf_counter()
            trial.epoch(number + 1, heads)  # ends in .item(), which waits for the device
            times.append(time.perf_counter() - started)
        medians.append(statistics.median(times[1:]))
    return 1000 * statistics.mean(medians)


def whole_runs(options: argparse.Namespace) -> list[dict[str, object]]:
    """Cold and warm seconds of whole runs, ours and others', each in a process of its own."""
    os.environ["GRAPHMIX_BENCH_THREADS"] = str(options.threads)
    sizes = RUN_SIZES[options.device]
    return [row for name in options.run_datasets for row in measure_all(name, options.device, sizes, options.limit)]


def table_row(row: dict[str, object]) -> str:
    """One line of the table."""
    return (
        f"{row['dataset']:>10} {row['method']:>11}   ours {row['ours_ms']:9.3f} ms"
        f"   plain {row['plain_ms']:9.1f} ms   {row['ratio']:7.0f} x"
    )


def numba_version() -> str | None:
    """The version of numba; None if it is not installed, and plain torch does the CPU's products."""
    try:
        return version("numba")
    except PackageNotFoundError:
        return None


def device_name(device: str) -> str:
    """The machine that the figures were measured on."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"{platform.machine()} CPU, {os.cpu_count()} cores"


if __name__ == "__main__":
    main()
