"""Ctrl-C, and a request to terminate, at any moment: no traceback, and the exit code of the signal.

While options are parsed or modules are imported, and when the command is done, a signal ends the process at once.
Python would raise an exception there. Some packages swallow it and go on, pydantic's compiled code for one, which
parses typer's options; callbacks of the import system can only print it as a traceback. There is nothing to save then.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
INTERRUPTED_LINE = b"graphmix: interrupted\n"


# Whether a command runs: its options are parsed, and it is not done.
_begun = False


def exit_at_start() -> None:
    """Let signals end the process until a command begins, and later during imports; otherwise they are raised."""
    # A shell that starts a process in the background tells it to ignore Ctrl-C, and nohup to ignore the terminal's end.
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, _handle)
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _handle)


def command_begins() -> None:
    """From now on, let Ctrl-C raise KeyboardInterrupt and termination SystemExit, except during imports."""
    global _begun
    _begun = True


def command_ends() -> None:
    """From now on, let signals end the process at once again: while Python shuts down, exceptions are tracebacks."""
    global _begun
    _begun = False


@contextmanager
def always_raised() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt here, also in an import: somebody waits for it."""
    if signal.getsignal(signal.SIGINT) is not _handle:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _handle)


def end(code: int) -> NoReturn:
    """End the process at once, after Ctrl-C with a line that says so; what is printed already still appears."""
    if code == INTERRUPTED:
        _flush()
        with contextlib.suppress(OSError):
            os.write(2, INTERRUPTED_LINE)
    end_quietly(code)


def end_quietly(code: int) -> NoReturn:
    """End the process at once; what is printed already still appears."""
    _flush()
    os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # It may be closed, be in the middle of a write, or fail: nothing of that matters any more.
        with contextlib.suppress(Exception):
            stream.flush()


def _handle(number: int, frame: FrameType | None) -> None:
    if not _begun or _importing(frame):
        end(128 + number)
    if number == signal.SIGINT:
        signal.default_int_handler(number, frame)
    raise SystemExit(128 + number)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
