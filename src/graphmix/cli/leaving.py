"""The end of a command that succeeded: at once, without taking Python apart module by module.

After torch is imported that takes half a second and more, and it frees what the system frees anyway. By then everything
is written, threads are joined, and what others have registered with `atexit` is done.

One of several processes always ends so: taking apart its connections to others that have ended may abort it.
"""

import atexit
import sys

from graphmix.cli.interrupts import end_quietly
from graphmix.cli.processes import launched

# With which code to end at once; None to end as Python processes do.
_code: int | None = None


def leave_last() -> None:
    """Register `leave` with `atexit`. What is registered later runs before it, so call this before other imports."""
    atexit.register(leave)


def succeed(code: object) -> None:
    """Note whether the process is about to exit with code 0; after an error it ends as Python processes do."""
    global _code
    number = code if isinstance(code, int) else 0 if code is None else 1
    _code = number if number == 0 or launched() > 1 else None


def leave() -> None:
    """End the process now if the command succeeded and there is much to take apart."""
    if _code is not None and "torch" in sys.modules:
        end_quietly(_code)
