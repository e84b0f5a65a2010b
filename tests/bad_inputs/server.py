"""Commands as processes, at the price of a fork.

A process that has imported all that graphmix uses, except its command line, forks a child for each command. The child
gets a folder, an environment, streams, limits and a session of its own, and imports the command line itself, as a new
interpreter would. No thread runs before the forks: threads do not survive them.
"""

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import pty
import resource
import select
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bad_inputs.case import CLOSED, FULL, GONE, NOBODY, TERMINAL, Case

SECONDS = 60
_MEMORY, _FILE = 4 * 2**30, 2**29
# Parts of graphmix that read the environment when they are imported.
_LATE = ("graphmix.cli", "graphmix.__main__")
# A site that refuses at once, and pip without an index: no case may wait for the network.
NO_NETWORK = {
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "PIP_NO_INDEX": "1",
    "PIP_CONFIG_FILE": os.devnull,
}


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: its exit code, negative for a signal; None if it had to be killed after `SECONDS`.
        stdout: what it wrote; empty where the stream was not kept.
        stderr: likewise.
        seconds: how long it took.
    """

    code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float


def preload(commands: list[list[str]], folder: Path) -> None:
    """Import what graphmix needs: run commands in children, and import here what they imported there."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    import torch

    torch.set_num_threads(1)
    for command in commands:
        for name in in_child(lambda command=command: _imported(command, folder)):
            if not name.startswith(_LATE):
                # What is only an attribute of a package, or exists on other systems alone.
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
    # A collection in a child would touch, and so copy, every page.
    gc.collect()
    gc.freeze()


def in_child(work: Callable[[], Any]) -> Any:
    """Do something in a forked process and return its result, so that its threads and its memory end with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            result = (True, work())
        except BaseException:  # noqa: BLE001
            result = (False, traceback.format_exc())
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    os.waitpid(child, 0)
    if not content:
        raise RuntimeError("a child ended without a word")
    fine, result = pickle.loads(content)
    if not fine:
        raise RuntimeError(result)
    return result


def run(case: Case, folder: Path) -> Ended:
    """Run the command of a case; `folder` has work, home and tmp, and takes the streams."""
    said = [folder / "stdout", folder / "stderr"]
    began = time.monotonic()
    terminal = _Terminal(folder / "screen") if TERMINAL in (case.stdout, case.stderr) else None
    child = os.fork()
    if not child:
        try:
            _become(case, folder, terminal)
            code = _command()
        except BaseException:  # noqa: BLE001
            # A fault of this file, not of graphmix: 99 is no code of any kind.
            (folder / "stderr").write_text(traceback.format_exc())
            code = 99
        os._exit(code)
    if case.moment is not None and isinstance(case.moment[1], float):
        _send_later(child, *case.moment)
    code = _wait(child)
    # Whatever the command has started ends with it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if terminal is not None:
        terminal.close()
    shown = [path.read_bytes() if path.exists() else b"" for path in said]
    return Ended(code, *shown, seconds=time.monotonic() - began)


class _Terminal:
    """A terminal whose screen is kept in a file by a process of its own."""

    def __init__(self, path: Path) -> None:
        screen, self.end = pty.openpty()
        self._keeper = os.fork()
        if not self._keeper:
            os.close(self.end)
            # Reading fails when the last process at the other end has gone.
            with contextlib.suppress(OSError), path.open("wb") as file:
                while piece := os.read(screen, 2**16):
                    file.write(piece)
            os._exit(0)
        os.close(screen)

    def close(self) -> None:
        os.close(self.end)
        os.waitpid(self._keeper, 0)


def _send_later(child: int, number: int, seconds: float) -> None:
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], seconds)
    if not ended:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
    os.close(handle)


def _wait(child: int) -> int | None:
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], SECONDS)
    os.close(handle)
    if not ended:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def _become(case: Case, folder: Path, terminal: "_Terminal | None") -> None:
    """Turn this child into the process of a case: session, folder, environment, streams, user, limits, signals."""
    os.setsid()
    _set_environment(case, folder)
    _set_streams(case, folder, terminal)
    os.chdir(folder / "work" / case.cwd) if case.cwd else _into_deleted(folder)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if case.nobody and os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    _set_limits(case)
    if case.small:
        _use_small_datasets()
    if case.one_at_a_time:
        _train_one_at_a_time()
    if case.moment is not None and isinstance(case.moment[1], int):
        _signal_at_file(*case.moment)
    if case.real:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execve(sys.executable, [sys.executable, "-m", "graphmix", *map(os.fsencode, case.arguments)], os.environ)
    sys.argv = ["graphmix", *case.arguments]
    tempfile.tempdir = None


def _set_environment(case: Case, folder: Path) -> None:
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ}
    own = {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "GRAPHMIX_CACHE": str(folder / "home" / "cache"),
    }
    usual = {"PATH": os.defpath, "OMP_NUM_THREADS": "1", "COLUMNS": "100", "PYTHONDONTWRITEBYTECODE": "1"}
    os.environ.clear()
    os.environ.update(kept | own | usual | NO_NETWORK)
    for name, value in case.environment.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value


def _set_streams(case: Case, folder: Path, terminal: "_Terminal | None") -> None:
    """Open the three streams as a shell would, and what Python puts on top of them."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, where in ((1, case.stdout), (2, case.stderr)):
        if where == CLOSED:
            os.close(number)
            continue
        opened = (
            terminal.end
            if where == TERMINAL and terminal
            else _opened(where, folder / ("stdout", "stderr")[number - 1])
        )
        os.dup2(opened, number)
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    names = ("stdin", "stdout", "stderr")
    for number, name in enumerate(names):
        stream = None
        if number == 0 or (case.stdout, case.stderr)[number - 1] != CLOSED:
            handling = "backslashreplace" if number == 2 else errors or "strict"
            mode = "w" if number else "r"
            buffering = 1 if number == 2 else -1
            stream = open(number, mode, buffering, encoding or "utf-8", handling, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _opened(where: str, path: Path) -> int:
    if where == FULL:
        return os.open("/dev/full", os.O_WRONLY)
    if where == GONE:
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)


def _into_deleted(folder: Path) -> None:
    gone = folder / "work" / "gone"
    gone.mkdir()
    os.chdir(gone)
    shutil.rmtree(gone)


def _set_limits(case: Case) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    usual = {resource.RLIMIT_AS: pages * os.sysconf("SC_PAGE_SIZE") + _MEMORY, resource.RLIMIT_FSIZE: _FILE}
    if case.real:
        usual.pop(resource.RLIMIT_AS)
    for name, most in (usual | case.limits).items():
        resource.setrlimit(name, (most, resource.getrlimit(name)[1]))


def _use_small_datasets() -> None:
    """Let the paper's datasets be the built-in graph, which needs no files and trains at once."""
    from dataclasses import replace

    from graphmix.data.datasets import catalogue

    sizes = ("nodes", "edges", "features", "classes", "format", "files", "split", "sizes", "task")
    small = {name: getattr(catalogue.DATASETS["synthetic"], name) for name in sizes}
    for name, info in list(catalogue.DATASETS.items()):
        catalogue.DATASETS[name] = replace(info, **small)


def _train_one_at_a_time() -> None:
    from graphmix.training import loop

    loop.trials_at_once = lambda *_: 1


def _signal_at_file(number: int, files: int) -> None:
    """Send this process a signal when it is about to give the file of that number its name."""
    rename, count = os.replace, 0

    def replace(source: Any, target: Any, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == files:
            os.kill(os.getpid(), number)
        rename(source, target, **options)

    os.replace = replace


def _command() -> int:
    """Run the command as `python -m graphmix` does, and end as an interpreter ends."""
    from graphmix.__main__ import run as run_command

    code = 0
    try:
        run_command()
    except SystemExit as end:
        code = _code_of(end)
    except BaseException:  # noqa: BLE001
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except (OSError, ValueError) as error:
            # As Python does: it says so if it can, and ends with 120.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(f"Exception ignored in: {stream!r}\n{error!r}\n")
                sys.stderr.flush()
            code = 120
    return code


def _code_of(end: SystemExit) -> int:
    if end.code is None:
        return 0
    return end.code & 0xFF if isinstance(end.code, int) else 1


def _imported(command: list[str], folder: Path) -> list[str]:
    """Run a command here, in a child, and return the names of the modules that it has imported."""
    os.chdir(folder)
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    sys.argv = ["graphmix", *command]
    from graphmix.cli import leaving

    # The process must outlive the command.
    leaving.leave_last = lambda: None
    _command()
    return list(sys.modules)
