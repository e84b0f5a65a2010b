"""The end of a command that succeeded: at once, without taking Python apart module by module.

After torch is imported that takes half a second and more, and it frees what the system frees anyway. By then everything
is written, threads are joined, and what others have registered with `atexit` is done.
"""

import atexit
import sys

from graphmix.cli.interrupts import end

_succeeded = False


def leave_last() -> None:
    """Register `leave` with `atexit`. What is registered later runs before it, so call this before other imports."""
    atexit.register(leave)


def succeed(code: object) -> None:
    """Note whether the process is about to exit with code 0; after an error it ends as Python processes do."""
    global _succeeded
    _succeeded = code is None or code == 0


def leave() -> None:
    """End the process now if the command succeeded and there is much to take apart."""
    if _succeeded and "torch" in sys.modules:
        end(0)
