"""Ctrl-C while modules are imported ends the process at once.

Python would raise KeyboardInterrupt inside the import. Some packages swallow it there and go on, and callbacks of the
import system can only print it as a traceback. While modules are imported there is nothing to save.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130


def exit_while_importing() -> None:
    """From now on, let Ctrl-C end the process if an import is under way, and raise KeyboardInterrupt otherwise."""
    # A shell that starts a process in the background tells it to ignore Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _handle)


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
    caller = frame
    while caller is not None:
        if caller.f_globals.get("__name__") == "importlib._bootstrap":
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        caller = caller.f_back
    signal.default_int_handler(number, frame)
