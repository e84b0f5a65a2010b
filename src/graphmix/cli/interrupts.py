"""Ctrl-C while options are parsed or modules are imported ends the process at once.

Python would raise KeyboardInterrupt there. Some packages swallow it and go on, pydantic's compiled code for one, which
parses typer's options; callbacks of the import system can only print it as a traceback. There is nothing to save yet.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130


# Whether a command has begun: its options are parsed.
_begun = False


def exit_at_start() -> None:
    """Let Ctrl-C end the process until a command begins, and later during imports; otherwise it is raised."""
    # A shell that starts a process in the background tells it to ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handle)


def command_begins() -> None:
    """From now on, let Ctrl-C raise KeyboardInterrupt, except during imports."""
    global _begun
    _begun = True


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


def _handle(number: int, frame: FrameType | None) -> None:
    if not _begun or _importing(frame):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    signal.default_int_handler(number, frame)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False
