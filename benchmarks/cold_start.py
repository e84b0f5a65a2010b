"""Where the time of a `graphmix` command goes, from the start of its process to its end.

    python benchmarks/cold_start.py train cora --trials 100    prints the table of one run

The command runs in a process of its own. There every import and the functions of `_WATCHED` are timed, each without
the time of others that it calls. CUDA works in the background; before an epoch runs normally or is captured we wait
for it, so that replays are not counted as something else.
"""

import contextlib
import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_STARTED, _OUT = "GRAPHMIX_COLD_STARTED", "GRAPHMIX_COLD_OUT"
# Module to its functions, as (owner or None, name, what the time is spent on).
_WATCHED: dict[str, list[tuple[str | None, str, str]]] = {
    "torch.cuda": [(None, "_lazy_init", "CUDA start")],
    "triton.runtime.jit": [("JITFunction", "_do_compile", "kernel compile")],
    "triton.compiler.compiler": [("CompiledKernel", "_init_handles", "kernel load")],
    "graphmix.data.datasets.loading": [(None, "load", "data")],
    "graphmix.training.task": [("Task", "of_masks", "task")],
    "graphmix.training.batch": [
        ("Batch", "__init__", "batch set-up"),
        ("Batch", "advance", "normal epochs"),
        ("Batch", "test_logits", "test logits"),
    ],
    "graphmix.training.capture": [("Captured", "_capture", "captures")],
    "graphmix.training.loop": [(None, "_fit_batch", "replays")],
    "graphmix.storage.runs": [(None, "train", "run folder")],
    "graphmix.analysis.plane": [(None, "project", "t-SNE"), (None, "sketch", "t-SNE")],
    "graphmix.analysis.hidden": [(None, "class_soft_ranks", "soft-ranks")],
    "graphmix.cli.report": [(None, "keep_details", "other details"), (None, "write_report", "page")],
}
_WAITS = ("normal epochs", "captures")


class Clock:
    """Time spent on each of several things, each without the time of those within it.

    Attributes:
        seconds: by what it was spent on.
        calls: how often each began.
    """

    def __init__(self, since: float):
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._stack = ["rest"]
        self._last = since

    def _charge(self) -> None:
        now = time.time()
        what = self._stack[-1]
        self.seconds[what] = self.seconds.get(what, 0.0) + now - self._last
        self._last = now

    @contextlib.contextmanager
    def spent_on(self, what: str) -> Iterator[None]:
        """Charge the time of a block to something."""
        self._charge()
        self._stack.append(what)
        self.calls[what] = self.calls.get(what, 0) + 1
        try:
            yield
        finally:
            self._charge()
            self._stack.pop()

    def finish(self) -> None:
        """Charge the time until now."""
        self._charge()


def cold_and_warm(command: list[str], end: float) -> dict[str, Any]:
    """Run a command twice in fresh processes: with an empty kernel cache, then with the one it filled."""
    found: dict[str, Any] = {"command": "graphmix " + " ".join(command)}
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("empty", "filled"):
            left = end - time.monotonic()
            if left < 5:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                found[cache] = timed_run(command, Path(folder), cache, left)
    return found


def timed_run(command: list[str], folder: Path, name: str, limit: float) -> dict[str, Any]:
    """Run a command in a fresh process; kernels are cached in the folder."""
    out = folder / f"{name}.json"
    started = time.time()
    environment = os.environ | {
        _STARTED: str(started),
        _OUT: str(out),
        "TRITON_CACHE_DIR": str(folder / "kernels"),
    }
    script = [sys.executable, str(Path(__file__).resolve()), *command, "--out", str(folder / name)]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    wall = time.time() - started
    if done.returncode:
        raise RuntimeError(f"the command ended with {done.returncode}: {done.stderr[-2000:]}")
    run: dict[str, Any] = json.loads(out.read_text())
    run["seconds"]["exit"] = wall - sum(run["seconds"].values())
    return run | {"wall": wall}


def watch(clock: Clock) -> None:
    """Time all imports and the watched functions from now on."""
    bootstrap = importlib._bootstrap  # type: ignore[attr-defined]
    find_and_load = bootstrap._find_and_load

    def timed_import(name: str, import_: Any) -> Any:
        with clock.spent_on(f"import {name.partition('.')[0]}"):
            module = find_and_load(name, import_)
        for owner, function, what in _WATCHED.get(name, ()):
            _time_function(clock, getattr(module, owner) if owner else module, function, what)
        return module

    bootstrap._find_and_load = timed_import


def _time_function(clock: Clock, owner: Any, name: str, what: str) -> None:
    if not hasattr(owner, name):  # another version of Triton
        return
    given = vars(owner)[name]
    function: Callable[..., Any] = given.__func__ if isinstance(given, classmethod) else given

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        wait = what in _WAITS
        if wait and _capturing():
            return function(*args, **kwargs)
        if wait:
            _wait()
        with clock.spent_on(what):
            out = function(*args, **kwargs)
            if wait:
                _wait()
        return out

    setattr(owner, name, classmethod(run) if isinstance(given, classmethod) else run)


def _capturing() -> bool:
    torch = sys.modules["torch"]
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def _wait() -> None:
    torch = sys.modules["torch"]
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def main() -> None:
    """Run a command under the clock, and write what it found."""
    clock = Clock(float(os.environ.get(_STARTED, time.time())))
    clock.finish()
    clock.seconds = {"interpreter": clock.seconds.pop("rest")}
    watch(clock)
    code: Any = 0
    try:
        from graphmix.__main__ import run

        run()
    except SystemExit as ended:
        code = ended.code
    clock.finish()
    found = {"seconds": clock.seconds, "calls": clock.calls}
    if _OUT in os.environ:
        Path(os.environ[_OUT]).write_text(json.dumps(found))
    else:
        for what, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1]):
            print(f"{seconds:8.3f} s  {clock.calls.get(what, 1):5d} x  {what}")
    sys.exit(code)


if __name__ == "__main__":
    main()
