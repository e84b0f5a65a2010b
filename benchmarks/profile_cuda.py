"""Where the time goes: kernels of a replayed epoch with their bytes, and the parts of a command from a fresh process.

    python benchmarks/profile_cuda.py [--device cuda|cpu] [--limit SECONDS] [--out profile.json]

An epoch of every cell is captured as in training and replayed under the profiler. The same epoch also runs once
normally, where every operation is logged with the bytes that it must move; the kernels of both are matched in their
order. `bandwidth` is the share of the card's memory bandwidth that these bytes in this time amount to. Cells that the
time limit leaves no room for are named as skipped. The file is rewritten after every part.
"""

import argparse
import json
import os
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from cold_start import cold_and_warm
from graphmix.data import Dataset, load
from graphmix.experiments.records import source_commit
from graphmix.training import Config
from graphmix.training.batch import Batch
from graphmix.training.capture import Captured, capturable, on_side_stream
from graphmix.training.task import Task
from profile_ops import OpLog
from profile_trace import join, kernels, trace

BANDWIDTH = 4.8e12  # bytes per second of an H200
_READINGS = (("supervised", "paper"), ("graphmix", "released"), ("graphmix", "paper"))
_TIMED, _TRACED = 30, 3
_SHOWN = 6


def main() -> None:
    """Measure part after part, the cheapest first, until the time is up."""
    options = parse()
    end = time.monotonic() + options.limit
    record: dict[str, Any] = describe(options)
    for name, seconds, part in parts(options, end):
        left = end - time.monotonic()
        if left < seconds:
            print(f"\n{name}: skipped, {left:.0f} s left", flush=True)
            record["skipped"].append(name)
            continue
        started = time.monotonic()
        try:
            found = part()
        except Exception:  # noqa: BLE001 - one part that fails must not cost the others
            print(f"\n{name}: failed\n{traceback.format_exc()}", flush=True)
            found = {"error": traceback.format_exc()}
        record["parts"][name] = found | {"took": round(time.monotonic() - started, 2)}
        write(record, options.out)
    write(record, options.out)
    print(f"\nwritten to {options.out}")


def write(record: dict[str, Any], out: Path) -> None:
    """Write what was found so far."""
    out.write_text(json.dumps(record, indent=1) + "\n")


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--limit", type=float, default=300, help="seconds in all")
    parser.add_argument("--trials", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--datasets", nargs="+", default=["cora", "pubmed"])
    parser.add_argument("--networks", nargs="*", default=["gat", "unet"], help="profiled on the last dataset")
    parser.add_argument("--epochs", type=int, help="epochs of the command that is timed (default: the paper's)")
    parser.add_argument("--no-cold", action="store_true", help="do not time the command from a fresh process")
    parser.add_argument("--commit", help="what the code is at; asks git when not given")
    parser.add_argument("--out", type=Path, default=Path("profile.json"))
    return parser.parse_args()


def describe(options: argparse.Namespace) -> dict[str, Any]:
    """What the figures are of."""
    device = torch.cuda.get_device_name() if options.device == "cuda" else f"CPU, {os.cpu_count()} cores"
    return {
        "device": device,
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d"),
        "commit": options.commit or source_commit(),
        "bandwidth": BANDWIDTH,
        "skipped": [],
        "parts": {},
    }


def parts(options: argparse.Namespace, end: float) -> list[tuple[str, float, Callable[[], dict[str, Any]]]]:
    """Every part: its name, the seconds that it needs at least, and what measures it."""
    found: list[tuple[str, float, Callable[[], dict[str, Any]]]] = []
    for dataset in options.datasets:
        for trials in options.trials:
            for method, reading in _READINGS:
                choices = {"method": method, "reading": reading, "trials": trials}
                name = f"{dataset} gcn {method} {reading} {trials}"
                found.append((name, 3, partial(profile_cell, name, dataset, choices, options.device)))
    for network in options.networks:
        choices = {"method": "graphmix", "backbone": network, "trials": min(options.trials)}
        name = f"{options.datasets[-1]} {network} graphmix paper {choices['trials']}"
        found.append((name, 5, partial(profile_cell, name, options.datasets[-1], choices, options.device)))
    if not options.no_cold:
        command = ["train", options.datasets[0], "--trials", str(max(options.trials)), "--device", options.device]
        command += [] if options.epochs is None else ["--epochs", str(options.epochs)]
        found.append(("cold", 15, lambda: show_cold(cold_and_warm(command, end))))
    return found


_loaded: dict[str, Dataset] = {}


def profile_cell(name: str, dataset: str, choices: dict[str, Any], device: str) -> dict[str, Any]:
    """Profile one epoch of a cell, with half of the coins heads and the ramp-up begun."""
    if dataset not in _loaded:
        _loaded[dataset] = load(dataset)
    config = Config.for_dataset(dataset, **choices, epochs=400, rampup_start=0, rampup_end=1)
    task = Task.build(*_loaded[dataset], config, device)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    batch = Batch(task, config, list(range(config.trials)))
    shape = usual_shape(batch, config)
    log = OpLog()
    with on_side_stream(task.device):
        batch.advance(*shape)  # compiles kernels
        once = kernels(trace(partial(_logged, log, batch, shape), device))
        if capturable(task.device):
            result = _replayed(batch, shape, once, log, device)
        else:
            rows, same = join(once, once, 1, log.ops)
            result = {"source": "ops", "same_order": same, "rows": rows}
    result |= totals(result["rows"], result.get("ms"), device)
    show_cell(name, result)
    return result


def _logged(log: OpLog, batch: Batch, shape: tuple[int, bool, bool]) -> None:
    with log.watching():
        batch.advance(*shape)


def _replayed(batch: Batch, shape: tuple[int, bool, bool], once: Any, log: OpLog, device: str) -> dict[str, Any]:
    """Time replays of an epoch, then trace some of them."""
    advance = Captured(batch.advance)
    advance(*shape)
    torch.cuda.synchronize()
    started = time.perf_counter()
    advance(*shape)  # captures
    torch.cuda.synchronize()
    captured = time.perf_counter()
    for _ in range(_TIMED):
        advance(*shape)
    torch.cuda.synchronize()
    ms = 1000 * (time.perf_counter() - captured) / _TIMED

    def replay() -> None:
        for _ in range(_TRACED):
            advance(*shape)

    seen = kernels(trace(replay, device))
    inside = len(seen) >= _TRACED * len(once) // 2
    # A profiler that does not look into graphs sees few kernels; then those of the normal run are what there is.
    rows, same = join(seen, once, _TRACED, log.ops) if inside else join(once, once, 1, log.ops)
    return {
        "source": "replays" if inside else "kernels of a normal run",
        "same_order": same,
        "heads": shape[0],
        "ms": ms,
        "first_capture_ms": 1000 * (captured - started) - ms,
        "rows": rows,
    }


def usual_shape(batch: Batch, config: Config) -> tuple[int, bool, bool]:
    """The shape of an epoch with heads for about half of the trials, after the ramp-up has begun."""
    shapes = [batch.shape(epoch) for epoch in range(1, config.epochs)]
    return min(shapes, key=lambda shape: abs(2 * shape[0] - config.trials))


def totals(rows: list[dict[str, Any]], ms: float | None, device: str) -> dict[str, Any]:
    """Sums over all kernels, and by phase."""
    for row in rows:
        row["bandwidth"] = share(row["mb"], row["us"])
    phases: dict[str, dict[str, float]] = {}
    for row in rows:
        phase = phases.setdefault(row["phase"], {"launches": 0, "us": 0.0, "mb": 0.0, "gathered_mb": 0.0})
        for key in phase:
            phase[key] = round(phase[key] + row[key], 3)
    found: dict[str, Any] = {key: round(sum(row[key] for row in rows), 3) for key in ("launches", "us", "mb")}
    found["bandwidth"] = share(found["mb"], 1000 * ms if ms else found["us"])
    if device == "cuda":
        found["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found | {"phases": phases}


def share(megabytes: float, microseconds: float) -> float:
    """Share of the bandwidth, if so many bytes are moved in this time."""
    return round(megabytes * 1e6 / max(microseconds * 1e-6, 1e-12) / BANDWIDTH, 4)


def show_cell(name: str, cell: dict[str, Any]) -> None:
    """Print the cell's totals, its phases and its longest kernels."""
    ms = f"{cell['ms']:.3f} ms a replay, " if "ms" in cell else ""
    order = "" if cell["same_order"] else ", order differs"
    print(
        f"\n{name}: {ms}{cell['launches']} launches, {cell['us']:.0f} us, {cell['mb']:.0f} MB, "
        f"{100 * cell['bandwidth']:.0f} % of bandwidth ({cell['source']}{order})"
    )
    print("  " + ", ".join(f"{k} {p['us']:.0f} us / {p['launches']:.0f}" for k, p in cell["phases"].items()))
    for row in cell["rows"][:_SHOWN]:
        print(
            f"  {row['us']:8.1f} us {row['launches']:3d}x {100 * row['bandwidth']:4.0f} % {row['mb']:8.1f} MB "
            f"(gathers {row['gathered_mb']:.0f}, occupancy {row['occupancy']})  {row['phase']}: {row['op']}"
            + ("" if row["op"].startswith(row["kernel"]) else f" [{row['kernel'][:32]}]"),
            flush=True,
        )


def show_cold(found: dict[str, Any]) -> dict[str, Any]:
    """Print where a command's time goes, with an empty and with a filled kernel cache."""
    print(f"\n{found['command']}, seconds")
    for cache in ("empty", "filled"):
        run = found.get(cache)
        if run is None:
            print(f"  {cache} kernel cache: no time left")
            continue
        longest = sorted(run["seconds"].items(), key=lambda item: -item[1])
        listed = ", ".join(f"{what} {seconds:.2f} ({run['calls'].get(what, 1)})" for what, seconds in longest[:22])
        print(f"  {cache} kernel cache: {run['wall']:.2f} in all; {listed}", flush=True)
    return found


if __name__ == "__main__":
    main()
