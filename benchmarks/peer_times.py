"""Seconds of a whole run, cold and warm, ours and others': a part of `make bench`.

Every runner is timed in a fresh process: `cold` is from the process's start to the result of its first run, imports and
data included; `warm` is a second run in the same process. On CUDA ours is started twice, with an empty and with a
filled kernel cache. Others train one trial, ours as many as it is asked for; `ms` is warm, per epoch and trial.
Heads and tails take turns in the others, so that a short run has as many of both as a long one.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

OURS = "graphmix"
# Runner by name: its methods, and whether it needs CUDA.
RUNNERS = {
    OURS: (("supervised", "graphmix"), False),
    "pyg": (("supervised", "graphmix"), False),
    "pyg, CUDA graphs": (("supervised",), True),
    "plain dense": (("supervised", "graphmix"), False),
}
_STARTED = "GRAPHMIX_BENCH_STARTED"
_PACKAGES = ("torch", "torch-geometric", "triton", "numpy", "scipy")


def about(commit: str | None, device: str) -> dict[str, Any]:
    """What the figures depend on besides the code: date, commit, versions, machine."""
    from graphmix.experiments.records import source_commit

    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "commit": commit or source_commit(),
        "versions": {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
        "device": device,
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def measure_all(dataset: str, device: str, sizes: dict[str, tuple[int, int]], limit: float) -> list[dict[str, Any]]:
    """Time every runner that the device has, each for at most `limit` seconds.

    Args:
        dataset: its name.
        device: "cpu" or "cuda".
        sizes: trials and epochs of ours (`OURS`) and of the others ("others").
        limit: seconds for one process.
    """
    rows = []
    for runner, (methods, needs_cuda) in RUNNERS.items():
        for method in methods:
            if needs_cuda and device != "cuda":
                continue
            trials, epochs = sizes[OURS if runner == OURS else "others"]
            asked = {"runner": runner, "dataset": dataset, "method": method, "trials": trials, "epochs": epochs}
            rows.append(asked | timed(asked | {"device": device}, limit))
            print(table_row(rows[-1]), flush=True)
    return rows


def timed(asked: dict[str, Any], limit: float) -> dict[str, Any]:
    """Cold and warm seconds of one runner; `error` instead if it fails or takes too long."""
    with tempfile.TemporaryDirectory() as kernels:
        try:
            found = _fresh(asked, kernels, limit)
            if asked["device"] == "cuda" and asked["runner"] == OURS:
                found["cold_filled_cache"] = _fresh(asked, kernels, limit)["cold"]
        except subprocess.TimeoutExpired:
            return {"error": f"more than {limit:.0f} s"}
        except subprocess.CalledProcessError as error:
            return {"error": (error.stderr.strip().splitlines() or [f"exit code {error.returncode}"])[-1]}
    found["ms"] = 1000 * found["warm"] / asked["trials"] / asked["epochs"]
    return found


def _fresh(asked: dict[str, Any], kernels: str, limit: float) -> dict[str, Any]:
    environment = os.environ | {"TRITON_CACHE_DIR": kernels, _STARTED: str(time.time())}
    command = [sys.executable, str(Path(__file__).resolve()), json.dumps(asked)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table_row(row: dict[str, Any]) -> str:
    """One line of the table."""
    name = f"{row['runner']:>16} {row['dataset']:>9} {row['method']:>10} {row['trials']:>4} x {row['epochs']:<5}"
    if "error" in row:
        return f"{name} {row['error']}"
    filled = f" (filled cache {row['cold_filled_cache']:.1f} s)" if "cold_filled_cache" in row else ""
    return f"{name} cold {row['cold']:7.1f} s{filled}   warm {row['warm']:8.2f} s   {row['ms']:9.3f} ms"


def work(asked: dict[str, Any]) -> dict[str, Any]:
    """Do two runs in this process, and time them."""
    from graphmix.data import load
    from graphmix.training import Config

    choices = {name: asked[name] for name in ("method", "trials", "epochs")}
    # Targets from the first epoch on, so that a short run is like a long one.
    config = Config.for_dataset(asked["dataset"], **choices, rampup_start=0, rampup_end=1)
    run = _runner(asked, load(asked["dataset"]), config)
    accuracy = run()
    cold = time.time() - float(os.environ.get(_STARTED, time.time()))
    started = time.perf_counter()
    run()
    return {"cold": cold, "warm": time.perf_counter() - started, "test_accuracy": accuracy}


def _runner(asked: dict[str, Any], dataset: Any, config: Any) -> Callable[[], float]:
    """A function that trains all trials and returns their mean test accuracy."""
    runner, device = asked["runner"], asked["device"]
    if runner == OURS:
        from graphmix.training import fit

        return lambda: fit(*dataset, config, device=device).test_accuracy.mean().item()
    if runner == "plain dense":
        from plain import PlainTrial

        return lambda: _mean(PlainTrial(*dataset, config, device).run() for _ in range(config.trials))
    from pyg_trials import GraphMixTrial, ReplayedTrial, Trial

    made = ReplayedTrial if "graphs" in runner else GraphMixTrial if config.method == "graphmix" else Trial
    return lambda: _mean(made(*dataset, config, device).run() for _ in range(config.trials))


def _mean(runs: Any) -> float:
    scores = [test for _, test in runs]
    return sum(scores) / len(scores)


def main() -> None:
    """Do what the parent process asks for, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("asked", type=json.loads, help="runner, dataset, method, trials, epochs and device, as JSON")
    options = parser.parse_args()
    threads = os.environ.get("GRAPHMIX_BENCH_THREADS")
    if threads:
        import torch

        torch.set_num_threads(int(threads))
    print(json.dumps(work(options.asked)))


if __name__ == "__main__":
    main()
